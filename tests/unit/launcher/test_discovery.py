"""Preloaded libraries exist, and numactl is tried before it is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from interlock._launcher import discovery


def look(root: Path, environment: dict[str, str], nodes: tuple[int, ...] = (0,)) -> discovery.Discovered:
    return discovery.discover(
        environment, root=root, prefix=root / "prefix", multiarch="x86_64-linux-gnu", memory_nodes=nodes
    )


def put(path: Path, text: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


PLACES = [
    "conda/lib",
    "venv/lib",
    "prefix/lib",
    "home/.local/lib",
    "usr/local/lib",
    "usr/local/lib/x86_64-linux-gnu",
    "usr/local/lib64",
    "usr/lib",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib64",
]


def test_library_is_found_in_the_first_folder_that_has_it(tmp_path: Path) -> None:
    environment = {
        "CONDA_PREFIX": str(tmp_path / "conda"),
        "VIRTUAL_ENV": str(tmp_path / "venv"),
        "HOME": str(tmp_path / "home"),
    }
    assert look(tmp_path, environment).libraries == {}
    for place in reversed(PLACES):
        path = put(tmp_path / place / "libiomp5.so")
        assert look(tmp_path, environment).libraries == {"iomp5": path}, place


def test_unreadable_folder_has_no_library(tmp_path: Path) -> None:
    # Longer than the maximum path. A folder without permission gives an error, too, but not for root.
    nowhere = "/home" * 2000
    environment = {"HOME": nowhere, "LD_PRELOAD": f"{nowhere}/a.so"}
    assert look(tmp_path, environment) == discovery.Discovered(missing_preloads=(f"{nowhere}/a.so",))


def test_library_with_a_version_suffix_is_found_without_a_plain_name(tmp_path: Path) -> None:
    numbered = put(tmp_path / "usr/lib/libjemalloc.so.2")
    assert look(tmp_path, {}).libraries == {"jemalloc": numbered}
    plain = put(tmp_path / "usr/lib/libjemalloc.so")
    assert look(tmp_path, {}).libraries == {"jemalloc": plain}


@pytest.mark.parametrize("name", ["a folder", "a:folder"])
def test_path_with_a_separator_of_ld_preload_is_skipped(name: str, tmp_path: Path) -> None:
    path = put(tmp_path / name / "lib" / "libtcmalloc.so")
    found = look(tmp_path, {"CONDA_PREFIX": str(tmp_path / name)})
    assert (found.libraries, found.not_preloadable) == ({}, {"tcmalloc": path})
    other = put(tmp_path / "usr/lib/libtcmalloc.so")
    found = look(tmp_path, {"CONDA_PREFIX": str(tmp_path / name)})
    assert (found.libraries, found.not_preloadable) == ({"tcmalloc": other}, {})


def test_missing_entries_of_ld_preload_are_identified(tmp_path: Path) -> None:
    there = put(tmp_path / "there.so")
    # The loader replaces $LIB by a folder.
    found = look(tmp_path, {"LD_PRELOAD": f"{there}:/gone/a.so /gone/b.so:libm.so.6:/gone/$LIB/c.so"})
    assert found.missing_preloads == ("/gone/a.so", "/gone/b.so")


def test_numactl_is_used_if_it_can_bind(tmp_path: Path) -> None:
    path = put(tmp_path / "bin" / "numactl", "#!/bin/sh\nexit 0\n")
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    assert look(tmp_path, environment, (0, 1)).numactl == path
    assert look(tmp_path, environment, (0,)).numactl is None
    assert look(tmp_path, {"PATH": "/nowhere"}, (0, 1)) == discovery.Discovered()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho 'may not' >&2\nexit 1\n", "may not"),
        ("#!/bin/sh\nexit 3\n", "exit status 3"),
        ("#!/nowhere\n", "No such file"),
    ],
)
def test_failing_numactl_has_a_reason(script: str, said: str, tmp_path: Path) -> None:
    put(tmp_path / "bin" / "numactl", script)
    found = look(tmp_path, {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}, (0, 1))
    assert found.numactl is None
    assert said in (found.numactl_error or "")
