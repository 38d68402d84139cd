"""`make release-build`: the libgcc_s of another platform, and the linker's arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.subprocess import eval_python, run_command, run_python

TOOLS = Path(__file__).resolve().parents[2] / "tools"
LIBGCC_S = "/cross/libgcc_s.so.1"
CODE = f"""
import sys
sys.path.insert(0, {str(TOOLS)!r})
import release_build
result = release_build.linker("manylinux_2_17")
"""


def program(folder: Path, name: str, text: str) -> Path:
    """Create a program for the shell."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a machine whose `rustc` and `cc` are fakes."""
    program(tmp_path, "rustc", "echo 'host: x86_64-unknown-linux-gnu'")
    program(tmp_path, "cc", "echo /here/libgcc_s.so.1")
    return {"PATH": str(tmp_path)}


@pytest.mark.parametrize(
    ("given", "triple", "libgcc_s"),
    [
        ({}, "x86_64-linux-gnu.2.17", "/here/libgcc_s.so.1"),
        ({"TARGET": "x86_64-unknown-linux-gnu"}, "x86_64-linux-gnu.2.17", "/here/libgcc_s.so.1"),
        (
            {"TARGET": "aarch64-unknown-linux-gnu", "LIBGCC_S": LIBGCC_S},
            "aarch64-linux-gnu.2.17",
            LIBGCC_S,
        ),
    ],
)
def test_linker_has_the_libgcc_s_of_its_platform(
    given: dict[str, str], triple: str, libgcc_s: str, machine: dict[str, str]
) -> None:
    found = eval_python(CODE, env=machine | given)
    assert (found["ZIG_TARGET"], found["LIBGCC_S"]) == (triple, libgcc_s)


def test_another_platform_without_libgcc_s_is_refused(machine: dict[str, str]) -> None:
    done = run_python(CODE, env=machine | {"TARGET": "aarch64-unknown-linux-gnu"})
    assert (done.code, done.stderr) == (
        1,
        "TARGET=aarch64-unknown-linux-gnu needs LIBGCC_S, the path of its libgcc_s.so.1 "
        "(example: docs/releasing.md).\n",
    )


def test_zig_linker_replaces_libgcc_s_and_drops_what_zig_ignores(tmp_path: Path) -> None:
    zig = program(tmp_path, "python", 'printf "%s\\n" "$@"')
    done = run_command(
        [str(TOOLS / "zig_linker.sh"), "a b.o", "-Wl,-O1", "-lgcc_s", "-lc"],
        env={"ZIG_PYTHON": str(zig), "ZIG_TARGET": "aarch64-linux-gnu.2.17", "LIBGCC_S": LIBGCC_S},
    )
    expected = ["-m", "ziglang", "cc", "-target", "aarch64-linux-gnu.2.17", "-Wl,--allow-shlib-undefined"]
    assert done.stdout.splitlines() == [*expected, "a b.o", LIBGCC_S, "-lc"]
