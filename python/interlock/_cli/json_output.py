"""Serializes collected values as JSON."""

from __future__ import annotations

import dataclasses
import json

FORMAT = 1
"""The version of the format. It increases when a key is removed or changes its meaning."""


def document(**collected: object) -> str:
    """Serialize the keyword arguments as one JSON document."""
    return json.dumps({"format": FORMAT} | collected, indent=2, default=_as_dictionary) + "\n"


def _as_dictionary(value: object) -> dict[str, object]:
    """Return the fields of a dataclass, for `json.dumps`."""
    assert dataclasses.is_dataclass(value)
    assert not isinstance(value, type)
    return dataclasses.asdict(value)
