import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import EllipsisType, TracebackType
from typing import (
    Any,
    Literal,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    TypeGuard,
    final,
    overload,
    type_check_only,
)

import numpy.typing as npt
from interlock._core.accelerator import _CudaStream, device as _DeviceObject
from typing_extensions import disjoint_base

__all__ = [
    "Node",
    "RemovableHandle",
    "Tensor",
    "addmm",
    "arange",
    "argmax",
    "as_tensor",
    "backward",
    "bfloat16",
    "bmm",
    "bool",
    "cat",
    "conv2d",
    "cross_entropy",
    "dtype",
    "einsum",
    "empty",
    "exp",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "full",
    "get_num_threads",
    "grad",
    "half",
    "int64",
    "is_inference",
    "is_tensor",
    "linear",
    "log",
    "log_softmax",
    "manual_seed",
    "matmul",
    "mean",
    "mm",
    "multi_head_attention",
    "nll_loss",
    "ones",
    "ones_like",
    "rand",
    "randn",
    "relu",
    "saved_tensors_hooks",
    "scaled_dot_product_attention",
    "set_num_threads",
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
    """The type of a tensor's elements: `interlock.float16` (or `half`), `bfloat16`, `float32`, `float64`, `int64` or `bool`.

    Example:
        >>> import interlock
        >>> interlock.float32.itemsize, interlock.int64.is_floating_point
        (4, False)
    """
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

float16: dtype
half: dtype
bfloat16: dtype
float32: dtype
float64: dtype
int64: dtype
bool: dtype

@final
class RemovableHandle:
    """A registered hook. As a context manager it removes the hook on exit.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2, requires_grad=True)
        >>> with x.register_hook(lambda grad: grad * 10):
        ...     x.sum().backward()
        >>> x.sum().backward()
        >>> x.grad
        tensor([11., 11.])
    """
    @property
    def id(self) -> int:
        """A number that no other hook has. Hooks that were registered later have greater numbers."""
    def remove(self) -> None:
        """Remove the hook. A backward pass that is running the hook's node still calls it. The second call does nothing."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@disjoint_base
class Node:
    """A node of the autograd graph: an operation, or the accumulation of gradients in a leaf."""
    def name(self) -> str:
        """Return the name of the operation, such as "AddBackward0", or "AccumulateGrad" for a leaf.

        For a call of `autograd.Function` it is the name of the class followed by "Backward".

        Example:
            >>> import interlock
            >>> x = interlock.ones(2, requires_grad=True)
            >>> (x * 2).grad_fn.name()
            'MulBackward0'
        """
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input a pair of the node that receives its gradient (None without a gradient) and the position of the
        input among the results of that node.
        """
    @property
    def variable(self) -> Tensor:
        """The leaf of an "AccumulateGrad" node.

        Raises:
            AttributeError: The node is an operation.
        """
    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for data of the program about the node. In anomaly mode `"traceback_"` is the list of the lines of the
        stack that created the node.
        """
    def register_hook(
        self,
        hook: Callable[
            [tuple[Tensor | None, ...], tuple[Tensor | None, ...]], tuple[Tensor | None, ...] | None
        ],
    ) -> RemovableHandle:
        """Register a function that is called after the node in each backward pass.

        Args:
            hook: Called with the tuples of gradients of the inputs and of the results. It returns None, or a tuple of
                gradients of the inputs to use instead. For "AccumulateGrad" there are no gradients of inputs.

        Returns:
            A handle whose `remove` removes the hook.

        Raises:
            RuntimeError: The node is a call of `autograd.Function` that was not recorded.
            TypeError: `hook` is not callable.

        Example:
            >>> import interlock
            >>> x = interlock.ones(1, requires_grad=True)
            >>> y = x * 2
            >>> handle = y.grad_fn.register_hook(lambda inputs, results: print(inputs[0], results[0]))
            >>> y.backward()
            tensor([2.]) tensor([1.])
        """
    def register_prehook(
        self, hook: Callable[[tuple[Tensor | None, ...]], tuple[Tensor | None, ...] | None]
    ) -> RemovableHandle:
        """Register a function that is called before the node in each backward pass.

        Args:
            hook: Called with the tuple of gradients of the results. It returns None, or a tuple of gradients to use
                instead.

        Returns:
            A handle whose `remove` removes the hook.

        Raises:
            RuntimeError: The node is a call of `autograd.Function` that was not recorded.
            TypeError: `hook` is not callable.

        Example:
            >>> import interlock
            >>> x = interlock.ones(1, requires_grad=True)
            >>> y = x * 2
            >>> handle = y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 10,))
            >>> y.backward()
            >>> x.grad
            tensor([20.])
        """
    def _sequence_nr(self) -> int: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

class _FunctionNode(Node):
    def __new__(cls) -> Self: ...
    @property
    def saved_tensors(self) -> tuple[Any, ...]: ...

def _record_function(
    ctx: _FunctionNode,
    name: str,
    inputs: tuple[Tensor, ...],
    results: tuple[Tensor, ...],
    dirty: tuple[Tensor, ...],
    non_differentiable: tuple[Tensor, ...],
    saved: tuple[Tensor | None, ...],
    materialize_grads: builtins.bool,
) -> tuple[Tensor, ...]: ...

@disjoint_base
class saved_tensors_hooks:
    """Pack the tensors that operations save for the backward pass, for example to store them on the CPU or on disk.

    A context manager. It applies to the thread that enters it, and to other threads and tasks to which a captured state
    is applied. Inside another one, only the inner one is used.

    Args:
        pack_hook: Called with each tensor that is saved. It returns any object. It must not change the tensor.
        unpack_hook: Called with that object when the backward pass needs the tensor. It returns a tensor with equal
            elements.

    Raises:
        TypeError: A hook is not callable.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
        >>> with interlock.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), interlock.tensor):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """
    def __new__(cls, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> Self: ...
    @property
    def pack_hook(self) -> Callable[[Tensor], Any]:
        """The function that packs a tensor."""
    @property
    def unpack_hook(self) -> Callable[[Any], Tensor]:
        """The function that unpacks a tensor."""
    def __enter__(self) -> None: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@disjoint_base
class Tensor:
    """A multi-dimensional array with a single dtype.

    Created by `interlock.tensor`, `interlock.zeros` and similar functions. Operations are recorded if an operand
    requires grad; `backward` then computes gradients. Results of operations on a subclass are plain tensors.

    Args:
        data: The tensor whose memory the new one shares, without its history.

    Raises:
        TypeError: `data` is not a tensor.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * 3).sum().backward()
        >>> x.grad
        tensor([3., 3.])
    """

    __array_priority__: builtins.float
    def __new__(cls, data: Tensor) -> Self: ...
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
        """Return the sizes of the dimensions, or the size of one of them.

        Args:
            dim: The dimension. None means all.

        Returns:
            A tuple, or an int for one dimension.

        Raises:
            IndexError: The tensor does not have dimension `dim`.

        Example:
            >>> import interlock
            >>> x = interlock.zeros(2, 3)
            >>> x.size(), x.size(-1)
            ((2, 3), 3)
        """
    @overload
    def size(self, dim: int) -> int: ...
    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]:
        """Return the stride of each dimension in elements, or the stride of one of them.

        Args:
            dim: The dimension. None means all.

        Returns:
            A tuple, or an int for one dimension.

        Raises:
            IndexError: The tensor does not have dimension `dim`.

        Example:
            >>> import interlock
            >>> x = interlock.zeros(2, 3)
            >>> x.stride(), x.t().stride(0)
            ((3, 1), 1)
        """
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
        """Whether operations on the tensor are recorded. It can be set on floating-point leaves.

        Raises:
            DTypeError: True is set on a tensor that is not floating point.
            RuntimeError: False is set on the result of an operation.
        """
    @requires_grad.setter
    def requires_grad(self, value: builtins.bool, /) -> None: ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Self:
        """Set `requires_grad` and return the tensor itself.

        Args:
            requires_grad: Whether operations on the tensor are recorded.

        Raises:
            DTypeError: True is set on a tensor that is not floating point.
            RuntimeError: False is set on the result of an operation.

        Example:
            >>> import interlock
            >>> interlock.ones(2).requires_grad_()
            tensor([1., 1.], requires_grad=True)
        """
    @property
    def is_leaf(self) -> builtins.bool:
        """Whether the tensor is not the result of a recorded operation."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated, or None. Deleting it sets None.

        Reading None from the result of an operation issues a UserWarning: only leaves, and results on which
        `retain_grad` was called, get a gradient.

        Raises:
            TypeError: A value that is neither a tensor nor None is set.
            ShapeError: A gradient of another shape is set.
            DTypeError: A gradient of another dtype is set.
        """
    @grad.setter
    def grad(self, value: Tensor | None, /) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that produced the tensor, or None."""
    @property
    def output_nr(self) -> int:
        """The position of the tensor among the results of `grad_fn`."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Register a function that is called with the gradient of the tensor in each backward pass.

        The gradient is complete: all contributions of the pass have been added. Hooks are called in the order of their
        registration, each with the result of the one before. If the tensor is changed in place later, the hook still
        receives the gradient of the value before the change.

        Args:
            hook: Called with the gradient. It returns None, or a tensor of the same shape, dtype and device to use
                instead. An exception ends the backward pass and propagates.

        Returns:
            A handle whose `remove` removes the hook.

        Raises:
            RuntimeError: The tensor does not require grad.
            TypeError: `hook` is not callable.

        Example:
            >>> import interlock
            >>> x = interlock.ones(2, requires_grad=True)
            >>> handle = x.register_hook(lambda grad: grad * 10)
            >>> x.sum().backward()
            >>> x.grad
            tensor([10., 10.])
        """
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Register a function that is called after a backward pass has accumulated a gradient in `grad` of this leaf.

        Args:
            hook: Called with the tensor. It returns None. An optimizer may use the gradient and set `grad` to None, so
                that its memory is released before the backward pass ends.

        Returns:
            A handle whose `remove` removes the hook.

        Raises:
            ArgumentError: The tensor is the result of an operation.
            RuntimeError: The tensor does not require grad.
            TypeError: `hook` is not callable.

        Example:
            >>> import interlock
            >>> x = interlock.ones(2, requires_grad=True)
            >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
            >>> x.sum().backward()
            tensor([1., 1.])
        """
    def retain_grad(self) -> None:
        """Make backward passes accumulate the gradient of a non-leaf tensor in `grad`. Leaves always accumulate.

        Raises:
            RuntimeError: The tensor does not require grad.

        Example:
            >>> import interlock
            >>> x = interlock.ones(1, requires_grad=True)
            >>> y = x * 2
            >>> y.retain_grad()
            >>> (y * 3).backward()
            >>> y.grad, x.grad
            (tensor([3.]), tensor([6.]))
        """
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
            inputs: One tensor or several in which gradients are accumulated. None means all leaves.

        Raises:
            RuntimeError: The tensor does not require grad, or has several elements and no gradient is passed.
            RuntimeError: A saved tensor was changed in place.
            ArgumentError: `inputs` is empty, or there are not as many gradients as outputs.
            GraphFreedError: An earlier backward pass has freed the saved tensors.
            ShapeError: A gradient does not have the shape of its tensor.

        Example:
            >>> import interlock
            >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([2., 4.])
        """
    @property
    def data(self) -> Tensor:
        """A tensor that shares memory with this one and has no history, like `detach()`.

        In-place changes of it count as changes of this tensor, so that a backward pass that needs the old values fails.
        """
    def detach_(self) -> Self:
        """Remove the history of the tensor in place: it becomes a leaf that does not require grad.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The tensor is a view, whose history is that of its base.

        Example:
            >>> import interlock
            >>> x = interlock.ones(2, requires_grad=True) * 2
            >>> x.detach_().is_leaf
            True
        """
    def detach(self) -> Tensor:
        """Return a tensor that shares memory with this one and has no history.

        Example:
            >>> import interlock
            >>> x = interlock.ones(2, requires_grad=True)
            >>> x.detach().requires_grad
            False
        """
    def clone(self) -> Tensor:
        """Return a copy of the tensor, as a recorded operation."""
    def contiguous(self) -> Tensor:
        """Return the tensor itself if it is contiguous, else a contiguous copy."""
    def item(self) -> builtins.bool | int | builtins.float:
        """Return the only element as a bool, an int or a float.

        For a device tensor this waits for the queued work.

        Raises:
            ShapeError: The tensor does not have exactly one element.

        Example:
            >>> import interlock
            >>> interlock.tensor([2.5]).item()
            2.5
        """
    def tolist(self) -> Any:
        """Return the elements as nested lists, or the element itself for a tensor without dimensions.

        Example:
            >>> import interlock
            >>> interlock.tensor([[1, 2], [3, 4]]).tolist()
            [[1, 2], [3, 4]]
        """
    def numpy(self, *, force: builtins.bool = False) -> npt.NDArray[Any]:
        """Return a `numpy.ndarray` that shares the tensor's memory.

        Args:
            force: Whether a tensor that requires grad is detached and a device tensor is copied to the CPU.

        Raises:
            RuntimeError: The tensor requires grad while gradients are enabled, because NumPy records nothing.
            TypeError: The tensor is on a device, whose memory NumPy cannot share.

        Example:
            >>> import interlock
            >>> interlock.tensor([1.0, 2.0]).numpy()
            array([1., 2.], dtype=float32)
        """
    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: builtins.bool | None = None
    ) -> npt.NDArray[Any]: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
        def __release_buffer__(self, buffer: memoryview, /) -> None: ...

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: builtins.bool | None = None,
    ) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
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
        """Return the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged.

        Raises:
            ShapeError: The tensor has more than two dimensions.
        """
    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Return a view with two dimensions exchanged.

        Args:
            dim0: The first dimension. Negative dimensions count from the last.
            dim1: The second dimension.

        Raises:
            IndexError: The tensor does not have one of the dimensions.

        Example:
            >>> import interlock
            >>> interlock.zeros(2, 3, 4).transpose(0, -1).shape
            (4, 3, 2)
        """
    def permute(self, *dims: int | _Sizes) -> Tensor:
        """Return a view with permuted dimensions.

        Args:
            dims: The dimensions of this tensor in their new order, as separate ints or as one tuple or list.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
            ArgumentError: A dimension is missing or named twice.

        Example:
            >>> import interlock
            >>> interlock.zeros(2, 3, 4).permute(2, 0, 1).shape
            (4, 2, 3)
        """
    def reshape(self, *shape: int | _Sizes) -> Tensor:
        """Return the elements in another shape: a view if possible, else a copy.

        Args:
            shape: The sizes, as separate ints or as one tuple or list. One size may be -1, and is inferred.

        Raises:
            ShapeError: The number of elements differs.

        Example:
            >>> import interlock
            >>> interlock.arange(4).view(2, 2).t().reshape(-1)
            tensor([0, 2, 1, 3])
        """
    def view(self, *shape: int | _Sizes) -> Tensor:
        """Return a view with another shape.

        Args:
            shape: The sizes, as separate ints or as one tuple or list. One size may be -1, and is inferred.

        Raises:
            ShapeError: The number of elements differs, or a copy would be needed; see `reshape`.

        Example:
            >>> import interlock
            >>> interlock.arange(6).view(2, -1)
            tensor([[0, 1, 2],
                    [3, 4, 5]])
        """
    def flatten(self) -> Tensor:
        """Return the elements in one dimension: a view if possible, and the tensor itself if it has one dimension."""
    def unsqueeze(self, dim: int) -> Tensor:
        """Return a view with a new dimension of size 1.

        Args:
            dim: The position of the new dimension, from -ndim - 1 to ndim.

        Raises:
            IndexError: `dim` is out of range.

        Example:
            >>> import interlock
            >>> interlock.zeros(2, 3).unsqueeze(1).shape
            (2, 1, 3)
        """
    def squeeze(self, dim: int | None = None) -> Tensor:
        """Return a view without dimensions of size 1.

        Args:
            dim: The dimension to remove, which stays if its size is not 1. None means all of size 1.

        Raises:
            IndexError: The tensor does not have dimension `dim`.

        Example:
            >>> import interlock
            >>> interlock.zeros(1, 2, 1).squeeze().shape
            (2,)
        """
    def expand(self, *sizes: int | _Sizes) -> Tensor:
        """Return a view in which dimensions of size 1 are repeated without a copy.

        Args:
            sizes: The new sizes, as separate ints or as one tuple or list. -1 keeps a size; new dimensions come first.

        Raises:
            ShapeError: A size other than 1 would change.

        Example:
            >>> import interlock
            >>> interlock.tensor([[1], [2]]).expand(-1, 3)
            tensor([[1, 1, 1],
                    [2, 2, 2]])
        """
    def select(self, dim: int, index: int) -> Tensor:
        """Return a view at one index of a dimension, without that dimension.

        Args:
            dim: The dimension.
            index: The index. Negative indices count from the end.

        Raises:
            IndexError: `dim` or `index` is out of range, or the tensor has no dimensions.

        Example:
            >>> import interlock
            >>> interlock.tensor([[1, 2], [3, 4]]).select(1, -1)
            tensor([2, 4])
        """
    def as_strided(self, size: _Dims, stride: _Dims, storage_offset: int | None = None) -> Tensor:
        """Return a view of the storage with any sizes and strides.

        Args:
            size: The sizes, as an int or as a tuple or list.
            stride: The stride of each dimension in elements, not negative.
            storage_offset: The offset of the first element in the storage, in elements. None means that of this tensor.

        Raises:
            ShapeError: The view exceeds the storage.
            ArgumentError: A number is negative, or there are not as many strides as sizes.

        Example:
            >>> import interlock
            >>> interlock.arange(4).as_strided((3, 2), (1, 1))
            tensor([[0, 1],
                    [1, 2],
                    [2, 3]])
        """
    def to(
        self,
        *args: Tensor | _DType | _Device | builtins.bool | None,
        dtype: _DType | None = None,
        device: _Device | None = None,
        non_blocking: builtins.bool = False,
        copy: builtins.bool = False,
    ) -> Tensor:
        """Convert the tensor to another dtype or device.

        A copy from or to a device is synchronous unless `non_blocking` is True. Then it is queued on the current
        stream, and a copy from a device is placed in pinned memory, whose contents are valid once the stream has
        completed it.

        Args:
            args: A dtype, a device or both, or another tensor for its dtype and device; then `non_blocking` and `copy`.
            dtype: The element type; None means no change.
            device: The device; None means no change.
            non_blocking: Whether a copy between a device and pinned memory is queued without waiting for it.
            copy: Whether the tensor is copied if nothing changes.

        Returns:
            The tensor itself if nothing changes and `copy` is False, else a new tensor.

        Raises:
            NoAcceleratorError: The device needs an accelerator, and none is available.
            DeviceError: A value does not name a device.
            TypeError: Too many arguments were passed.

        Example:
            >>> import interlock
            >>> interlock.tensor([1.5, 2.5]).to(interlock.int64)
            tensor([1, 2])
        """
    def cpu(self) -> Tensor:
        """Return the tensor on the CPU, or the tensor itself if it is there."""
    def pin_memory(self, device: _Device | None = None) -> Tensor:
        """Return the tensor in pinned (page-locked) CPU memory, or the tensor itself if it is pinned.

        Args:
            device: Ignored, except that it must name a device.

        Raises:
            NoAcceleratorError: No accelerator is available.
            RuntimeError: The tensor is on a device.
            DeviceError: `device` does not name a device.
        """
    def is_pinned(self, device: _Device | None = None) -> builtins.bool:
        """Return whether the tensor is in pinned (page-locked) CPU memory.

        Args:
            device: Ignored, except that it must name a device.

        Raises:
            DeviceError: `device` does not name a device.
        """
    def record_stream(self, stream: _CudaStream) -> None:
        """Record that work of another library on a stream uses the tensor. After its memory is freed, it is reused only
        after the work that is queued on the stream by then. The operations of interlock record their streams themselves.

        Args:
            stream: A `Stream`, or an object with `__cuda_stream__`.

        Raises:
            RuntimeError: The tensor is in memory of the CPU that is not pinned.
            TypeError: `stream` is not a stream.

        Example:
            >>> import interlock
            >>> from interlock import accelerator
            >>> accelerator.use("host")
            >>> x = interlock.ones(2, device="host:0")
            >>> x.record_stream(interlock.Stream("host:0"))
        """
    def half(self) -> Tensor:
        """Convert to float16. Returns the tensor itself if it is a float16 tensor."""
    def bfloat16(self) -> Tensor:
        """Convert to bfloat16. Returns the tensor itself if it is a bfloat16 tensor."""
    def float(self) -> Tensor:
        """Convert to float32. Returns the tensor itself if it is a float32 tensor."""
    def double(self) -> Tensor:
        """Convert to float64. Returns the tensor itself if it is a float64 tensor."""
    def long(self) -> Tensor:
        """Convert to int64, by truncation. Returns the tensor itself if it is an int64 tensor."""
    def bool(self) -> Tensor:
        """Convert to bool: False for 0. Returns the tensor itself if it is a bool tensor."""
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
    def __mod__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rmod__(self, other: _Number | _Array, /) -> Tensor: ...
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
        """Return `self + alpha * other`. The sum of bools is the logical or.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            alpha: A number by which `other` is multiplied first; None means 1.

        Raises:
            DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
            ArgumentError: The promoted dtype cannot hold `alpha`.
            ShapeError: The shapes cannot be broadcast.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).add(interlock.tensor([1, 1]), alpha=10)
            tensor([11, 12])
        """
    def sub(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """Return `self - alpha * other`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            alpha: A number by which `other` is multiplied first; None means 1.

        Raises:
            DTypeError: An operand is bool.
            DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
            ArgumentError: The promoted dtype cannot hold `alpha`.
            ShapeError: The shapes cannot be broadcast.

        Example:
            >>> import interlock
            >>> interlock.tensor([11, 12]).sub(1, alpha=10)
            tensor([1, 2])
        """
    def mul(self, other: Tensor | _Number) -> Tensor:
        """Return `self * other`, elementwise. The product of bools is the logical and.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).mul(interlock.tensor([3.0, 4.0]))
            tensor([3., 8.])
        """
    def div(self, other: Tensor | _Number) -> Tensor:
        """Return `self / other`, elementwise. The quotient of integers is float32.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).div(2)
            tensor([0.5000, 1.0000])
        """
    def pow(self, exponent: Tensor | _Number) -> Tensor:
        """Return `self ** exponent`, elementwise.

        Args:
            exponent: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ArgumentError: The promoted dtype is int64, and `exponent` is a negative number.
            DTypeError: Both are bool tensors.
            ShapeError: The shapes cannot be broadcast.

        Example:
            >>> import interlock
            >>> interlock.tensor([2, 3]).pow(2)
            tensor([4, 9])
        """
    def remainder(self, other: Tensor | _Number) -> Tensor:
        """Return the remainder of `self / other`, elementwise, with the sign of `other`, as Python's `%`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ArgumentError: Integers on the CPU are divided by 0.
            DTypeError: An operand is bool.
            ShapeError: The shapes cannot be broadcast.

        Example:
            >>> import interlock
            >>> interlock.tensor([5, -5]).remainder(3)
            tensor([2, 1])
        """
    def eq(self, other: Tensor | _Number) -> Tensor:
        """Return a bool tensor that is True where the elements are equal to those of `other`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).eq(interlock.tensor([1, 3]))
            tensor([ True, False])
        """
    def bmm(self, mat2: Tensor) -> Tensor:
        """Return the matrix products of two batches of matrices; see `interlock.bmm`.

        Args:
            mat2: The right batch, of shape [b, k, m], of the same dtype; this one has shape [b, n, k].

        Raises:
            DTypeError: The dtypes differ or are bool.
            ShapeError: A tensor does not have 3 dimensions, or the sizes differ.
        """
    def addmm(
        self,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: _Number | None = None,
        alpha: _Number | None = None,
    ) -> Tensor:
        """Return `beta * self + alpha * (mat1 @ mat2)`; see `interlock.addmm`.

        Args:
            mat1: A matrix of shape [n, k], of the same dtype.
            mat2: A matrix of shape [k, m], of the same dtype.
            beta: A number; None means 1.
            alpha: A number; None means 1.

        Raises:
            DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
            ShapeError: The shapes are incompatible.
        """
    def matmul(self, other: Tensor) -> Tensor:
        """Return the matrix product with another tensor; see `interlock.matmul`.

        Args:
            other: The right tensor, of shape [..., k, m] or [k], of the same dtype.

        Raises:
            DTypeError: The dtypes differ or are bool.
            ShapeError: The shapes are incompatible.
        """
    def mm(self, mat2: Tensor) -> Tensor:
        """Return the matrix product of two matrices.

        Args:
            mat2: A matrix of shape [k, m], of the same dtype; this one has shape [n, k].

        Returns:
            A matrix of shape [n, m].

        Raises:
            DTypeError: The dtypes differ or are bool.
            ShapeError: A tensor is not a matrix, or the inner sizes differ.

        Example:
            >>> import interlock
            >>> interlock.ones(2, 3).mm(interlock.ones(3, 1))
            tensor([[3.],
                    [3.]])
        """
    def add_(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """In-place version of `add`.

        Args:
            other: A tensor or a number, which is broadcast to the shape of this tensor.
            alpha: A number by which `other` is multiplied first; None means 1.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the result cannot be cast to that of this tensor.
            ShapeError: `other` cannot be broadcast to the shape of this tensor.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def sub_(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """In-place version of `sub`.

        Args:
            other: A tensor or a number, which is broadcast to the shape of this tensor.
            alpha: A number by which `other` is multiplied first; None means 1.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: An operand is bool.
            DTypeError: The dtype of the result cannot be cast to that of this tensor.
            ShapeError: `other` cannot be broadcast to the shape of this tensor.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def mul_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `mul`.

        Args:
            other: A tensor or a number, which is broadcast to the shape of this tensor.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the result cannot be cast to that of this tensor.
            ShapeError: `other` cannot be broadcast to the shape of this tensor.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def div_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `div`. Only for floating-point tensors.

        Args:
            other: A tensor or a number, which is broadcast to the shape of this tensor.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the result cannot be cast to that of this tensor.
            ShapeError: `other` cannot be broadcast to the shape of this tensor.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def zero_(self) -> Tensor:
        """Set all elements to 0.

        Returns:
            The tensor itself.

        Raises:
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.
        """
    def fill_(self, value: Tensor | _Number) -> Tensor:
        """Set all elements to `value`. A number also fills an expanded tensor.

        Args:
            value: A number, or a tensor without dimensions, whose gradient is the sum of all gradients.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The dtype cannot hold the number.
            ShapeError: `value` is a tensor with dimensions.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.

        Example:
            >>> import interlock
            >>> interlock.zeros(2).fill_(3)
            tensor([3., 3.])
        """
    def copy_(self, src: Tensor, non_blocking: builtins.bool = False) -> Tensor:
        """Copy the elements of another tensor into this one.

        Args:
            src: The tensor, which is broadcast, converted to this dtype and moved to this device.
            non_blocking: Whether a copy between a device and pinned memory is queued without waiting for it.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: `src` cannot be broadcast to the shape of this tensor.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.

        Example:
            >>> import interlock
            >>> interlock.zeros(2).copy_(interlock.tensor([1, 2]))
            tensor([1., 2.])
        """
    def exp(self) -> Tensor:
        """Return e to the power of each element. Integers and bools are converted to float32."""
    def log(self) -> Tensor:
        """Return the natural logarithm of each element. Integers and bools are converted to float32."""
    def sqrt(self) -> Tensor:
        """Return the square root of each element; NaN for negative ones. Integers and bools are converted to float32."""
    def sin(self) -> Tensor:
        """Return the sine of each element, in radians. Integers and bools are converted to float32."""
    def cos(self) -> Tensor:
        """Return the cosine of each element, in radians. Integers and bools are converted to float32."""
    def tanh(self) -> Tensor:
        """Return the hyperbolic tangent of each element. Integers and bools are converted to float32."""
    def sigmoid(self) -> Tensor:
        """Return the logistic function `1 / (1 + exp(-x))` of each element. Integers and bools are converted to float32."""
    def relu(self) -> Tensor:
        """Return each element, or 0 if it is negative. The gradient at 0 is 0.

        Raises:
            DTypeError: The tensor is a bool tensor.
        """
    def neg(self) -> Tensor:
        """Return the negation of each element.

        Raises:
            DTypeError: The tensor is a bool tensor.
        """
    def abs(self) -> Tensor:
        """Return the absolute value of each element. The gradient at 0 is 0."""
    def logical_not(self) -> Tensor:
        """Return a bool tensor that is True where the elements are zero."""
    def sum(
        self, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
    ) -> Tensor:
        """Return the sum of all elements, or over one or several dimensions.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.
            dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.

        Example:
            >>> import interlock
            >>> x = interlock.tensor([[1, 2], [3, 4]])
            >>> x.sum(), x.sum(0)
            (tensor(10), tensor([4, 6]))
        """
    def mean(
        self, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
    ) -> Tensor:
        """Return the mean of all elements, or over one or several dimensions. The mean of no elements is NaN.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.
            dtype: The floating-point dtype to convert the elements to first. None means no change.

        Raises:
            DTypeError: The elements are not floating point, and `dtype` does not convert them.
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.

        Example:
            >>> import interlock
            >>> x = interlock.tensor([[1.0, 2.0], [3.0, 4.0]])
            >>> x.mean(1)
            tensor([1.5000, 3.5000])
        """
    def argmax(self, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the maximum, among all elements or along a dimension.

        Args:
            dim: The dimension. None means all elements, which are counted in row-major order.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            An int64 tensor. Of equal elements the first index counts; NaN counts as the maximum.

        Raises:
            DTypeError: The tensor is a bool tensor.
            IndexError: The tensor does not have dimension `dim`.
            ShapeError: The reduced dimension has size 0.

        Example:
            >>> import interlock
            >>> x = interlock.tensor([[1, 5], [7, 2]])
            >>> x.argmax(), x.argmax(1)
            (tensor(2), tensor([1, 0]))
        """
    def argmin(self, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the minimum, among all elements or along a dimension.

        Args:
            dim: The dimension. None means all elements, which are counted in row-major order.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            An int64 tensor. Of equal elements the first index counts; NaN counts as the minimum.

        Raises:
            DTypeError: The tensor is a bool tensor.
            IndexError: The tensor does not have dimension `dim`.
            ShapeError: The reduced dimension has size 0.

        Example:
            >>> import interlock
            >>> x = interlock.tensor([[1, 5], [7, 2]])
            >>> x.argmin(), x.argmin(1)
            (tensor(0), tensor([0, 1]))
        """
    def max(self) -> Tensor:
        """Return the maximum of all elements; NaN if an element is NaN. Equal maxima share the gradient.

        Raises:
            ShapeError: The tensor has no elements.
        """
    def min(self) -> Tensor:
        """Return the minimum of all elements; NaN if an element is NaN. Equal minima share the gradient.

        Raises:
            ShapeError: The tensor has no elements.
        """
    def amax(self, dim: _Dims | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the maximum of all elements, or over one or several dimensions.

        The result is NaN where an element is NaN. Equal maxima share the gradient.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
            ShapeError: A reduced dimension has size 0.
        """
    def amin(self, dim: _Dims | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the minimum of all elements, or over one or several dimensions.

        The result is NaN where an element is NaN. Equal minima share the gradient.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
            ShapeError: A reduced dimension has size 0.
        """
    def log_softmax(self, dim: int, dtype: _DType | None = None) -> Tensor:
        """Return the logarithm of the softmax along a dimension; accurate also where the softmax underflows.

        Args:
            dim: The dimension along which the softmax sums to 1.
            dtype: The floating-point dtype to convert the elements to first. None means no change.

        Raises:
            DTypeError: The elements are not floating point, and `dtype` does not convert them.
            IndexError: The tensor does not have dimension `dim`.

        Example:
            >>> import interlock
            >>> interlock.tensor([1.0, 2.0]).log_softmax(0)
            tensor([-1.3133, -0.3133])
        """
    def softmax(self, dim: int, dtype: _DType | None = None) -> Tensor:
        """Return the exponentials of the elements, normalized to a sum of 1 along a dimension.

        Args:
            dim: The dimension along which the result sums to 1.
            dtype: The floating-point dtype to convert the elements to first. None means no change.

        Raises:
            DTypeError: The elements are not floating point, and `dtype` does not convert them.
            IndexError: The tensor does not have dimension `dim`.

        Example:
            >>> import interlock
            >>> interlock.tensor([0.0, 0.0]).softmax(0)
            tensor([0.5000, 0.5000])
        """

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
        data: A number, nested sequences of numbers, a NumPy array or a tensor.
        dtype: The element type. None means that of an array or tensor, else bool, int64 or float32 for Python numbers.
        device: The device. None means the default device; if none is set, the device of `data` if it is a tensor.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ValueError: Sequences of one level have different lengths, or are nested more than 64 levels deep.
        ArgumentError: int64 cannot hold a number.
        OverflowError: `dtype` is floating point and float64 cannot hold an int.
        TypeError: `data` contains other objects.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> interlock.tensor([1, 2.5]).dtype
        interlock.float32
    """

def as_tensor(
    data: _Nested | npt.NDArray[Any], dtype: _DType | None = None, device: _Device | None = None
) -> Tensor:
    """Return `data` as a tensor, without a copy if possible.

    Args:
        data: A number, nested sequences of numbers, a NumPy array or a tensor.
        dtype: The element type. None means the type that `tensor` infers.
        device: The device. None means the default device; if none is set, the device of `data` if it is a tensor.

    Returns:
        `data` itself if it is a tensor of that dtype and device. The memory of such an array is shared.

    Raises:
        ValueError: Sequences of one level have different lengths, or a stride of an array is not supported.
        ArgumentError: int64 cannot hold a number.
        TypeError: `data` contains other objects.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2)
        >>> interlock.as_tensor(x) is x
        True
    """

def from_numpy(ndarray: npt.NDArray[Any]) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    Read-only and unaligned arrays are copied.

    Args:
        ndarray: A `numpy.ndarray` of dtype float16, float32, float64, int64 or bool, or of `ml_dtypes.bfloat16`.

    Raises:
        TypeError: `ndarray` is not an array, or its dtype is not supported.
        ValueError: A stride is negative or not a multiple of the element size.

    Example:
        >>> import interlock
        >>> import numpy
        >>> array = numpy.zeros(2)
        >>> interlock.from_numpy(array).fill_(1)
        tensor([1., 1.], dtype=interlock.float64)
        >>> array
        array([1., 1.])
    """

def from_dlpack(
    ext_tensor: object, *, device: _Device | None = None, copy: builtins.bool | None = None
) -> Tensor:
    """Return a tensor that shares the memory of an object of another library, through DLPack.

    Read-only memory is copied.

    Args:
        ext_tensor: An object with `__dlpack__` and `__dlpack_device__`, or a DLPack capsule. Its memory must be on the
            CPU, unless it is a tensor of interlock.
        device: The device of the result. None means that of `ext_tensor`. The CPU requests a copy of memory elsewhere.
        copy: Whether to copy the elements. None copies if it is necessary, and False raises BufferError then.

    Raises:
        TypeError: `ext_tensor` does not support DLPack, or interlock does not have its dtype.
        BufferError: The memory is on another device, its layout is not supported, or a copy is needed and forbidden.

    Example:
        >>> import interlock
        >>> import numpy
        >>> array = numpy.zeros(2, dtype="float16")
        >>> interlock.from_dlpack(array).fill_(1)
        tensor([1., 1.], dtype=interlock.float16)
        >>> array
        array([1., 1.], dtype=float16)
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
        size: The sizes, as separate ints or as one tuple or list.
        dtype: The element type; None means float32.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
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
        size: The sizes, as separate ints or as one tuple or list.
        dtype: The element type; None means float32.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.ones((2,), dtype=interlock.int64)
        tensor([1, 1])
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
        size: The sizes, as separate ints or as one tuple or list.
        dtype: The element type; None means float32.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.empty(2, 3).shape
        (2, 3)
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
        size: The sizes, as an int or as a tuple or list.
        fill_value: The number, or a tensor with one element.
        dtype: The element type. None means bool for a bool, int64 for an int, and float32 for a float.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: The dtype cannot hold the number.
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
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

    Each argument is a number or a tensor with one element. If the dtype is int64, each one is truncated first.

    Args:
        start: The first number, or the bound if `end` is None.
        end: The bound, which the result does not contain. None means that `start` is the bound and 0 the start.
        step: The difference of two neighbours, which may be negative; None means 1.
        dtype: The element type. None means int64, or float32 if an argument is a float.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: `step` is 0 or has the wrong sign, a bound is not finite, or the dtype is int64 and cannot hold an
            argument.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.arange(3)
        tensor([0, 1, 2])
        >>> interlock.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """

def zeros_like(
    input: Tensor,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor of zeros with the shape of another tensor.

    Args:
        input: The tensor whose shape and memory order are used.
        dtype: The element type; None means that of `input`.
        device: The device; None means that of `input`.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.zeros_like(interlock.tensor([1, 2]))
        tensor([0, 0])
    """

def ones_like(
    input: Tensor,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor of ones with the shape of another tensor.

    Args:
        input: The tensor whose shape and memory order are used.
        dtype: The element type; None means that of `input`.
        device: The device; None means that of `input`.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.ones_like(interlock.tensor([1, 2]), dtype=interlock.float32)
        tensor([1., 1.])
    """

def rand(
    *size: int | _Sizes,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return random numbers that are uniformly distributed from 0 to 1 (exclusive).

    `manual_seed` sets the seed. The numbers do not depend on the device.

    Args:
        size: The sizes, as separate ints or as one tuple or list.
        dtype: The element type; None means float32.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: A size is negative.
        DTypeError: `dtype` is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> x = interlock.rand(2, 3)
        >>> x.shape
        (2, 3)
    """

def randn(
    *size: int | _Sizes,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return random numbers of the standard normal distribution: mean 0, variance 1.

    `manual_seed` sets the seed. The numbers do not depend on the device.

    Args:
        size: The sizes, as separate ints or as one tuple or list.
        dtype: The element type; None means float32.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: A size is negative.
        DTypeError: `dtype` is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> x = interlock.randn(2, 3)
        >>> x.shape
        (2, 3)
    """

def manual_seed(seed: int) -> None:
    """Set the seed of the random numbers of the process.

    After the same seed, the same calls return the same numbers, on every thread and device.

    Args:
        seed: An int from -2**63 to 2**64 - 1.

    Raises:
        TypeError: `seed` is not an int.
        ArgumentError: `seed` is out of range.

    Example:
        >>> import interlock
        >>> interlock.manual_seed(7)
        >>> x = interlock.rand(3)
        >>> interlock.manual_seed(7)
        >>> (interlock.rand(3) == x).min().item()
        True
    """

def get_num_threads() -> int:
    """Return the number of threads on which an operation may run on the CPU.

    The default is the value of the environment variable `OMP_NUM_THREADS`, else that of `MKL_NUM_THREADS`, else the
    number of CPUs that the process may use.

    Returns:
        The number of threads; the same for all threads of the program.

    Example:
        >>> import interlock
        >>> interlock.get_num_threads() >= 1
        True
    """

def set_num_threads(threads: int, /) -> None:
    """Set the number of threads on which an operation may run on the CPU, for the whole process.

    Matrix products and other large operations use several threads. Results do not depend on their number. An
    operation that is running continues with the number with which it began, and a forked child with that of its
    parent.

    The number is passed to the OpenMP runtimes that are loaded under their own names, and to MKL if it has been called
    before, as by `torch.set_num_threads`; no library is loaded. In an OpenMP runtime it applies to parallel regions of
    the calling thread. A library that is loaded later begins with its own default.

    Args:
        threads: A positive int; 1 runs every operation on the thread that calls it.

    Raises:
        TypeError: `threads` is not an int.
        ArgumentError: `threads` is less than 1 or more than 2**31 - 1.

    Example:
        >>> import interlock
        >>> interlock.set_num_threads(2)
        >>> interlock.get_num_threads()
        2
    """

def is_tensor(obj: object) -> TypeGuard[Tensor]:
    """Return whether an object is a `Tensor`.

    Args:
        obj: Any object.
    """

def is_inference(input: Tensor) -> builtins.bool:
    """Return whether a tensor was created in inference mode.

    Args:
        input: The tensor.

    Raises:
        TypeError: `input` is not a tensor.
    """

def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the matrix product of two matrices.

    Args:
        input: The left matrix, of shape [n, k]. Floating point or int64.
        mat2: The right matrix, of shape [k, m], of the same dtype.

    Returns:
        A matrix of shape [n, m].

    Raises:
        DTypeError: The dtypes differ or are bool.
        ShapeError: A tensor is not a matrix, or the inner sizes differ.

    Example:
        >>> import interlock
        >>> interlock.mm(interlock.ones(2, 3), interlock.ones(3, 1))
        tensor([[3.],
                [3.]])
    """

def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the matrix products of two batches of matrices.

    Args:
        input: The left batch, of shape [b, n, k]. Floating point or int64.
        mat2: The right batch, of shape [b, k, m], of the same dtype.

    Returns:
        A tensor of shape [b, n, m].

    Raises:
        DTypeError: The dtypes differ or are bool.
        ShapeError: A tensor does not have 3 dimensions, or the sizes differ.

    Example:
        >>> import interlock
        >>> interlock.bmm(interlock.ones(2, 1, 3), interlock.ones(2, 3, 1))
        tensor([[[3.]],
        <BLANKLINE>
                [[3.]]])
    """

def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _Number | None = None,
    alpha: _Number | None = None,
) -> Tensor:
    """Return `beta * input + alpha * (mat1 @ mat2)`.

    Args:
        input: A tensor that is broadcast to the product. Its elements are ignored if `beta` is 0.
        mat1: A matrix of shape [n, k], of the same dtype.
        mat2: A matrix of shape [k, m], of the same dtype.
        beta: A number; None means 1.
        alpha: A number; None means 1. The elements of the product are ignored if it is 0.

    Returns:
        A matrix of shape [n, m].

    Raises:
        DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
        ShapeError: The shapes are incompatible.

    Example:
        >>> import interlock
        >>> interlock.addmm(interlock.ones(2), interlock.ones(1, 3), interlock.ones(3, 2), alpha=2)
        tensor([[7., 7.]])
    """

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `input @ weight.T + bias`, a linear layer.

    Args:
        input: A tensor of shape [..., inputs].
        weight: A matrix of shape [outputs, inputs], or a vector of shape [inputs] for one output without a dimension.
        bias: A tensor that is broadcast to the result, or None.

    Returns:
        A tensor of shape [..., outputs].

    Raises:
        DTypeError: The dtypes differ or are bool.
        ShapeError: The shapes are incompatible.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.linear(interlock.ones(1, 3), interlock.ones(2, 3), interlock.ones(2))
        tensor([[4., 4.]])
    """

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return the matrix product of two tensors.

    A one-dimensional tensor is a row vector on the left and a column vector on the right. The dimensions before the
    last two are broadcast.

    Args:
        input: The left tensor, of shape [..., n, k] or [k]. Floating point or int64.
        other: The right tensor, of shape [..., k, m] or [k], of the same dtype.

    Returns:
        A tensor of shape [..., n, m], without the dimension of a one-dimensional operand.

    Raises:
        DTypeError: The dtypes differ or are bool.
        ShapeError: The shapes are incompatible.

    Example:
        >>> import interlock
        >>> interlock.matmul(interlock.ones(2, 3), interlock.ones(3))
        tensor([3., 3.])
    """

def exp(input: Tensor) -> Tensor:
    """Return e to the power of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Example:
        >>> import interlock
        >>> interlock.exp(interlock.tensor([0, 1]))
        tensor([1.0000, 2.7183])
    """

def log(input: Tensor) -> Tensor:
    """Return the natural logarithm of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        A floating-point tensor: NaN for negative elements and minus infinity for 0.

    Example:
        >>> import interlock
        >>> interlock.log(interlock.tensor([1, 2]))
        tensor([0.0000, 0.6931])
    """

def relu(input: Tensor) -> Tensor:
    """Return each element, or 0 if it is negative. The gradient at 0 is 0.

    Args:
        input: The tensor, of any dtype except bool.

    Raises:
        DTypeError: `input` is a bool tensor.

    Example:
        >>> import interlock
        >>> interlock.relu(interlock.tensor([-1, 2]))
        tensor([0, 2])
    """

def sum(
    input: Tensor, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
) -> Tensor:
    """Return the sum of all elements, or over one or several dimensions.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 2], [3, 4]])
        >>> interlock.sum(x), interlock.sum(x, 0)
        (tensor(10), tensor([4, 6]))
    """

def mean(
    input: Tensor, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
) -> Tensor:
    """Return the mean of all elements, or over one or several dimensions. The mean of no elements is NaN.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        dtype: The floating-point dtype to convert the elements to first. None means no change.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> interlock.mean(x, 1)
        tensor([1.5000, 3.5000])
    """

def argmax(input: Tensor, dim: int | None = None, keepdim: builtins.bool = False) -> Tensor:
    """Return the index of the maximum, among all elements or along a dimension.

    Args:
        input: The tensor.
        dim: The dimension. None means all elements, which are counted in row-major order.
        keepdim: Whether reduced dimensions remain, with size 1.

    Returns:
        An int64 tensor. Of equal elements the first index counts; NaN counts as the maximum.

    Raises:
        DTypeError: The tensor is a bool tensor.
        IndexError: The tensor does not have dimension `dim`.
        ShapeError: The reduced dimension has size 0.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> interlock.argmax(x), interlock.argmax(x, 1)
        (tensor(2), tensor([1, 0]))
    """

def cat(tensors: Iterable[Tensor], dim: int = 0) -> Tensor:
    """Concatenate tensors along a dimension.

    Args:
        tensors: An iterable of tensors whose sizes are equal except in `dim`. Tensors of shape [0] are skipped.
        dim: The dimension that is concatenated.

    Returns:
        A tensor of the widest dtype of `tensors`.

    Raises:
        ShapeError: Other sizes differ, or a tensor has no dimensions.
        IndexError: The tensors do not have dimension `dim`.
        ArgumentError: `tensors` is empty.
        RuntimeError: `tensors` contains tensors on different devices.

    Example:
        >>> import interlock
        >>> interlock.cat([interlock.zeros(1), interlock.ones(2)])
        tensor([0., 1., 1.])
    """

def stack(tensors: Iterable[Tensor], dim: int = 0) -> Tensor:
    """Stack tensors along a new dimension.

    Args:
        tensors: The tensors, as an iterable. Their shapes must be equal.
        dim: The position of the new dimension; its size is the number of tensors.

    Returns:
        A tensor of the widest dtype of `tensors`.

    Raises:
        ShapeError: The shapes differ.
        IndexError: The result does not have dimension `dim`.
        ArgumentError: `tensors` is empty.
        RuntimeError: `tensors` contains tensors on different devices.

    Example:
        >>> import interlock
        >>> interlock.stack([interlock.tensor([1, 2]), interlock.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """

@overload
def einsum(equation: str, /, *operands: Tensor) -> Tensor:
    """Return the sum of products of tensors that an equation in Einstein's notation describes.

    The order of the contractions of three or more operands is found by the package opt_einsum if it is installed and
    the flag `backends.opt_einsum.enabled` is on; else it is left to right. Each contraction is a matrix product.

    Args:
        equation: Labels of the dimensions of each operand, separated by commas, and after ``->`` those of the result.
            A label is a letter; ``...`` stands for dimensions that are broadcast. Without ``->`` the result has the
            labels that appear once, in alphabetical order. Labels that the result lacks are summed.
        operands: The tensors, or one list of them. Of one dtype. Alternatively the equation is left out and each
            operand is followed by a list of numbers from 0 to 51, or ``...``, as its labels; a last list has those of
            the result.

    Returns:
        A tensor with a dimension for each label of the result.

    Raises:
        ArgumentError: The equation is malformed, or the operands do not fit it.
        DTypeError: The dtypes differ.
        TypeError: An operand is not a tensor.

    Example:
        >>> import interlock
        >>> interlock.einsum("ij,jk->ik", interlock.ones(2, 3), interlock.ones(3, 1))
        tensor([[3.],
                [3.]])
        >>> interlock.einsum("ii", interlock.ones(2, 2))
        tensor(2.)
    """

@overload
def einsum(equation: str, operands: Sequence[Tensor], /) -> Tensor: ...
@overload
def einsum(operand: Tensor, /, *operands_and_labels: Tensor | Sequence[int | EllipsisType]) -> Tensor: ...
def log_softmax(input: Tensor, dim: int, *, dtype: _DType | None = None) -> Tensor:
    """Return the logarithm of the softmax along a dimension; accurate also where the softmax underflows.

    Args:
        input: The tensor.
        dim: The dimension along which the softmax sums to 1.
        dtype: The floating-point dtype to convert the elements to first. None means no change.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.log_softmax(interlock.tensor([1.0, 2.0]), 0)
        tensor([-1.3133, -0.3133])
    """

def softmax(input: Tensor, dim: int, *, dtype: _DType | None = None) -> Tensor:
    """Return the exponentials of the elements, normalized to a sum of 1 along a dimension.

    Args:
        input: The tensor.
        dim: The dimension along which the result sums to 1.
        dtype: The floating-point dtype to convert the elements to first. None means no change.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.softmax(interlock.tensor([0.0, 0.0]), 0)
        tensor([0.5000, 0.5000])
    """

def nll_loss(input: Tensor, target: Tensor, *, reduction: Literal["mean", "sum", "none"] = "mean") -> Tensor:
    """Return the negative log-likelihood of target classes.

    Args:
        input: Log-probabilities of shape `[samples, classes]`, floating point.
        target: Class indices of shape `[samples]`, int64.
        reduction: "mean" or "sum" of the losses, or "none" for the loss of each sample.

    Returns:
        A tensor of shape `[samples]` if `reduction` is "none", else without dimensions.

    Raises:
        IndexError: An index in `target` is not a class.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point or `target` is not int64.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x = interlock.tensor([[0.0, 1.0]])
        >>> functional.nll_loss(functional.log_softmax(x, 1), interlock.tensor([0]))
        tensor(1.3133)
    """

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | Literal["same", "valid"] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the convolution of images with filters, as PyTorch's `conv2d`. Pairs are of rows and columns.

    On devices the kernel is chosen by the flags of `backends.cudnn`, on the CPU by those of `backends.mkldnn`.
    `dispatch.explain` and `dispatch.record` show the choice.

    Args:
        input: Images of shape [batch, channels, rows, columns], or one of shape [channels, rows, columns]. Any dtype
            except bool.
        weight: Filters of shape [filters, channels / groups, rows, columns], of the same dtype.
        bias: A number for each filter, of shape [filters], or None.
        stride: The distance between two positions of a filter: an int, or a pair.
        padding: The zeros on each side of the images: an int or a pair, or ``"valid"`` for none, or ``"same"`` for an
            output of the size of the images, which needs a stride of 1.
        dilation: The distance between two elements of a filter: an int, or a pair.
        groups: The number of groups of channels, each of which has its own filters. It divides both numbers of channels.

    Returns:
        A tensor of shape [batch, filters, rows, columns], without the batch if `input` has none.

    Raises:
        ShapeError: The shapes are incompatible, or a filter is larger than the padded images.
        DTypeError: The dtypes differ or are bool.
        ArgumentError: `stride`, `dilation` or `groups` is not positive, or `padding` is negative, another text, or
            ``"same"`` for another stride than 1.
        RuntimeError: The tensors are on different devices.

    Example:
        >>> import interlock
        >>> image = interlock.arange(9.0).reshape(1, 3, 3)
        >>> interlock.conv2d(image, interlock.ones(1, 1, 2, 2))
        tensor([[[ 8., 12.],
                 [20., 24.]]])
    """

def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: builtins.float = 0.0,
    is_causal: builtins.bool = False,
    *,
    scale: builtins.float | None = None,
    enable_gqa: builtins.bool = False,
) -> Tensor:
    """Return for each query the mean of the values, weighted by the softmax of the products of the query with the keys.

    The kernel is chosen by the flags `backends.cuda.flash_sdp`, `mem_efficient_sdp`, `math_sdp`, `cudnn_sdp` and, on
    devices, `sdp_priority`. `dispatch.explain` and `dispatch.record` show the choice. Only the kernel `math` can be
    differentiated twice.

    Args:
        query: The queries, of shape [..., heads, queries, size]. Floating point.
        key: The keys, of shape [..., heads, keys, size], of the same dtype.
        value: The values, of shape [..., heads, keys, value size], of the same dtype.
        attn_mask: Bools, where True lets a query see a key, or floats, which are added to the scores; None for no mask.
            Broadcast to [..., heads, queries, keys]. A query that sees no key has a result of 0.
        dropout_p: 0; None means 0. Attention has no dropout here.
        is_causal: Whether a query sees only the keys up to its own position.
        scale: The factor of the scores; None means `1 / sqrt(size)`.
        enable_gqa: Whether several heads of queries may share one head of keys and values, whose number then divides
            that of the queries.

    Returns:
        A tensor of shape [..., heads, queries, value size].

    Raises:
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes differ or are not floating point.
        ArgumentError: `dropout_p` is not 0.
        RuntimeError: No kernel can run the call; the message has the reason of each. Or the tensors are on different
            devices.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x = interlock.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
        >>> functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        tensor([[[[1.0000, 0.0000],
                  [0.3302, 0.6698]]]])
    """

def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    in_proj_weight: Tensor,
    in_proj_bias: Tensor | None,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    *,
    training: builtins.bool,
    batch_first: builtins.bool,
    key_padding_mask: Tensor | None = None,
    need_weights: builtins.bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: builtins.bool = True,
    is_causal: builtins.bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return the attention of several heads, projected, and the weights of the values: the `forward` of
    `nn.MultiheadAttention`.

    Args:
        query: The queries, of shape [batch, queries, size] if `batch_first`, else [queries, batch, size], or [queries, size].
        key: The keys, in the same layout.
        value: The values, in the same layout.
        num_heads: The number of heads, which divides the size.
        in_proj_weight: The weights of queries, keys and values, of shape [3 * size, size].
        in_proj_bias: Their biases, of shape [3 * size], or None.
        out_proj_weight: The weights of the result, of shape [size, size].
        out_proj_bias: Its biases, of shape [size], or None.
        training: Whether the module is in training mode.
        batch_first: Whether the first dimension is the batch.
        key_padding_mask: Keys to ignore, of shape [batch, keys]: bools that are True for them, or floats that are added.
        need_weights: Whether to return the weights.
        attn_mask: Scores to ignore, of shape [queries, keys] or [batch * heads, queries, keys].
        average_attn_weights: Whether the weights are the mean of all heads.
        is_causal: Whether `attn_mask` is a causal mask.

    Returns:
        The result in the layout of `query`, and weights of shape [batch, queries, keys] or None.

    Raises:
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes differ.
        ArgumentError: `is_causal` is True without a mask, or `num_heads` does not divide the size.
    """

def cross_entropy(
    input: Tensor, target: Tensor, *, reduction: Literal["mean", "sum", "none"] = "mean"
) -> Tensor:
    """Return the cross entropy of rows of logits for target classes.

    Args:
        input: Logits of shape `[samples, classes]`, floating point.
        target: Class indices of shape `[samples]`, int64.
        reduction: "mean" or "sum" of the losses, or "none" for the loss of each sample.

    Returns:
        A tensor of shape `[samples]` if `reduction` is "none", else without dimensions.

    Raises:
        IndexError: An index in `target` is not a class.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point or `target` is not int64.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> interlock.cross_entropy(interlock.zeros(2, 3), interlock.tensor([0, 2]))
        tensor(1.0986)
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
        tensors: The tensor or tensors to differentiate.
        grad_tensors: The gradient of each tensor. None means 1, for tensors of one element.
        retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
        create_graph: Whether the backward pass is recorded.
        inputs: One tensor or several in which gradients are accumulated. None means all leaves.

    Raises:
        RuntimeError: A tensor does not require grad, or has several elements and no gradient is passed.
        RuntimeError: A saved tensor was changed in place.
        ArgumentError: `inputs` is empty, or there are not as many gradients as outputs.
        GraphFreedError: An earlier backward pass has freed the saved tensors.
        ShapeError: A gradient does not have the shape of its tensor.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
        >>> interlock.autograd.backward([x.sum(), x.sum()])
        >>> x.grad
        tensor([2., 2.])
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
        outputs: The tensor or tensors to differentiate.
        inputs: The tensor or tensors whose gradients are returned.
        grad_outputs: The gradient of each output. None means 1, for outputs of one element.
        retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
        create_graph: Whether the backward pass is recorded.
        allow_unused: Whether None is returned for an unused input. None means the value of `materialize_grads`.
        materialize_grads: Whether zeros are returned for an unused input.

    Returns:
        A tuple with the gradient of each input.

    Raises:
        RuntimeError: The outputs do not depend on an input, and neither option is True.
        RuntimeError: A tensor does not require grad, or has several elements and no gradient is passed.
        RuntimeError: A saved tensor was changed in place.
        ArgumentError: `inputs` is empty, or there are not as many gradients as outputs.
        GraphFreedError: An earlier backward pass has freed the saved tensors.
        ShapeError: A gradient does not have the shape of its tensor.
        ValueError: `allow_unused` is False and `materialize_grads` is True.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
        >>> interlock.autograd.grad((x * x).sum(), x)
        (tensor([2., 4.]),)
    """

def _rebuild(
    bytes: builtins.bytes,
    dtype: _DType,
    shape: Sequence[int],
    requires_grad: builtins.bool,
    device: _Device | None = None,
) -> Tensor: ...
