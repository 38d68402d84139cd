"""The version and the addresses of the project are equal in every file that states them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from interlock import _version

ROOT = Path(__file__).parents[2]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
REPOSITORY = WORKSPACE["repository"]
SITE = WORKSPACE["homepage"]


def value_of(key: str, file: str) -> str:
    """Return the value of a key in a YAML file with one pair of key and value per line."""
    (value,) = re.findall(rf"^{key}: (.+)$", (ROOT / file).read_text(), re.MULTILINE)
    return str(value)


def test_citation_has_the_version_and_the_addresses() -> None:
    assert value_of("version", "CITATION.cff") == WORKSPACE["version"]
    assert value_of("repository-code", "CITATION.cff") == REPOSITORY
    assert value_of("url", "CITATION.cff") == SITE


def test_python_files_have_the_version() -> None:
    assert WORKSPACE["version"] == _version.VERSION


def test_site_has_its_address() -> None:
    assert value_of("site_url", "mkdocs.yml") == SITE


def test_package_has_the_addresses() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert urls.pop("Documentation") == SITE
    assert urls.keys() == {"Source", "Changelog", "Issues"}
    assert all(url.startswith(REPOSITORY) for url in urls.values())


@pytest.mark.parametrize("crate", sorted(path.parent.name for path in (ROOT / "rust").glob("*/Cargo.toml")))
def test_crate_inherits_the_addresses(crate: str) -> None:
    package = tomllib.loads((ROOT / "rust" / crate / "Cargo.toml").read_text())["package"]
    assert package["repository"] == package["homepage"] == {"workspace": True}
