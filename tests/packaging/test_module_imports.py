"""The Python modules of the package import each other without a cycle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.import_cycles import cycle

pytestmark = pytest.mark.any_build
PACKAGE = Path(__file__).resolve().parents[2] / "python" / "interlock"

# Accepted cycles, each with its reason.
CYCLES = {
    frozenset({"interlock.state", "interlock._executor"}): (
        "a name of `state` whose module is imported at its first use"
    ),
    frozenset(
        {
            "interlock.integrations",
            *(
                f"interlock.integrations.{name}"
                for name in ("_by_value", "_dask", "_dataloader", "_portable", "_ray", "_received", "_verify")
            ),
        }
    ): "methods of `Portable` import the modules that give a state to one kind of workers",
}


def modules(package: Path) -> dict[str, Path]:
    """Return the files of a package by the name of their module."""
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Iterate over the modules that a file imports, also in its functions and for type checkers."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in known else str(node.module)


def graph_of(package: Path) -> dict[str, set[str]]:
    """Return the imports of each module. The package itself is left out: it imports all that it exports."""
    known = modules(package)
    del known[package.name]
    return {name: set(imports(path, known)) & known.keys() - {name} for name, path in known.items()}


def test_modules_have_no_import_cycle() -> None:
    graph = graph_of(PACKAGE)
    assert len(graph) > 100
    for members in CYCLES:
        # A cycle that no longer exists must be removed from the list.
        assert cycle({member: graph[member] & members for member in members})
        for member in members:
            graph[member] -= members
    assert cycle(graph) == []


def test_cycle_by_an_import_in_a_function_is_found(tmp_path: Path) -> None:
    package = tmp_path / "example"
    package.mkdir()
    (package / "__init__.py").write_text("from example import low\n")
    (package / "high.py").write_text("from example.low import name\n")
    (package / "low.py").write_text("name = 1\n\n\ndef call():\n    from example import high\n")
    assert set(cycle(graph_of(package))) == {"example.high", "example.low"}
