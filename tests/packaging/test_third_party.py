"""The licence file and the SBOM of the wheel name the crates that cargo compiles into the extension."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.subprocess import run_command

ROOT = Path(__file__).parents[2]
LICENCES = (ROOT / "LICENSE-THIRD-PARTY").read_text(encoding="utf-8")
SBOM = (ROOT / "rust" / "extension" / "sbom.cdx.json").read_text(encoding="utf-8")
LISTED = re.findall(r"^([\w-]+) ([\w.+-]+): (.+), (https?://\S+)$", LICENCES, re.MULTILINE)
# Licences that are compatible with MIT and with Apache-2.0, and only ask for their text.
PERMISSIVE = {"MIT", "Apache-2.0", "BSD-2-Clause", "ISC", "Zlib"}


@pytest.fixture(scope="module")
def components() -> list[Any]:
    """Return the components of the SBOM."""
    return list(json.loads(SBOM)["components"])


def test_files_are_those_of_the_locked_crates() -> None:
    done = run_command([sys.executable, str(ROOT / "tools" / "third_party.py"), "--check"])
    assert (done.code, done.stderr) == (0, "")


def test_each_crate_has_a_permissive_licence_and_its_text() -> None:
    assert LISTED
    for name, version, licence, _ in LISTED:
        assert {*re.split(r" OR | AND |[()]", licence)} <= PERMISSIVE, name
        if name != "pulp-wasm-simd-flag":  # In the repository of pulp, which has the text.
            assert re.search(rf"^{name} {re.escape(version)}: LICENSE", LICENCES, re.MULTILINE), name


def test_sbom_names_the_same_crates_and_no_folder(components: list[Any]) -> None:
    others = {(each["name"], each["version"]) for each in components if "hashes" in each}
    assert others == {(name, version) for name, version, _, _ in LISTED}
    ours = {each["name"] for each in components if "hashes" not in each}
    assert ours >= {"interlock-core", "interlock-runtime", "interlock-tensor"}
    assert str(ROOT) not in SBOM
    assert "file:" not in SBOM
