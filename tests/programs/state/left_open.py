"""Scopes that are left open, traced. A test finds lines by their trailing comments."""

import warnings

import interlock
from interlock import backends, state


def barrier():
    """Return the scopes that are listed after a barrier, its warnings and the mode."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with state.scope_barrier():
            interlock.no_grad().__enter__()  # first
            backends.override({"cudnn.enabled": False}).__enter__()  # second
    warned = [(str(each.message), f"{each.filename}:{each.lineno}") for each in found]
    return state.open_scopes(), warned, interlock.is_grad_enabled()


def ended():
    """Return the number of ended scopes and those that are still listed. A warning at exit would fail."""
    warnings.simplefilter("error")
    interlock.no_grad().__enter__()
    return state.end_open_scopes(), state.open_scopes()
