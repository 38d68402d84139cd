"""Programs that tests run in child processes are functions of tests/programs, not strings in the tests."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_build
TESTS = Path(__file__).resolve().parents[1]
# The folder of the programs, and a copy of recorded cases that must keep every byte.
LEFT_OUT = (TESTS / "programs", TESTS / "models")
# A program of at most this many lines is easier to read inline.
MOST_LINES = 4
MAX_NAME = 60
IMPORT = re.compile(r"^\s*(import \w|from \S+ import )", re.MULTILINE)


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines; fields of f-strings are replaced by a name."""
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr | ast.JoinedStr)
        for inner in ast.iter_child_nodes(node)
        if isinstance(inner, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "varies" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def is_program(text: str) -> bool:
    """Return whether a text is code with effects, or a template of code with imports."""
    try:
        body = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError):
        return IMPORT.search(text) is not None
    return any(
        not isinstance(statement, ast.Expr) or any(isinstance(node, ast.Call) for node in ast.walk(statement))
        for statement in body
    )


def long_programs(source: str) -> list[tuple[int, str]]:
    """Return the line number and first line of each long program that is a string of a module."""
    found = []
    for number, text in strings(ast.parse(source)):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if len(lines) > MOST_LINES and is_program(text):
            found.append((number, lines[0]))
    return found


def test_tests_contain_no_long_program_as_a_string() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}: {first}"
        for path in sorted(TESTS.rglob("*.py"))
        if not any(path.is_relative_to(folder) for folder in LEFT_OUT)
        for number, first in long_programs(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "make each a function of tests/programs with JSON parameters"


def test_long_programs_are_distinguished_from_other_texts() -> None:
    lines = ["import os", "def f():", "    return os.name", "print(f())", "f()"]
    program = "\n".join(lines)
    assert long_programs(f"code = {program!r}") == [(1, "import os")]
    assert long_programs(f"code = f{program!r}") == [(1, "import os")]
    assert long_programs(f"run({program + '{variable!r}'!r}.format(variable=1))") == [(1, "import os")]
    short = "\n\n".join(lines[:MOST_LINES])
    names = "\n".join("abcde")
    c_source = "#include <stdio.h>\nint main() {\n    puts(a);\n    return 0;\n}\n"
    for other in (short, names, c_source):
        assert long_programs(f"text = {other!r}") == []
    assert long_programs(f"{program!r}") == [], "a docstring"


def functions_of(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_programs_have_short_names_without_numbers() -> None:
    names = [name for path in (TESTS / "programs").rglob("*.py") for name in (path.stem, *functions_of(path))]
    assert len(names) > 200
    assert [name for name in names if len(name) > MAX_NAME or re.search(r"_\d+$", name)] == []


def test_no_program_has_the_name_of_a_test_file(pytestconfig: pytest.Config) -> None:
    patterns = pytestconfig.getini("python_files")
    assert patterns == ["test_*.py", "*_test.py"]
    programs = (TESTS / "programs").rglob("*.py")
    assert [path.name for path in programs if any(path.match(pattern) for pattern in patterns)] == []
