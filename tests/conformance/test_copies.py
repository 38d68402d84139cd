"""The recorded cases and the executable models have the checksums of `checksums.sha256`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
SUMS = {
    name: checksum
    for checksum, name in (line.split() for line in (TESTS / "checksums.sha256").read_text().splitlines())
}


@pytest.mark.parametrize("name", SUMS)
def test_copied_file_is_unchanged(name: str) -> None:
    assert hashlib.sha256((TESTS / name).read_bytes()).hexdigest() == SUMS[name]


def test_every_copied_file_has_a_checksum() -> None:
    names = ("not_implemented", "intentional_differences", "newer_outcomes")
    own = {f"conformance/{name}.json" for name in names}
    copied = [*(TESTS / "conformance").glob("*.json"), *(TESTS / "models").glob("*.py")]
    found = {path.relative_to(TESTS).as_posix() for path in copied} - own
    assert found == set(SUMS) - {"conformance/conform.py"}
    assert len(found) == 19
