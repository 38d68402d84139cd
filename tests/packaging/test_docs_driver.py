"""docs/driver.md lists the methods of a driver that have no default, and the dependencies of its programs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "driver.md").read_text(encoding="utf-8")
TOML = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MANIFESTS = [tomllib.loads(text) for text in TOML.findall(PAGE)]


def test_page_lists_the_required_methods_of_a_runtime() -> None:
    source = (ROOT / "rust" / "driver" / "src" / "runtime.rs").read_text(encoding="utf-8")
    methods = re.findall(r"^    (?:unsafe )?fn (\w+)\([^;{]*([;{])", source, re.MULTILINE)
    (table,) = re.findall(r"^\| subject \| methods \|\n(.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)
    assert re.findall(r"`(\w+)`", table) == [name for name, end in methods if end == ";"]


def test_dependencies_by_path_exist_under_their_names() -> None:
    tables = [each[key] for each in MANIFESTS for key in each if key.endswith("dependencies")]
    paths = [
        (given.get("package", name), given["path"].removeprefix("../interlock/"))
        for table in tables
        for name, given in table.items()
        if "path" in given and given["path"] != f"../{name}"
    ]
    assert len(paths) == 4
    for package, path in paths:
        assert tomllib.loads((ROOT / path / "Cargo.toml").read_text())["package"]["name"] == package


def test_program_depends_on_the_crates_of_its_example() -> None:
    example = tomllib.loads((ROOT / "examples" / "embed_host" / "Cargo.toml").read_text())
    _, program = MANIFESTS
    examples = {"example_attention", "example_driver"}
    assert {*program["dependencies"]} == {*example["dependencies"]} - examples | {"mydriver"}
    assert program["build-dependencies"] == example["build-dependencies"]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    assert program["dependencies"]["pyo3"] == workspace["pyo3"]["version"]
