"""Fourier transforms of tensors, under PyTorch's names.

A build without the tensor runtime lacks this module.

There is no complex dtype: complex numbers are pairs in a last dimension of size 2, as PyTorch's
`view_as_real` returns them, and dimensions are counted without it. MKL computes the transforms if the first
one finds it, as `dispatch.explain` shows.
"""

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._core.tensor import fft, fft2, fftn, ifft, ifft2, ifftn, irfft, rfft
from interlock._lazy import list_exports

__all__ = ["fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "irfft", "rfft"]

list_exports(globals())
