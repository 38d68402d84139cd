"""What the modules of flags share: writing several flags, objects of precision, scopes of verbosity."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, cast

from interlock._core import backends as _native
from interlock.errors import FlagValueError

#: The default of every `_fp32_precision` argument of `set_flags`: leave it as it is. It equals "none", as
#: in PyTorch's signature, and is an object of its own, told from a "none" that somebody gave by identity.
UNCHANGED: Final[Literal["none"]] = cast(Literal["none"], str(b"none", "ascii"))


def set_flags(names: tuple[str, ...], *values: Any) -> tuple[Any, ...]:
    """Write the flags of one module that are given, all or none; return all as they were.

    There is one value for each dotted name; None and `UNCHANGED` leave a flag as it is.
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
    """Makes the object whose `fp32_precision` is that of `op` on `backend`.

    `_FP32Precision("cuda", "conv")` shows what `cudnn.conv` shows. Raises `FlagValueError` for other pairs.
    """

    def __new__(cls, backend: str, op: str) -> _Owner:  # type: ignore[misc]  # it makes others
        made = next((made for pair, made in _CLASSES.items() if pair == (backend, op)), None)
        if made is None:
            known = ", ".join(f"({one!r}, {other!r})" for one, other in _CLASSES)
            raise FlagValueError(f"backend and op are one of {known}, got ({backend!r}, {op!r})")
        return made()


VERBOSE_OFF: Final = 0
VERBOSE_ON: Final = 1
VERBOSE_ON_CREATION: Final = 2


class VerboseScope:
    """A context manager within which a vendor library reports its calls."""

    def __init__(self, library: Literal["mkl", "onednn"], level: int) -> None:
        self._scope = _native.VerboseScope(library, level)

    def __enter__(self) -> Self:
        self._scope.enter()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._scope.leave()
