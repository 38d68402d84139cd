import builtins
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import EllipsisType
from typing import (
    Any,
    Literal,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypeGuard,
    final,
    overload,
    type_check_only,
)

import numpy.typing as npt
from interlock._core.accelerator import device as _DeviceObject

__all__ = [
    "Node",
    "Tensor",
    "arange",
    "argmax",
    "as_tensor",
    "backward",
    "bool",
    "cat",
    "cross_entropy",
    "dtype",
    "empty",
    "exp",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "grad",
    "int64",
    "is_inference",
    "is_tensor",
    "log",
    "log_softmax",
    "manual_seed",
    "matmul",
    "mean",
    "ones",
    "ones_like",
    "rand",
    "randn",
    "relu",
    "softmax",
    "stack",
    "sum",
    "tensor",
    "zeros",
    "zeros_like",
]

@type_check_only
class _NumPyScalar(Protocol):
    def item(self) -> object: ...
    def __float__(self) -> builtins.float: ...

# An array that `from_numpy` accepts.
_Array: TypeAlias = npt.NDArray[Any]
_Number: TypeAlias = builtins.bool | int | builtins.float | _NumPyScalar
_Device: TypeAlias = _DeviceObject | str | int
_Dims: TypeAlias = int | Sequence[int]
_Sizes: TypeAlias = tuple[int, ...] | list[int]
_Nested: TypeAlias = _Number | Tensor | Sequence[_Nested]
_Part: TypeAlias = SupportsIndex | slice | EllipsisType | Tensor | list[Any] | npt.NDArray[Any] | None
_Tensors: TypeAlias = Tensor | Iterable[Tensor]
_Gradients: TypeAlias = Tensor | Iterable[Tensor | None]

@final
class dtype:
    """The type of a tensor's elements: `interlock.float32`, `float64`, `int64` or `bool`."""
    @property
    def is_floating_point(self) -> builtins.bool:
        """Whether the elements are floating-point numbers."""
    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> str: ...

_DType: TypeAlias = dtype

float32: dtype
float64: dtype
int64: dtype
bool: dtype

@final
class Node:
    """A node of the autograd graph: an operation, or the accumulation of gradients in a leaf."""
    def name(self) -> str:
        """Return the name of the operation, such as "AddBackward0", or "AccumulateGrad" for a leaf."""
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input a pair of the node that receives its gradient (None without a gradient) and 0."""
    @property
    def variable(self) -> Tensor:
        """The leaf of an "AccumulateGrad" node. Raises AttributeError for an operation."""
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

@final
class Tensor:
    """A multi-dimensional array with a single dtype.

    Created by `interlock.tensor`, `interlock.zeros` and similar functions. Operations are recorded if an operand
    requires grad; `backward` then computes gradients.
    """

    __array_priority__: builtins.float
    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
    @property
    def dtype(self) -> _DType:
        """The element type."""
    @property
    def device(self) -> _DeviceObject:
        """The device of the elements."""
    @property
    def ndim(self) -> int:
        """The number of dimensions."""
    def dim(self) -> int:
        """Return the number of dimensions."""
    @overload
    def size(self, dim: None = None) -> tuple[int, ...]:
        """Return the sizes of the dimensions, or the size of one of them."""
    @overload
    def size(self, dim: int) -> int: ...
    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]:
        """Return the stride of each dimension in elements, or the stride of one of them."""
    @overload
    def stride(self, dim: int) -> int: ...
    def numel(self) -> int:
        """Return the number of elements."""
    def element_size(self) -> int:
        """Return the size of one element in bytes."""
    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
    def is_floating_point(self) -> builtins.bool:
        """Return whether the elements are floating-point numbers."""
    def is_contiguous(self) -> builtins.bool:
        """Return whether the elements are stored in row-major order without gaps."""
    def storage_offset(self) -> int:
        """Return the offset of the first element in the storage, in elements."""
    def data_ptr(self) -> int:
        """Return the address of the first element; on a device an address in the device's address space."""
    @property
    def _version(self) -> int: ...
    def _set_version(self, version: int) -> None: ...
    def is_inference(self) -> builtins.bool:
        """Return whether the tensor was created in inference mode."""
    @property
    def requires_grad(self) -> builtins.bool:
        """Whether operations on the tensor are recorded. It can be set on floating-point leaves."""
    @requires_grad.setter
    def requires_grad(self, value: builtins.bool, /) -> None: ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Tensor:
        """Set `requires_grad` and return the tensor itself."""
    @property
    def is_leaf(self) -> builtins.bool:
        """Whether the tensor is not the result of a recorded operation."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated, or None. Deleting it sets None.

        Reading None from the result of an operation issues a UserWarning: only leaves, and results on which
        `retain_grad` was called, get a gradient.
        """
    @grad.setter
    def grad(self, value: Tensor | None, /) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that produced the tensor, or None."""
    def retain_grad(self) -> None:
        """Make backward passes accumulate the gradient of a non-leaf tensor in `grad`. Leaves always accumulate."""
    @property
    def retains_grad(self) -> builtins.bool:
        """Whether `retain_grad` was called."""
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: builtins.bool | None = None,
        create_graph: builtins.bool = False,
        inputs: _Tensors | None = None,
    ) -> None:
        """Compute the gradients of this tensor and accumulate them in `grad` of the leaves.

        Args:
            gradient: The gradient of this tensor, of its shape. None means 1, for a tensor of one element.
            retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
            create_graph: Whether the backward pass is recorded.
            inputs: The tensors in which gradients are accumulated. None means all leaves.
        """
    def detach(self) -> Tensor:
        """Return a tensor that shares memory with this one and has no history."""
    def clone(self) -> Tensor:
        """Return a copy of the tensor, as a recorded operation."""
    def contiguous(self) -> Tensor:
        """Return the tensor itself if it is contiguous, else a contiguous copy."""
    def item(self) -> builtins.bool | int | builtins.float:
        """Return the only element as a bool, an int or a float."""
    def tolist(self) -> Any:
        """Return the elements as nested lists, or the element itself for a tensor without dimensions."""
    def numpy(self, *, force: builtins.bool = False) -> npt.NDArray[Any]:
        """Return a `numpy.ndarray` that shares the tensor's memory.

        Args:
            force: Whether a tensor that requires grad is detached and a device tensor is copied to the CPU.

        Raises:
            RuntimeError: The tensor requires grad while gradients are enabled, because NumPy records nothing.
            TypeError: The tensor is on a device, whose memory NumPy cannot share.
        """
    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: builtins.bool | None = None
    ) -> npt.NDArray[Any]: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
        def __release_buffer__(self, buffer: memoryview, /) -> None: ...

    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: dict[Any, Any], /) -> Tensor: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes, _DType, list[int], builtins.bool, str | None]]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __format__(self, format_spec: str, /) -> str: ...
    def __getitem__(self, index: _Part | tuple[_Part, ...], /) -> Tensor: ...
    def __setitem__(self, index: _Part | tuple[_Part, ...], value: Tensor | _Number, /) -> None: ...
    def __bool__(self) -> builtins.bool: ...
    def __float__(self) -> builtins.float: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reverse order."""
    def t(self) -> Tensor:
        """Return the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged."""
    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Return a view with two dimensions exchanged."""
    def permute(self, *dims: int | _Sizes) -> Tensor:
        """Return a view with permuted dimensions."""
    def reshape(self, *shape: int | _Sizes) -> Tensor:
        """Return the elements in another shape: a view if possible, else a copy."""
    def view(self, *shape: int | _Sizes) -> Tensor:
        """Return a view with another shape, of which one size may be -1. Raises ShapeError if a copy would be needed."""
    def flatten(self) -> Tensor:
        """Return the elements in one dimension: a view if possible, and the tensor itself if it has one dimension."""
    def unsqueeze(self, dim: int) -> Tensor:
        """Return a view with a new dimension of size 1 at `dim`."""
    def squeeze(self, dim: int | None = None) -> Tensor:
        """Return a view without dimensions of size 1: all of them, or `dim` if its size is 1."""
    def expand(self, *sizes: int | _Sizes) -> Tensor:
        """Return a view in which dimensions of size 1 are repeated without a copy. A size of -1 is unchanged."""
    def select(self, dim: int, index: int) -> Tensor:
        """Return a view at one index of a dimension, without that dimension."""
    def as_strided(self, size: _Dims, stride: _Dims, storage_offset: int | None = None) -> Tensor:
        """Return a view of the storage with these sizes and strides, in elements."""
    def to(
        self,
        *args: Tensor | _DType | _Device | builtins.bool | None,
        dtype: _DType | None = None,
        device: _Device | None = None,
        non_blocking: builtins.bool = False,
        copy: builtins.bool = False,
    ) -> Tensor:
        """Convert the tensor to another dtype or device.

        Call it as `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(other)`, each followed by `non_blocking` and
        `copy`. Returns the tensor itself if nothing changes and `copy` is False.

        A copy from or to a device is synchronous unless `non_blocking` is True. Then it is queued on the current
        stream, and a copy from a device is placed in pinned memory, whose contents are valid once the stream has
        completed it.
        """
    def cpu(self) -> Tensor:
        """Return the tensor on the CPU, or the tensor itself if it is there."""
    def pin_memory(self, device: _Device | None = None) -> Tensor:
        """Return the tensor in pinned CPU memory, or the tensor itself if it is pinned. `device` is ignored."""
    def is_pinned(self, device: _Device | None = None) -> builtins.bool:
        """Return whether the tensor is in pinned (page-locked) CPU memory."""
    def float(self) -> Tensor:
        """Convert to float32."""
    def double(self) -> Tensor:
        """Convert to float64."""
    def long(self) -> Tensor:
        """Convert to int64."""
    def bool(self) -> Tensor:
        """Convert to bool."""
    def __add__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __radd__(self, other: _Number | _Array, /) -> Tensor: ...
    def __iadd__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __sub__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rsub__(self, other: _Number | _Array, /) -> Tensor: ...
    def __isub__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __mul__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rmul__(self, other: _Number | _Array, /) -> Tensor: ...
    def __imul__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __truediv__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rtruediv__(self, other: _Number | _Array, /) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __pow__(self, exponent: Tensor | _Number | _Array, modulo: None = None, /) -> Tensor: ...
    def __rpow__(self, base: _Number | _Array, modulo: None = None, /) -> Tensor: ...
    def __matmul__(self, other: Tensor | _Array, /) -> Tensor: ...
    def __rmatmul__(self, other: _Array, /) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __eq__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __le__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __gt__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __ge__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def add(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """Return `self + alpha * other`."""
    def sub(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """Return `self - alpha * other`."""
    def mul(self, other: Tensor | _Number) -> Tensor:
        """Return `self * other`."""
    def div(self, other: Tensor | _Number) -> Tensor:
        """Return `self / other`, in floating point also for integers."""
    def pow(self, exponent: Tensor | _Number) -> Tensor:
        """Return `self ** exponent`."""
    def eq(self, other: Tensor | _Number) -> Tensor:
        """Return where the elements equal those of `other`."""
    def matmul(self, other: Tensor) -> Tensor:
        """Return the matrix product; see `interlock.matmul`."""
    def mm(self, other: Tensor) -> Tensor:
        """Return the product of two matrices."""
    def add_(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """Add `alpha * other` in place."""
    def sub_(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """Subtract `alpha * other` in place."""
    def mul_(self, other: Tensor | _Number) -> Tensor:
        """Multiply by `other` in place."""
    def div_(self, other: Tensor | _Number) -> Tensor:
        """Divide by `other` in place. Only for floating-point tensors."""
    def zero_(self) -> Tensor:
        """Set all elements to 0."""
    def fill_(self, value: Tensor | _Number) -> Tensor:
        """Set all elements to `value`. A number also fills an expanded tensor.

        Args:
            value: A number, or a tensor without dimensions, whose gradient is the sum of all gradients.

        Raises:
            ArgumentError: The dtype cannot hold the number.
        """
    def copy_(self, src: Tensor, non_blocking: builtins.bool = False) -> Tensor:
        """Copy the elements of `src`, which is broadcast, converted and moved from its device. With `non_blocking` a
        copy between a device and pinned memory is queued without waiting for it.
        """
    def exp(self) -> Tensor:
        """Return e to the power of each element."""
    def log(self) -> Tensor:
        """Return the natural logarithm of each element."""
    def sqrt(self) -> Tensor:
        """Return the square root of each element."""
    def sin(self) -> Tensor:
        """Return the sine of each element."""
    def cos(self) -> Tensor:
        """Return the cosine of each element."""
    def tanh(self) -> Tensor:
        """Return the hyperbolic tangent of each element."""
    def sigmoid(self) -> Tensor:
        """Return the logistic function of each element."""
    def relu(self) -> Tensor:
        """Return each element, or 0 if it is negative."""
    def neg(self) -> Tensor:
        """Return the negation of each element."""
    def abs(self) -> Tensor:
        """Return the absolute value of each element."""
    def logical_not(self) -> Tensor:
        """Return where the elements are zero."""
    def sum(
        self, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
    ) -> Tensor:
        """Return the sum of all elements, or over `dim`, an int or several. Integers and bools are summed as int64."""
    def mean(
        self, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
    ) -> Tensor:
        """Return the mean of all elements, or over `dim`, an int or several. Only for floating-point tensors."""
    def argmax(self, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the maximum, among all elements in row-major order or along `dim`."""
    def argmin(self, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the minimum, among all elements in row-major order or along `dim`."""
    def max(self) -> Tensor:
        """Return the maximum of all elements."""
    def min(self) -> Tensor:
        """Return the minimum of all elements."""
    def amax(self, dim: _Dims | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the maximum over `dim`, an int or several. Equal maxima share the gradient."""
    def amin(self, dim: _Dims | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the minimum over `dim`, an int or several. Equal minima share the gradient."""
    def log_softmax(self, dim: int, dtype: _DType | None = None) -> Tensor:
        """Return the logarithm of the softmax along `dim`."""
    def softmax(self, dim: int, dtype: _DType | None = None) -> Tensor:
        """Return the exponentials of the elements, normalized to a sum of 1 along `dim`."""

def tensor(
    data: _Nested | npt.NDArray[Any],
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor with a copy of `data`.

    Args:
        data: A number, nested sequences of numbers, an array or a tensor.
        dtype: The element type. None means bool for bools, int64 for ints, and float32 if there is a float.
        device: The device. None means the device of `data` if it is a tensor, else the default device.
        requires_grad: Whether operations on the tensor are recorded.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ValueError: Sequences of one level have different lengths.
        ArgumentError: int64 cannot hold a number.
        TypeError: `data` contains other objects.
    """

def as_tensor(
    data: _Nested | npt.NDArray[Any], dtype: _DType | None = None, device: _Device | None = None
) -> Tensor:
    """Return `data` as a tensor, without a copy if possible.

    A tensor of the requested dtype and device is returned itself, and a NumPy array shares its memory.
    """

def from_numpy(ndarray: npt.NDArray[Any]) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    Read-only and unaligned arrays are copied.

    Raises:
        TypeError: The element type is not float32, float64, int64 or bool.
        ValueError: A stride is negative or no multiple of the element size.
    """

def zeros(
    *size: int | _Sizes,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor of zeros.

    Args:
        size: The sizes, as separate ints or as a tuple or list.
        dtype: The element type; None means float32.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
    """

def ones(
    *size: int | _Sizes,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor of ones.

    Args:
        size: The sizes, as separate ints or as a tuple or list.
        dtype: The element type; None means float32.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
    """

def empty(
    *size: int | _Sizes,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return an uninitialized tensor.

    Args:
        size: The sizes, as separate ints or as a tuple or list.
        dtype: The element type; None means float32.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
    """

def full(
    size: _Dims,
    fill_value: Tensor | _Number,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor filled with a number.

    Args:
        size: The sizes, an int or a tuple or list.
        fill_value: The number, or a tensor with one element.
        dtype: The element type; None means the type of the number.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: The dtype cannot hold the number.
    """

def arange(
    start: Tensor | _Number,
    end: Tensor | _Number | None = None,
    step: Tensor | _Number | None = None,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return the numbers from `start` to `end` (exclusive) in steps of `step`. `arange(end)` starts at 0.

    Without `dtype` the result is int64, or float32 if an argument is a float. For int64 each argument is truncated
    first.

    Raises:
        RuntimeError: `step` is 0 or has the wrong sign.
        ArgumentError: int64 cannot hold an argument.
    """

def zeros_like(
    input: Tensor,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return zeros of the shape, and by default of the dtype and device, of another tensor."""

def ones_like(
    input: Tensor,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return ones of the shape, and by default of the dtype and device, of another tensor."""

def rand(
    *size: int | _Sizes,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return uniformly distributed random numbers from 0 to 1 (exclusive). `manual_seed` sets the seed."""

def randn(
    *size: int | _Sizes,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return random numbers of the standard normal distribution. `manual_seed` sets the seed."""

def manual_seed(seed: int) -> None:
    """Set the seed of the random numbers of the process. The same calls return the same numbers after the same seed."""

def is_tensor(obj: object) -> TypeGuard[Tensor]:
    """Return whether an object is a `Tensor`."""

def is_inference(input: Tensor) -> builtins.bool:
    """Return whether a tensor was created in inference mode."""

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return the matrix product of two tensors.

    A one-dimensional tensor is a row vector on the left and a column vector on the right, and the result does not
    have that dimension. Dimensions before the last two are broadcast.

    Raises:
        DTypeError: The dtypes differ.
        ShapeError: The shapes are incompatible.
    """

def exp(input: Tensor) -> Tensor:
    """Return e to the power of each element. Integers are converted to float32."""

def log(input: Tensor) -> Tensor:
    """Return the natural logarithm of each element. Integers are converted to float32."""

def relu(input: Tensor) -> Tensor:
    """Return each element, or 0 if it is negative."""

def sum(
    input: Tensor, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
) -> Tensor:
    """Return the sum of all elements, or over `dim`, an int or several. Integers and bools are summed as int64."""

def mean(
    input: Tensor, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
) -> Tensor:
    """Return the mean of all elements, or over `dim`, an int or several. Only for floating-point tensors."""

def argmax(input: Tensor, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor:
    """Return the index of the maximum, among all elements in row-major order or along `dim`."""

def cat(tensors: Iterable[Tensor], dim: int = 0) -> Tensor:
    """Concatenate tensors along `dim`. Their other sizes must be equal."""

def stack(tensors: Iterable[Tensor], dim: int = 0) -> Tensor:
    """Stack tensors of equal shapes along a new dimension `dim`."""

def log_softmax(input: Tensor, dim: int, *, dtype: _DType | None = None) -> Tensor:
    """Return the logarithm of the softmax along `dim`, which is also accurate where the softmax underflows."""

def softmax(input: Tensor, dim: int, *, dtype: _DType | None = None) -> Tensor:
    """Return the exponentials of the elements, normalized to a sum of 1 along `dim`."""

def cross_entropy(
    input: Tensor, target: Tensor, *, reduction: Literal["mean", "sum", "none"] = "mean"
) -> Tensor:
    """Return the cross entropy of the rows of `input` for target classes.

    Args:
        input: Logits of shape `[samples, classes]`, floating point.
        target: Class indices of shape `[samples]`, int64.
        reduction: "mean", "sum" or "none".

    Raises:
        IndexError: A target is not a class.
    """

def backward(
    tensors: _Tensors,
    grad_tensors: _Gradients | None = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
    inputs: _Tensors | None = None,
) -> None:
    """Compute the gradients of `tensors` and accumulate them in `grad` of the leaves.

    With `create_graph` it issues a UserWarning, because each leaf and its `grad` then form a reference cycle.

    Args:
        tensors: The tensors to differentiate.
        grad_tensors: The gradient of each tensor. None means 1, for tensors of one element.
        retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
        create_graph: Whether the backward pass is recorded.
        inputs: The tensors in which gradients are accumulated. None means all leaves.
    """

def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Gradients | None = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
    allow_unused: builtins.bool | None = None,
    materialize_grads: builtins.bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, without accumulating in any `grad`.

    Args:
        outputs: The tensors to differentiate.
        inputs: The tensors whose gradients are returned.
        grad_outputs: The gradient of each output. None means 1, for outputs of one element.
        retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
        create_graph: Whether the backward pass is recorded.
        allow_unused: Whether None is returned for an input that the outputs do not depend on.
        materialize_grads: Whether zeros are returned for such an input.

    Raises:
        RuntimeError: The outputs do not depend on an input, and neither option is set.
    """

def _rebuild(
    bytes: builtins.bytes,
    dtype: _DType,
    shape: Sequence[int],
    requires_grad: builtins.bool,
    device: _Device | None = None,
) -> Tensor: ...
