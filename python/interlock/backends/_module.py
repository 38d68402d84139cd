"""Shared parts of the modules of flags: `set_flags`, precision namespaces and verbosity scopes."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, cast

from interlock._core import backends as _native
from interlock._quote import shown
from interlock.errors import FlagValueError

#: The default of the `_fp32_precision` arguments of `set_flags`, which means: do not change the flag. It
#: equals "none", as in PyTorch's signature, but is a distinct object, so that identity distinguishes it from
#: a "none" of the caller.
UNCHANGED: Final[Literal["none"]] = cast(Literal["none"], str(b"none", "ascii"))


def set_flags(names: tuple[str, ...], *values: Any) -> tuple[Any, ...]:
    """Assign flags of one module together, and return the previous values of all of them.

    Args:
        names: Dotted names of flags.
        values: One value for each name; None and `UNCHANGED` do not change a flag.

    """
    before = tuple(map(_native.read, names))
    _native.assign(
        {
            name: value
            for name, value in zip(names, values, strict=True)
            if value is not None and value is not UNCHANGED
        }
    )
    return before


_Owner: TypeAlias = (
    _native.CudaMatmulFlags
    | _native.CudnnConvFlags
    | _native.CudnnRnnFlags
    | _native.MkldnnMatmulFlags
    | _native.MkldnnConvFlags
    | _native.MkldnnRnnFlags
)

_CLASSES: dict[tuple[str, str], type[_Owner]] = {
    ("cuda", "matmul"): _native.CudaMatmulFlags,
    ("cuda", "conv"): _native.CudnnConvFlags,
    ("cuda", "rnn"): _native.CudnnRnnFlags,
    ("mkldnn", "matmul"): _native.MkldnnMatmulFlags,
    ("mkldnn", "conv"): _native.MkldnnConvFlags,
    ("mkldnn", "rnn"): _native.MkldnnRnnFlags,
}


class _FP32Precision:
    """Constructs the namespace with the precision of an operation on a backend.

    `_FP32Precision("cuda", "conv")` has the flags of `cudnn.conv`.

    Raises:
        FlagValueError: There is no such pair of backend and operation.

    """

    def __new__(cls, backend: str, op: str) -> _Owner:  # type: ignore[misc]  # returns other classes
        namespace = next((each for pair, each in _CLASSES.items() if pair == (backend, op)), None)
        if namespace is None:
            known = ", ".join(f"({one!r}, {other!r})" for one, other in _CLASSES)
            raise FlagValueError(
                f"_FP32Precision: (backend, op) must be one of {known}, got ({shown(backend)}, {shown(op)})"
            )
        return namespace()


VERBOSE_OFF: Final = 0
VERBOSE_ON: Final = 1
VERBOSE_ON_CREATION: Final = 2
