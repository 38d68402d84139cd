"""The objects that show the float32 precision of one kind of operation."""

from __future__ import annotations

from typing import TypeAlias

from interlock._core import backends as _native
from interlock.errors import FlagValueError

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
