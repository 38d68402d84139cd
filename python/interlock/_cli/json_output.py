"""Writes collected values as JSON."""

from __future__ import annotations

import dataclasses
import json

FORMAT = 1
"""Increases if a key is removed or changes its meaning; new keys do not change it."""


def document(**collected: object) -> str:
    """Return what was collected, under these names, as one JSON document."""
    return json.dumps({"format": FORMAT} | collected, indent=2, default=_as_dictionary) + "\n"


def _as_dictionary(value: object) -> dict[str, object]:
    """Return the fields of a dataclass, which is all that JSON does not know here."""
    assert dataclasses.is_dataclass(value)
    assert not isinstance(value, type)
    return dataclasses.asdict(value)
