"""The optional parts of the build, and the names that modules lack without them."""

from __future__ import annotations

import sys

from interlock._core import __features__
from interlock._quote import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

HAS_TENSORS: Final = "tensor" in __features__
"""Whether the extension module contains the tensor runtime."""

NO_TENSORS: Final = (
    "this build has no tensor runtime; install interlock with the default features, as `pip install .` does"
)

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.tensor import Tensor as Tensor
else:
    # No object is an instance of it.
    Tensor = ()

MISSING: dict[str, frozenset[str]] = {}
"""The names that each public module lacks in this build."""


def remove_missing(module: dict[str, Any], lazy: frozenset[str] = frozenset()) -> None:
    """Remove the names that this build lacks from `__all__` of a module.

    A module without `__getattr__` gets one that reports them. It has none in a complete build, which would be
    slower, nor in its source, from which a type checker would infer that every name exists.

    Args:
        module: The namespace of the module, after everything was imported and defined that this build has.
        lazy: The names that the module imports at their first use.

    """
    if HAS_TENSORS:
        return
    exported: list[str] = module["__all__"]
    missing = frozenset(exported) - module.keys() - lazy
    exported[:] = [name for name in exported if name not in missing]
    MISSING[module["__name__"]] = missing

    def __getattr__(name: str) -> NoReturn:
        raise attribute_error(module["__name__"], name)

    module.setdefault("__getattr__", __getattr__)


def attribute_error(module: str, name: str) -> AttributeError | ImportError:
    """Return the error of `__getattr__`, which calls this, for a name that a module does not have."""
    if name not in MISSING.get(module, ()):
        return AttributeError(
            f"module {module!r} has no attribute {shown(name)}", name=name, obj=sys.modules.get(module)
        )
    text = f"{module}.{name} is missing: {NO_TENSORS}"
    # `from interlock import ones` would discard the text of an AttributeError. It queries a package first.
    if sys._getframe(2).f_code.co_name == "_handle_fromlist":
        return ImportError(text, name=module)
    return AttributeError(text, name=name)
