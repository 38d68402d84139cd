"""The modes of autograd that scopes set."""

from __future__ import annotations

import interlock
from interlock import autograd


def anomaly_and_hooks() -> tuple[bool, bool, bool]:
    """Return whether anomalies and NaN are looked for, and whether hooks of saved tensors are allowed."""
    try:
        with autograd.graph.save_on_cpu():
            allows_hooks = True
    except RuntimeError:
        allows_hooks = False
    return interlock.is_anomaly_enabled(), interlock.is_anomaly_check_nan_enabled(), allows_hooks
