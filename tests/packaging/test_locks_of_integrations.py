"""The lock files of `integrations/` have the dependencies of the crates that they use by path.

`make test-integrations` is not run for every change, and refuses a lock file that is not current.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted(ROOT.glob("integrations/*/Cargo.lock"))


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def required(crate: dict[str, Any]) -> set[str]:
    """Return the packages on which a crate always depends."""
    packages = read(ROOT / "Cargo.toml")["workspace"]["dependencies"]
    found = set()
    for name, value in crate.get("dependencies", {}).items():
        given = value if isinstance(value, dict) else {}
        shared = packages.get(name) if given.get("workspace") else value
        if not given.get("optional"):
            found.add(shared.get("package", name) if isinstance(shared, dict) else name)
    return found


def test_every_integration_has_a_lock_file() -> None:
    assert [path.parent.name for path in LOCKS] == ["candle", "ort", "server"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.parent.name)
def test_lock_file_has_the_dependencies_of_our_crates(lock: Path) -> None:
    manifests = [read(path) for path in ROOT.glob("rust/*/Cargo.toml")]
    crates = {manifest["package"]["name"]: required(manifest) for manifest in manifests}
    locked = {package["name"]: package for package in read(lock)["package"]}
    ours = crates.keys() & locked.keys()
    assert "interlock-core" in ours
    for name in ours:
        names = {text.split()[0] for text in locked[name].get("dependencies", ())}
        assert crates[name] <= names, name
