"""Serializes collected values as JSON."""

from __future__ import annotations

import dataclasses
import json
import math

FORMAT = 1
"""The version of the format. It increases when a key is removed or changes its meaning."""

BEGINNING = f'{{\n  "format": {FORMAT},'
"""The text with which each document begins."""


def document(**collected: object) -> str:
    """Serialize the keyword arguments as one JSON document."""
    return json.dumps({"format": FORMAT, **_plain_fields(collected)}, indent=2, allow_nan=False) + "\n"


def _plain_fields(fields: dict[str, object]) -> dict[str, object]:
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: object) -> object:
    """Return a value for JSON, in which dataclasses and named tuples are dicts of their fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain_fields(value._asdict())
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no infinity. Variables accept this text.
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _plain_fields(value) if isinstance(value, dict) else value
