"""Compare a name of interlock with the name of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Any]


def mismatch(want: Facts, got: Facts) -> str | None:
    """Return the first difference between a name and the wanted facts, or None."""
    if want.get("error") != got.get("error"):
        return f"reading it raises {got.get('error', 'nothing')}"
    if "error" in want:
        return None
    if got["kind"] != want["kind"]:
        return f"want a {want['kind']}, got a {got['kind']}"
    if want.get("value") != got.get("value"):
        return f"want the value {want['value']}, got {got['value']}"
    # Native functions of PyTorch often have no signature, so none is required of interlock.
    wanted = want.get("parameters")
    if wanted is not None and wanted != got["parameters"]:
        return f"want the parameters {readable(wanted)}, got {readable(got['parameters'])}"
    return None


def readable(parameters: list[Facts] | None) -> str:
    """Write parameters on one line."""
    if parameters is None:
        return "unknown"
    words = (
        f"{parameter['name']}{'=' + parameter['default'] if 'default' in parameter else ''}"
        f" ({parameter['kind'].replace('_', ' ')})"
        for parameter in parameters
    )
    return f"[{', '.join(words)}]"
