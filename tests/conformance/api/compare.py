"""What tells a name of interlock from the same name of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Any]


def mismatch(want: Facts, got: Facts) -> str | None:
    """Return the first thing in which a name is not as wanted, or None."""
    if want.get("error") != got.get("error"):
        return f"reading it raises {got.get('error', 'nothing')}"
    if "error" in want:
        return None
    if got["kind"] != want["kind"]:
        return f"want a {want['kind']}, got a {got['kind']}"
    if want.get("value") != got.get("value"):
        return f"want the value {want['value']}, got {got['value']}"
    # Much of PyTorch that is native code tells no signature, and so nothing that could be asked of ours.
    wanted = want.get("parameters")
    if wanted is not None and wanted != got["parameters"]:
        return f"want the parameters {readable(wanted)}, got {readable(got['parameters'])}"
    return None


def readable(parameters: list[Facts] | None) -> str:
    """Write parameters on one line."""
    if parameters is None:
        return "that nothing tells"
    words = (
        f"{parameter['name']}{'=' + parameter['default'] if 'default' in parameter else ''}"
        f" ({parameter['kind'].replace('_', ' ')})"
        for parameter in parameters
    )
    return f"[{', '.join(words)}]"
