"""The settings of other libraries, and the state of worker processes. Each library has a module.

No module imports its library. `portable` returns the state of this process as a value that engines such as
Dask, Ray, Spark and joblib carry to their workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock._lazy import list_exports

if TYPE_CHECKING:
    from interlock.integrations import asgi as asgi, torch as torch
    from interlock.integrations._portable import Portable as Portable, portable as portable
    from interlock.integrations._received import received as received
    from interlock.integrations._verify import Drift as Drift, Verification as Verification

_MODULES = ("asgi", "torch")
_NAMES = {
    "Drift": "_verify",
    "Portable": "_portable",
    "Verification": "_verify",
    "portable": "_portable",
    "received": "_received",
}
__all__ = ["Drift", "Portable", "Verification", "asgi", "portable", "received", "torch"]


def __getattr__(name: str) -> Any:
    """Import the module of a library, or the module of a name, on its first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


list_exports(globals())
