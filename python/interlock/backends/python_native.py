"""Kernels that are registered from Python, by the language (DSL) that they are written in.

`interlock.dispatch.register_kernel` registers them. `enabled` of a language, `disabled_operations` and
`disabled_dispatch_keys` are flags: the functions here assign them in the process, and the scopes
`triton.disabled()` and `operations_disabled(...)` set them in the current context. In PyTorch the scopes
change the process, too.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from typing import Final

from interlock._core import backends as _native
from interlock._features import HAS_TENSORS as _HAS_TENSORS
from interlock._quote import shown as _shown
from interlock.errors import FlagTypeError, FlagValueError

__all__ = [
    "all_dsls",
    "available_dsls",
    "cutedsl",
    "disable_dispatch_keys",
    "disable_operations",
    "enable_dispatch_keys",
    "enable_operations",
    "flydsl",
    "get_dsl_operations",
    "helion",
    "is_dsl_disabled",
    "is_operation_disabled",
    "operations_disabled",
    "python",
    "triton",
]

# <flags of python_native>
disabled_operations: str
disabled_dispatch_keys: str
# </flags of python_native>

_OPERATIONS: Final = "python_native.disabled_operations"
_DISPATCH_KEYS: Final = "python_native.disabled_dispatch_keys"


class _DSL:
    """A language of kernels: its name, whether it can be imported, and whether its kernels may run."""

    __slots__ = ()

    _name = ""
    _modules: tuple[str, ...] = ()
    """The modules that the language consists of."""
    _distribution: str | None = None
    """The package that has the version of the language."""

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def available(self) -> bool:
        """Whether the language can be imported. It is not imported."""
        return all(map(_can_be_imported, self._modules))

    @property
    def version(self) -> str | None:
        """The version, or None if the language is not available."""
        if not self.available:
            return None
        if self._distribution is None:
            return ".".join(map(str, sys.version_info[:3]))
        # Imported on use, because it loads the parsers of email.
        import importlib.metadata as packages

        try:
            return packages.version(self._distribution)
        except packages.PackageNotFoundError:
            return None

    def disable(self) -> None:
        """Assign False to `enabled` in the process.

        Raises:
            FlagsFrozenError: Flags are frozen.

        """
        _native.assign({f"python_native.{self._name}.enabled": False})

    def enable(self) -> None:
        """Assign True to `enabled` in the process.

        Raises:
            FlagsFrozenError: Flags are frozen.

        """
        _native.assign({f"python_native.{self._name}.enabled": True})

    def disabled(self) -> _native.FlagScope:
        """Context manager and decorator in which no kernel of the language runs in the current context.

        Example:
            >>> from interlock.backends import python_native
            >>> with python_native.python.disabled():
            ...     python_native.python.enabled
            False

        """
        return _native.FlagScope({f"python_native.{self._name}.enabled": False})


def _can_be_imported(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


class _CuTeDSL(_native.PythonNativeCutedslFlags, _DSL):
    __slots__ = ()

    _name = "cutedsl"
    _modules = ("cutlass",)
    _distribution = "nvidia-cutlass-dsl"


class _FlyDSL(_native.PythonNativeFlydslFlags, _DSL):
    __slots__ = ()

    _name = "flydsl"
    _modules = ("flydsl",)
    _distribution = "flydsl"


class _Helion(_native.PythonNativeHelionFlags, _DSL):
    __slots__ = ()

    _name = "helion"
    _modules = ("helion",)
    _distribution = "helion"

    @property
    def backend(self) -> str:
        """The backend to which kernels are lowered: that of the variable `HELION_BACKEND`, or triton."""
        return os.environ.get("HELION_BACKEND", "triton")


class _Python(_native.PythonNativePythonFlags, _DSL):
    __slots__ = ()

    _name = "python"


class _Triton(_native.PythonNativeTritonFlags, _DSL):
    __slots__ = ()

    _name = "triton"
    _modules = ("triton",)
    _distribution = "triton"


cutedsl = _CuTeDSL()
flydsl = _FlyDSL()
helion = _Helion()
python = _Python()
triton = _Triton()

_DSLS: Final[tuple[_DSL, ...]] = (cutedsl, flydsl, helion, python, triton)

all_dsls: list[str]
"""The names of all languages, in alphabetical order: PyTorch's, and `python` for kernels in plain Python."""
available_dsls: list[str]
"""The names of the languages that can be imported, in alphabetical order."""


def __getattr__(name: str) -> list[str]:
    if name == "all_dsls":
        return [dsl.name for dsl in _DSLS]
    if name == "available_dsls":
        return [dsl.name for dsl in _DSLS if dsl.available]
    raise AttributeError(f"module {__name__!r} has no attribute {_shown(name)}", name=name)


def get_dsl_operations(dsl_name: str, lib_symbol: str = "aten") -> list[str]:
    """Return the operations that have kernels of a language now.

    Args:
        dsl_name: The name of the language. One that does not exist has no operations.
        lib_symbol: The namespace of the operations. Those of interlock are in ``"aten"``.

    Returns:
        Their names, in alphabetical order.

    Example:
        >>> import interlock
        >>> from interlock import dispatch
        >>> from interlock.backends import python_native
        >>> with dispatch.register_kernel("matmul", "mine", lambda a, b: NotImplemented):
        ...     python_native.get_dsl_operations("python")
        ['matmul']

    """
    if not _HAS_TENSORS or lib_symbol != "aten":
        return []
    from interlock._core.dispatch import _registered_kernels

    return sorted({operation for operation, _, dsl in _registered_kernels() if dsl == dsl_name})


def _names(function: str, given: Iterable[object]) -> list[str]:
    """Return names that a flag can list."""
    names = []
    for name in given:
        if not isinstance(name, str):
            raise FlagTypeError(f"{function}: a name must be a str, got {type(name).__name__}")
        if not name.strip() or "," in name:
            raise FlagValueError(f"{function}: a name must be a word without commas, got {_shown(name)}")
        names.append(name.strip())
    return names


def _listed(flag: str) -> set[str]:
    """Return the names that a flag lists in the current context."""
    return {name.strip() for name in str(_native.read(flag)).split(",")} - {""}


def _change(flag: str, change: Callable[[set[str], list[str]], set[str]], names: list[str]) -> None:
    """Assign a flag with other names."""
    _native.assign({flag: _joined(change(_listed(flag), names))})


def _joined(names: set[str]) -> str:
    return ",".join(sorted(names))


def disable_operations(*op_symbols: str) -> None:
    """Assign `disabled_operations`, so that operations run no kernel that is registered from Python.

    Args:
        op_symbols: Names of operations, such as ``"matmul"``. A name need not exist.

    Raises:
        FlagTypeError: A name is not a str.
        FlagValueError: A name is empty or contains a comma.
        FlagsFrozenError: Flags are frozen.

    Example:
        >>> from interlock.backends import python_native
        >>> python_native.disable_operations("matmul")
        >>> python_native.is_operation_disabled("matmul")
        True
        >>> python_native.enable_operations("matmul")

    """
    _change(_OPERATIONS, set.union, _names("disable_operations", op_symbols))


def enable_operations(*op_symbols: str) -> None:
    """Assign `disabled_operations` without these operations.

    Args:
        op_symbols: Names of operations. One that is not disabled is ignored.

    Raises:
        FlagTypeError: A name is not a str.
        FlagValueError: A name is empty or contains a comma.
        FlagsFrozenError: Flags are frozen.

    """
    _change(_OPERATIONS, set.difference, _names("enable_operations", op_symbols))


def operations_disabled(*op_symbols: str) -> _native.FlagScope:
    """Context manager and decorator in which operations run no kernel that is registered from Python.

    It affects the current context. The operations that are disabled when this function is called are disabled
    in the scope, too.

    Args:
        op_symbols: Names of operations. A name need not exist.

    Raises:
        FlagTypeError: A name is not a str.
        FlagValueError: A name is empty or contains a comma.

    Example:
        >>> from interlock.backends import python_native
        >>> with python_native.operations_disabled("matmul"):
        ...     python_native.is_operation_disabled("matmul")
        True
        >>> python_native.is_operation_disabled("matmul")
        False

    """
    names = _names("operations_disabled", op_symbols)
    return _native.FlagScope({_OPERATIONS: _joined(_listed(_OPERATIONS).union(names))})


def disable_dispatch_keys(*dispatch_keys: str) -> None:
    """Assign `disabled_dispatch_keys`, so that no kernel that is registered from Python runs on devices.

    Args:
        dispatch_keys: Types of devices in capital letters, such as ``"CPU"``, ``"CUDA"`` or ``"HOST"``. A key
            need not exist.

    Raises:
        FlagTypeError: A key is not a str.
        FlagValueError: A key is empty or contains a comma.
        FlagsFrozenError: Flags are frozen.

    """
    _change(_DISPATCH_KEYS, set.union, _names("disable_dispatch_keys", dispatch_keys))


def enable_dispatch_keys(*dispatch_keys: str) -> None:
    """Assign `disabled_dispatch_keys` without these keys.

    Args:
        dispatch_keys: Types of devices in capital letters. One that is not disabled is ignored.

    Raises:
        FlagTypeError: A key is not a str.
        FlagValueError: A key is empty or contains a comma.
        FlagsFrozenError: Flags are frozen.

    """
    _change(_DISPATCH_KEYS, set.difference, _names("enable_dispatch_keys", dispatch_keys))


def is_operation_disabled(op_symbol: str) -> bool:
    """Return whether `disabled_operations` lists an operation in the current context.

    Args:
        op_symbol: The name of the operation. It need not exist.

    Raises:
        FlagTypeError: `op_symbol` is not a str.

    """
    if not isinstance(op_symbol, str):
        raise FlagTypeError(f"is_operation_disabled: op_symbol must be a str, got {_shown(op_symbol)}")
    return op_symbol in _listed(_OPERATIONS)


def is_dsl_disabled(dsl_name: str) -> bool:
    """Return whether a language is disabled in the current context.

    Args:
        dsl_name: The name of the language. One that does not exist is not disabled.

    """
    return any(
        dsl.name == dsl_name and not _native.read(f"python_native.{dsl_name}.enabled") for dsl in _DSLS
    )


sys.modules[__name__].__class__ = _native.PythonNativeModule
