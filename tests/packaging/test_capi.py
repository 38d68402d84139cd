"""The C interface: its layout only grows, and its header compiles without warnings."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import interlock
import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_name("capi_layout.txt")
GROWING = ("    0: uint32_t size\n", "    4: uint32_t size\n", "    0: size_t size\n")
"""The line of a field with the size of the struct: such a struct may get more fields."""


def layout() -> str:
    """Return the layout that the declarations in rust/sys describe."""
    command = ["cargo", "run", "--quiet", "--package", "interlock-sys", "--example", "generate", "layout"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def items(text: str) -> dict[str, str]:
    """Return the constants, types and structs of a layout, each by its name."""
    parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    named = {" ".join(re.findall(r"Interlock\w*|INTERLOCK_\w*", part)[:1]): part for part in parts if part}
    assert len(named) == len([part for part in parts if part])
    return named


def problems(recorded: str, current: str) -> list[str]:
    """Return the names of items that changed in another way than by an appended field or function."""
    before, after = items(recorded), items(current)
    return [name for name, item in before.items() if not is_extension(item, after.get(name, ""))]


def is_extension(before: str, after: str) -> bool:
    """Return whether an item is unchanged, or has only appended fields and may have them."""
    if before == after:
        return True
    head, _, fields = before.partition("\n")
    new_head, _, new_fields = after.partition("\n")
    alignment = head.rpartition("aligned to")[2]
    can_grow = any(size in before for size in GROWING) and alignment == new_head.rpartition("aligned to")[2]
    return can_grow and new_fields.startswith(fields) and len(new_fields) > len(fields)


def test_layout_has_only_grown_since_it_was_recorded() -> None:
    assert problems(RECORDED.read_text(), layout()) == []


def test_layout_was_recorded_after_it_grew() -> None:
    # Otherwise a later change of what was appended would not be found.
    assert RECORDED.read_text() == layout(), "append the new lines to tests/packaging/capi_layout.txt"


FLAG = """struct InterlockFlag: 16 bytes, aligned to 8
    0: uint32_t size
    4: uint32_t id
    8: const uint64_t *word
"""
VALUE = """struct InterlockValue: 8 bytes, aligned to 4
    0: uint32_t kind
    4: uint32_t reserved
"""
CONSTANT = "constant INTERLOCK_OK = 0\n"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("    8: const", "    8: int64_t bias\n    16: const"), ["InterlockFlag"]),
        (("uint32_t id", "uint64_t id"), ["InterlockFlag"]),
        (("    4: uint32_t id\n", ""), ["InterlockFlag"]),
        (("*word\n", "*word\n    16: int64_t bias\n"), []),
        (
            ("    4: uint32_t reserved\n", "    4: uint32_t reserved\n    8: double number\n"),
            ["InterlockValue"],
        ),
        (("OK = 0", "OK = 1"), ["INTERLOCK_OK"]),
        (("constant INTERLOCK_OK = 0\n", ""), ["INTERLOCK_OK"]),
        (("constant INTERLOCK_OK = 0\n", "constant INTERLOCK_OK = 0\nconstant INTERLOCK_NEW = 1\n"), []),
        (("aligned to 8", "aligned to 16"), ["InterlockFlag"]),
    ],
)
def test_change_that_is_no_append_is_found(change: tuple[str, str], found: list[str]) -> None:
    recorded = FLAG + VALUE + CONSTANT
    changed = recorded.replace(*change)
    assert changed != recorded
    assert problems(recorded, changed) == found


COMPILERS = {"c": "-std=c11", "c++": "-std=c++17"}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("compiler", ["cc", "gcc", "clang"])
@pytest.mark.parametrize("with_python", [True, False])
def test_header_compiles_without_warnings(
    compiler: str, language: str, with_python: bool, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "source"
    lines = ["#include <Python.h>"] if with_python else []
    source.write_text("\n".join([*lines, "#include <interlock.h>", "int main(void) { return 0; }", ""]))
    # A system folder: the warnings of Python's own header do not matter.
    includes = ["-I", interlock.get_include(), "-isystem", sysconfig.get_path("include")]
    command = [
        compiler,
        "-x",
        language,
        COMPILERS[language],
        *WARNINGS,
        *includes,
        "-fsyntax-only",
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_sizes_in_c_are_those_in_rust(tmp_path: Path) -> None:
    records = re.findall(r"^(?:struct|union) (\w+): (\d+) bytes, aligned to (\d+)$", layout(), re.MULTILINE)
    assert len(records) > 10
    source = tmp_path / "sizes.c"
    checks = [f'_Static_assert(sizeof({name}) == {size}, "{name}");' for name, size, _ in records]
    checks += [f'_Static_assert(_Alignof({name}) == {align}, "{name}");' for name, _, align in records]
    for name, block in items(layout()).items():
        for line in block.splitlines()[1:]:
            offset, _, declared = line.strip().partition(": ")
            function = re.search(r"\(\*(\w+)\)\(", declared)
            field = (
                function.group(1) if function else re.sub(r"\[\d+\]$", "", declared).split()[-1].lstrip("*")
            )
            checks.append(f'_Static_assert(offsetof({name}, {field}) == {offset}, "{name}.{field}");')
    source.write_text("#include <interlock.h>\n" + "\n".join(checks) + "\n")
    command = ["cc", "-std=c11", "-I", interlock.get_include(), "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
