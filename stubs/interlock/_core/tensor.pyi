import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import EllipsisType
from typing import (
    Any,
    Final,
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

import numpy as np
import numpy.typing as npt
from interlock import return_types as _return_types
from interlock._core.accelerator import _CudaStream, device as _DeviceObject
from interlock.autograd.graph import GradientEdge as _GradientEdge
from typing_extensions import CapsuleType, disjoint_base

# <public names>
__all__ = [
    "Generator",
    "QuantizedDType",
    "QuantizedTensor",
    "Tensor",
    "abs",
    "abs_",
    "absolute",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "add",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "adjoint",
    "all",
    "allclose",
    "amax",
    "amin",
    "aminmax",
    "any",
    "arange",
    "arccos",
    "arccos_",
    "arccosh",
    "arccosh_",
    "arcsin",
    "arcsin_",
    "arcsinh",
    "arcsinh_",
    "arctan",
    "arctan2",
    "arctan_",
    "arctanh",
    "arctanh_",
    "argmax",
    "argmin",
    "argsort",
    "as_strided",
    "as_tensor",
    "asin",
    "asin_",
    "asinh",
    "asinh_",
    "atan",
    "atan2",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "baddbmm",
    "bernoulli",
    "bfloat16",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bmm",
    "bool",
    "broadcast_tensors",
    "broadcast_to",
    "can_cast",
    "cat",
    "ceil",
    "ceil_",
    "channels_last",
    "channels_last_3d",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clip",
    "clip_",
    "clone",
    "contiguous_format",
    "conv2d",
    "copysign",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "count_nonzero",
    "cross_entropy",
    "cumprod",
    "cumsum",
    "default_generator",
    "dequantize",
    "detach",
    "detach_",
    "diagonal",
    "div",
    "divide",
    "dot",
    "dtype",
    "einsum",
    "empty",
    "empty_like",
    "empty_strided",
    "eq",
    "equal",
    "erf",
    "erf_",
    "erfc",
    "erfc_",
    "exp",
    "exp2",
    "exp2_",
    "exp_",
    "expm1",
    "expm1_",
    "eye",
    "fill_",
    "finfo",
    "fix",
    "fix_",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frac_",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "ge",
    "get_default_dtype",
    "get_rng_state",
    "greater",
    "greater_equal",
    "gt",
    "half",
    "hstack",
    "hypot",
    "iinfo",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_select",
    "initial_seed",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_floating_point",
    "is_inference",
    "is_signed",
    "is_tensor",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "layout",
    "le",
    "lerp",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log10",
    "log10_",
    "log1p",
    "log1p_",
    "log2",
    "log2_",
    "log_",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "logsumexp",
    "lstm",
    "lt",
    "manual_seed",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "memory_format",
    "min",
    "minimum",
    "mm",
    "moveaxis",
    "movedim",
    "mul",
    "multinomial",
    "multiply",
    "mv",
    "nan_to_num",
    "nan_to_num_",
    "nansum",
    "narrow",
    "ne",
    "neg",
    "neg_",
    "negative",
    "negative_",
    "nonzero",
    "norm",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "outer",
    "permute",
    "positive",
    "pow",
    "preserve_format",
    "prod",
    "promote_types",
    "put",
    "qint32",
    "qint8",
    "quantize_per_tensor",
    "quint8",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "ravel",
    "reciprocal",
    "reciprocal_",
    "relu",
    "relu_",
    "remainder",
    "repeat_interleave",
    "reshape",
    "resize_as_",
    "result_type",
    "roll",
    "round",
    "round_",
    "rsqrt",
    "rsqrt_",
    "scatter",
    "scatter_add",
    "select",
    "set_printoptions",
    "set_rng_state",
    "sigmoid",
    "sigmoid_",
    "sign",
    "signbit",
    "sin",
    "sin_",
    "sinh",
    "sinh_",
    "softmax",
    "sort",
    "split",
    "split_with_sizes",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "strided",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tensor",
    "tensor_split",
    "tile",
    "topk",
    "trace",
    "transpose",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "trunc_",
    "uint8",
    "unbind",
    "unflatten",
    "unsqueeze",
    "var",
    "var_mean",
    "vstack",
    "where",
    "zero_",
    "zeros",
    "zeros_like",
]
# </public names>

@type_check_only
class _NumPyScalar(Protocol):
    def item(self) -> object: ...
    def __float__(self) -> builtins.float: ...
    # An array is not hashable.
    def __hash__(self) -> int: ...

# A list of ints, also of NumPy's: `list[SupportsIndex]` would not match `list[int]`, and a sequence would match a range.
@type_check_only
class _IntList(Protocol):
    def __iter__(self) -> Iterator[SupportsIndex]: ...
    def reverse(self) -> None: ...

# An array that `from_numpy` accepts.
_Array: TypeAlias = npt.NDArray[Any]
_Number: TypeAlias = builtins.bool | int | builtins.float | _NumPyScalar
_Device: TypeAlias = _DeviceObject | str | int
_Sizes: TypeAlias = tuple[SupportsIndex, ...] | _IntList
_Dims: TypeAlias = SupportsIndex | _Sizes
_Nested: TypeAlias = _Number | Tensor | Sequence[_Nested]
_Part: TypeAlias = (
    SupportsIndex
    | np.bool_
    | slice
    | EllipsisType
    | Tensor
    | list[Any]
    | tuple[Any, ...]
    | range
    | npt.NDArray[Any]
    | None
)
_Tensors: TypeAlias = Tensor | _GradientEdge | Iterable[Tensor | _GradientEdge]
_Gradients: TypeAlias = Tensor | Iterable[Tensor | None]

@final
class dtype:
    """The type of a tensor's elements: `interlock.float16` (or `half`), `bfloat16`, `float32`, `float64`, `int64`,
    `int32`, `int16`, `int8`, `uint8` or `bool`.

    Example:
        >>> import interlock
        >>> interlock.float32.itemsize, interlock.int64.is_floating_point
        (4, False)
    """
    @property
    def is_floating_point(self) -> builtins.bool:
        """Whether the elements are floating-point numbers."""
    @property
    def is_signed(self) -> builtins.bool:
        """Whether the elements can be negative."""
    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> str: ...

_dtype: TypeAlias = dtype
# float is float64, int is int64.
_DType: TypeAlias = dtype | type[builtins.float] | type[builtins.int] | type[builtins.bool]

@final
class layout:
    """How a tensor stores its elements. `interlock.strided` is the only one: a stride for each dimension.

    Example:
        >>> import interlock
        >>> interlock.zeros(2).layout
        interlock.strided
    """
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> str: ...

_Layout: TypeAlias = layout

@final
class memory_format:
    """The order of the elements of a tensor in memory: `interlock.contiguous_format` (row-major) or `preserve_format` (the order
    of the tensor from which it is made). `channels_last` and `channels_last_3d` are not implemented: functions refuse them.

    Example:
        >>> import interlock
        >>> columns = interlock.zeros(2, 3).t()
        >>> columns.clone().stride(), columns.clone(memory_format=interlock.contiguous_format).stride()
        ((1, 3), (2, 1))
    """
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> str: ...

_MemoryFormat: TypeAlias = memory_format

@final
class Generator:
    """A generator of random numbers, for the argument `generator` of functions that draw some.

    Generators with equal states draw the same numbers, on every device. Functions without `generator` use the default
    generator of the device: `interlock.default_generator` for the CPU.

    Args:
        device: The type of the devices of the tensors for which it draws.

    Raises:
        DeviceError: `device` does not name a device, or the accelerator does not have it.
        NoAcceleratorError: The device needs an accelerator, and none is available.

    Example:
        >>> import interlock
        >>> generator = interlock.Generator().manual_seed(7)
        >>> x = interlock.rand(3, generator=generator)
        >>> interlock.equal(x, interlock.rand(3, generator=generator.manual_seed(7)))
        True
    """
    def __new__(cls, device: _Device | None = None) -> Generator: ...
    @property
    def device(self) -> _DeviceObject:
        """The device."""
    def manual_seed(self, seed: SupportsIndex) -> Generator:
        """Set the seed and return the generator itself.

        Args:
            seed: An int from -2**63 to 2**64 - 1.

        Raises:
            TypeError: `seed` is not an int.
            ArgumentError: `seed` is out of range.
        """
    def seed(self) -> int:
        """Set a seed that the operating system has drawn, and return it."""
    def initial_seed(self) -> int:
        """Return the seed that was set last."""
    def get_state(self) -> Tensor:
        """Return the state, as a tensor of bytes on the CPU."""
    def set_state(self, new_state: Tensor) -> Generator:
        """Set the state and return the generator itself.

        Args:
            new_state: A result of `get_state`, of any generator.

        Raises:
            TypeError: `new_state` is not a tensor of dtype `uint8`.
            ArgumentError: `new_state` has another size than states have.
        """
    def clone_state(self) -> Generator:
        """Return another generator with the same state."""
    def __reduce__(self) -> tuple[type[Generator], tuple[str], bytes]: ...
    def __setstate__(self, state: bytes) -> None: ...

@final
class QuantizedDType:
    """The type of a quantized tensor's elements: `interlock.quint8`, `qint8` or `qint32`.

    Example:
        >>> import interlock
        >>> interlock.quint8
        interlock.quint8
    """
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> str: ...

@final
class QuantizedTensor:
    """A tensor of integers `q` that represent the numbers `(q - zero_point) * scale`.

    `interlock.quantize_per_tensor` creates it. PyTorch has the methods on its tensors. `dequantize` and `int_repr` return
    tensors for other operations.

    Example:
        >>> import interlock
        >>> q = interlock.quantize_per_tensor(interlock.tensor([-1.0, 0.0, 0.26]), 0.1, 10, interlock.quint8)
        >>> q.int_repr()
        tensor([ 0, 10, 13], dtype=interlock.uint8)
    """
    @property
    def dtype(self) -> QuantizedDType:
        """The element type."""
    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
    @property
    def device(self) -> _DeviceObject:
        """The device of the elements."""
    def q_scale(self) -> builtins.float:
        """Return the difference of the numbers that neighboring integers represent."""
    def q_zero_point(self) -> int:
        """Return the integer that represents 0."""
    def int_repr(self) -> Tensor:
        """Return a copy of the integers, whose dtype is uint8, int8 or int32."""
    def dequantize(self) -> Tensor:
        """Return the numbers as a float32 tensor."""

@final
class finfo:
    """The limits of a floating-point dtype.

    Args:
        type: The dtype; by default the result of `get_default_dtype`.

    Raises:
        TypeError: `type` is not a floating-point dtype.

    Example:
        >>> import interlock
        >>> interlock.finfo(interlock.float16).max
        65504.0
    """
    def __new__(cls, type: _DType = ...) -> finfo: ...
    @property
    def bits(self) -> int:
        """The number of bits of an element."""
    @property
    def dtype(self) -> str:
        """The name of the dtype."""
    @property
    def max(self) -> builtins.float:
        """The largest finite number."""
    @property
    def min(self) -> builtins.float:
        """The smallest finite number, which is negative."""
    @property
    def eps(self) -> builtins.float:
        """The difference of 1 and the next larger number."""
    @property
    def smallest_normal(self) -> builtins.float:
        """The smallest positive number of full precision."""
    @property
    def tiny(self) -> builtins.float:
        """NumPy's second name of `smallest_normal`."""
    @property
    def resolution(self) -> builtins.float:
        """The value of the last reliable decimal digit of numbers near 1."""
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[type, tuple[_dtype]]: ...

@final
class iinfo:
    """The limits of an integer dtype.

    Args:
        type: The dtype.

    Raises:
        TypeError: `type` is not an integer dtype.

    Example:
        >>> import interlock
        >>> interlock.iinfo(interlock.int8).min
        -128
    """
    def __new__(cls, type: _DType) -> iinfo: ...
    @property
    def bits(self) -> int:
        """The number of bits of an element."""
    @property
    def dtype(self) -> str:
        """The name of the dtype."""
    @property
    def max(self) -> int:
        """The largest number."""
    @property
    def min(self) -> int:
        """The smallest number."""
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[type, tuple[_dtype]]: ...

strided: layout
contiguous_format: memory_format
preserve_format: memory_format
channels_last: memory_format
channels_last_3d: memory_format
default_generator: Generator
float16: dtype
half: dtype
bfloat16: dtype
float32: dtype
float64: dtype
int64: dtype
int32: dtype
int16: dtype
int8: dtype
uint8: dtype
bool: dtype
quint8: QuantizedDType
qint8: QuantizedDType
qint32: QuantizedDType

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
        """Remove the hook. A backward pass that is running the hook's node still calls it. A second call has no effect."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

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
        """A dict for user-defined data about the node. In anomaly mode `"traceback_"` is the list of the lines of the
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
    results: tuple[Tensor | None, ...],
    dirty: tuple[Tensor, ...],
    non_differentiable: tuple[Tensor, ...],
    saved: tuple[Tensor | None, ...],
    materialize_grads: builtins.bool,
    grad_dtypes: tuple[_dtype | None, ...] | None,
) -> tuple[Tensor | None, ...]: ...
def _input_grad_buffers() -> tuple[Tensor | None, ...]: ...
def _storage_version(tensor: Tensor) -> tuple[builtins.int, builtins.int] | None: ...
def _gradient_edge(tensor: Tensor) -> tuple[Node, int, Node | None]: ...
def _register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., object], mode: str
) -> RemovableHandle: ...

@final
class _BackwardPass: ...

@final
class _SavedInput:
    def __new__(cls, tensor: Tensor) -> Self: ...
    def unpack(self) -> Tensor: ...

@final
class _ChangeObservation:
    def __new__(cls, function: Callable[[tuple[builtins.int, builtins.int]], object]) -> Self: ...
    def end(self) -> None: ...

def _backward_pass() -> _BackwardPass | None: ...

@final
class _GeneratorStates:
    def __new__(cls) -> Self: ...
    def restore(self) -> None: ...

_RNG_STATE_BYTES: Final[builtins.int]

def _print_options() -> dict[str, Any]: ...
def _operations() -> list[dict[str, str]]: ...
def _initial_seed(device: _Device | None, /) -> builtins.int: ...
def _get_rng_state(device: _Device | None, /) -> bytes: ...
def _set_rng_state(state: bytes, device: _Device | None, /) -> None: ...
def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Record that tensors were changed in place by code outside of interlock, such as a user-defined kernel.

    A backward pass that needs the old elements of a tensor then raises RuntimeError. Operations of interlock record
    their changes themselves. Inference tensors have no version counter and are ignored.

    Args:
        tensor: The tensor, or an iterable of tensors.

    Raises:
        TypeError: `tensor` is neither a tensor nor an iterable of tensors.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2)
        >>> interlock.autograd.graph.increment_version(x)
        >>> x._version
        1
    """

@disjoint_base
class _SavedTensorsHooksDisabled:
    def __new__(cls, error_message: str) -> Self: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class node_creation_hook:
    """Call a function with each new node of the autograd graph, for example to register hooks on it.

    A context manager. It applies to the context that enters it, to copies of that context, and where a captured state
    is applied. Inside another one both functions are called, first the outer one. The nodes that a backward pass with
    `create_graph=True` or a checkpoint records are new nodes, too.

    The function is called when the node has its `next_functions` and saved tensors. The node "AccumulateGrad" of a leaf
    is new if no graph that uses the leaf exists.

    Args:
        hook: Called with each new node, an `autograd.graph.Node`. It must return None. Its exception is raised by the
            operation, and further functions are not called. An operation in it that would create a node raises
            RuntimeError.

    Raises:
        TypeError: `hook` is not callable.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2, requires_grad=True)
        >>> with interlock.autograd.graph.node_creation_hook(lambda node: print(node.name())):
        ...     y = (x * 2).sum()
        AccumulateGrad
        MulBackward0
        SumBackward0
    """
    def __new__(cls, hook: Callable[[Node], None]) -> Self: ...
    @property
    def hook(self) -> Callable[[Node], None]:
        """The function."""
    def __enter__(self) -> None: ...
    def __exit__(self, *_error: object) -> None: ...

def queue_callback(callback: Callable[[], object]) -> None:
    """Queue a function that is called at the end of the backward pass that runs on this thread.

    A backward function or a hook calls it. The pass calls the functions in the order in which they were queued, after
    it has computed all gradients, also those that others of them queue. A pass that fails calls none. Inside of several
    passes the function belongs to the innermost one.

    Args:
        callback: Called without arguments. Its result is ignored. The pass raises its exception, and further functions
            are not called; the gradients remain.

    Raises:
        RuntimeError: No backward pass runs on this thread.
        TypeError: `callback` is not callable.

    Example:
        >>> import interlock
        >>> from interlock.autograd.graph import queue_callback
        >>> x = interlock.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> handle = y.register_hook(lambda gradient: queue_callback(lambda: print(x.grad)))
        >>> y.backward()
        tensor([2.])
    """

def set_warn_on_accumulate_grad_stream_mismatch(enabled: builtins.bool) -> None:
    """Set whether a backward pass warns if the gradients of a leaf were computed on several streams.

    A pass sums the gradients of a leaf on the stream that has computed the first of them, which then waits for the
    other streams. The UserWarning is issued once in a process. The setting belongs to the process; the default is True.

    Args:
        enabled: Whether the warning is issued.

    Raises:
        FlagTypeError: `enabled` is not a bool.
    """

def _stream_options() -> tuple[builtins.bool, builtins.bool]:
    """Return what the two functions before have set."""

def set_override_stale_capture_stream(enabled: builtins.bool) -> None:
    """Set how a backward pass in a graph capture treats operations whose forward pass ran on another stream.

    Backward functions run on the streams of their operations. If such a stream is not part of the capture, its work
    would not be captured. With True the backward function runs on the stream that is captured, and the end of the pass
    does not wait for streams outside of the capture. With False, the default, the pass raises GraphError for a default
    stream, which can never be captured, and uses other streams as they are. The setting belongs to the process.

    Args:
        enabled: Whether the stream that is captured is used instead.

    Raises:
        FlagTypeError: `enabled` is not a bool.
    """

@disjoint_base
class saved_tensors_hooks:
    """Pack the tensors that operations save for the backward pass, for example to store them on the CPU or on disk.

    A context manager. It applies to the context that enters it, to copies of that context, and where a captured state is
    applied. Inside another one, only the inner one is used.

    Args:
        pack_hook: Called with each tensor that is saved: a leaf that requires grad itself, and an alias without history
            of another tensor. It returns any object. It must not change the tensor.
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
    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None: ...
    @property
    def pack_hook(self) -> Callable[[Tensor], Any]:
        """The function that packs a tensor."""
    @property
    def unpack_hook(self) -> Callable[[Any], Tensor]:
        """The function that unpacks a tensor."""
    def __enter__(self) -> None: ...
    def __exit__(self, *_error: object) -> None: ...

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
    def shape(self) -> tuple[builtins.int, ...]:
        """The sizes of the dimensions."""
    @property
    def dtype(self) -> _dtype:
        """The element type."""
    @property
    def device(self) -> _DeviceObject:
        """The device of the elements."""
    @property
    def is_cuda(self) -> builtins.bool:
        """Whether the elements are on a device of the type "cuda"."""
    @property
    def is_cpu(self) -> builtins.bool:
        """Whether the elements are on the CPU."""
    @property
    def ndim(self) -> builtins.int:
        """The number of dimensions."""
    def dim(self) -> builtins.int:
        """Return the number of dimensions."""
    @overload
    def size(self, dim: None = None) -> tuple[builtins.int, ...]:
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
    def size(self, dim: SupportsIndex) -> builtins.int: ...
    @overload
    def stride(self, dim: None = None) -> tuple[builtins.int, ...]:
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
    def stride(self, dim: SupportsIndex) -> builtins.int: ...
    def element_size(self) -> builtins.int:
        """Return the size of one element in bytes."""
    @property
    def itemsize(self) -> builtins.int:
        """The size of one element in bytes."""
    @property
    def nbytes(self) -> builtins.int:
        """The size of all elements in bytes."""
    @property
    def layout(self) -> _Layout:
        """How the elements are stored: `interlock.strided`."""
    def is_contiguous(self, *, memory_format: _MemoryFormat = ...) -> builtins.bool:
        """Return whether the elements are stored in row-major order without gaps.

        Args:
            memory_format: `interlock.contiguous_format` or `interlock.preserve_format`, which mean the same here.
        """
    def storage_offset(self) -> builtins.int:
        """Return the offset of the first element in the storage, in elements."""
    def data_ptr(self) -> builtins.int:
        """Return the address of the first element, 0 if there is none; on a device an address in the device's address space."""
    @property
    def _version(self) -> builtins.int: ...
    def _set_version(self, version: builtins.int) -> None: ...
    @property
    def _base(self) -> Tensor | None: ...
    def _is_view(self) -> builtins.bool: ...
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
    def output_nr(self) -> builtins.int:
        """The position of the tensor among the results of `grad_fn`."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Register a function that is called with the gradient of the tensor in each backward pass.

        The gradient is complete: all contributions of the pass have been added. Hooks are called in the order of their
        registration, each with the result of the one before. If the tensor is changed in place later, the hook still
        receives the gradient of the value before the change.

        Args:
            hook: Called with the gradient, or with None if the backward functions return none. It returns None, or a tensor
                of the same shape, dtype and device to use instead of a gradient. An exception ends the backward pass and
                propagates.

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
            inputs: One tensor, `GradientEdge` or several in which gradients are accumulated. None means all leaves.

        Raises:
            RuntimeError: The tensor does not require grad, or has several elements and no gradient is passed.
            RuntimeError: A saved tensor was changed in place.
            ArgumentError: `inputs` is empty, or there are not as many gradients as outputs.
            GraphFreedError: An earlier backward pass has freed the saved tensors.
            RecursionError: 2,000 backward passes run inside of each other.
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
        """A tensor that shares memory with this one and has no history. Unlike `detach()`, it has a version counter of its own.

        A backward pass does not notice changes through it, and computes with the changed elements.

        An assignment replaces the storage, shape, strides, dtype and device by those of another tensor, with which this one
        then shares memory. It is not recorded. The tensor remains the same object, with its `requires_grad`, `grad`, hooks
        and version. Graphs that were recorded before, views and other tensors over the old memory keep the old data.
        Operations that other threads are running use the old data to their end.

        A backward pass of an older graph converts the gradient to the new dtype and device. It raises ShapeError if the
        shape has changed.

        Raises:
            TypeError: A value that is not a tensor is set.
            DTypeError: The tensor requires grad, and a tensor that is not floating point is set.

        Example:
            >>> import interlock
            >>> p = interlock.ones(2, requires_grad=True)
            >>> (p * 3).sum().backward()
            >>> p.data = p.data - 0.5 * p.grad
            >>> p
            tensor([-0.5000, -0.5000], requires_grad=True)
        """
    @data.setter
    def data(self, value: Tensor, /) -> None: ...
    def contiguous(self, *, memory_format: _MemoryFormat = ...) -> Tensor:
        """Return the tensor itself if it is contiguous, else a contiguous copy.

        Args:
            memory_format: The order of the elements in memory, `interlock.contiguous_format`.

        Raises:
            ArgumentError: `memory_format` is `interlock.preserve_format`.
        """
    def item(self) -> builtins.bool | builtins.int | builtins.float:
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
        """Return the elements as nested lists, or the element itself for a 0-d tensor.

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
    def __buffer__(self, flags: builtins.int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def __dlpack__(
        self,
        *,
        stream: builtins.int | None = None,
        max_version: tuple[builtins.int, builtins.int] | None = None,
        dl_device: tuple[builtins.int, builtins.int] | None = None,
        copy: builtins.bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]: ...
    def __deepcopy__(self, memo: dict[Any, Any], /) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __reversed__(self) -> Tensor: ...
    def __contains__(self, element: object, /) -> builtins.bool: ...
    def __format__(self, format_spec: str, /) -> str: ...
    def __getitem__(self, index: _Part | tuple[_Part, ...], /) -> Tensor: ...
    def __setitem__(self, index: _Part | tuple[_Part, ...], value: Tensor | _Number, /) -> None: ...
    def __bool__(self) -> builtins.bool: ...
    def __float__(self) -> builtins.float: ...
    def __int__(self) -> builtins.int: ...
    def __index__(self) -> builtins.int: ...
    def __hash__(self) -> builtins.int: ...
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reverse order."""
    @property
    def mT(self) -> Tensor:
        """A view with the last two dimensions exchanged: the transpose of a matrix, or of each matrix of a batch.

        Raises:
            ShapeError: The tensor has one dimension.
        """
    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of a matrix, or of each matrix of a batch: that of real numbers is `mT`.

        Raises:
            ShapeError: The tensor has one dimension.
        """
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix: that of real numbers is `mT`.

        Raises:
            ShapeError: The tensor is not a matrix.
        """
    def to(
        self,
        *args: Tensor | _DType | _Device | builtins.bool | None,
        dtype: _DType | None = None,
        device: _Device | None = None,
        non_blocking: builtins.bool = False,
        copy: builtins.bool = False,
        memory_format: _MemoryFormat | None = None,
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
            memory_format: The order of the elements of a copy in memory. None means that of the tensor.

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
    def _annotate(self, annotation: str) -> None:
        """Describe the memory in the history: `accelerator.memory.annotate`."""

    def record_stream(self, stream: _CudaStream) -> None:
        """Record that work of another library on a stream uses the tensor. After its memory is freed, it is reused only
        after the work that is queued on the stream by then. The operations of interlock record their streams
        themselves.

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
    def __floordiv__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rfloordiv__(self, other: _Number | _Array, /) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __imod__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __ipow__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...  # type: ignore[misc]
    def __invert__(self) -> Tensor: ...
    def __and__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rand__(self, other: _Number | _Array, /) -> Tensor: ...
    def __iand__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __or__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __ror__(self, other: _Number | _Array, /) -> Tensor: ...
    def __ior__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __xor__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rxor__(self, other: _Number | _Array, /) -> Tensor: ...
    def __ixor__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __lshift__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rlshift__(self, other: _Number | _Array, /) -> Tensor: ...
    def __ilshift__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rshift__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
    def __rrshift__(self, other: _Number | _Array, /) -> Tensor: ...
    def __irshift__(self, other: Tensor | _Number | _Array, /) -> Tensor: ...
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
    # <methods of operations>
    def abs(self) -> Tensor:
        """Return the absolute value of each element. The gradient at 0 is 0.

        See `interlock.abs`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    def abs_(self) -> Tensor:
        """In-place version of `abs`.

        See `interlock.abs`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def absolute(self) -> Tensor:
        """Return the absolute value of each element, as `abs`.

        See `interlock.absolute`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    def absolute_(self) -> Tensor:
        """In-place version of `absolute`.

        See `interlock.absolute`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def acos(self) -> Tensor:
        """Return the arc cosine of each element, in radians; NaN outside of -1 to 1.

        See `interlock.acos`.
        """
    arccos = acos
    def acos_(self) -> Tensor:
        """In-place version of `acos`.

        See `interlock.acos`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    arccos_ = acos_
    def acosh(self) -> Tensor:
        """Return the inverse hyperbolic cosine of each element; NaN below 1.

        See `interlock.acosh`.
        """
    arccosh = acosh
    def acosh_(self) -> Tensor:
        """In-place version of `acosh`.

        See `interlock.acosh`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    arccosh_ = acosh_
    def add(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """Return `input + alpha * other`. The sum of bools is the logical or.

        See `interlock.add`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            alpha: A number by which `other` is multiplied first; None means 1.

        Raises:
            DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
            ArgumentError: The promoted dtype cannot hold `alpha`.
            ShapeError: The shapes cannot be broadcast.
        """
    def add_(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """In-place version of `add`.

        See `interlock.add`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            alpha: A number by which `other` is multiplied first; None means 1.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
            ArgumentError: The promoted dtype cannot hold `alpha`.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number | None = None) -> Tensor:
        """Return `input + value * tensor1 / tensor2`, elementwise.

        See `interlock.addcdiv`.

        Args:
            tensor1: A tensor.
            tensor2: A tensor. Shapes are broadcast and dtypes promoted.
            value: A number; None means 1.

        Raises:
            ArgumentError: The promoted dtype cannot hold `value`.
            DTypeError: Neither `tensor1` nor `tensor2` is floating point.
            ShapeError: The shapes cannot be broadcast.
        """
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number | None = None) -> Tensor:
        """In-place version of `addcdiv`.

        See `interlock.addcdiv`.

        Args:
            tensor1: A tensor.
            tensor2: A tensor. Shapes are broadcast and dtypes promoted.
            value: A number; None means 1.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The promoted dtype cannot hold `value`.
            DTypeError: Neither `tensor1` nor `tensor2` is floating point.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number | None = None) -> Tensor:
        """Return `input + value * tensor1 * tensor2`, elementwise.

        See `interlock.addcmul`.

        Args:
            tensor1: A tensor.
            tensor2: A tensor. Shapes are broadcast and dtypes promoted.
            value: A number; None means 1.

        Raises:
            ArgumentError: The promoted dtype cannot hold `value`.
            DTypeError: The promoted dtype is bool.
            ShapeError: The shapes cannot be broadcast.
        """
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number | None = None) -> Tensor:
        """In-place version of `addcmul`.

        See `interlock.addcmul`.

        Args:
            tensor1: A tensor.
            tensor2: A tensor. Shapes are broadcast and dtypes promoted.
            value: A number; None means 1.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The promoted dtype cannot hold `value`.
            DTypeError: The promoted dtype is bool.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def addmm(
        self, mat1: Tensor, mat2: Tensor, *, beta: _Number | None = None, alpha: _Number | None = None
    ) -> Tensor:
        """Return `beta * input + alpha * (mat1 @ mat2)`.

        See `interlock.addmm`.

        Args:
            mat1: A matrix of shape [n, k], of the same dtype.
            mat2: A matrix of shape [k, m], of the same dtype.
            beta: A number; None means 1.
            alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.

        Returns:
            A matrix of shape [n, m].

        Raises:
            ArgumentError: The dtype cannot hold `beta` or `alpha`.
            DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
            ShapeError: The shapes are incompatible.
        """
    def addmv(
        self, mat: Tensor, vec: Tensor, *, beta: _Number | None = None, alpha: _Number | None = None
    ) -> Tensor:
        """Return `beta * input + alpha * (mat @ vec)`.

        See `interlock.addmv`.

        Args:
            mat: A matrix of shape [n, k], of the same dtype.
            vec: A vector of shape [k], of the same dtype.
            beta: A number; None means 1. If it is 0, the elements of the tensor are ignored.
            alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.

        Returns:
            A vector of shape [n].

        Raises:
            ArgumentError: The dtype cannot hold `beta` or `alpha`.
            DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
            ShapeError: The shapes are incompatible.
        """
    def adjoint(self) -> Tensor:
        """Return the conjugate transpose of a matrix, or of each matrix of a batch. All dtypes are real, so it is `mT`.

        See `interlock.adjoint`.

        Raises:
            ShapeError: The tensor has one dimension.
        """
    def all(self, dim: _Dims | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return whether all elements are nonzero, of all elements or over one or several dimensions. NaN is nonzero.

        See `interlock.all`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
            dimension.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def allclose(
        self,
        other: Tensor,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> builtins.bool:
        """Return whether all elements are close, as by `isclose`.

        For device tensors this waits for the queued work.

        See `interlock.allclose`.

        Args:
            other: The other tensor.
            rtol: The relative tolerance.
            atol: The absolute tolerance.
            equal_nan: Whether NaN is close to NaN.

        Raises:
            DTypeError: The dtypes differ.
            ArgumentError: A tolerance is negative.
            ShapeError: The shapes cannot be broadcast.
        """
    def amax(self, dim: _Dims | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the maximum of all elements, or over one or several dimensions.

        The result is NaN where an element is NaN. Equal maxima share the gradient.

        See `interlock.amax`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.

        Raises:
            IndexError: A reduced dimension has size 0.
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def amin(self, dim: _Dims | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the minimum of all elements, or over one or several dimensions.

        The result is NaN where an element is NaN. Equal minima share the gradient.

        See `interlock.amin`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.

        Raises:
            IndexError: A reduced dimension has size 0.
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def aminmax(
        self, *, dim: SupportsIndex | None = None, keepdim: builtins.bool = False
    ) -> _return_types.aminmax:
        """Return the minimum and the maximum of all elements, or along a dimension.

        See `interlock.aminmax`.

        Args:
            dim: The dimension. None means all elements.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            A named tuple `(min, max)`. Both are NaN if an element is NaN. Equal extremes share the gradient.

        Raises:
            IndexError: The reduced dimension has size 0.
            IndexError: The tensor does not have dimension `dim`.
        """
    def any(self, dim: _Dims | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return whether any element is nonzero, of all elements or over one or several dimensions. NaN is nonzero.

        See `interlock.any`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
            dimension.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def argmax(self, dim: SupportsIndex | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the maximum, among all elements or along a dimension.

        See `interlock.argmax`.

        Args:
            dim: The dimension. None means all elements, which are counted in row-major order.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            An int64 tensor. Of equal elements the first index counts; NaN counts as the maximum.

        Raises:
            DTypeError: The tensor is a bool tensor.
            IndexError: The reduced dimension has size 0.
            IndexError: The tensor does not have dimension `dim`.
        """
    def argmin(self, dim: SupportsIndex | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the minimum, among all elements or along a dimension.

        See `interlock.argmin`.

        Args:
            dim: The dimension. None means all elements, which are counted in row-major order.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            An int64 tensor. Of equal elements the first index counts; NaN counts as the minimum.

        Raises:
            DTypeError: The tensor is a bool tensor.
            IndexError: The reduced dimension has size 0.
            IndexError: The tensor does not have dimension `dim`.
        """
    def argsort(
        self,
        dim: SupportsIndex | None = None,
        descending: builtins.bool = False,
        *,
        stable: builtins.bool = False,
    ) -> Tensor:
        """Return the indices that sort the elements along a dimension.

        See `interlock.argsort`.

        Args:
            dim: The dimension. None means the last one.
            descending: Whether the largest element is first.
            stable: Whether the order of equal elements is preserved, which it always is.

        Returns:
            An int64 tensor. NaN is larger than all numbers.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
        """
    def as_strided(self, size: _Dims, stride: _Dims, storage_offset: SupportsIndex | None = None) -> Tensor:
        """Return a view of the storage with any sizes and strides.

        See `interlock.as_strided`.

        Args:
            size: The sizes, as an int or as a tuple or list.
            stride: The stride of each dimension in elements, not negative.
            storage_offset: The offset of the first element in the storage, in elements. None means the offset of the tensor.

        Raises:
            ShapeError: The view exceeds the storage.
            ArgumentError: A number is negative, or there are not as many strides as sizes.
        """
    def asin(self) -> Tensor:
        """Return the arc sine of each element, in radians; NaN outside of -1 to 1.

        See `interlock.asin`.
        """
    arcsin = asin
    def asin_(self) -> Tensor:
        """In-place version of `asin`.

        See `interlock.asin`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    arcsin_ = asin_
    def asinh(self) -> Tensor:
        """Return the inverse hyperbolic sine of each element.

        See `interlock.asinh`.
        """
    arcsinh = asinh
    def asinh_(self) -> Tensor:
        """In-place version of `asinh`.

        See `interlock.asinh`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    arcsinh_ = asinh_
    def atan(self) -> Tensor:
        """Return the arc tangent of each element, in radians.

        See `interlock.atan`.
        """
    arctan = atan
    def atan_(self) -> Tensor:
        """In-place version of `atan`.

        See `interlock.atan`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    arctan_ = atan_
    def atan2(self, other: Tensor) -> Tensor:
        """Return the arctangent of `input / other`, elementwise; the signs of both choose the quadrant.

        See `interlock.atan2`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    arctan2 = atan2
    def atan2_(self, other: Tensor) -> Tensor:
        """In-place version of `atan2`.

        See `interlock.atan2`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    arctan2_ = atan2_
    def atanh(self) -> Tensor:
        """Return the inverse hyperbolic tangent of each element; NaN outside of -1 to 1.

        See `interlock.atanh`.
        """
    arctanh = atanh
    def atanh_(self) -> Tensor:
        """In-place version of `atanh`.

        See `interlock.atanh`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    arctanh_ = atanh_
    def baddbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: _Number | None = None, alpha: _Number | None = None
    ) -> Tensor:
        """Return `beta * input + alpha * (batch1 @ batch2)` for batches of matrices.

        See `interlock.baddbmm`.

        Args:
            batch1: A tensor of shape [b, n, k], of the same dtype.
            batch2: A tensor of shape [b, k, m], of the same dtype.
            beta: A number; None means 1. If it is 0, the elements of the tensor are ignored.
            alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.

        Returns:
            A tensor of shape [b, n, m].

        Raises:
            ArgumentError: The dtype cannot hold `beta` or `alpha`.
            DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
            ShapeError: The shapes are incompatible.
        """
    def bernoulli(self, p: builtins.float | None = None, *, generator: Generator | None = None) -> Tensor:
        """Return 1 with the probability given by each element, else 0. The gradient is 0.

        See `interlock.bernoulli`.

        Args:
            p: One probability for all elements, whose values are then ignored. None means the elements of the tensor.
            generator: The generator that draws. None means the default one of the device.

        Returns:
            A tensor of the same dtype.

        Raises:
            DTypeError: The tensor is not floating point, and `p` is None.
            ArgumentError: A probability is not from 0 to 1. For tensors on a device the error is asynchronous.
        """
    def bernoulli_(self, p: Tensor | _Number | None = None, *, generator: Generator | None = None) -> Tensor:
        """Overwrite the elements with 1 with a probability, else 0.

        Args:
            p: The probability, or a floating-point tensor of probabilities, which is broadcast.
            generator: The generator that draws. None means the default one of the device.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: A probability is not from 0 to 1. For tensors on a device the error is asynchronous.
            DTypeError: `p` is a tensor that is not floating point.
            ShapeError: `p` cannot be broadcast to the shape of the tensor.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.

        Example:
            >>> import interlock
            >>> interlock.zeros(2).bernoulli_(1.0)
            tensor([1., 1.])
        """
    def bfloat16(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to bfloat16. Returns the tensor itself if it is a bfloat16 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def bitwise_and(self, other: Tensor | _Number) -> Tensor:
        """Return the bitwise and of integers, and the logical and of bools.

        See `interlock.bitwise_and`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            DTypeError: The promoted dtype is floating point.
            ShapeError: The shapes cannot be broadcast.
        """
    def bitwise_and_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `bitwise_and`.

        See `interlock.bitwise_and`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The promoted dtype is floating point.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def bitwise_left_shift(self, other: Tensor | _Number) -> Tensor:
        """Return `input << other` of integers; 0 if `other` is negative or not less than the number of bits.

        See `interlock.bitwise_left_shift`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            DTypeError: The promoted dtype is floating point or bool.
            ShapeError: The shapes cannot be broadcast.
        """
    def bitwise_left_shift_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `bitwise_left_shift`.

        See `interlock.bitwise_left_shift`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The promoted dtype is floating point or bool.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def bitwise_not(self) -> Tensor:
        """Return the complement of the bits of integers, and the negation of bools.

        See `interlock.bitwise_not`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    def bitwise_not_(self) -> Tensor:
        """In-place version of `bitwise_not`.

        See `interlock.bitwise_not`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def bitwise_or(self, other: Tensor | _Number) -> Tensor:
        """Return the bitwise or of integers, and the logical or of bools.

        See `interlock.bitwise_or`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            DTypeError: The promoted dtype is floating point.
            ShapeError: The shapes cannot be broadcast.
        """
    def bitwise_or_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `bitwise_or`.

        See `interlock.bitwise_or`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The promoted dtype is floating point.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def bitwise_right_shift(self, other: Tensor | _Number) -> Tensor:
        """Return `input >> other` of integers. All bits leave if `other` is negative; those that enter equal the sign.

        See `interlock.bitwise_right_shift`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            DTypeError: The promoted dtype is floating point or bool.
            ShapeError: The shapes cannot be broadcast.
        """
    def bitwise_right_shift_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `bitwise_right_shift`.

        See `interlock.bitwise_right_shift`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The promoted dtype is floating point or bool.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def bitwise_xor(self, other: Tensor | _Number) -> Tensor:
        """Return the bitwise exclusive or of integers, and the logical exclusive or of bools.

        See `interlock.bitwise_xor`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            DTypeError: The promoted dtype is floating point.
            ShapeError: The shapes cannot be broadcast.
        """
    def bitwise_xor_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `bitwise_xor`.

        See `interlock.bitwise_xor`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The promoted dtype is floating point.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def bmm(self, mat2: Tensor) -> Tensor:
        """Return the matrix products of two batches of matrices.

        See `interlock.bmm`.

        Args:
            mat2: The right batch, of shape [b, k, m], of the same dtype.

        Returns:
            A tensor of shape [b, n, m].

        Raises:
            DTypeError: The dtypes differ or are bool.
            ShapeError: A tensor does not have 3 dimensions, or the sizes differ.
        """
    def bool(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to bool: False for 0. Returns the tensor itself if it is a bool tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    @overload
    def broadcast_to(self, first_size: SupportsIndex | _Sizes, /, *args: SupportsIndex) -> Tensor:
        """Return a view in which dimensions of size 1 are repeated, as `expand`.

        See `interlock.broadcast_to`.

        Args:
            args: `size`, as separate ints or as one tuple or list.
            size: The new sizes. -1 keeps a size; new dimensions come first.

        Raises:
            ShapeError: A size other than 1 would change.
        """
    @overload
    def broadcast_to(self, *, size: _Sizes) -> Tensor: ...
    def byte(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to uint8: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is a
        uint8 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def ceil(self) -> Tensor:
        """Round each element up to an integer. Integers are unchanged.

        See `interlock.ceil`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    def ceil_(self) -> Tensor:
        """In-place version of `ceil`.

        See `interlock.ceil`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def char(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to int8: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is an
        int8 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """Return the inverses of symmetric positive-definite matrices whose Cholesky factor is known.

        See `interlock.cholesky_inverse`.

        Args:
            upper: Whether it is the upper factor.

        Returns:
            The inverse of `input @ input.mT`, or of `input.mT @ input` if `upper`.

        Raises:
            ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
            DTypeError: The dtype is not float32 or float64.
        """
    def cholesky_solve(self, input2: Tensor, upper: builtins.bool = False) -> Tensor:
        """Return the solutions of systems of equations with symmetric positive-definite matrices whose Cholesky factor is known.

        See `interlock.cholesky_solve`.

        Args:
            input2: The Cholesky factor of the matrices. Batches are broadcast.
            upper: Whether it is the upper factor.

        Returns:
            A tensor `X` for which `A @ X` is `input`, where `A` is `input2 @ input2.mT`, or `input2.mT @ input2` if `upper`.

        Raises:
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes differ, or are not float32 or float64.
        """
    def chunk(self, chunks: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
        """Return at most `chunks` views of consecutive parts of a dimension, of equal sizes except for the last.

        The views are results of one node: while gradients are recorded they cannot be changed in place.

        See `interlock.chunk`.

        Args:
            chunks: The number of parts. There are fewer if the rounded up size of a part leaves none for the last ones.
            dim: The dimension.

        Returns:
            A tuple of views.

        Raises:
            ShapeError: The tensor has no dimensions.
            ArgumentError: `chunks` is not positive.
            IndexError: The tensor does not have dimension `dim`.
        """
    def clamp(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Limit each element to the range from `min` to `max`. NaN is preserved, and a limit of NaN makes elements NaN.

        An element that equals a limit has gradient 0 if the limits are numbers. If one is a tensor, the element and
        the limit have half of the gradient each. A lower limit below the range of an integer dtype limits nothing, nor
        does an upper limit above it.

        See `interlock.clamp`.

        Args:
            min: The lower limit, a tensor or a number; None means no limit.
            max: The upper limit, a tensor or a number; None means no limit. Elements are `max` where `min` is larger.

        Raises:
            ArgumentError: Both limits are None, or the promoted dtype cannot hold a number that limits elements.
            ShapeError: The shapes cannot be broadcast.
        """
    clip = clamp
    def clamp_(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """In-place version of `clamp`.

        See `interlock.clamp`.

        Args:
            min: The lower limit, a tensor or a number; None means no limit.
            max: The upper limit, a tensor or a number; None means no limit. Elements are `max` where `min` is larger.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: Both limits are None, or the promoted dtype cannot hold a number that limits elements.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    clip_ = clamp_
    def clamp_max(self, max: Tensor | _Number) -> Tensor:
        """Return each element, or `max` if it is larger.

        An element that equals a number has gradient 0. If `max` is a tensor, both have half of the gradient each.
        A number above the range of an integer dtype limits nothing.

        See `interlock.clamp_max`.

        Args:
            max: The upper limit, a tensor or a number.

        Raises:
            ArgumentError: The promoted dtype cannot hold a number that limits elements.
            ShapeError: The shapes cannot be broadcast.
        """
    def clamp_max_(self, max: Tensor | _Number) -> Tensor:
        """In-place version of `clamp_max`.

        See `interlock.clamp_max`.

        Args:
            max: The upper limit, a tensor or a number.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The promoted dtype cannot hold a number that limits elements.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def clamp_min(self, min: Tensor | _Number) -> Tensor:
        """Return each element, or `min` if it is smaller.

        An element that equals a number has gradient 0. If `min` is a tensor, both have half of the gradient each.
        A number below the range of an integer dtype limits nothing.

        See `interlock.clamp_min`.

        Args:
            min: The lower limit, a tensor or a number.

        Raises:
            ArgumentError: The promoted dtype cannot hold a number that limits elements.
            ShapeError: The shapes cannot be broadcast.
        """
    def clamp_min_(self, min: Tensor | _Number) -> Tensor:
        """In-place version of `clamp_min`.

        See `interlock.clamp_min`.

        Args:
            min: The lower limit, a tensor or a number.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The promoted dtype cannot hold a number that limits elements.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def clone(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return a copy of the tensor, as a recorded operation.

        See `interlock.clone`.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
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
    def copysign(self, other: Tensor | _Number) -> Tensor:
        """Return the magnitude of `input` with the sign of `other`, elementwise.

        See `interlock.copysign`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def copysign_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `copysign`.

        See `interlock.copysign`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def cos(self) -> Tensor:
        """Return the cosine of each element, in radians.

        See `interlock.cos`.
        """
    def cos_(self) -> Tensor:
        """In-place version of `cos`.

        See `interlock.cos`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def cosh(self) -> Tensor:
        """Return the hyperbolic cosine of each element.

        See `interlock.cosh`.
        """
    def cosh_(self) -> Tensor:
        """In-place version of `cosh`.

        See `interlock.cosh`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def count_nonzero(self, dim: _Dims | None = None) -> Tensor:
        """Return the number of nonzero elements, of all elements or over one or several dimensions.

        See `interlock.count_nonzero`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.

        Returns:
            An int64 tensor.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def cpu(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Return the tensor on the CPU, or the tensor itself if it is there.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def cumprod(self, dim: SupportsIndex, *, dtype: _DType | None = None) -> Tensor:
        """Return the cumulative product of the elements along a dimension.

        See `interlock.cumprod`.

        Args:
            dim: The dimension.
            dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.

        Raises:
            DTypeError: `dtype` is bool.
            IndexError: The tensor does not have dimension `dim`.
        """
    def cumsum(self, dim: SupportsIndex, *, dtype: _DType | None = None) -> Tensor:
        """Return the cumulative sum of the elements along a dimension.

        See `interlock.cumsum`.

        Args:
            dim: The dimension.
            dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.

        Raises:
            DTypeError: `dtype` is bool.
            IndexError: The tensor does not have dimension `dim`.
        """
    def detach(self) -> Tensor:
        """Return a tensor that shares memory with another and has no history.

        See `interlock.detach`.
        """
    def detach_(self) -> Tensor:
        """Remove the history of a tensor in place: it becomes a leaf that does not require grad.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The tensor is a view, which shares the history of its base.

        Example:
            >>> import interlock
            >>> x = interlock.ones(2, requires_grad=True) * 2
            >>> x.detach_().is_leaf
            True
        """
    def diagonal(self, offset: SupportsIndex = 0, dim1: SupportsIndex = 0, dim2: SupportsIndex = 1) -> Tensor:
        """Return a view of the diagonals of matrices. The diagonal is the last dimension of the view.

        See `interlock.diagonal`.

        Args:
            offset: The distance from the main diagonal: positive above it and negative below it.
            dim1: The dimension of the rows.
            dim2: The dimension of the columns.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
            ArgumentError: The dimensions are equal.
        """
    def div(
        self, other: Tensor | _Number, *, rounding_mode: Literal["floor", "trunc"] | None = None
    ) -> Tensor:
        """Return `input / other`, elementwise. The quotient of integers is float32 unless it is rounded.

        See `interlock.div`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            rounding_mode: `"floor"` to round down, `"trunc"` to round towards 0, or None. Rounded quotients of integers
                are integers.

        Raises:
            ArgumentError: `rounding_mode` is another text, or integers on the CPU are divided by 0 with rounding.
            DTypeError: Bools are divided with rounding.
            ShapeError: The shapes cannot be broadcast.
        """
    divide = div
    true_divide = div
    def div_(
        self, other: Tensor | _Number, *, rounding_mode: Literal["floor", "trunc"] | None = None
    ) -> Tensor:
        """In-place version of `div`.

        See `interlock.div`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            rounding_mode: `"floor"` to round down, `"trunc"` to round towards 0, or None. Rounded quotients of integers
                are integers.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: `rounding_mode` is another text, or integers on the CPU are divided by 0 with rounding.
            DTypeError: Bools are divided with rounding.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    divide_ = div_
    true_divide_ = div_
    def dot(self, tensor: Tensor) -> Tensor:
        """Return the dot product of two vectors.

        See `interlock.dot`.

        Args:
            tensor: A vector of the same size and dtype.

        Returns:
            A 0-d tensor.

        Raises:
            ShapeError: A tensor is not a vector, or the sizes differ.
            DTypeError: The dtypes differ or are bool.
        """
    def double(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to float64. Returns the tensor itself if it is a float64 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def eq(self, other: Tensor | _Number) -> Tensor:
        """Return a bool tensor that is True where the elements are equal to those of `other`.

        See `interlock.eq`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def eq_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `eq`.

        See `interlock.eq`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def equal(self, other: Tensor) -> builtins.bool:
        """Return whether two tensors have the same shape and equal elements. NaN equals nothing.

        For device tensors this waits for the queued work.

        See `interlock.equal`.

        Args:
            other: The other tensor.

        Raises:
            RuntimeError: The tensors are on different devices.
        """
    def erf(self) -> Tensor:
        """Return the error function of each element.

        See `interlock.erf`.
        """
    def erf_(self) -> Tensor:
        """In-place version of `erf`.

        See `interlock.erf`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def erfc(self) -> Tensor:
        """Return 1 minus the error function of each element, which is precise for large elements.

        See `interlock.erfc`.
        """
    def erfc_(self) -> Tensor:
        """In-place version of `erfc`.

        See `interlock.erfc`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def exp(self) -> Tensor:
        """Return e to the power of each element.

        See `interlock.exp`.
        """
    def exp_(self) -> Tensor:
        """In-place version of `exp`.

        See `interlock.exp`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def exp2(self) -> Tensor:
        """Return 2 to the power of each element.

        See `interlock.exp2`.
        """
    def exp2_(self) -> Tensor:
        """In-place version of `exp2`.

        See `interlock.exp2`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    @overload
    def expand(self, first_size: SupportsIndex | _Sizes, /, *args: SupportsIndex) -> Tensor:
        """Return a view in which dimensions of size 1 are repeated without a copy.

        Args:
            args: `size`, as separate ints or as one tuple or list.
            size: The new sizes. -1 keeps a size; new dimensions come first.

        Raises:
            ShapeError: A size other than 1 would change.

        Example:
            >>> import interlock
            >>> interlock.tensor([[1], [2]]).expand(-1, 3)
            tensor([[1, 1, 1],
                    [2, 2, 2]])
        """
    @overload
    def expand(self, *, size: _Sizes) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """Return a view in which dimensions of size 1 are repeated to the shape of another tensor.

        Args:
            other: The tensor whose shape is used.

        Raises:
            ShapeError: A size other than 1 would change.
            TypeError: `other` is not a tensor.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).expand_as(interlock.zeros(2, 2))
            tensor([[1, 2],
                    [1, 2]])
        """
    def expm1(self) -> Tensor:
        """Return e to the power of each element, minus 1, which is precise near 0.

        See `interlock.expm1`.
        """
    def expm1_(self) -> Tensor:
        """In-place version of `expm1`.

        See `interlock.expm1`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def fill_(self, value: Tensor | _Number) -> Tensor:
        """Set all elements of a tensor to `value`. A number also fills an expanded tensor.

        Args:
            value: A number, or a 0-d tensor, whose gradient is the sum of all gradients.

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
    def flatten(self, start_dim: SupportsIndex = 0, end_dim: SupportsIndex = -1) -> Tensor:
        """Return the elements with some or all dimensions merged into one: a view if possible.

        See `interlock.flatten`.

        Args:
            start_dim: The first of the merged dimensions.
            end_dim: The last of the merged dimensions.

        Returns:
            The tensor itself if `start_dim` is `end_dim`.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
            ArgumentError: `end_dim` is before `start_dim`.
        """
    @overload
    def flip(self, first_dims: SupportsIndex | _Sizes, /, *args: SupportsIndex) -> Tensor:
        """Return a copy with the elements of dimensions in reverse order.

        See `interlock.flip`.

        Args:
            args: `dims`, as separate ints or as one tuple or list.
            dims: The dimension or dimensions.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
            ArgumentError: A dimension is named twice.
        """
    @overload
    def flip(self, *, dims: _Sizes) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """Return a copy with the columns of a matrix, or of each matrix in the first two dimensions, in reverse order.

        See `interlock.fliplr`.

        Raises:
            ShapeError: The tensor has fewer than two dimensions.
        """
    def flipud(self) -> Tensor:
        """Return a copy with the rows, which are along the first dimension, in reverse order.

        See `interlock.flipud`.

        Raises:
            ShapeError: The tensor has no dimensions.
        """
    def float(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to float32. Returns the tensor itself if it is a float32 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def floor(self) -> Tensor:
        """Round each element down to an integer. Integers are unchanged.

        See `interlock.floor`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    def floor_(self) -> Tensor:
        """In-place version of `floor`.

        See `interlock.floor`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def floor_divide(self, other: Tensor | _Number) -> Tensor:
        """Return `input / other` rounded down, elementwise, as Python's `//`. `div` with a rounding mode has a gradient.

        See `interlock.floor_divide`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ArgumentError: Integers on the CPU are divided by 0.
            DTypeError: The promoted dtype is bool.
            ShapeError: The shapes cannot be broadcast.
        """
    def floor_divide_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `floor_divide`.

        See `interlock.floor_divide`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: Integers on the CPU are divided by 0.
            DTypeError: The promoted dtype is bool.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def fmax(self, other: Tensor) -> Tensor:
        """Return the larger of two elements, or the other one if one of them is NaN.

        See `interlock.fmax`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def fmin(self, other: Tensor) -> Tensor:
        """Return the smaller of two elements, or the other one if one of them is NaN.

        See `interlock.fmin`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def fmod(self, other: Tensor | _Number) -> Tensor:
        """Return the remainder of `input / other`, elementwise, with the sign of `input`, as C's `fmod`.

        See `interlock.fmod`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ArgumentError: Integers on the CPU are divided by 0.
            DTypeError: The promoted dtype is bool.
            ShapeError: The shapes cannot be broadcast.
        """
    def fmod_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `fmod`.

        See `interlock.fmod`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: Integers on the CPU are divided by 0.
            DTypeError: The promoted dtype is bool.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def frac(self) -> Tensor:
        """Return the fractional part of each element, with its sign.

        See `interlock.frac`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    def frac_(self) -> Tensor:
        """In-place version of `frac`.

        See `interlock.frac`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def gather(self, dim: SupportsIndex, index: Tensor) -> Tensor:
        """Return the elements at `index` along dimension `dim`.

        See `interlock.gather`.

        Args:
            dim: The dimension.
            index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of the result is the element
                of the tensor at `index[j]` along `dim` and at j in the other dimensions.

        Returns:
            A tensor of the shape of `index`.

        Raises:
            ShapeError: `index` has another number of dimensions, or is larger than the tensor in another dimension.
            DTypeError: `index` is not int64.
            RuntimeError: An index is negative or out of bounds.
            IndexError: The tensor does not have dimension `dim`.
        """
    def ge(self, other: Tensor | _Number) -> Tensor:
        """Return a bool tensor that is True where the elements are larger than those of `other` or equal.

        See `interlock.ge`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    greater_equal = ge
    def ge_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `ge`.

        See `interlock.ge`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    greater_equal_ = ge_
    def gt(self, other: Tensor | _Number) -> Tensor:
        """Return a bool tensor that is True where the elements are larger than those of `other`.

        See `interlock.gt`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    greater = gt
    def gt_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `gt`.

        See `interlock.gt`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    greater_ = gt_
    def half(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to float16. Returns the tensor itself if it is a float16 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def hypot(self, other: Tensor) -> Tensor:
        """Return the length of the hypotenuse of a right triangle with these legs, elementwise.

        See `interlock.hypot`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            DTypeError: The promoted dtype is not floating point.
            ShapeError: The shapes cannot be broadcast.
        """
    def hypot_(self, other: Tensor) -> Tensor:
        """In-place version of `hypot`.

        See `interlock.hypot`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The promoted dtype is not floating point.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def index_add(
        self, dim: SupportsIndex, index: Tensor, source: Tensor, *, alpha: _Number | None = None
    ) -> Tensor:
        """Return a copy with the slices of `source` added to the slices `index` of dimension `dim`.

        Sums of several floating-point values for one element have no fixed order, unless
        `backends.deterministic_algorithms` is set.

        See `interlock.index_add`.

        Args:
            dim: The dimension.
            index: Indices of slices, int64, of at most one dimension. Not negative.
            source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
                `index`.
            alpha: A number by which `source` is multiplied first; None means 1.

        Raises:
            IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
        """
    def index_add_(
        self, dim: SupportsIndex, index: Tensor, source: Tensor, *, alpha: _Number | None = None
    ) -> Tensor:
        """In-place version of `index_add`.

        See `interlock.index_add`.

        Args:
            dim: The dimension.
            index: Indices of slices, int64, of at most one dimension. Not negative.
            source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
                `index`.
            alpha: A number by which `source` is multiplied first; None means 1.

        Returns:
            The tensor itself.

        Raises:
            IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def index_copy(self, dim: SupportsIndex, index: Tensor, source: Tensor) -> Tensor:
        """Return a copy with the slices of `source` written to the slices `index` of dimension `dim`.

        See `interlock.index_copy`.

        Args:
            dim: The dimension.
            index: Indices of slices, int64, of at most one dimension. Not negative. Of several slices for one position the
                last is stored.
            source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
                `index`.

        Raises:
            IndexError: An index is out of bounds, the tensor does not have dimension `dim`, or `source` has another number of
                dimensions than the tensor or not one slice for each index.
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
        """
    def index_copy_(self, dim: SupportsIndex, index: Tensor, source: Tensor) -> Tensor:
        """In-place version of `index_copy`.

        See `interlock.index_copy`.

        Args:
            dim: The dimension.
            index: Indices of slices, int64, of at most one dimension. Not negative. Of several slices for one position the
                last is stored.
            source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
                `index`.

        Returns:
            The tensor itself.

        Raises:
            IndexError: An index is out of bounds, the tensor does not have dimension `dim`, or `source` has another number of
                dimensions than the tensor or not one slice for each index.
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def index_fill(self, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor:
        """Return a copy with `value` written to the slices `index` of dimension `dim`.

        See `interlock.index_fill`.

        Args:
            dim: The dimension.
            index: Indices of slices, int64, of at most one dimension. Negative indices count from the end.
            value: A number, or a 0-d tensor.

        Raises:
            IndexError: An index is out of bounds, the tensor does not have dimension `dim`, or `index` is not int64.
            ShapeError: `index` has two dimensions.
            ArgumentError: The dtype cannot hold the number.
        """
    def index_fill_(self, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor:
        """In-place version of `index_fill`.

        See `interlock.index_fill`.

        Args:
            dim: The dimension.
            index: Indices of slices, int64, of at most one dimension. Negative indices count from the end.
            value: A number, or a 0-d tensor.

        Returns:
            The tensor itself.

        Raises:
            IndexError: An index is out of bounds, the tensor does not have dimension `dim`, or `index` is not int64.
            ShapeError: `index` has two dimensions.
            ArgumentError: The dtype cannot hold the number.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def index_put(
        self, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False
    ) -> Tensor:
        """Return a copy with `values` written at `indices`, as by `copy[indices] = values`.

        Sums of several floating-point values for one element have no fixed order, unless
        `backends.deterministic_algorithms` is set.

        See `interlock.index_put`.

        Args:
            indices: A tuple or list of tensors that index the first dimensions: int64 indices, which may be negative, or
                bool masks. None means a whole dimension.
            values: The values, of the dtype of the tensor. Broadcast to the indexed part.
            accumulate: Whether the values are added to the elements. If it is False, the last of several values for one
                element is stored.

        Raises:
            IndexError: An index is out of bounds, or there are more indices than dimensions.
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `values` differ.
        """
    def index_put_(
        self, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False
    ) -> Tensor:
        """In-place version of `index_put`.

        See `interlock.index_put`.

        Args:
            indices: A tuple or list of tensors that index the first dimensions: int64 indices, which may be negative, or
                bool masks. None means a whole dimension.
            values: The values, of the dtype of the tensor. Broadcast to the indexed part.
            accumulate: Whether the values are added to the elements. If it is False, the last of several values for one
                element is stored.

        Returns:
            The tensor itself.

        Raises:
            IndexError: An index is out of bounds, or there are more indices than dimensions.
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `values` differ.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def index_select(self, dim: SupportsIndex, index: Tensor) -> Tensor:
        """Return the slices `index` of dimension `dim`.

        See `interlock.index_select`.

        Args:
            dim: The dimension.
            index: Indices of slices, int64, of at most one dimension. Not negative.

        Returns:
            A new tensor, whose size in `dim` is the size of `index`.

        Raises:
            IndexError: An index is out of bounds, `index` has two dimensions, or the tensor does not have `dim`.
            DTypeError: `index` is not int64.
        """
    def int(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to int32: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is an
        int32 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def is_floating_point(self) -> builtins.bool:
        """Return whether the elements are floating-point numbers.

        See `interlock.is_floating_point`.
        """
    def is_inference(self) -> builtins.bool:
        """Return whether a tensor was created in inference mode.

        See `interlock.is_inference`.
        """
    def is_signed(self) -> builtins.bool:
        """Return whether the elements can be negative.

        See `interlock.is_signed`.
        """
    def isclose(
        self,
        other: Tensor,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Tensor:
        """Return a bool tensor that is True where the elements differ by at most `atol + rtol * abs(other)`.

        Differences of integers do not wrap.

        See `interlock.isclose`.

        Args:
            other: The other tensor.
            rtol: The relative tolerance.
            atol: The absolute tolerance.
            equal_nan: Whether NaN is close to NaN.

        Returns:
            A bool tensor. Infinities are close only to themselves.

        Raises:
            DTypeError: The dtypes differ.
            ArgumentError: A tolerance is negative.
            ShapeError: The shapes cannot be broadcast.
        """
    def isfinite(self) -> Tensor:
        """Return a bool tensor that is True where the elements are neither infinite nor NaN.

        See `interlock.isfinite`.
        """
    def isinf(self) -> Tensor:
        """Return a bool tensor that is True where the elements are infinite.

        See `interlock.isinf`.
        """
    def isnan(self) -> Tensor:
        """Return a bool tensor that is True where the elements are NaN.

        See `interlock.isnan`.
        """
    def le(self, other: Tensor | _Number) -> Tensor:
        """Return a bool tensor that is True where the elements are smaller than those of `other` or equal.

        See `interlock.le`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    less_equal = le
    def le_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `le`.

        See `interlock.le`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    less_equal_ = le_
    def lerp(self, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """Return `input + weight * (end - input)`, elementwise.

        See `interlock.lerp`.

        Args:
            end: The tensor for a weight of 1, of the same dtype. Shapes are broadcast.
            weight: A tensor or a number.

        Raises:
            DTypeError: The dtypes differ or are not floating point.
            ShapeError: The shapes cannot be broadcast.
        """
    def lerp_(self, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """In-place version of `lerp`.

        See `interlock.lerp`.

        Args:
            end: The tensor for a weight of 1, of the same dtype. Shapes are broadcast.
            weight: A tensor or a number.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtypes differ or are not floating point.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def log(self) -> Tensor:
        """Return the natural logarithm of each element; NaN for negative elements and minus infinity for 0.

        See `interlock.log`.
        """
    def log_(self) -> Tensor:
        """In-place version of `log`.

        See `interlock.log`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def log10(self) -> Tensor:
        """Return the decimal logarithm of each element; NaN for negative elements and minus infinity for 0.

        See `interlock.log10`.
        """
    def log10_(self) -> Tensor:
        """In-place version of `log10`.

        See `interlock.log10`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def log1p(self) -> Tensor:
        """Return the natural logarithm of 1 plus each element, which is precise near 0.

        See `interlock.log1p`.
        """
    def log1p_(self) -> Tensor:
        """In-place version of `log1p`.

        See `interlock.log1p`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def log2(self) -> Tensor:
        """Return the binary logarithm of each element; NaN for negative elements and minus infinity for 0.

        See `interlock.log2`.
        """
    def log2_(self) -> Tensor:
        """In-place version of `log2`.

        See `interlock.log2`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def log_softmax(self, dim: SupportsIndex, dtype: _DType | None = None) -> Tensor:
        """Return the logarithm of the softmax along a dimension; accurate also where the softmax underflows.

        See `interlock.log_softmax`.

        Args:
            dim: The dimension along which the softmax sums to 1.
            dtype: The floating-point dtype to convert the elements to first. None means no change.

        Raises:
            DTypeError: The elements are not floating point, and `dtype` does not convert them.
            IndexError: The tensor does not have dimension `dim`.
        """
    def logaddexp(self, other: Tensor) -> Tensor:
        """Return `log(exp(input) + exp(other))`, elementwise, also where an exponential overflows.

        See `interlock.logaddexp`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            DTypeError: The promoted dtype is not floating point.
            ShapeError: The shapes cannot be broadcast.
        """
    def logical_and(self, other: Tensor) -> Tensor:
        """Return a bool tensor that is True where both elements are nonzero.

        See `interlock.logical_and`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def logical_and_(self, other: Tensor) -> Tensor:
        """In-place version of `logical_and`.

        See `interlock.logical_and`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def logical_not(self) -> Tensor:
        """Return a bool tensor that is True where the elements are zero.

        See `interlock.logical_not`.
        """
    def logical_not_(self) -> Tensor:
        """In-place version of `logical_not`.

        See `interlock.logical_not`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def logical_or(self, other: Tensor) -> Tensor:
        """Return a bool tensor that is True where an element is nonzero.

        See `interlock.logical_or`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def logical_or_(self, other: Tensor) -> Tensor:
        """In-place version of `logical_or`.

        See `interlock.logical_or`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def logical_xor(self, other: Tensor) -> Tensor:
        """Return a bool tensor that is True where exactly one of the elements is nonzero.

        See `interlock.logical_xor`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def logical_xor_(self, other: Tensor) -> Tensor:
        """In-place version of `logical_xor`.

        See `interlock.logical_xor`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def logsumexp(self, dim: _Dims, keepdim: builtins.bool = False) -> Tensor:
        """Return the logarithm of the sum of the exponentials over one or several dimensions.

        It is accurate also where an exponential overflows. Integers are converted to float32.

        See `interlock.logsumexp`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list.
            keepdim: Whether reduced dimensions remain, with size 1.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def long(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to int64, by truncation. Returns the tensor itself if it is an int64 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def lt(self, other: Tensor | _Number) -> Tensor:
        """Return a bool tensor that is True where the elements are smaller than those of `other`.

        See `interlock.lt`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    less = lt
    def lt_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `lt`.

        See `interlock.lt`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    less_ = lt_
    def masked_fill(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """Return a copy with `value` written where `mask` is True.

        See `interlock.masked_fill`.

        Args:
            mask: The mask, bool. Broadcast with the tensor.
            value: A number, or a 0-d tensor.

        Raises:
            DTypeError: `mask` is not bool.
            ShapeError: The shapes cannot be broadcast.
            ArgumentError: The dtype cannot hold the number.
        """
    def masked_fill_(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """In-place version of `masked_fill`.

        See `interlock.masked_fill`.

        Args:
            mask: The mask, bool. Broadcast with the tensor.
            value: A number, or a 0-d tensor.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: `mask` is not bool.
            ShapeError: The shapes cannot be broadcast.
            ArgumentError: The dtype cannot hold the number.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return a copy with the first elements of `source` written where `mask` is True. Waits for a device.

        See `interlock.masked_scatter`.

        Args:
            mask: The mask, bool. Broadcast to the tensor.
            source: The elements, in row-major order, of the dtype of the tensor. At least as many as the mask is True.

        Raises:
            DTypeError: `mask` is not bool, or the dtypes differ.
            ShapeError: The shapes are incompatible.
        """
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place version of `masked_scatter`.

        See `interlock.masked_scatter`.

        Args:
            mask: The mask, bool. Broadcast to the tensor.
            source: The elements, in row-major order, of the dtype of the tensor. At least as many as the mask is True.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: `mask` is not bool, or the dtypes differ.
            ShapeError: The shapes are incompatible.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def masked_select(self, mask: Tensor) -> Tensor:
        """Return the elements where a mask is True, in row-major order. Waits for a device.

        See `interlock.masked_select`.

        Args:
            mask: The mask, bool. Broadcast with the tensor.

        Returns:
            A tensor with one dimension.

        Raises:
            DTypeError: `mask` is not bool.
            ShapeError: The shapes cannot be broadcast.
        """
    def matmul(self, other: Tensor) -> Tensor:
        """Return the matrix product of two tensors.

        A one-dimensional tensor is a row vector on the left and a column vector on the right. The dimensions before the
        last two are broadcast.

        See `interlock.matmul`.

        Args:
            other: The right tensor, of shape [..., k, m] or [k], of the same dtype.

        Returns:
            A tensor of shape [..., n, m], without the dimension of a one-dimensional operand.

        Raises:
            DTypeError: The dtypes differ or are bool.
            ShapeError: The shapes are incompatible.
        """
    @overload
    def max(self, dim: None = None) -> Tensor:
        """Return the maximum of all elements, or along a dimension, or of each pair of elements of two tensors.

        See `interlock.max`.

        Args:
            dim: The dimension, or a tensor. None means all elements.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            The maximum of all elements, which share the gradient if they are equal. With a dimension a named tuple
            `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor
            the larger elements of both, as `maximum`. NaN counts as the maximum.

        Raises:
            ShapeError: There are no elements.
            IndexError: The dimension has size 0.
            TypeError: `keepdim` is set without `dim`.
            IndexError: The tensor does not have dimension `dim`.
        """
    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False) -> _return_types.max: ...
    @overload
    def max(self, dim: Tensor) -> Tensor: ...
    def maximum(self, other: Tensor) -> Tensor:
        """Return the larger of two elements, or NaN if one of them is NaN.

        See `interlock.maximum`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def mean(
        self, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
    ) -> Tensor:
        """Return the mean of all elements, or over one or several dimensions. The mean of no elements is NaN.

        See `interlock.mean`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.
            dtype: The floating-point dtype to convert the elements to first. None means no change.

        Raises:
            DTypeError: The elements are not floating point, and `dtype` does not convert them.
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    @overload
    def median(self, dim: None = None) -> Tensor:
        """Return the median of all elements, or along a dimension: the middle element, or the smaller one of two.

        See `interlock.median`.

        Args:
            dim: The dimension. None means all elements.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            The median of all elements, which share the gradient if they are equal; NaN if there are none. With a dimension a
            named tuple `(values, indices)`, in which the element at the index receives the gradient. It is NaN where an element
            is.

        Raises:
            ShapeError: There are no elements, and the dtype is an integer dtype.
            IndexError: The reduced dimension has size 0.
            DTypeError: The tensor is a bool tensor.
            TypeError: `keepdim` is set without `dim`.
            IndexError: The tensor does not have dimension `dim`.
        """
    @overload
    def median(self, dim: SupportsIndex, keepdim: builtins.bool = False) -> _return_types.median: ...
    @overload
    def min(self, dim: None = None) -> Tensor:
        """Return the minimum of all elements, or along a dimension, or of each pair of elements of two tensors.

        See `interlock.min`.

        Args:
            dim: The dimension, or a tensor. None means all elements.
            keepdim: Whether reduced dimensions remain, with size 1.

        Returns:
            The minimum of all elements, which share the gradient if they are equal. With a dimension a named tuple
            `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor
            the smaller elements of both, as `minimum`. NaN counts as the minimum.

        Raises:
            ShapeError: There are no elements.
            IndexError: The dimension has size 0.
            TypeError: `keepdim` is set without `dim`.
            IndexError: The tensor does not have dimension `dim`.
        """
    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False) -> _return_types.min: ...
    @overload
    def min(self, dim: Tensor) -> Tensor: ...
    def minimum(self, other: Tensor) -> Tensor:
        """Return the smaller of two elements, or NaN if one of them is NaN.

        See `interlock.minimum`.

        Args:
            other: A tensor. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    def mm(self, mat2: Tensor) -> Tensor:
        """Return the matrix product of two matrices.

        See `interlock.mm`.

        Args:
            mat2: The right matrix, of shape [k, m], of the same dtype.

        Returns:
            A matrix of shape [n, m].

        Raises:
            DTypeError: The dtypes differ or are bool.
            ShapeError: A tensor is not a matrix, or the inner sizes differ.
        """
    def movedim(self, source: _Dims, destination: _Dims) -> Tensor:
        """Return a view with dimensions at other positions. The other dimensions keep their order.

        See `interlock.movedim`.

        Args:
            source: The dimension or dimensions that are moved.
            destination: The new position of each of them.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
            ArgumentError: A dimension is named twice, or the numbers of dimensions differ.
        """
    moveaxis = movedim
    def mul(self, other: Tensor | _Number) -> Tensor:
        """Return `input * other`, elementwise. The product of bools is the logical and.

        See `interlock.mul`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    multiply = mul
    def mul_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `mul`.

        See `interlock.mul`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    multiply_ = mul_
    def multinomial(
        self,
        num_samples: SupportsIndex,
        replacement: builtins.bool = False,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Return indices that are drawn in proportion to weights.

        See `interlock.multinomial`.

        Args:
            num_samples: The number of indices of each row.
            replacement: Whether an index can be drawn several times.
            generator: The generator that draws. None means the default one of the device.

        Returns:
            An int64 tensor of shape [num_samples], or [rows, num_samples] for a matrix of weights.

        Raises:
            ArgumentError: `num_samples` is not positive, or exceeds the number of weights without replacement; or a weight
                is negative or not finite, or all weights of a row are 0. For tensors on a device the latter errors are
                asynchronous.
            DTypeError: The weights are not floating point.
            ShapeError: The tensor does not have one or two dimensions.
        """
    def mv(self, vec: Tensor) -> Tensor:
        """Return the matrix-vector product.

        See `interlock.mv`.

        Args:
            vec: A vector of the size of a row of the matrix, of the same dtype.

        Returns:
            A vector with an element for each row.

        Raises:
            ShapeError: The tensors are not a matrix and a vector, or the sizes differ.
            DTypeError: The dtypes differ or are bool.
        """
    def nan_to_num(
        self,
        nan: builtins.float | None = None,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """Replace NaN and infinities by numbers. Integers and bools are unchanged.

        See `interlock.nan_to_num`.

        Args:
            nan: The number that replaces NaN; None means 0.
            posinf: The number that replaces infinity; None means the largest number of the dtype.
            neginf: The number that replaces minus infinity; None means the smallest number of the dtype.
        """
    def nan_to_num_(
        self,
        nan: builtins.float | None = None,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """In-place version of `nan_to_num`.

        See `interlock.nan_to_num`.

        Args:
            nan: The number that replaces NaN; None means 0.
            posinf: The number that replaces infinity; None means the largest number of the dtype.
            neginf: The number that replaces minus infinity; None means the smallest number of the dtype.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def nansum(
        self, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
    ) -> Tensor:
        """Return the sum of the elements that are not NaN, of all or over one or several dimensions.

        See `interlock.nansum`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.
            dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def narrow(self, dim: SupportsIndex, start: SupportsIndex, length: SupportsIndex) -> Tensor:
        """Return a view of some consecutive indices of a dimension.

        See `interlock.narrow`.

        Args:
            dim: The dimension.
            start: The first index. A negative index counts from the end.
            length: The number of indices.

        Raises:
            IndexError: The tensor does not have dimension `dim` or index `start`.
            ShapeError: The tensor has no dimensions.
            ArgumentError: `length` is negative or exceeds the dimension.
        """
    def ne(self, other: Tensor | _Number) -> Tensor:
        """Return a bool tensor that is True where the elements differ from those of `other`.

        See `interlock.ne`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ShapeError: The shapes cannot be broadcast.
        """
    not_equal = ne
    def ne_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `ne`.

        See `interlock.ne`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    not_equal_ = ne_
    def neg(self) -> Tensor:
        """Return the negation of each element.

        See `interlock.neg`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    negative = neg
    def neg_(self) -> Tensor:
        """In-place version of `neg`.

        See `interlock.neg`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    negative_ = neg_
    def nelement(self) -> builtins.int:
        """Return the number of elements, as `numel`."""
    @overload
    def new_empty(
        self,
        first_size: SupportsIndex | _Sizes,
        /,
        *args: SupportsIndex,
        dtype: _DType | None = None,
        layout: _Layout | None = None,
        device: _Device | None = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor:
        """Return an uninitialized tensor with the dtype and device of this one.

        Args:
            args: `size`, as separate ints or as one tuple or list.
            size: The sizes; by name as a tuple or list.
            dtype: The element type; None means the dtype of the tensor.
            layout: `interlock.strided` or None, which means the same.
            device: The device; None means the device of the tensor.
            requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
            pin_memory: Whether a CPU tensor is allocated in pinned memory.

        Raises:
            ArgumentError: A size is negative.
            DTypeError: `requires_grad` is True for a dtype that is not floating point.
            NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
            OutOfMemoryError: Not enough memory is available.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).new_empty(2, 3).shape
            (2, 3)
        """
    @overload
    def new_empty(
        self,
        *,
        size: _Sizes,
        dtype: _DType | None = None,
        layout: _Layout | None = None,
        device: _Device | None = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor: ...
    def new_full(
        self,
        size: _Dims,
        fill_value: _Number,
        *,
        dtype: _DType | None = None,
        layout: _Layout | None = None,
        device: _Device | None = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor:
        """Return a tensor filled with a number, with the dtype and device of this one.

        Args:
            size: The sizes, as an int or as a tuple or list.
            fill_value: The number, or a tensor with one element.
            dtype: The element type; None means the dtype of the tensor.
            layout: `interlock.strided` or None, which means the same.
            device: The device; None means the device of the tensor.
            requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
            pin_memory: Whether a CPU tensor is allocated in pinned memory.

        Raises:
            ArgumentError: The dtype cannot hold the number, or a size is negative.
            DTypeError: `requires_grad` is True for a dtype that is not floating point.
            NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
            OutOfMemoryError: Not enough memory is available.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).new_full((2,), 7)
            tensor([7, 7])
        """
    @overload
    def new_ones(
        self,
        first_size: SupportsIndex | _Sizes,
        /,
        *args: SupportsIndex,
        dtype: _DType | None = None,
        layout: _Layout | None = None,
        device: _Device | None = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor:
        """Return a tensor of ones with the dtype and device of this one.

        Args:
            args: `size`, as separate ints or as one tuple or list.
            size: The sizes; by name as a tuple or list.
            dtype: The element type; None means the dtype of the tensor.
            layout: `interlock.strided` or None, which means the same.
            device: The device; None means the device of the tensor.
            requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
            pin_memory: Whether a CPU tensor is allocated in pinned memory.

        Raises:
            ArgumentError: A size is negative.
            DTypeError: `requires_grad` is True for a dtype that is not floating point.
            NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
            OutOfMemoryError: Not enough memory is available.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).new_ones((2,))
            tensor([1, 1])
        """
    @overload
    def new_ones(
        self,
        *,
        size: _Sizes,
        dtype: _DType | None = None,
        layout: _Layout | None = None,
        device: _Device | None = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor: ...
    def new_tensor(
        self,
        data: _Nested | npt.NDArray[Any],
        *,
        dtype: _DType | None = None,
        layout: _Layout | None = None,
        device: _Device | None = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor:
        """Return a tensor with a copy of `data`, with the dtype and device of this one.

        Args:
            data: A number, nested sequences of numbers, a NumPy array or a tensor.
            dtype: The element type; None means the dtype of the tensor.
            layout: `interlock.strided` or None, which means the same.
            device: The device; None means the device of the tensor.
            requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
            pin_memory: Whether a CPU tensor is allocated in pinned memory.

        Raises:
            ValueError: Sequences of one level have different lengths, or are nested more than 64 levels deep.
            ArgumentError: int64 cannot hold a number.
            TypeError: `data` contains other objects, or numbers beside sequences.
            DTypeError: `requires_grad` is True for a dtype that is not floating point.
            NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
            OutOfMemoryError: Not enough memory is available.

        Example:
            >>> import interlock
            >>> interlock.tensor([1.5]).new_tensor([1, 2])
            tensor([1., 2.])
        """
    @overload
    def new_zeros(
        self,
        first_size: SupportsIndex | _Sizes,
        /,
        *args: SupportsIndex,
        dtype: _DType | None = None,
        layout: _Layout | None = None,
        device: _Device | None = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor:
        """Return a tensor of zeros with the dtype and device of this one.

        Args:
            args: `size`, as separate ints or as one tuple or list.
            size: The sizes; by name as a tuple or list.
            dtype: The element type; None means the dtype of the tensor.
            layout: `interlock.strided` or None, which means the same.
            device: The device; None means the device of the tensor.
            requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
            pin_memory: Whether a CPU tensor is allocated in pinned memory.

        Raises:
            ArgumentError: A size is negative.
            DTypeError: `requires_grad` is True for a dtype that is not floating point.
            NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
            OutOfMemoryError: Not enough memory is available.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).new_zeros(2)
            tensor([0, 0])
        """
    @overload
    def new_zeros(
        self,
        *,
        size: _Sizes,
        dtype: _DType | None = None,
        layout: _Layout | None = None,
        device: _Device | None = None,
        requires_grad: builtins.bool = False,
        pin_memory: builtins.bool = False,
    ) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """Return the coordinates of the elements that are not zero. Waits for a device.

        See `interlock.nonzero`.

        Args:
            as_tuple: Whether a tuple with one tensor for each dimension is returned.

        Returns:
            An int64 tensor of shape [elements, dimensions], in row-major order, or a tuple.
        """
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def norm(
        self,
        p: _Number | Literal["fro"] | None = None,
        dim: _Dims | None = None,
        keepdim: builtins.bool = False,
        dtype: _DType | None = None,
    ) -> Tensor:
        """Return the vector norm of all elements, or over one or several dimensions.

        It is the root of order `p` of the sum of the powers of absolute values, the number of nonzero elements for
        order 0, and the largest or smallest absolute value for an infinite order. The gradient is 0 where the norm is
        0.

        See `interlock.norm`.

        Args:
            p: The order: a number, an infinity, or "fro" for 2. None means 2.
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
            keepdim: Whether reduced dimensions remain, with size 1.
            dtype: The floating-point dtype to convert the elements to first, which must not be narrower. None means no
                change.

        Raises:
            DTypeError: The elements are not floating point, or `dtype` is narrower.
            ArgumentError: `p` is another text.
            ShapeError: `p` is infinite or negative and there are no elements to reduce.
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def normal_(
        self, mean: builtins.float = 0.0, std: builtins.float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Overwrite the elements with random numbers of a normal distribution.

        Args:
            mean: The mean.
            std: The standard deviation.
            generator: The generator that draws. None means the default one of the device.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor is not floating point.
            ArgumentError: `std` is negative.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.

        Example:
            >>> import interlock
            >>> interlock.zeros(2).normal_(3.0, 0.0)
            tensor([3., 3.])
        """
    def numel(self) -> builtins.int:
        """Return the number of elements.

        See `interlock.numel`.
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """Return the outer product of two vectors.

        As in PyTorch the elements are multiplied as by `*`: dtypes are promoted, and no precision flag affects the result.

        See `interlock.outer`.

        Args:
            vec2: The vector whose elements are the columns of the result.

        Returns:
            A matrix with a row for each element of this vector.

        Raises:
            ShapeError: A tensor is not a vector.
        """
    @overload
    def permute(self, first_dims: SupportsIndex | _Sizes, /, *args: SupportsIndex) -> Tensor:
        """Return a view with permuted dimensions.

        See `interlock.permute`.

        Args:
            args: `dims`, as separate ints or as one tuple or list.
            dims: The dimensions of the tensor in their new order.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
            ArgumentError: A dimension is missing or named twice.
        """
    @overload
    def permute(self, *, dims: _Sizes) -> Tensor: ...
    def positive(self) -> Tensor:
        """Return the tensor itself.

        See `interlock.positive`.

        Raises:
            DTypeError: `input` is a bool tensor.
        """
    def pow(self, exponent: Tensor | _Number) -> Tensor:
        """Return `input ** exponent`, elementwise.

        See `interlock.pow`.

        Args:
            exponent: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ArgumentError: The promoted dtype is an integer dtype, and `exponent` is a negative number.
            DTypeError: Both are bool tensors.
            ShapeError: The shapes cannot be broadcast.
        """
    def pow_(self, exponent: Tensor | _Number) -> Tensor:
        """In-place version of `pow`.

        See `interlock.pow`.

        Args:
            exponent: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The promoted dtype is an integer dtype, and `exponent` is a negative number.
            DTypeError: Both are bool tensors.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def prod(
        self, dim: SupportsIndex | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
    ) -> Tensor:
        """Return the product of all elements, or along a dimension. The product of no elements is 1.

        See `interlock.prod`.

        Args:
            dim: The dimension. None means all elements.
            keepdim: Whether reduced dimensions remain, with size 1.
            dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
        """
    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """Return a copy with `source` written at flat (row-major) indices.

        See `interlock.put`.

        Args:
            index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
            source: The values, of the dtype of the tensor. As many elements as `index`.
            accumulate: Whether the values are added to the elements. If it is False, and several values target one element,
                which one is stored is unspecified.

        Raises:
            IndexError: An index is out of bounds, or the numbers of elements differ.
            DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
            RuntimeError: `accumulate` is False while `backends.deterministic_algorithms` is set. With
                `deterministic_algorithms_warn_only` it is a UserWarning.
        """
    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """In-place version of `put`.

        See `interlock.put`.

        Args:
            index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
            source: The values, of the dtype of the tensor. As many elements as `index`.
            accumulate: Whether the values are added to the elements. If it is False, and several values target one element,
                which one is stored is unspecified.

        Returns:
            The tensor itself.

        Raises:
            IndexError: An index is out of bounds, or the numbers of elements differ.
            DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
            RuntimeError: `accumulate` is False while `backends.deterministic_algorithms` is set. With
                `deterministic_algorithms_warn_only` it is a UserWarning.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def ravel(self) -> Tensor:
        """Return the elements in one dimension: a view if the tensor is contiguous, else a copy.

        See `interlock.ravel`.
        """
    def reciprocal(self) -> Tensor:
        """Return the reciprocal of each element.

        See `interlock.reciprocal`.
        """
    def reciprocal_(self) -> Tensor:
        """In-place version of `reciprocal`.

        See `interlock.reciprocal`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def relu(self) -> Tensor:
        """Return each element, or 0 if it is negative. The gradient at 0 is 0.

        See `interlock.relu`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    def relu_(self) -> Tensor:
        """In-place version of `relu`.

        See `interlock.relu`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def remainder(self, other: Tensor | _Number) -> Tensor:
        """Return the remainder of `input / other`, elementwise, with the sign of `other`, as Python's `%`.

        See `interlock.remainder`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ArgumentError: Integers on the CPU are divided by 0.
            DTypeError: The promoted dtype is bool.
            ShapeError: The shapes cannot be broadcast.
        """
    def remainder_(self, other: Tensor | _Number) -> Tensor:
        """In-place version of `remainder`.

        See `interlock.remainder`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: Integers on the CPU are divided by 0.
            DTypeError: The promoted dtype is bool.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    @overload
    def repeat(self, first_repeats: SupportsIndex | _Sizes, /, *args: SupportsIndex) -> Tensor:
        """Return a copy in which dimensions are repeated.

        Args:
            args: `repeats`, as separate ints or as one tuple or list.
            repeats: How often each dimension is repeated. Numbers beyond those of the dimensions are the sizes of new
                dimensions, which come first.

        Raises:
            ArgumentError: A number is negative, or there are fewer numbers than dimensions.
            OutOfMemoryError: Not enough memory is available.

        Example:
            >>> import interlock
            >>> interlock.tensor([1, 2]).repeat(2, 2)
            tensor([[1, 2, 1, 2],
                    [1, 2, 1, 2]])
        """
    @overload
    def repeat(self, *, repeats: _Sizes) -> Tensor: ...
    def repeat_interleave(
        self,
        repeats: SupportsIndex | Tensor,
        dim: SupportsIndex | None = None,
        *,
        output_size: SupportsIndex | None = None,
    ) -> Tensor:
        """Return a copy in which elements along a dimension are repeated, each one several times in a row.

        See `interlock.repeat_interleave`.

        Args:
            repeats: How often each element is repeated: an int, or an integer tensor with a number for each index of the
                dimension. A tensor on a device is waited for.
            dim: The dimension. None means that the tensor is flattened first.
            output_size: The size of the dimension in the result, which is checked.

        Raises:
            ArgumentError: A number is negative, or `output_size` is not the size of the result.
            ShapeError: `repeats` is a tensor that does not have a number for each index.
            DTypeError: `repeats` is not an integer tensor.
            IndexError: The tensor does not have dimension `dim`.
        """
    @overload
    def reshape(self, first_shape: SupportsIndex | _Sizes, /, *args: SupportsIndex) -> Tensor:
        """Return the elements in another shape: a view if possible, else a copy.

        See `interlock.reshape`.

        Args:
            args: `shape`, as separate ints or as one tuple or list.
            shape: The sizes. One may be -1, and is inferred.

        Raises:
            ShapeError: The number of elements differs.
        """
    @overload
    def reshape(self, *, shape: _Sizes) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """Return the elements in the shape of another tensor: a view if possible, else a copy.

        Args:
            other: The tensor whose shape is used.

        Raises:
            ShapeError: The number of elements differs.
            TypeError: `other` is not a tensor.

        Example:
            >>> import interlock
            >>> interlock.arange(4).view(2, 2).t().reshape_as(interlock.zeros(4))
            tensor([0, 2, 1, 3])
        """
    @overload
    def resize_(
        self,
        first_size: SupportsIndex | _Sizes,
        /,
        *args: SupportsIndex,
        memory_format: _MemoryFormat | None = None,
    ) -> Tensor:
        """Change the shape in place; the tensor becomes contiguous.

        The elements are those of the memory of the tensor from its `storage_offset` on. If the memory is too small, it
        grows, and the new elements are not initialized; under `use_deterministic_algorithms` they are filled like
        those of `empty`. Tensors that share the memory share the memory that has grown. Its old copies are released when
        the last of them is dropped. If the tensor has the shape already, nothing changes.

        Args:
            args: `size`, as separate ints or as one tuple or list.
            size: The sizes; by name as a tuple or list.
            memory_format: `interlock.contiguous_format` makes a tensor contiguous that has the shape already; None does not.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The tensor requires grad, also in no-grad mode, or a size is negative.
            RuntimeError: The memory is too small and belongs to another library or was shared with NumPy, or the tensor is
                an inference tensor outside of inference mode.
            ShapeError: The sizes are too large, or there are too many dimensions.
            TypeError: No sizes are passed.

        Example:
            >>> import interlock
            >>> interlock.tensor([[1, 2], [3, 4], [5, 6]]).resize_(2, 2)
            tensor([[1, 2],
                    [3, 4]])
        """
    @overload
    def resize_(self, *, size: _Sizes, memory_format: _MemoryFormat | None = None) -> Tensor: ...
    def resize_as_(self, the_template: Tensor, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Change the shape in place to the shape of another tensor, like `resize_`; the tensor becomes contiguous.

        Args:
            the_template: The tensor whose shape is used.
            memory_format: `interlock.contiguous_format` or `interlock.preserve_format` makes a tensor contiguous that has the
                shape already; None does not.

        Returns:
            The tensor itself.

        Raises:
            ArgumentError: The tensor requires grad, also in no-grad mode.
            RuntimeError: The memory is too small and belongs to another library or was shared with NumPy, or the tensor is
                an inference tensor outside of inference mode.
            TypeError: `the_template` is not a tensor.

        Example:
            >>> import interlock
            >>> interlock.tensor([[1, 2], [3, 4]]).resize_as_(interlock.zeros(3))
            tensor([1, 2, 3])
        """
    def roll(self, shifts: _Dims, dims: _Dims | None = None) -> Tensor:
        """Return a copy with the elements moved along dimensions. Those that are moved beyond the end come first.

        See `interlock.roll`.

        Args:
            shifts: The distance for each dimension; a negative one moves elements to the front.
            dims: The dimension or dimensions. None means that the elements are moved in row-major order.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
            ArgumentError: The numbers of shifts and dimensions differ.
        """
    def round(self, *, decimals: SupportsIndex | None = None) -> Tensor:
        """Round each element to the nearest integer or decimal place, and ties to the even one.

        See `interlock.round`.

        Args:
            decimals: The number of decimal places of floating-point elements; negative for tens, hundreds and so on.

        Raises:
            DTypeError: The tensor is a bool tensor, or `decimals` is not 0 and the elements are integers.
        """
    def round_(self, *, decimals: SupportsIndex | None = None) -> Tensor:
        """In-place version of `round`.

        See `interlock.round`.

        Args:
            decimals: The number of decimal places of floating-point elements; negative for tens, hundreds and so on.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor is a bool tensor, or `decimals` is not 0 and the elements are integers.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def rsqrt(self) -> Tensor:
        """Return the reciprocal of the square root of each element; NaN for negative elements.

        See `interlock.rsqrt`.
        """
    def rsqrt_(self) -> Tensor:
        """In-place version of `rsqrt`.

        See `interlock.rsqrt`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def scatter(
        self,
        dim: SupportsIndex,
        index: Tensor,
        src: Tensor | _Number | None = None,
        *,
        value: _Number | None = None,
        reduce: Literal["add", "multiply"] | None = None,
    ) -> Tensor:
        """Return a copy with `src` or `value` written to the elements at `index` along dimension `dim`.

        See `interlock.scatter`.

        Args:
            dim: The dimension.
            index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
                `index[j]` along `dim` and at j in the other dimensions. Of several values for one element the last is
                stored.
            src: The values, of the dtype of the tensor and at least as large as `index`; or a number.
            value: A number, instead of `src`.
            reduce: "add" or "multiply" combines the values with the elements; None replaces these. "multiply" has no
                gradient.

        Raises:
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
            RuntimeError: An index is negative or out of bounds.
            ArgumentError: `reduce` has another value.
            TypeError: Neither `src` nor `value` is passed, or both are.
            IndexError: The tensor does not have dimension `dim`.
        """
    def scatter_(
        self,
        dim: SupportsIndex,
        index: Tensor,
        src: Tensor | _Number | None = None,
        *,
        value: _Number | None = None,
        reduce: Literal["add", "multiply"] | None = None,
    ) -> Tensor:
        """In-place version of `scatter`.

        See `interlock.scatter`.

        Args:
            dim: The dimension.
            index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
                `index[j]` along `dim` and at j in the other dimensions. Of several values for one element the last is
                stored.
            src: The values, of the dtype of the tensor and at least as large as `index`; or a number.
            value: A number, instead of `src`.
            reduce: "add" or "multiply" combines the values with the elements; None replaces these. "multiply" has no
                gradient.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
            RuntimeError: An index is negative or out of bounds.
            ArgumentError: `reduce` has another value.
            TypeError: Neither `src` nor `value` is passed, or both are.
            IndexError: The tensor does not have dimension `dim`.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def scatter_add(self, dim: SupportsIndex, index: Tensor, src: Tensor) -> Tensor:
        """Return a copy with `src` added to the elements at `index` along dimension `dim`.

        Sums of several floating-point values for one element have no fixed order, unless
        `backends.deterministic_algorithms` is set.

        See `interlock.scatter_add`.

        Args:
            dim: The dimension.
            index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
                `index[j]` along `dim` and at j in the other dimensions.
            src: The values, of the dtype of the tensor and at least as large as `index`.

        Raises:
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
            RuntimeError: An index is negative or out of bounds.
            IndexError: The tensor does not have dimension `dim`.
        """
    def scatter_add_(self, dim: SupportsIndex, index: Tensor, src: Tensor) -> Tensor:
        """In-place version of `scatter_add`.

        See `interlock.scatter_add`.

        Args:
            dim: The dimension.
            index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
                `index[j]` along `dim` and at j in the other dimensions.
            src: The values, of the dtype of the tensor and at least as large as `index`.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
            RuntimeError: An index is negative or out of bounds.
            IndexError: The tensor does not have dimension `dim`.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def select(self, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
        """Return a view at one index of a dimension, without that dimension.

        See `interlock.select`.

        Args:
            dim: The dimension.
            index: The index. Negative indices count from the end.

        Raises:
            IndexError: `dim` or `index` is out of range, or the tensor has no dimensions.
        """
    def short(self, *, memory_format: _MemoryFormat | None = None) -> Tensor:
        """Convert to int16: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is an
        int16 tensor.

        Args:
            memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        """
    def sigmoid(self) -> Tensor:
        """Return the logistic function `1 / (1 + exp(-x))` of each element.

        See `interlock.sigmoid`.
        """
    def sigmoid_(self) -> Tensor:
        """In-place version of `sigmoid`.

        See `interlock.sigmoid`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def sign(self) -> Tensor:
        """Return the sign of each element: 1, -1, or 0 for 0 and NaN.

        See `interlock.sign`.
        """
    def sign_(self) -> Tensor:
        """In-place version of `sign`.

        See `interlock.sign`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def signbit(self) -> Tensor:
        """Return a bool tensor that is True where the sign bit is set: for negative elements, also -0.

        See `interlock.signbit`.
        """
    def sin(self) -> Tensor:
        """Return the sine of each element, in radians.

        See `interlock.sin`.
        """
    def sin_(self) -> Tensor:
        """In-place version of `sin`.

        See `interlock.sin`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def sinh(self) -> Tensor:
        """Return the hyperbolic sine of each element.

        See `interlock.sinh`.
        """
    def sinh_(self) -> Tensor:
        """In-place version of `sinh`.

        See `interlock.sinh`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def softmax(self, dim: SupportsIndex, dtype: _DType | None = None) -> Tensor:
        """Return the exponentials of the elements, normalized to a sum of 1 along a dimension.

        See `interlock.softmax`.

        Args:
            dim: The dimension along which the result sums to 1.
            dtype: The floating-point dtype to convert the elements to first. None means no change.

        Raises:
            DTypeError: The elements are not floating point, and `dtype` does not convert them.
            IndexError: The tensor does not have dimension `dim`.
        """
    def sort(
        self,
        dim: SupportsIndex | None = None,
        descending: builtins.bool = False,
        *,
        stable: builtins.bool = False,
    ) -> _return_types.sort:
        """Return the sorted elements along a dimension, and their indices.

        See `interlock.sort`.

        Args:
            dim: The dimension. None means the last one.
            descending: Whether the largest element is first.
            stable: Whether the order of equal elements is preserved, which it always is.

        Returns:
            A named tuple `(values, indices)`. NaN is larger than all numbers.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
        """
    def split(self, split_size: _Dims, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
        """Return views of consecutive parts of a dimension.

        The views are results of one node: while gradients are recorded they cannot be changed in place.

        Args:
            split_size: The size of each part, or a tuple or list with the size of each. With one size the last part may be
                smaller.
            dim: The dimension.

        Returns:
            A tuple of views.

        Raises:
            ShapeError: The tensor has no dimensions.
            ArgumentError: A size is negative, the size is 0, or the sizes do not add up to the size of the dimension.
            IndexError: The tensor does not have dimension `dim`.

        Example:
            >>> import interlock
            >>> interlock.arange(5).split(3)
            (tensor([0, 1, 2]), tensor([3, 4]))
            >>> interlock.arange(3).split([1, 2])
            (tensor([0]), tensor([1, 2]))
        """
    def split_with_sizes(self, split_sizes: _Dims, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
        """Return views of consecutive parts of a dimension with given sizes, like `split`.

        See `interlock.split_with_sizes`.

        Args:
            split_sizes: The size of each part.
            dim: The dimension.

        Returns:
            A tuple of views.

        Raises:
            ShapeError: The tensor has no dimensions.
            ArgumentError: A size is negative, or the sizes do not add up to the size of the dimension.
            IndexError: The tensor does not have dimension `dim`.
        """
    def sqrt(self) -> Tensor:
        """Return the square root of each element; NaN for negative elements.

        See `interlock.sqrt`.
        """
    def sqrt_(self) -> Tensor:
        """In-place version of `sqrt`.

        See `interlock.sqrt`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def square(self) -> Tensor:
        """Return the square of each element. Bools are converted to int64.

        See `interlock.square`.
        """
    def square_(self) -> Tensor:
        """In-place version of `square`.

        See `interlock.square`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def squeeze(self, dim: _Dims | None = None) -> Tensor:
        """Return a view without dimensions of size 1.

        See `interlock.squeeze`.

        Args:
            dim: The dimension or dimensions to remove; those of other sizes stay. None means all of size 1.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def std(
        self,
        dim: _Dims | builtins.bool | None = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: _Number | None = None,
    ) -> Tensor:
        """Return the standard deviation of all elements, or over one or several dimensions.

        The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
        `UserWarning` is issued if that is not positive. The gradient is 0 where the result is 0.

        See `interlock.std`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
            unbiased: Whether the correction is 1, or 0. Not together with `correction`.
            keepdim: Whether reduced dimensions remain, with size 1.
            correction: What is subtracted from the number of elements. None means 1.

        Raises:
            DTypeError: The elements are not floating point.
            ArgumentError: `dim` names a dimension twice.
            TypeError: Both `unbiased` and `correction` are given.
            IndexError: The tensor does not have dimension `dim`.
        """
    def sub(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """Return `input - alpha * other`.

        See `interlock.sub`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            alpha: A number by which `other` is multiplied first; None means 1.

        Raises:
            DTypeError: An operand is bool.
            DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
            ArgumentError: The promoted dtype cannot hold `alpha`.
            ShapeError: The shapes cannot be broadcast.
        """
    subtract = sub
    def sub_(self, other: Tensor | _Number, *, alpha: _Number | None = None) -> Tensor:
        """In-place version of `sub`.

        See `interlock.sub`.

        Args:
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            alpha: A number by which `other` is multiplied first; None means 1.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: An operand is bool.
            DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
            ArgumentError: The promoted dtype cannot hold `alpha`.
            ShapeError: The shapes cannot be broadcast.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    subtract_ = sub_
    def sum(
        self, dim: _Dims | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None
    ) -> Tensor:
        """Return the sum of all elements, or over one or several dimensions.

        See `interlock.sum`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
            keepdim: Whether reduced dimensions remain, with size 1.
            dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
            ArgumentError: `dim` names a dimension twice.
        """
    def swapaxes(self, axis0: SupportsIndex, axis1: SupportsIndex) -> Tensor:
        """Return a view with two dimensions exchanged, as `transpose`.

        See `interlock.swapaxes`.

        Args:
            axis0: The first dimension. Negative dimensions count from the last.
            axis1: The second dimension.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
        """
    def t(self) -> Tensor:
        """Return the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged.

        See `interlock.t`.

        Raises:
            ShapeError: The tensor has more than two dimensions.
        """
    def take(self, index: Tensor) -> Tensor:
        """Return the elements at flat (row-major) indices.

        See `interlock.take`.

        Args:
            index: Flat indices of elements in row-major order, int64. Negative indices count from the end.

        Returns:
            A tensor of the shape of `index`.

        Raises:
            IndexError: An index is out of bounds.
            DTypeError: `index` is not int64.
        """
    def take_along_dim(self, indices: Tensor, dim: SupportsIndex | None = None) -> Tensor:
        """Return the elements at `indices` along dimension `dim`, such as the result of `argmax`.

        See `interlock.take_along_dim`.

        Args:
            indices: The indices, int64. Broadcast with the tensor in the other dimensions. With `dim` they are taken modulo
                the size of the dimension, so that -1 is the last one.
            dim: The dimension; None flattens both tensors first.

        Returns:
            A tensor of the shape of `indices` after broadcasting.

        Raises:
            ShapeError: The shapes cannot be broadcast, or have different numbers of dimensions.
            DTypeError: `indices` is not int64.
            RuntimeError: `dim` is None, and an index is negative or out of bounds.
            IndexError: The tensor does not have dimension `dim`.
        """
    def tan(self) -> Tensor:
        """Return the tangent of each element, in radians.

        See `interlock.tan`.
        """
    def tan_(self) -> Tensor:
        """In-place version of `tan`.

        See `interlock.tan`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def tanh(self) -> Tensor:
        """Return the hyperbolic tangent of each element.

        See `interlock.tanh`.
        """
    def tanh_(self) -> Tensor:
        """In-place version of `tanh`.

        See `interlock.tanh`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def tensor_split(self, indices_or_sections: _Dims | Tensor, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
        """Return views of consecutive parts of a dimension, which can be changed in place.

        See `interlock.tensor_split`.

        Args:
            indices_or_sections: The number of parts, the first of which are longer by 1 if the size is not a multiple; or a
                tuple, list or one-dimensional tensor with the index at which each part after the first begins.
            dim: The dimension.

        Returns:
            A tuple of views.

        Raises:
            ShapeError: The tensor has no dimensions.
            ArgumentError: The number of parts is not positive.
            IndexError: The tensor does not have dimension `dim`.
        """
    @overload
    def tile(self, first_dims: SupportsIndex | _Sizes, /, *args: SupportsIndex) -> Tensor:
        """Return a copy in which dimensions are repeated. Of fewer numbers than dimensions, the last is for the last dimension.

        See `interlock.tile`.

        Args:
            args: `dims`, as separate ints or as one tuple or list.
            dims: How often each dimension is repeated.

        Raises:
            ArgumentError: A number is negative.
            OutOfMemoryError: Not enough memory is available.
        """
    @overload
    def tile(self, *, dims: _Sizes) -> Tensor: ...
    def topk(
        self,
        k: SupportsIndex,
        dim: SupportsIndex | None = None,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
    ) -> _return_types.topk:
        """Return the largest or smallest elements along a dimension, and their indices.

        See `interlock.topk`.

        Args:
            k: The number of elements.
            dim: The dimension. None means the last one.
            largest: Whether to return the largest elements, or the smallest.
            sorted: Whether the elements are in order, which they always are.

        Returns:
            A named tuple `(values, indices)`, in order. Of equal elements the first are returned; NaN is larger than
            all numbers.

        Raises:
            ArgumentError: `k` is negative or larger than the dimension.
            DTypeError: The tensor is a bool tensor.
            IndexError: The tensor does not have dimension `dim`.
        """
    def trace(self) -> Tensor:
        """Return the sum of the diagonal of a matrix.

        See `interlock.trace`.

        Raises:
            ShapeError: The tensor is not a matrix.
            DTypeError: The tensor is a bool tensor.
        """
    def transpose(self, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
        """Return a view with two dimensions exchanged.

        See `interlock.transpose`.

        Args:
            dim0: The first dimension. Negative dimensions count from the last.
            dim1: The second dimension.

        Raises:
            IndexError: The tensor does not have one of the dimensions.
        """
    swapdims = transpose
    def tril(self, diagonal: SupportsIndex = 0) -> Tensor:
        """Return the lower triangle of a matrix, or of each matrix of a batch: a copy with zeros above a diagonal.

        See `interlock.tril`.

        Args:
            diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.

        Raises:
            ShapeError: The tensor has fewer than two dimensions.
        """
    def tril_(self, diagonal: SupportsIndex = 0) -> Tensor:
        """In-place version of `tril`.

        See `interlock.tril`.

        Args:
            diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The tensor has fewer than two dimensions.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def triu(self, diagonal: SupportsIndex = 0) -> Tensor:
        """Return the upper triangle of a matrix, or of each matrix of a batch: a copy with zeros below a diagonal.

        See `interlock.triu`.

        Args:
            diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.

        Raises:
            ShapeError: The tensor has fewer than two dimensions.
        """
    def triu_(self, diagonal: SupportsIndex = 0) -> Tensor:
        """In-place version of `triu`.

        See `interlock.triu`.

        Args:
            diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: The tensor has fewer than two dimensions.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    def trunc(self) -> Tensor:
        """Round each element towards 0 to an integer. Integers are unchanged.

        See `interlock.trunc`.

        Raises:
            DTypeError: The tensor has another dtype.
        """
    fix = trunc
    def trunc_(self) -> Tensor:
        """In-place version of `trunc`.

        See `interlock.trunc`.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor has another dtype.
            DTypeError: The dtype of the tensor cannot hold the result.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        """
    fix_ = trunc_
    def type_as(self, other: Tensor) -> Tensor:
        """Convert the tensor to the dtype and device of another one.

        Args:
            other: The tensor whose dtype and device are used.

        Returns:
            The tensor itself if nothing changes, else a new tensor.

        Raises:
            TypeError: `other` is not a tensor.

        Example:
            >>> import interlock
            >>> interlock.tensor([1.5, 2.5]).type_as(interlock.tensor(0))
            tensor([1, 2])
        """
    def unbind(self, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
        """Return a view at each index of a dimension, without that dimension.

        The views are results of one node: while gradients are recorded they cannot be changed in place.

        See `interlock.unbind`.

        Args:
            dim: The dimension.

        Returns:
            A tuple of views.

        Raises:
            IndexError: The tensor does not have dimension `dim`.
        """
    def unflatten(self, dim: SupportsIndex, sizes: _Dims) -> Tensor:
        """Return a view with a dimension divided into several.

        See `interlock.unflatten`.

        Args:
            dim: The dimension.
            sizes: The sizes of the new dimensions. One may be -1, and is inferred.

        Raises:
            ShapeError: The sizes do not multiply to the size of the dimension, or the tensor has no dimensions.
            IndexError: The tensor does not have dimension `dim`.
        """
    def uniform_(
        self, from_: builtins.float = 0.0, to: builtins.float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """Overwrite the elements with uniformly distributed random numbers.

        Args:
            from_: The least number.
            to: The end of the range, which it does not contain.
            generator: The generator that draws. None means the default one of the device.

        Returns:
            The tensor itself.

        Raises:
            DTypeError: The tensor is not floating point.
            ArgumentError: `to` is less than `from_`, or a bound is not finite.
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.

        Example:
            >>> import interlock
            >>> interlock.zeros(2).uniform_(3.0, 3.0)
            tensor([3., 3.])
        """
    def unsqueeze(self, dim: SupportsIndex) -> Tensor:
        """Return a view with a new dimension of size 1.

        See `interlock.unsqueeze`.

        Args:
            dim: The position of the new dimension, from -ndim - 1 to ndim.

        Raises:
            IndexError: `dim` is out of range.
        """
    def var(
        self,
        dim: _Dims | builtins.bool | None = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: _Number | None = None,
    ) -> Tensor:
        """Return the variance of all elements, or over one or several dimensions.

        The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
        `UserWarning` is issued if that is not positive.

        See `interlock.var`.

        Args:
            dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
            unbiased: Whether the correction is 1, or 0. Not together with `correction`.
            keepdim: Whether reduced dimensions remain, with size 1.
            correction: What is subtracted from the number of elements. None means 1.

        Raises:
            DTypeError: The elements are not floating point.
            ArgumentError: `dim` names a dimension twice.
            TypeError: Both `unbiased` and `correction` are given.
            IndexError: The tensor does not have dimension `dim`.
        """
    @overload
    def view(self, first_size: SupportsIndex | _Sizes | _DType, /, *args: SupportsIndex) -> Tensor:
        """Return a view with another shape, or the same bytes as elements of another dtype.

        If the elements of the dtype have another size, the last dimension becomes shorter or longer. A tensor of another dtype
        has no history and is not a view for autograd, but in-place changes of it count as changes of this tensor.

        Args:
            args: `size`, as separate ints or as one tuple or list.
            size: The sizes, one of which may be -1 and is inferred, or a dtype.
            dtype: The dtype, by name.

        Raises:
            ShapeError: The number of elements differs, or a copy would be needed; see `reshape`.
            ShapeError: A tensor without dimensions is viewed as a dtype of another size.
            ArgumentError: The last size, a stride or the offset does not fit a dtype of another size.
            TypeError: Sizes and a dtype are passed.

        Example:
            >>> import interlock
            >>> interlock.arange(6).view(2, -1)
            tensor([[0, 1, 2],
                    [3, 4, 5]])
            >>> interlock.tensor([[1.0, -0.0]]).view(interlock.int16)
            tensor([[     0,  16256,      0, -32768]], dtype=interlock.int16)
        """
    @overload
    def view(self, *, size: _Sizes, dtype: None = None) -> Tensor: ...
    @overload
    def view(self, *, dtype: _DType, size: None = None) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """Return a view with the shape of another tensor.

        Args:
            other: The tensor whose shape is used.

        Raises:
            ShapeError: The number of elements differs, or a copy would be needed.
            TypeError: `other` is not a tensor.

        Example:
            >>> import interlock
            >>> interlock.arange(4).view_as(interlock.zeros(2, 2))
            tensor([[0, 1],
                    [2, 3]])
        """
    def where(self, condition: Tensor, other: Tensor | _Number) -> Tensor:
        """Return this tensor where a condition is true and `other` elsewhere.

        Args:
            condition: A bool tensor.
            other: A tensor or a number. Shapes are broadcast and dtypes promoted.

        Raises:
            ArgumentError: The promoted dtype cannot hold the number.
        """
    def zero_(self) -> Tensor:
        """Set all elements of a tensor to 0.

        Returns:
            The tensor itself.

        Raises:
            RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.

        Example:
            >>> import interlock
            >>> interlock.ones(2).zero_()
            tensor([0., 0.])
        """
    # </methods of operations>

def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return views of tensors that are expanded to their common shape.

    Args:
        tensors: The tensors, as separate arguments.

    Returns:
        A tuple of views.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        TypeError: An argument is not a tensor.

    Example:
        >>> import interlock
        >>> x, y = interlock.broadcast_tensors(interlock.zeros(2, 1), interlock.zeros(3))
        >>> x.shape, y.shape
        ((2, 3), (2, 3))
    """

@overload
def atleast_1d(tensor: Tensor, /) -> Tensor:
    """Return tensors with at least 1 dimension.

    Args:
        tensors: The tensors, as separate arguments or as one tuple or list.

    Returns:
        A tuple of the tensors themselves, or views with additional dimensions of size 1. For one tensor, that tensor.

    Raises:
        TypeError: An argument is not a tensor.

    Example:
        >>> import interlock
        >>> interlock.atleast_1d(interlock.tensor(3))
        tensor([3])
    """

@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d() -> tuple[()]: ...
@overload
def atleast_1d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor:
    """Return tensors with at least 2 dimensions.

    Args:
        tensors: The tensors, as separate arguments or as one tuple or list.

    Returns:
        A tuple of the tensors themselves, or views with additional dimensions of size 1. For one tensor, that tensor.

    Raises:
        TypeError: An argument is not a tensor.

    Example:
        >>> import interlock
        >>> interlock.atleast_2d(interlock.tensor([1, 2]))
        tensor([[1, 2]])
    """

@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d() -> tuple[()]: ...
@overload
def atleast_2d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor:
    """Return tensors with at least 3 dimensions.

    Args:
        tensors: The tensors, as separate arguments or as one tuple or list.

    Returns:
        A tuple of the tensors themselves, or views with additional dimensions of size 1. For one tensor, that tensor.

    Raises:
        TypeError: An argument is not a tensor.

    Example:
        >>> import interlock
        >>> interlock.atleast_3d(interlock.zeros(2, 3)).shape
        (2, 3, 1)
    """

@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d() -> tuple[()]: ...
@overload
def atleast_3d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
def manual_seed(seed: SupportsIndex) -> Generator:
    """Set the seed of the random numbers of the process.

    After the same seed, the same calls return the same numbers, on every thread and device.

    Args:
        seed: An int from -2**63 to 2**64 - 1.

    Returns:
        The default generator of the CPU.

    Raises:
        TypeError: `seed` is not an int.
        ArgumentError: `seed` is out of range.

    Example:
        >>> import interlock
        >>> generator = interlock.manual_seed(7)
        >>> x = interlock.rand(3)
        >>> generator.manual_seed(7).initial_seed()
        7
        >>> (interlock.rand(3) == x).min().item()
        True
    """

def initial_seed() -> int:
    """Return the seed of the default generator of the CPU that was set last.

    Example:
        >>> import interlock
        >>> _ = interlock.manual_seed(7)
        >>> interlock.initial_seed()
        7
    """

def get_rng_state() -> Tensor:
    """Return the state of the default generator of the CPU: a tensor of bytes on the CPU.

    States of PyTorch have other bytes and another size. `accelerator.random` has the states of devices.

    Example:
        >>> import interlock
        >>> state = interlock.get_rng_state()
        >>> drawn = interlock.rand(3)
        >>> interlock.set_rng_state(state)
        >>> interlock.equal(interlock.rand(3), drawn)
        True
    """

def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator of the CPU.

    Args:
        new_state: A result of `get_rng_state`, or of `Generator.get_state`.

    Raises:
        TypeError: `new_state` is not a tensor of dtype `uint8`.
        ArgumentError: `new_state` has another size than states have.

    Example:
        See `get_rng_state`.
    """

def set_printoptions(
    precision: int | None = None,
    threshold: int | builtins.float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: Literal["default", "short", "full"] | None = None,
    sci_mode: builtins.bool | None = None,
) -> None:
    """Set how tensors are printed, in the whole process.

    Options that are None keep their values, except `sci_mode`.

    Args:
        precision: The number of digits behind the point, 4 by default.
        threshold: Tensors with more elements are summarized, 1000 by default. `inf` means never.
        edgeitems: The number of items that a summary shows at both ends of each dimension, 3 by default.
        linewidth: The number of characters of a line, 80 by default.
        profile: Values for all four, before the other arguments are applied: "default", "short" (`precision` and `edgeitems`
            2) or "full" (no summaries).
        sci_mode: Whether numbers have an exponent. None means where they need one.

    Raises:
        TypeError: An argument has another type.
        ArgumentError: A number is negative, `precision` is greater than 1000, or `profile` is unknown.

    Example:
        >>> import interlock
        >>> interlock.set_printoptions(precision=2, threshold=5)
        >>> interlock.tensor([2 / 3]), interlock.arange(10)
        (tensor([0.67]), tensor([0, 1, 2,  ..., 7, 8, 9]))
        >>> interlock.set_printoptions(profile="default")
    """

def get_default_dtype() -> _dtype:
    """Return the dtype of new floating-point tensors, which is `interlock.float32`.

    Example:
        >>> import interlock
        >>> interlock.get_default_dtype()
        interlock.float32
    """

def is_tensor(obj: object) -> TypeGuard[Tensor]:
    """Return whether an object is a `Tensor`.

    Args:
        obj: Any object.

    Example:
        >>> import interlock
        >>> interlock.is_tensor(interlock.zeros(2)), interlock.is_tensor([0.0])
        (True, False)
    """

@overload
def einsum(equation: str, /, *operands: Tensor) -> Tensor:
    """Return the sum of products of tensors, specified by an equation in Einstein notation.

    The order of the contractions of three or more operands is found by the package opt_einsum if it is installed and
    the flag `backends.opt_einsum.enabled` is on; else it is left to right. Each contraction is a `matmul`.

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
        query: The queries, of shape [batch, queries, size] if `batch_first`, else [queries, batch, size], or [queries,
            size].
        key: The keys, in the same layout.
        value: The values, in the same layout.
        num_heads: The number of heads, which divides the size.
        in_proj_weight: The weights of queries, keys and values, of shape [3 * size, size].
        in_proj_bias: Their biases, of shape [3 * size], or None.
        out_proj_weight: The weights of the result, of shape [size, size].
        out_proj_bias: Its biases, of shape [size], or None.
        training: Whether the module is in training mode.
        batch_first: Whether the first dimension is the batch.
        key_padding_mask: Keys to ignore, of shape [batch, keys]: bools that are True for them, or floats that are
            added.
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
        tensors: The tensor, `GradientEdge` or several of them to differentiate.
        grad_tensors: The gradient of each tensor. None means 1, for tensors of one element.
        retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
        create_graph: Whether the backward pass is recorded.
        inputs: One tensor, `GradientEdge` or several in which gradients are accumulated. None means all leaves. An edge
            of a tensor that is not a leaf accumulates nothing.

    Raises:
        RuntimeError: A tensor does not require grad, or has several elements and no gradient is passed.
        RuntimeError: A saved tensor was changed in place.
        ArgumentError: `inputs` is empty, or there are not as many gradients as outputs.
        GraphFreedError: An earlier backward pass has freed the saved tensors.
        RecursionError: 2,000 backward passes run inside of each other.
        ShapeError: A gradient does not have the shape of its tensor.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
        >>> interlock.autograd.backward([x.sum(), x.sum()])
        >>> x.grad
        tensor([2., 2.])
    """

@overload
def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Gradients | None = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
    *,
    allow_unused: Literal[True],
    materialize_grads: Literal[False] = False,
    is_grads_batched: Literal[False] = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, without accumulating in any `grad`.

    Args:
        outputs: The tensor, `GradientEdge` or several of them to differentiate.
        inputs: The tensor, `GradientEdge` or several of them whose gradients are returned.
        grad_outputs: The gradient of each output. None means 1, for outputs of one element.
        retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
        create_graph: Whether the backward pass is recorded.
        allow_unused: Whether None is returned for an unused input. None means the value of `materialize_grads`.
        materialize_grads: Whether zeros are returned for an unused input.
        is_grads_batched: Must be False.

    Returns:
        A tuple with the gradient of each input.

    Raises:
        RuntimeError: The outputs do not depend on an input, and neither option is True.
        RuntimeError: The outputs do not depend on an edge in `inputs`, and `materialize_grads` is True.
        RuntimeError: A tensor does not require grad, or has several elements and no gradient is passed.
        RuntimeError: A saved tensor was changed in place.
        ArgumentError: `inputs` is empty, there are not as many gradients as outputs, or `is_grads_batched` is True.
        GraphFreedError: An earlier backward pass has freed the saved tensors.
        RecursionError: 2,000 backward passes run inside of each other.
        ShapeError: A gradient does not have the shape of its tensor.
        ValueError: `allow_unused` is False and `materialize_grads` is True.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
        >>> interlock.autograd.grad((x * x).sum(), x)
        (tensor([2., 4.]),)
    """

@overload
def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Gradients | None = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
    allow_unused: Literal[False] | None = None,
    materialize_grads: builtins.bool = False,
    *,
    is_grads_batched: Literal[False] = False,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Gradients | None = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
    allow_unused: builtins.bool | None = None,
    materialize_grads: builtins.bool = False,
    *,
    is_grads_batched: Literal[False] = False,
) -> tuple[Any, ...]: ...
def _rebuild(
    bytes: builtins.bytes,
    dtype: _DType,
    shape: Sequence[int],
    requires_grad: builtins.bool,
    device: _Device | None = None,
) -> Tensor: ...

# <functions of operations>
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the absolute value of each element. The gradient at 0 is 0.

    Args:
        input: The tensor, of any dtype except bool.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.abs(interlock.tensor([-1, 2]))
        tensor([1, 2])
    """

def abs_(input: Tensor) -> Tensor:
    """In-place version of `abs`.

    See `interlock.abs`.

    Args:
        input: The tensor, of any dtype except bool.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The tensor has another dtype.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the absolute value of each element, as `abs`.

    Args:
        input: The tensor, of any dtype except bool.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.absolute(interlock.tensor([-1, 2]))
        tensor([1, 2])
    """

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the arc cosine of each element, in radians; NaN outside of -1 to 1.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.acos(interlock.tensor([1.0, 0.0]))
        tensor([0.0000, 1.5708])
    """

arccos = acos

def acos_(input: Tensor) -> Tensor:
    """In-place version of `acos`.

    See `interlock.acos`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

arccos_ = acos_

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse hyperbolic cosine of each element; NaN below 1.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.acosh(interlock.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
    """

arccosh = acosh

def acosh_(input: Tensor) -> Tensor:
    """In-place version of `acosh`.

    See `interlock.acosh`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

arccosh_ = acosh_

def add(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return `input + alpha * other`. The sum of bools is the logical or.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        alpha: A number by which `other` is multiplied first; None means 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
        ArgumentError: The promoted dtype cannot hold `alpha`.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.add(interlock.tensor([1, 2]), 1, alpha=10)
        tensor([11, 12])
    """

def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return `input + value * tensor1 / tensor2`, elementwise.

    Args:
        input: The tensor.
        tensor1: A tensor.
        tensor2: A tensor. Shapes are broadcast and dtypes promoted.
        value: A number; None means 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: The promoted dtype cannot hold `value`.
        DTypeError: Neither `tensor1` nor `tensor2` is floating point.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([2.0, 4.0])
        >>> interlock.addcdiv(x, x, x, value=0.5)
        tensor([2.5000, 4.5000])
    """

def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return `input + value * tensor1 * tensor2`, elementwise.

    Args:
        input: The tensor.
        tensor1: A tensor.
        tensor2: A tensor. Shapes are broadcast and dtypes promoted.
        value: A number; None means 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: The promoted dtype cannot hold `value`.
        DTypeError: The promoted dtype is bool.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([2.0, 4.0])
        >>> interlock.addcmul(x, x, x, value=0.5)
        tensor([ 4., 12.])
    """

def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _Number | None = None,
    alpha: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return `beta * input + alpha * (mat1 @ mat2)`.

    Args:
        input: A tensor that is broadcast to the product. Its elements are ignored if `beta` is 0.
        mat1: A matrix of shape [n, k], of the same dtype.
        mat2: A matrix of shape [k, m], of the same dtype.
        beta: A number; None means 1.
        alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A matrix of shape [n, m].

    Raises:
        ArgumentError: The dtype cannot hold `beta` or `alpha`.
        DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
        ShapeError: The shapes are incompatible.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.addmm(interlock.ones(2), interlock.ones(1, 3), interlock.ones(3, 2), alpha=2)
        tensor([[7., 7.]])
    """

def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: _Number | None = None,
    alpha: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return `beta * input + alpha * (mat @ vec)`.

    Args:
        input: A tensor that is broadcast to the product.
        mat: A matrix of shape [n, k], of the same dtype.
        vec: A vector of shape [k], of the same dtype.
        beta: A number; None means 1. If it is 0, the elements of the tensor are ignored.
        alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A vector of shape [n].

    Raises:
        ArgumentError: The dtype cannot hold `beta` or `alpha`.
        DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
        ShapeError: The shapes are incompatible.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.addmv(interlock.ones(1), interlock.ones(1, 3), interlock.ones(3), alpha=2)
        tensor([7.])
    """

def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose of a matrix, or of each matrix of a batch. All dtypes are real, so it is `mT`.

    Args:
        input: The tensor.

    Raises:
        ShapeError: The tensor has one dimension.

    Example:
        >>> import interlock
        >>> interlock.adjoint(interlock.zeros(2, 3)).shape
        (3, 2)
    """

def all(
    input: Tensor, dim: _Dims | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return whether all elements are nonzero, of all elements or over one or several dimensions. NaN is nonzero.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
        dimension.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[0, 1], [2, 3]])
        >>> interlock.all(x), interlock.all(x, 0)
        (tensor(False), tensor([False,  True]))
    """

def allclose(
    input: Tensor,
    other: Tensor,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool:
    """Return whether all elements are close, as by `isclose`.

    For device tensors this waits for the queued work.

    Args:
        input: The tensor.
        other: The other tensor.
        rtol: The relative tolerance.
        atol: The absolute tolerance.
        equal_nan: Whether NaN is close to NaN.

    Raises:
        DTypeError: The dtypes differ.
        ArgumentError: A tolerance is negative.
        ShapeError: The shapes cannot be broadcast.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0])
        >>> interlock.allclose(x, interlock.tensor([1.000001, 2.0]))
        True
    """

def amax(
    input: Tensor, dim: _Dims | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the maximum of all elements, or over one or several dimensions.

    The result is NaN where an element is NaN. Equal maxima share the gradient.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        IndexError: A reduced dimension has size 0.
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> interlock.amax(x, 0)
        tensor([7, 5])
    """

def amin(
    input: Tensor, dim: _Dims | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the minimum of all elements, or over one or several dimensions.

    The result is NaN where an element is NaN. Equal minima share the gradient.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        IndexError: A reduced dimension has size 0.
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> interlock.amin(x, 0)
        tensor([1, 2])
    """

def aminmax(
    input: Tensor,
    *,
    dim: SupportsIndex | None = None,
    keepdim: builtins.bool = False,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.aminmax:
    """Return the minimum and the maximum of all elements, or along a dimension.

    Args:
        input: The tensor.
        dim: The dimension. None means all elements.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(min, max)`. Both are NaN if an element is NaN. Equal extremes share the gradient.

    Raises:
        IndexError: The reduced dimension has size 0.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> low, high = interlock.aminmax(x)
        >>> low, high
        (tensor(1), tensor(7))
    """

def any(
    input: Tensor, dim: _Dims | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return whether any element is nonzero, of all elements or over one or several dimensions. NaN is nonzero.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
        dimension.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[0, 1], [2, 3]])
        >>> interlock.any(x), interlock.any(x, 0)
        (tensor(True), tensor([True, True]))
    """

@overload
def arange(
    start: _Number,
    end: _Number | None = None,
    step: _Number | None = None,
    *,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return the numbers from `start` to `end` (exclusive) in steps of `step`. `arange(end)` starts at 0.

    Each argument is a number or a tensor with one element. There are `(end - start) / step` numbers, rounded up. For an
    integer dtype they begin with the truncated `start` and have the truncated `step`, as in PyTorch.

    Args:
        start: The first number, or the bound if `end` is None; None means 0.
        end: The bound, which the result does not contain. None means that `start` is the bound and 0 the start.
        step: The difference between adjacent elements, which may be negative; None means 1.
        dtype: The element type. None means int64, or float32 if an argument is a float.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: `step` is 0 or has the wrong sign, an argument is not finite, or the dtype is an integer dtype and
            int64 cannot hold an argument.
        TypeError: Neither `start` nor `end` is passed.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.arange(3)
        tensor([0, 1, 2])
        >>> interlock.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """

@overload
def arange(
    *,
    end: _Number,
    start: _Number | None = None,
    step: _Number | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
def argmax(
    input: Tensor,
    dim: SupportsIndex | None = None,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the index of the maximum, among all elements or along a dimension.

    Args:
        input: The tensor.
        dim: The dimension. None means all elements, which are counted in row-major order.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        An int64 tensor. Of equal elements the first index counts; NaN counts as the maximum.

    Raises:
        DTypeError: The tensor is a bool tensor.
        IndexError: The reduced dimension has size 0.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> interlock.argmax(x), interlock.argmax(x, 1)
        (tensor(2), tensor([1, 0]))
    """

def argmin(
    input: Tensor,
    dim: SupportsIndex | None = None,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the index of the minimum, among all elements or along a dimension.

    Args:
        input: The tensor.
        dim: The dimension. None means all elements, which are counted in row-major order.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        An int64 tensor. Of equal elements the first index counts; NaN counts as the minimum.

    Raises:
        DTypeError: The tensor is a bool tensor.
        IndexError: The reduced dimension has size 0.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> interlock.argmin(x), interlock.argmin(x, 1)
        (tensor(0), tensor([0, 1]))
    """

def argsort(
    input: Tensor,
    dim: SupportsIndex | None = None,
    descending: builtins.bool = False,
    *,
    stable: builtins.bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the indices that sort the elements along a dimension.

    Args:
        input: The tensor.
        dim: The dimension. None means the last one.
        descending: Whether the largest element is first.
        stable: Whether the order of equal elements is preserved, which it always is.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        An int64 tensor. NaN is larger than all numbers.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([3, 1, 2])
        >>> interlock.argsort(x)
        tensor([1, 2, 0])
    """

def as_strided(
    input: Tensor, size: _Dims, stride: _Dims, storage_offset: SupportsIndex | None = None
) -> Tensor:
    """Return a view of the storage with any sizes and strides.

    Args:
        input: The tensor.
        size: The sizes, as an int or as a tuple or list.
        stride: The stride of each dimension in elements, not negative.
        storage_offset: The offset of the first element in the storage, in elements. None means the offset of the tensor.

    Raises:
        ShapeError: The view exceeds the storage.
        ArgumentError: A number is negative, or there are not as many strides as sizes.

    Example:
        >>> import interlock
        >>> interlock.as_strided(interlock.arange(4), (3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
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
        TypeError: `data` contains other objects, or numbers beside sequences.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2)
        >>> interlock.as_tensor(x) is x
        True
    """

def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the arc sine of each element, in radians; NaN outside of -1 to 1.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.asin(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
    """

arcsin = asin

def asin_(input: Tensor) -> Tensor:
    """In-place version of `asin`.

    See `interlock.asin`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

arcsin_ = asin_

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse hyperbolic sine of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.asinh(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
    """

arcsinh = asinh

def asinh_(input: Tensor) -> Tensor:
    """In-place version of `asinh`.

    See `interlock.asinh`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

arcsinh_ = asinh_

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the arc tangent of each element, in radians.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.atan(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
    """

arctan = atan

def atan_(input: Tensor) -> Tensor:
    """In-place version of `atan`.

    See `interlock.atan`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

arctan_ = atan_

def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the arctangent of `input / other`, elementwise; the signs of both choose the quadrant.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.atan2(interlock.tensor([1.0, -1.0]), interlock.tensor([1.0, 0.0]))
        tensor([ 0.7854, -1.5708])
    """

arctan2 = atan2

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse hyperbolic tangent of each element; NaN outside of -1 to 1.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.atanh(interlock.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493])
    """

arctanh = atanh

def atanh_(input: Tensor) -> Tensor:
    """In-place version of `atanh`.

    See `interlock.atanh`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

arctanh_ = atanh_

def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _Number | None = None,
    alpha: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return `beta * input + alpha * (batch1 @ batch2)` for batches of matrices.

    Args:
        input: A tensor that is broadcast to the products.
        batch1: A tensor of shape [b, n, k], of the same dtype.
        batch2: A tensor of shape [b, k, m], of the same dtype.
        beta: A number; None means 1. If it is 0, the elements of the tensor are ignored.
        alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of shape [b, n, m].

    Raises:
        ArgumentError: The dtype cannot hold `beta` or `alpha`.
        DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
        ShapeError: The shapes are incompatible.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.baddbmm(interlock.ones(1), interlock.ones(1, 1, 3), interlock.ones(1, 3, 2))
        tensor([[[4., 4.]]])
    """

def bernoulli(
    input: Tensor,
    p: builtins.float | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return 1 with the probability given by each element, else 0. The gradient is 0.

    Args:
        input: The tensor.
        p: One probability for all elements, whose values are then ignored. None means the elements of the tensor.
        generator: The generator that draws. None means the default one of the device.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the same dtype.

    Raises:
        DTypeError: The tensor is not floating point, and `p` is None.
        ArgumentError: A probability is not from 0 to 1. For tensors on a device the error is asynchronous.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.bernoulli(interlock.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """

def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Tensor:
    """Return the binary cross entropy of probabilities.

    The loss of a probability x for the target t is `-t * log(x) - (1 - t) * log(1 - x)`. Logarithms are at least -100,
    so that losses are finite.

    Args:
        input: Probabilities from 0 to 1, floating point.
        target: Probabilities from 0 to 1, of the shape and dtype of `input`.
        weight: Factors of the losses, which are broadcast to the shape of `input`, or None.
        reduction: "mean" or "sum" of the losses, or "none" for the loss of each element.

    Returns:
        A tensor of the shape of `input` if `reduction` is "none", else a 0-d tensor.

    Raises:
        ArgumentError: An element is not from 0 to 1, or `weight` requires grad. On a device an error of the elements is
            reported asynchronously.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point, or `target` has another dtype.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.binary_cross_entropy(interlock.tensor([0.5, 0.9]), interlock.tensor([0.0, 1.0]))
        tensor(0.3993)
    """

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    pos_weight: Tensor | None = None,
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Tensor:
    """Return the binary cross entropy of the logistic function of logits, also where that underflows.

    The loss of a logit x for the target t is `-p * t * log(s) - (1 - t) * log(1 - s)` with `s = sigmoid(x)` and p from
    `pos_weight`.

    Args:
        input: Logits, floating point.
        target: Probabilities of the shape of `input`, floating point.
        weight: Factors of the losses, which are broadcast to the shape of `input`, or None.
        pos_weight: Factors of the losses of targets of 1, which are broadcast to the shape of `input`, or None.
        reduction: "mean" or "sum" of the losses, or "none" for the loss of each element.

    Returns:
        A tensor of the shape of `input` if `reduction` is "none", else a 0-d tensor.

    Raises:
        ArgumentError: `weight` or `pos_weight` requires grad.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` or `target` is not floating point.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x, y = interlock.tensor([0.0, 1000.0]), interlock.tensor([1.0, 1.0])
        >>> functional.binary_cross_entropy_with_logits(x, y, reduction="none")
        tensor([0.6931, 0.0000])
    """

def bitwise_and(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the bitwise and of integers, and the logical and of bools.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The promoted dtype is floating point.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.bitwise_and(interlock.tensor([6, 5]), 3)
        tensor([2, 1])
    """

def bitwise_left_shift(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """Return `input << other` of integers; 0 if `other` is negative or not less than the number of bits.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The promoted dtype is floating point or bool.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.bitwise_left_shift(interlock.tensor([1, 3]), 2)
        tensor([ 4, 12])
    """

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the complement of the bits of integers, and the negation of bools.

    Args:
        input: The tensor, of integers or bools.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.bitwise_not(interlock.tensor([0, 5]))
        tensor([-1, -6])
    """

def bitwise_or(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the bitwise or of integers, and the logical or of bools.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The promoted dtype is floating point.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.bitwise_or(interlock.tensor([6, 5]), 3)
        tensor([7, 7])
    """

def bitwise_right_shift(
    input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """Return `input >> other` of integers. All bits leave if `other` is negative; those that enter equal the sign.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The promoted dtype is floating point or bool.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.bitwise_right_shift(interlock.tensor([8, -8]), 2)
        tensor([ 2, -2])
    """

def bitwise_xor(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the bitwise exclusive or of integers, and the logical exclusive or of bools.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The promoted dtype is floating point.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.bitwise_xor(interlock.tensor([6, 5]), 3)
        tensor([5, 6])
    """

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix products of two batches of matrices.

    Args:
        input: The left batch, of shape [b, n, k]. Floating point or int64.
        mat2: The right batch, of shape [b, k, m], of the same dtype.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of shape [b, n, m].

    Raises:
        DTypeError: The dtypes differ or are bool.
        ShapeError: A tensor does not have 3 dimensions, or the sizes differ.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.bmm(interlock.ones(2, 1, 3), interlock.ones(2, 3, 1))
        tensor([[[3.]],
        <BLANKLINE>
                [[3.]]])
    """

def broadcast_to(input: Tensor, size: _Dims) -> Tensor:
    """Return a view in which dimensions of size 1 are repeated, as `expand`.

    Args:
        input: The tensor.
        size: The new sizes. -1 keeps a size; new dimensions come first.

    Raises:
        ShapeError: A size other than 1 would change.

    Example:
        >>> import interlock
        >>> interlock.broadcast_to(interlock.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """

def can_cast(from_: _DType, to: _DType) -> builtins.bool:
    """Return whether a dtype can be converted to another one without a narrower category, of bools, integers and floats.

    Args:
        from_: A dtype.
        to: A dtype.

    Example:
        >>> import interlock
        >>> interlock.can_cast(interlock.int64, interlock.int8), interlock.can_cast(interlock.float32, interlock.int8)
        (True, False)
    """

def cat(tensors: Iterable[Tensor], dim: SupportsIndex = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a dimension.

    Args:
        tensors: An iterable of tensors whose sizes are equal except in `dim`. Tensors of shape [0] are skipped.
        dim: The dimension that is concatenated.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the widest dtype of `tensors`.

    Raises:
        ShapeError: Other sizes differ, or a tensor has no dimensions.
        IndexError: The tensors do not have dimension `dim`.
        ArgumentError: `tensors` is empty.
        RuntimeError: `tensors` contains tensors on different devices.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.cat([interlock.zeros(1), interlock.ones(2)])
        tensor([0., 1., 1.])
    """

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Round each element up to an integer. Integers are unchanged.

    Args:
        input: The tensor, of any dtype except bool.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.ceil(interlock.tensor([-0.5, 1.2]))
        tensor([-0., 2.])
    """

def ceil_(input: Tensor) -> Tensor:
    """In-place version of `ceil`.

    See `interlock.ceil`.

    Args:
        input: The tensor, of any dtype except bool.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The tensor has another dtype.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def cholesky(input: Tensor, *, upper: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return the Cholesky factor of symmetric positive-definite matrices.

    Args:
        input: A symmetric matrix of float32 or float64, or a batch of them. One triangle is read.
        upper: Whether to read the upper triangle and return the upper factor, else the lower one.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A triangular tensor `L` of the shape of `input` for which `L @ L.mT`, or `L.mT @ L` if `upper`, is `input`.

    Raises:
        LinAlgError: A matrix is not positive-definite; the message has its position in the batch.
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.cholesky(interlock.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """

def cholesky_ex(
    input: Tensor,
    *,
    upper: builtins.bool = False,
    check_errors: builtins.bool = False,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.linalg_cholesky_ex:
    """Return the Cholesky factor of symmetric matrices, and whether it exists.

    Args:
        input: A symmetric matrix of float32 or float64, or a batch of them. One triangle is read.
        upper: Whether to read the upper triangle and return the upper factor, else the lower one.
        check_errors: Whether to raise for a matrix that is not positive-definite.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(L, info)`. `info` is an int32 tensor with an element for each matrix: 0, or the order of the
        leading minor that is not positive; the factor is then incomplete.

    Raises:
        LinAlgError: `check_errors` is set, and a matrix is not positive-definite.
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.cholesky_ex(interlock.tensor([[1.0, 2.0], [2.0, 1.0]])).info
        tensor(2, dtype=interlock.int32)
    """

def cholesky_inverse(input: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the inverses of symmetric positive-definite matrices whose Cholesky factor is known.

    Args:
        input: The Cholesky factor of the matrices.
        upper: Whether it is the upper factor.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        The inverse of `input @ input.mT`, or of `input.mT @ input` if `upper`.

    Raises:
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.cholesky_inverse(interlock.tensor([[2.0]]))
        tensor([[0.2500]])
    """

def cholesky_solve(
    input: Tensor, input2: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the solutions of systems of equations with symmetric positive-definite matrices whose Cholesky factor is known.

    Args:
        input: The right sides, the columns of a matrix or of a batch of them.
        input2: The Cholesky factor of the matrices. Batches are broadcast.
        upper: Whether it is the upper factor.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor `X` for which `A @ X` is `input`, where `A` is `input2 @ input2.mT`, or `input2.mT @ input2` if `upper`.

    Raises:
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes differ, or are not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.cholesky_solve(interlock.tensor([[8.0]]), interlock.tensor([[2.0]]))
        tensor([[2.]])
    """

def chunk(input: Tensor, chunks: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Return at most `chunks` views of consecutive parts of a dimension, of equal sizes except for the last.

    The views are results of one node: while gradients are recorded they cannot be changed in place.

    Args:
        input: The tensor.
        chunks: The number of parts. There are fewer if the rounded up size of a part leaves none for the last ones.
        dim: The dimension.

    Returns:
        A tuple of views.

    Raises:
        ShapeError: The tensor has no dimensions.
        ArgumentError: `chunks` is not positive.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.chunk(interlock.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """

def clamp(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Limit each element to the range from `min` to `max`. NaN is preserved, and a limit of NaN makes elements NaN.

    An element that equals a limit has gradient 0 if the limits are numbers. If one is a tensor, the element and
    the limit have half of the gradient each. A lower limit below the range of an integer dtype limits nothing, nor
    does an upper limit above it.

    Args:
        input: The tensor.
        min: The lower limit, a tensor or a number; None means no limit.
        max: The upper limit, a tensor or a number; None means no limit. Elements are `max` where `min` is larger.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: Both limits are None, or the promoted dtype cannot hold a number that limits elements.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.clamp(interlock.tensor([-2.0, 0.5, 2.0]), -1, 1)
        tensor([-1.0000,  0.5000,  1.0000])
    """

clip = clamp

def clamp_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
    """In-place version of `clamp`.

    See `interlock.clamp`.

    Args:
        input: The tensor.
        min: The lower limit, a tensor or a number; None means no limit.
        max: The upper limit, a tensor or a number; None means no limit. Elements are `max` where `min` is larger.

    Returns:
        `input` itself.

    Raises:
        ArgumentError: Both limits are None, or the promoted dtype cannot hold a number that limits elements.
        ShapeError: The shapes cannot be broadcast.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

clip_ = clamp_

def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return each element, or `max` if it is larger.

    An element that equals a number has gradient 0. If `max` is a tensor, both have half of the gradient each.
    A number above the range of an integer dtype limits nothing.

    Args:
        input: The tensor.
        max: The upper limit, a tensor or a number.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: The promoted dtype cannot hold a number that limits elements.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.clamp_max(interlock.tensor([-2, 2]), 0)
        tensor([-2,  0])
    """

def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor:
    """In-place version of `clamp_max`.

    See `interlock.clamp_max`.

    Args:
        input: The tensor.
        max: The upper limit, a tensor or a number.

    Returns:
        `input` itself.

    Raises:
        ArgumentError: The promoted dtype cannot hold a number that limits elements.
        ShapeError: The shapes cannot be broadcast.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return each element, or `min` if it is smaller.

    An element that equals a number has gradient 0. If `min` is a tensor, both have half of the gradient each.
    A number below the range of an integer dtype limits nothing.

    Args:
        input: The tensor.
        min: The lower limit, a tensor or a number.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: The promoted dtype cannot hold a number that limits elements.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.clamp_min(interlock.tensor([-2, 2]), 0)
        tensor([0, 2])
    """

def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor:
    """In-place version of `clamp_min`.

    See `interlock.clamp_min`.

    Args:
        input: The tensor.
        min: The lower limit, a tensor or a number.

    Returns:
        `input` itself.

    Raises:
        ArgumentError: The promoted dtype cannot hold a number that limits elements.
        ShapeError: The shapes cannot be broadcast.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def clone(input: Tensor, *, memory_format: _MemoryFormat | None = None) -> Tensor:
    """Return a copy of the tensor, as a recorded operation.

    Args:
        input: The tensor.
        memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2)
        >>> interlock.clone(x) is x
        False
    """

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Dims = 1,
    padding: _Dims | Literal["same", "valid"] = 0,
    dilation: _Dims = 1,
    groups: SupportsIndex = 1,
) -> Tensor:
    """Return the convolution of images with filters, as PyTorch's `conv2d`. Pairs are of rows and columns.

    On devices the kernel is chosen by the flags of `backends.cudnn`, on the CPU by those of `backends.mkldnn`.
    `dispatch.explain` and `dispatch.record` show the choice.

    Args:
        input: Images of shape [batch, channels, rows, columns], or one of shape [channels, rows, columns]. Any dtype
            except bool.
        weight: Filters of shape [filters, channels / groups, rows, columns], of the same dtype.
        bias: A number for each filter, of shape [filters], or None.
        stride: The step between two positions of a filter: an int, or a pair.
        padding: The zeros on each side of the images: an int or a pair, or ``"valid"`` for none, or ``"same"`` for an
            output of the size of the images, which needs a stride of 1.
        dilation: The distance between two elements of a filter: an int, or a pair.
        groups: The number of groups of channels, each of which has its own filters. It divides both numbers of
            channels.

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

def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the magnitude of `input` with the sign of `other`, elementwise.

    Args:
        input: The tensor.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.copysign(interlock.tensor([1.0, 2.0]), -1)
        tensor([-1., -2.])
    """

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the cosine of each element, in radians.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.cos(interlock.tensor([0.0, 1.0]))
        tensor([1.0000, 0.5403])
    """

def cos_(input: Tensor) -> Tensor:
    """In-place version of `cos`.

    See `interlock.cos`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the hyperbolic cosine of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.cosh(interlock.tensor([0.0, 1.0]))
        tensor([1.0000, 1.5431])
    """

def cosh_(input: Tensor) -> Tensor:
    """In-place version of `cosh`.

    See `interlock.cosh`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def count_nonzero(input: Tensor, dim: _Dims | None = None) -> Tensor:
    """Return the number of nonzero elements, of all elements or over one or several dimensions.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.

    Returns:
        An int64 tensor.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[0, 1], [2, 3]])
        >>> interlock.count_nonzero(x)
        tensor(3)
    """

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: SupportsIndex = -100,
    reduction: Literal["mean", "sum", "none"] = "mean",
    label_smoothing: builtins.float = 0.0,
) -> Tensor:
    """Return the cross entropy of logits for target classes, or for probabilities of the classes.

    The loss of a sample is `-weight[target] * log_softmax(input)[target]`. A target with probabilities has the loss
    `-sum(weight * target * log_softmax(input))`.

    Args:
        input: Logits of shape [classes], [samples, classes] or [samples, classes, ...], floating point.
        target: Class indices, int64 or uint8, of the shape of `input` without the dimension of classes; or
            probabilities of the shape of `input`, floating point.
        weight: A weight for each class, of shape [classes] and of the dtype of `input`, or None.
        ignore_index: The class index of samples that do not count. For probabilities it must be negative.
        reduction: "sum" of the losses, "none" for the loss of each sample, or "mean": the sum, divided by the sum of
            the weights of the target classes, or by the number of samples if targets are probabilities.
        label_smoothing: The share from 0 to 1 of the uniform distribution with which targets are mixed, from Szegedy et
            al., "Rethinking the Inception Architecture for Computer Vision" (2016).

    Returns:
        A tensor of the shape of class indices if `reduction` is "none", else a 0-d tensor.

    Raises:
        IndexError: An index in `target` is not a class. On a device this error is reported asynchronously.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point, or another tensor has a wrong dtype.
        ArgumentError: `label_smoothing` is not from 0 to 1, or `weight` requires grad.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> interlock.cross_entropy(interlock.zeros(2, 3), interlock.tensor([0, 2]))
        tensor(1.0986)
    """

def cumprod(
    input: Tensor, dim: SupportsIndex, *, dtype: _DType | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the cumulative product of the elements along a dimension.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: `dtype` is bool.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1, 2, 3])
        >>> interlock.cumprod(x, 0)
        tensor([1, 2, 6])
    """

def cumsum(
    input: Tensor, dim: SupportsIndex, *, dtype: _DType | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the cumulative sum of the elements along a dimension.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: `dtype` is bool.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1, 2, 3])
        >>> interlock.cumsum(x, 0)
        tensor([1, 3, 6])
    """

def dequantize(input: QuantizedTensor) -> Tensor:
    """Return the numbers of a quantized tensor as a float32 tensor.

    Args:
        input: The quantized tensor.

    Example:
        >>> import interlock
        >>> q = interlock.quantize_per_tensor(interlock.tensor([-1.0, 0.26]), 0.1, 10, interlock.quint8)
        >>> interlock.dequantize(q)
        tensor([-1.0000,  0.3000])
    """

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the determinants of matrices.

    Args:
        A: A square matrix of float32 or float64, or a batch of them.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of the batch.

    Raises:
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.det(interlock.tensor([[2.0, 1.0], [0.0, 4.0]]))
        tensor(8.)
    """

def detach(input: Tensor) -> Tensor:
    """Return a tensor that shares memory with another and has no history.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.detach(interlock.ones(2, requires_grad=True)).requires_grad
        False
    """

def detach_(input: Tensor) -> Tensor:
    """Remove the history of a tensor in place: it becomes a leaf that does not require grad.

    Args:
        input: The tensor.

    Returns:
        The tensor itself.

    Raises:
        ArgumentError: The tensor is a view, which shares the history of its base.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2, requires_grad=True) * 2
        >>> x.detach_().is_leaf
        True
    """

def diagonal(
    input: Tensor, offset: SupportsIndex = 0, dim1: SupportsIndex = 0, dim2: SupportsIndex = 1
) -> Tensor:
    """Return a view of the diagonals of matrices. The diagonal is the last dimension of the view.

    Args:
        input: The tensor.
        offset: The distance from the main diagonal: positive above it and negative below it.
        dim1: The dimension of the rows.
        dim2: The dimension of the columns.

    Raises:
        IndexError: The tensor does not have one of the dimensions.
        ArgumentError: The dimensions are equal.

    Example:
        >>> import interlock
        >>> interlock.diagonal(interlock.arange(6).view(2, 3))
        tensor([0, 4])
    """

def div(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: Literal["floor", "trunc"] | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return `input / other`, elementwise. The quotient of integers is float32 unless it is rounded.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        rounding_mode: `"floor"` to round down, `"trunc"` to round towards 0, or None. Rounded quotients of integers
            are integers.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: `rounding_mode` is another text, or integers on the CPU are divided by 0 with rounding.
        DTypeError: Bools are divided with rounding.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.div(interlock.tensor([7, -7]), 2, rounding_mode="floor")
        tensor([ 3, -4])
    """

divide = div
true_divide = div

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the dot product of two vectors.

    Args:
        input: A vector.
        tensor: A vector of the same size and dtype.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A 0-d tensor.

    Raises:
        ShapeError: A tensor is not a vector, or the sizes differ.
        DTypeError: The dtypes differ or are bool.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.dot(interlock.tensor([1, 2]), interlock.tensor([3, 4]))
        tensor(11)
    """

def dropout(
    input: Tensor, p: builtins.float = 0.5, training: builtins.bool = True, inplace: builtins.bool = False
) -> Tensor:
    """Set each element to 0 with a probability, and divide the others by the probability of keeping them.

    The elements are drawn from the generator that `manual_seed` seeds: after one seed they are the same on every
    device. From Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting" (2014).

    Args:
        input: A floating-point tensor.
        p: The probability of 0.
        training: Whether elements are dropped. Otherwise `input` itself is returned.
        inplace: Whether `input` itself is changed and returned.

    Returns:
        A tensor of the shape and dtype of `input`, or `input` itself if `training` is False or `p` is 0.

    Raises:
        ValueError: `p` is not from 0 to 1.
        DTypeError: `input` is not floating point.
        RuntimeError: `inplace` is True for a leaf that requires grad while gradients are enabled, or for a tensor whose
            elements overlap.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x = functional.dropout(interlock.ones(1000), p=0.75)
        >>> set(x.tolist()) == {0.0, 4.0}
        True
        >>> functional.dropout(interlock.ones(3), training=False)
        tensor([1., 1., 1.])
    """

def eigh(
    input: Tensor,
    UPLO: Literal["L", "U", "l", "u"] = "L",
    *,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.linalg_eigh:
    """Return the eigenvalues and eigenvectors of symmetric matrices.

    Args:
        input: A symmetric matrix of float32 or float64, or a batch of them. One triangle is read.
        UPLO: The triangle that is read: "L" for the lower one, "U" for the upper one.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(eigenvalues, eigenvectors)`. The eigenvalues are in ascending order, and the eigenvectors are
        the columns of orthogonal matrices, whose signs are arbitrary. Vectors of equal eigenvalues have no gradient: it
        is infinite or NaN. Every result for a matrix that is not finite is NaN.

    Raises:
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        ArgumentError: `UPLO` has another value.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.eigh(interlock.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
        tensor([1., 3.])
    """

def eigvalsh(input: Tensor, UPLO: Literal["L", "U", "l", "u"] = "L", *, out: Tensor | None = None) -> Tensor:
    """Return the eigenvalues of symmetric matrices in ascending order; NaN for a matrix that is not finite.

    Args:
        input: A symmetric matrix of float32 or float64, or a batch of them. One triangle is read.
        UPLO: The triangle that is read: "L" for the lower one, "U" for the upper one.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        ArgumentError: `UPLO` has another value.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.eigvalsh(interlock.tensor([[2.0, 1.0], [1.0, 2.0]]))
        tensor([1., 3.])
    """

def elu(input: Tensor, alpha: builtins.float = 1.0, inplace: builtins.bool = False) -> Tensor:
    """Return each element x, or `alpha * (exp(x) - 1)` where x is not positive.

    From Clevert et al., "Fast and Accurate Deep Network Learning by Exponential Linear Units (ELUs)" (2015).

    Args:
        input: A floating-point tensor.
        alpha: The limit for negative elements is `-alpha`.
        inplace: Whether `input` itself is changed and returned.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        DTypeError: `input` is not floating point.
        RuntimeError: `inplace` is True for a leaf that requires grad while gradients are enabled, or for a tensor whose
            elements overlap.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.elu(interlock.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.6321,  0.0000,  1.0000])
    """

def embedding(input: Tensor, weight: Tensor, padding_idx: SupportsIndex | None = None) -> Tensor:
    """Return the rows of `weight` at the indices `input`, such as word embeddings.

    Args:
        input: Indices of rows, int64, of any shape. Not negative.
        weight: The rows, of shape [rows, size].
        padding_idx: A row that gets no gradient, which may be negative; None means that each row gets one.

    Returns:
        A tensor with the shape of `input` and a last dimension of `size`.

    Raises:
        IndexError: An index is out of bounds.
        ShapeError: `weight` does not have two dimensions.
        DTypeError: `input` is not int64.
        ArgumentError: `padding_idx` is not a row.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.embedding(interlock.tensor([1, 0]), interlock.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[3., 4.],
                [1., 2.]])
    """

@overload
def empty(
    first_size: SupportsIndex | _Sizes,
    /,
    *args: SupportsIndex,
    memory_format: _MemoryFormat | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return an uninitialized tensor.

    It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.

    Args:
        args: `size`, as separate ints or as one tuple or list.
        size: The sizes; by name as a tuple or list.
        memory_format: The order of the elements in memory, `interlock.contiguous_format`, also for None.
        dtype: The element type; None means float32.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.empty(2, 3).shape
        (2, 3)
    """

@overload
def empty(
    *,
    size: _Sizes,
    memory_format: _MemoryFormat | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    memory_format: _MemoryFormat | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return an uninitialized tensor with the shape of another tensor.

    Args:
        input: The tensor whose shape is used.
        memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        dtype: The element type; None means the dtype of the tensor.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the device of the tensor.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.empty_like(interlock.zeros(2, 3)).shape
        (2, 3)
    """

def empty_strided(
    size: _Dims,
    stride: _Dims,
    *,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return an uninitialized tensor with the strides `stride`.

    It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.

    Args:
        size: The sizes, as a tuple or list.
        stride: The stride of each dimension, in elements. Not negative.
        dtype: The element type; None means float32.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: A size or a stride is negative, or their numbers differ.
        ShapeError: The memory has more elements than can be addressed.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """

def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where the elements are equal to those of `other`.

    Args:
        input: The tensor.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.eq(interlock.tensor([1, 2]), interlock.tensor([1, 3]))
        tensor([ True, False])
    """

def equal(input: Tensor, other: Tensor) -> builtins.bool:
    """Return whether two tensors have the same shape and equal elements. NaN equals nothing.

    For device tensors this waits for the queued work.

    Args:
        input: The tensor.
        other: The other tensor.

    Raises:
        RuntimeError: The tensors are on different devices.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1, 2])
        >>> interlock.equal(x, interlock.tensor([1, 2]))
        True
    """

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the error function of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.erf(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
    """

def erf_(input: Tensor) -> Tensor:
    """In-place version of `erf`.

    See `interlock.erf`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 1 minus the error function of each element, which is precise for large elements.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.erfc(interlock.tensor([0.0, 1.0]))
        tensor([1.0000, 0.1573])
    """

def erfc_(input: Tensor) -> Tensor:
    """In-place version of `erfc`.

    See `interlock.erfc`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return e to the power of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.exp(interlock.tensor([0, 1]))
        tensor([1.0000, 2.7183])
    """

def exp_(input: Tensor) -> Tensor:
    """In-place version of `exp`.

    See `interlock.exp`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 2 to the power of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.exp2(interlock.tensor([0, 3]))
        tensor([1., 8.])
    """

def exp2_(input: Tensor) -> Tensor:
    """In-place version of `exp2`.

    See `interlock.exp2`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return e to the power of each element, minus 1, which is precise near 0.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.expm1(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183])
    """

def expm1_(input: Tensor) -> Tensor:
    """In-place version of `expm1`.

    See `interlock.expm1`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def eye(
    n: SupportsIndex,
    m: SupportsIndex | None = None,
    *,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a matrix with ones on the diagonal and zeros elsewhere.

    Args:
        n: The number of rows.
        m: The number of columns; None means `n`.
        dtype: The element type; None means float32.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: A number is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """

def fft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal["forward", "backward", "ortho"] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the discrete Fourier transforms of complex signals along a dimension.

    A complex number is two elements of the last dimension, because interlock has no complex dtype; `dim` does not count it.
    Transforms are computed in float64. A signal whose number of points has a prime factor above 7 takes about four times as
    long; its transform is from Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform"
    (1970), others are from Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series" (1965).

    Args:
        input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are
            converted to float32.
        n: The number of points, at least 1. Signals are cut, or followed by zeros. By default the size of `dim`.
        dim: The dimension of the signals.
        norm: The factor of the result: 1 for "backward" and None, 1 over the root of the number of points for
            "ortho", 1 over the number of points for "forward".
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `input` with `n` frequencies along `dim`.

    Raises:
        ArgumentError: `n` is below 1, or `norm` has another value.
        ShapeError: `input` has no last dimension of size 2 after others.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import fft
        >>> fft.fft(interlock.tensor([[1.0, 0.0], [0.0, 0.0]]))
        tensor([[1., 0.],
                [1., 0.]])
    """

def fft2(
    input: Tensor,
    s: _Dims | None = None,
    dim: _Dims = (-2, -1),
    norm: Literal["forward", "backward", "ortho"] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the discrete Fourier transforms of complex signals along two dimensions.

    Args:
        input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are
            converted to float32.
        s: The numbers of points along `dim`; -1 is the size of the dimension. Signals are cut, or followed by zeros.
        dim: The dimensions of the signals, without the last one of `input`.
        norm: The factor of the result: 1 for "backward" and None, 1 over the root of the number of points for
            "ortho", 1 over the number of points for "forward".
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `input` with `s` frequencies along `dim`.

    Raises:
        ArgumentError: `s` has a number below 1 that is not -1, or another length than `dim`; `dim` names a dimension
            twice; or `norm` has another value.
        ShapeError: `input` has no last dimension of size 2 after others.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import fft
        >>> fft.fft2(interlock.ones(2, 2, 2))[..., 0]
        tensor([[4., 0.],
                [0., 0.]])
    """

def fftn(
    input: Tensor,
    s: _Dims | None = None,
    dim: _Dims | None = None,
    norm: Literal["forward", "backward", "ortho"] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the discrete Fourier transforms of complex signals along several dimensions.

    Args:
        input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are
            converted to float32.
        s: The numbers of points along `dim`; -1 is the size of the dimension. Signals are cut, or followed by zeros.
        dim: The dimensions of the signals, without the last one of `input`. By default the last ones if `s` is given, else
            all.
        norm: The factor of the result: 1 for "backward" and None, 1 over the root of the number of points for
            "ortho", 1 over the number of points for "forward".
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `input` with `s` frequencies along `dim`.

    Raises:
        ArgumentError: `s` has a number below 1 that is not -1, or another length than `dim`; `dim` names a dimension
            twice; or `norm` has another value.
        ShapeError: `input` has no last dimension of size 2 after others.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import fft
        >>> fft.fftn(interlock.ones(2, 2, 2))[..., 0]
        tensor([[4., 0.],
                [0., 0.]])
    """

def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """Set all elements of a tensor to `value`. A number also fills an expanded tensor.

    Args:
        input: The tensor, which is changed.
        value: A number, or a 0-d tensor, whose gradient is the sum of all gradients.

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

def flatten(input: Tensor, start_dim: SupportsIndex = 0, end_dim: SupportsIndex = -1) -> Tensor:
    """Return the elements with some or all dimensions merged into one: a view if possible.

    Args:
        input: The tensor.
        start_dim: The first of the merged dimensions.
        end_dim: The last of the merged dimensions.

    Returns:
        The tensor itself if `start_dim` is `end_dim`.

    Raises:
        IndexError: The tensor does not have one of the dimensions.
        ArgumentError: `end_dim` is before `start_dim`.

    Example:
        >>> import interlock
        >>> interlock.flatten(interlock.zeros(2, 3, 4), 1).shape
        (2, 12)
    """

def flip(input: Tensor, dims: _Dims) -> Tensor:
    """Return a copy with the elements of dimensions in reverse order.

    Args:
        input: The tensor.
        dims: The dimension or dimensions.

    Raises:
        IndexError: The tensor does not have one of the dimensions.
        ArgumentError: A dimension is named twice.

    Example:
        >>> import interlock
        >>> interlock.flip(interlock.tensor([[1, 2], [3, 4]]), (0, 1))
        tensor([[4, 3],
                [2, 1]])
    """

def fliplr(input: Tensor) -> Tensor:
    """Return a copy with the columns of a matrix, or of each matrix in the first two dimensions, in reverse order.

    Args:
        input: The tensor.

    Raises:
        ShapeError: The tensor has fewer than two dimensions.

    Example:
        >>> import interlock
        >>> interlock.fliplr(interlock.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """

def flipud(input: Tensor) -> Tensor:
    """Return a copy with the rows, which are along the first dimension, in reverse order.

    Args:
        input: The tensor.

    Raises:
        ShapeError: The tensor has no dimensions.

    Example:
        >>> import interlock
        >>> interlock.flipud(interlock.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Round each element down to an integer. Integers are unchanged.

    Args:
        input: The tensor, of any dtype except bool.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.floor(interlock.tensor([-0.5, 1.2]))
        tensor([-1.,  1.])
    """

def floor_(input: Tensor) -> Tensor:
    """In-place version of `floor`.

    See `interlock.floor`.

    Args:
        input: The tensor, of any dtype except bool.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The tensor has another dtype.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def floor_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return `input / other` rounded down, elementwise, as Python's `//`. `div` with a rounding mode has a gradient.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: Integers on the CPU are divided by 0.
        DTypeError: The promoted dtype is bool.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.floor_divide(interlock.tensor([7, -7]), 2)
        tensor([ 3, -4])
    """

def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the larger of two elements, or the other one if one of them is NaN.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.fmax(interlock.tensor([1.0, float('nan')]), interlock.tensor([2.0, 3.0]))
        tensor([2., 3.])
    """

def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the smaller of two elements, or the other one if one of them is NaN.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.fmin(interlock.tensor([1.0, float('nan')]), interlock.tensor([2.0, 3.0]))
        tensor([1., 3.])
    """

def fmod(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the remainder of `input / other`, elementwise, with the sign of `input`, as C's `fmod`.

    Args:
        input: The tensor.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: Integers on the CPU are divided by 0.
        DTypeError: The promoted dtype is bool.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.fmod(interlock.tensor([7, -7]), 3)
        tensor([ 1, -1])
    """

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the fractional part of each element, with its sign.

    Args:
        input: The tensor, of a floating-point dtype.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.frac(interlock.tensor([-1.5, 2.25]))
        tensor([-0.5000,  0.2500])
    """

def frac_(input: Tensor) -> Tensor:
    """In-place version of `frac`.

    See `interlock.frac`.

    Args:
        input: The tensor, of a floating-point dtype.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The tensor has another dtype.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def from_dlpack(
    ext_tensor: object, *, device: _Device | None = None, copy: builtins.bool | None = None
) -> Tensor:
    """Return a tensor that shares the memory of an object of another library, through DLPack.

    Read-only memory is copied.

    Args:
        ext_tensor: An object with `__dlpack__` and `__dlpack_device__`, or a DLPack capsule. Its memory must be on the
            CPU, unless it is a tensor of interlock.
        device: The device of the result. None means the device of `ext_tensor`. The CPU requests a copy of memory elsewhere.
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

def from_numpy(ndarray: npt.NDArray[Any]) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    Read-only and unaligned arrays are copied.

    Args:
        ndarray: A `numpy.ndarray` of dtype float16, float32, float64, int64, int32, int16, int8, uint8 or bool, or of `ml_dtypes.bfloat16`.

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

def full(
    size: _Dims,
    fill_value: _Number,
    *,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor filled with a number.

    Args:
        size: The sizes, as an int or as a tuple or list.
        fill_value: The number, or a tensor with one element.
        dtype: The element type. None means bool for a bool, int64 for an int, and float32 for a float.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: The dtype cannot hold the number.
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
    """

def full_like(
    input: Tensor,
    fill_value: _Number,
    *,
    memory_format: _MemoryFormat | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor filled with a number, with the shape of another tensor.

    Args:
        input: The tensor whose shape is used.
        fill_value: The number, or a tensor with one element.
        memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        dtype: The element type; None means the dtype of the tensor.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the device of the tensor.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: The dtype cannot hold the number.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.full_like(interlock.zeros(2), 7)
        tensor([7., 7.])
    """

def gather(input: Tensor, dim: SupportsIndex, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements at `index` along dimension `dim`.

    Args:
        input: The tensor.
        dim: The dimension.
        index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of the result is the element
            of the tensor at `index[j]` along `dim` and at j in the other dimensions.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `index`.

    Raises:
        ShapeError: `index` has another number of dimensions, or is larger than the tensor in another dimension.
        DTypeError: `index` is not int64.
        RuntimeError: An index is negative or out of bounds.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 2], [3, 4]])
        >>> interlock.gather(x, 1, interlock.tensor([[1], [0]]))
        tensor([[2],
                [3]])
    """

def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where the elements are larger than those of `other` or equal.

    Args:
        input: The tensor.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.ge(interlock.tensor([1, 2]), 2)
        tensor([False,  True])
    """

greater_equal = ge

def gelu(
    input: Tensor, approximate: Literal["none", "tanh"] = "none", *, out: Tensor | None = None
) -> Tensor:
    """Return each element times the probability that a standard normal variable is at most the element.

    `x * (1 + erf(x / sqrt(2))) / 2`, from Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)" (2016). The
    approximation is `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`.

    Args:
        input: A floating-point tensor.
        approximate: "none", or "tanh" for the approximation.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        ArgumentError: `approximate` has another value.
        DTypeError: `input` is not floating point.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.gelu(interlock.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """

def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where the elements are larger than those of `other`.

    Args:
        input: The tensor.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.gt(interlock.tensor([1, 2]), 1)
        tensor([False,  True])
    """

greater = gt

def hstack(tensors: Iterable[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along the second dimension, or along the only one of vectors.

    Args:
        tensors: The tensors, as an iterable.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the widest dtype of `tensors`.

    Raises:
        ShapeError: The other sizes differ.
        ArgumentError: `tensors` is empty.
        RuntimeError: `tensors` contains tensors on different devices.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.hstack([interlock.tensor([1, 2]), interlock.tensor([3])])
        tensor([1, 2, 3])
    """

def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the length of the hypotenuse of a right triangle with these legs, elementwise.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The promoted dtype is not floating point.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.hypot(interlock.tensor([3.0]), interlock.tensor([4.0]))
        tensor([5.])
    """

def ifft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal["forward", "backward", "ortho"] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverses of `fft` along a dimension.

    Args:
        input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are
            converted to float32.
        n: The number of points, at least 1. Signals are cut, or followed by zeros. By default the size of `dim`.
        dim: The dimension of the frequencies, without the last one of `input`.
        norm: The factor of the result: 1 over the number of points for "backward" and None, 1 over its root for
            "ortho", 1 for "forward".
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `input` with `n` points along `dim`.

    Raises:
        ArgumentError: `n` is below 1, or `norm` has another value.
        ShapeError: `input` has no last dimension of size 2 after others.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import fft
        >>> fft.ifft(interlock.tensor([[1.0, 0.0], [1.0, 0.0]]))
        tensor([[1., 0.],
                [0., 0.]])
    """

def ifft2(
    input: Tensor,
    s: _Dims | None = None,
    dim: _Dims = (-2, -1),
    norm: Literal["forward", "backward", "ortho"] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverses of `fft2` along two dimensions.

    Args:
        input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are
            converted to float32.
        s: The numbers of points along `dim`; -1 is the size of the dimension. Spectra are cut, or followed by zeros.
        dim: The dimensions of the frequencies, without the last one of `input`.
        norm: The factor of the result: 1 over the number of points for "backward" and None, 1 over its root for
            "ortho", 1 for "forward".
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `input` with `s` points along `dim`.

    Raises:
        ArgumentError: `s` has a number below 1 that is not -1, or another length than `dim`; `dim` names a dimension
            twice; or `norm` has another value.
        ShapeError: `input` has no last dimension of size 2 after others.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import fft
        >>> fft.ifft2(interlock.ones(2, 2, 2))[..., 0]
        tensor([[1., 0.],
                [0., 0.]])
    """

def ifftn(
    input: Tensor,
    s: _Dims | None = None,
    dim: _Dims | None = None,
    norm: Literal["forward", "backward", "ortho"] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverses of `fftn` along several dimensions.

    Args:
        input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are
            converted to float32.
        s: The numbers of points along `dim`; -1 is the size of the dimension. Spectra are cut, or followed by zeros.
        dim: The dimensions of the frequencies, without the last one of `input`. By default the last ones if `s` is given,
            else all.
        norm: The factor of the result: 1 over the number of points for "backward" and None, 1 over its root for
            "ortho", 1 for "forward".
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `input` with `s` points along `dim`.

    Raises:
        ArgumentError: `s` has a number below 1 that is not -1, or another length than `dim`; `dim` names a dimension
            twice; or `norm` has another value.
        ShapeError: `input` has no last dimension of size 2 after others.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import fft
        >>> fft.ifftn(interlock.ones(2, 2, 2))[..., 0]
        tensor([[1., 0.],
                [0., 0.]])
    """

def index_add(
    input: Tensor,
    dim: SupportsIndex,
    index: Tensor,
    source: Tensor,
    *,
    alpha: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return a copy with the slices of `source` added to the slices `index` of dimension `dim`.

    Sums of several floating-point values for one element have no fixed order, unless
    `backends.deterministic_algorithms` is set.

    Args:
        input: The tensor.
        dim: The dimension.
        index: Indices of slices, int64, of at most one dimension. Not negative.
        source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
            `index`.
        alpha: A number by which `source` is multiplied first; None means 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> index = interlock.tensor([0, 2, 0])
        >>> interlock.index_add(interlock.zeros(3), 0, index, interlock.ones(3), alpha=2)
        tensor([4., 0., 2.])
    """

def index_copy(
    input: Tensor, dim: SupportsIndex, index: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Return a copy with the slices of `source` written to the slices `index` of dimension `dim`.

    Args:
        input: The tensor.
        dim: The dimension.
        index: Indices of slices, int64, of at most one dimension. Not negative. Of several slices for one position the
            last is stored.
        source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
            `index`.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        IndexError: An index is out of bounds, the tensor does not have dimension `dim`, or `source` has another number of
            dimensions than the tensor or not one slice for each index.
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.index_copy(interlock.zeros(3), 0, interlock.tensor([2]), interlock.ones(1))
        tensor([0., 0., 1.])
    """

def index_fill(input: Tensor, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor:
    """Return a copy with `value` written to the slices `index` of dimension `dim`.

    Args:
        input: The tensor.
        dim: The dimension.
        index: Indices of slices, int64, of at most one dimension. Negative indices count from the end.
        value: A number, or a 0-d tensor.

    Raises:
        IndexError: An index is out of bounds, the tensor does not have dimension `dim`, or `index` is not int64.
        ShapeError: `index` has two dimensions.
        ArgumentError: The dtype cannot hold the number.

    Example:
        >>> import interlock
        >>> interlock.index_fill(interlock.zeros(3), 0, interlock.tensor([-1]), 7)
        tensor([0., 0., 7.])
    """

def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False
) -> Tensor:
    """Return a copy with `values` written at `indices`, as by `copy[indices] = values`.

    Sums of several floating-point values for one element have no fixed order, unless
    `backends.deterministic_algorithms` is set.

    Args:
        input: The tensor.
        indices: A tuple or list of tensors that index the first dimensions: int64 indices, which may be negative, or
            bool masks. None means a whole dimension.
        values: The values, of the dtype of the tensor. Broadcast to the indexed part.
        accumulate: Whether the values are added to the elements. If it is False, the last of several values for one
            element is stored.

    Raises:
        IndexError: An index is out of bounds, or there are more indices than dimensions.
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes of the tensor and of `values` differ.

    Example:
        >>> import interlock
        >>> index = (interlock.tensor([0, 0]),)
        >>> interlock.index_put(interlock.zeros(2), index, interlock.ones(2), accumulate=True)
        tensor([2., 0.])
    """

def index_put_(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False
) -> Tensor:
    """In-place version of `index_put`.

    See `interlock.index_put`.

    Args:
        input: The tensor.
        indices: A tuple or list of tensors that index the first dimensions: int64 indices, which may be negative, or
            bool masks. None means a whole dimension.
        values: The values, of the dtype of the tensor. Broadcast to the indexed part.
        accumulate: Whether the values are added to the elements. If it is False, the last of several values for one
            element is stored.

    Returns:
        `input` itself.

    Raises:
        IndexError: An index is out of bounds, or there are more indices than dimensions.
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes of the tensor and of `values` differ.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def index_select(input: Tensor, dim: SupportsIndex, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the slices `index` of dimension `dim`.

    Args:
        input: The tensor.
        dim: The dimension.
        index: Indices of slices, int64, of at most one dimension. Not negative.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A new tensor, whose size in `dim` is the size of `index`.

    Raises:
        IndexError: An index is out of bounds, `index` has two dimensions, or the tensor does not have `dim`.
        DTypeError: `index` is not int64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.index_select(interlock.tensor([5, 6, 7]), 0, interlock.tensor([2, 0]))
        tensor([7, 5])
    """

def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverses of matrices.

    Args:
        A: A square matrix of float32 or float64, or a batch of them.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        LinAlgError: A matrix is singular; the message has its position in the batch.
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.inv(interlock.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """

def inv_ex(
    A: Tensor, *, check_errors: builtins.bool = False, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
) -> _return_types.linalg_inv_ex:
    """Return the inverses of matrices, and whether they exist.

    Args:
        A: A square matrix of float32 or float64, or a batch of them.
        check_errors: Whether to raise for a singular matrix.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(inverse, info)`. `info` is an int32 tensor with an element for each matrix: 0, or the number of a
        pivot that is 0, counted from 1; the inverse is then infinite or NaN.

    Raises:
        LinAlgError: `check_errors` is set, and a matrix is singular.
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.inv_ex(interlock.zeros(2, 2)).info
        tensor(1, dtype=interlock.int32)
    """

def irfft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal["forward", "backward", "ortho"] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real signals of half spectra along a dimension, the inverses of `rfft`.

    The imaginary parts of the frequencies 0 and `n / 2` are ignored: those of real signals are 0.

    Args:
        input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are
            converted to float32.
        n: The number of points of the signals, at least 1. `n // 2 + 1` frequencies are used; further ones are zeros. By
            default twice the size of `dim`, minus 2.
        dim: The dimension of the frequencies, without the last one of `input`.
        norm: The factor of the result: 1 over the number of points for "backward" and None, 1 over its root for
            "ortho", 1 for "forward".
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `input` without its last dimension, and with `n` points along `dim`.

    Raises:
        ArgumentError: `n` is below 1, or `norm` has another value.
        ShapeError: `input` has no last dimension of size 2 after others.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import fft
        >>> fft.irfft(fft.rfft(interlock.tensor([1.0, 2.0, 3.0])), 3)
        tensor([1., 2., 3.])
    """

def is_floating_point(input: Tensor) -> builtins.bool:
    """Return whether the elements are floating-point numbers.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.is_floating_point(interlock.zeros(2))
        True
    """

def is_inference(input: Tensor) -> builtins.bool:
    """Return whether a tensor was created in inference mode.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.is_inference(interlock.zeros(2))
        False
    """

def is_signed(input: Tensor) -> builtins.bool:
    """Return whether the elements can be negative.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.is_signed(interlock.zeros(2, dtype=interlock.uint8))
        False
    """

def isclose(
    input: Tensor,
    other: Tensor,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor:
    """Return a bool tensor that is True where the elements differ by at most `atol + rtol * abs(other)`.

    Differences of integers do not wrap.

    Args:
        input: The tensor.
        other: The other tensor.
        rtol: The relative tolerance.
        atol: The absolute tolerance.
        equal_nan: Whether NaN is close to NaN.

    Returns:
        A bool tensor. Infinities are close only to themselves.

    Raises:
        DTypeError: The dtypes differ.
        ArgumentError: A tolerance is negative.
        ShapeError: The shapes cannot be broadcast.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0])
        >>> interlock.isclose(x, interlock.tensor([1.000001, 2.1]))
        tensor([ True, False])
    """

def isfinite(input: Tensor) -> Tensor:
    """Return a bool tensor that is True where the elements are neither infinite nor NaN.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.isfinite(interlock.tensor([1.0, float('inf'), float('nan')]))
        tensor([ True, False, False])
    """

def isinf(input: Tensor) -> Tensor:
    """Return a bool tensor that is True where the elements are infinite.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.isinf(interlock.tensor([1.0, float('inf'), float('nan')]))
        tensor([False,  True, False])
    """

def isnan(input: Tensor) -> Tensor:
    """Return a bool tensor that is True where the elements are NaN.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.isnan(interlock.tensor([1.0, float('inf'), float('nan')]))
        tensor([False, False,  True])
    """

def l1_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Tensor:
    """Return the L1 loss: the absolute values of the differences of two tensors.

    Args:
        input: A tensor, of any dtype except bool.
        target: A tensor that is broadcast to the shape of `input`, or the reverse.
        weight: Factors of the absolute values, of the shape of `input`, or None.
        reduction: "sum" of the absolute values, "none" for each of them, or "mean": the sum, divided by the number of
            absolute values, or by the sum of the weights. Integers have no mean.

    Returns:
        A tensor of the broadcast shape if `reduction` is "none", else a 0-d tensor.

    Raises:
        DTypeError: The tensors are bool, or integers with `reduction` "mean".
        ShapeError: The shapes are incompatible.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.l1_loss(interlock.tensor([1.0, -3.0]), interlock.zeros(2))
        tensor(2.)
    """

def layer_norm(
    input: Tensor,
    normalized_shape: _Sizes,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: builtins.float = 1e-05,
) -> Tensor:
    """Normalize the elements of the last dimensions to a mean of 0 and a variance of 1.

    `(x - mean) / sqrt(variance + eps) * weight + bias`, with the biased variance, from Ba, Kiros and Hinton, "Layer
    Normalization" (2016).

    Args:
        input: A floating-point tensor of shape [..., *normalized_shape].
        normalized_shape: The sizes of the last dimensions, as a tuple or list.
        weight: Factors of shape `normalized_shape`, or None. Of the dtype of `input`, or float32 for float16 and
            bfloat16.
        bias: Summands of shape `normalized_shape`, or None. Of the dtype of `weight`.
        eps: A number that is added to the variance.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        DTypeError: `input` is not floating point, or a parameter has another dtype.
        ShapeError: `normalized_shape` is empty or does not end the shape of `input`, or a parameter has another shape.
        RuntimeError: The tensors are on different devices.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.layer_norm(interlock.tensor([[1.0, 3.0], [0.0, 8.0]]), (2,))
        tensor([[-1.0000,  1.0000],
                [-1.0000,  1.0000]])
    """

def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where the elements are smaller than those of `other` or equal.

    Args:
        input: The tensor.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.le(interlock.tensor([1, 2]), 1)
        tensor([ True, False])
    """

less_equal = le

def leaky_relu(
    input: Tensor, negative_slope: builtins.float = 0.01, inplace: builtins.bool = False
) -> Tensor:
    """Return each element, multiplied by a slope where it is not positive.

    Args:
        input: A floating-point tensor.
        negative_slope: The slope.
        inplace: Whether `input` itself is changed and returned.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        DTypeError: `input` is not floating point.
        RuntimeError: `inplace` is True for a leaf that requires grad while gradients are enabled, or for a tensor whose
            elements overlap.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.leaky_relu(interlock.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.0100,  0.0000,  1.0000])
    """

def lerp(input: Tensor, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return `input + weight * (end - input)`, elementwise.

    Args:
        input: The tensor for a weight of 0, of a floating-point dtype.
        end: The tensor for a weight of 1, of the same dtype. Shapes are broadcast.
        weight: A tensor or a number.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The dtypes differ or are not floating point.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.lerp(interlock.tensor([0.0, 10.0]), interlock.tensor([1.0, 20.0]), 0.5)
        tensor([ 0.5000, 15.0000])
    """

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return `input @ weight.T + bias`, a linear layer.

    Args:
        input: A tensor of shape [..., inputs].
        weight: A matrix of shape [outputs, inputs], or a vector of shape [inputs] for one output without a dimension.
        bias: A tensor that is broadcast to the result, or None.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of shape [..., outputs].

    Raises:
        DTypeError: The dtypes differ or are bool.
        ShapeError: The shapes are incompatible.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.linear(interlock.ones(1, 3), interlock.ones(2, 3), interlock.ones(2))
        tensor([[4., 4.]])
    """

def linspace(
    start: _Number,
    end: _Number,
    steps: SupportsIndex,
    *,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return `steps` evenly spaced numbers from `start` to `end`, both included.

    Args:
        start: The first number, or a tensor with one element.
        end: The last number, or a tensor with one element.
        steps: The number of elements.
        dtype: The element type; None means float32. For integers the bounds and the numbers are truncated.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: `steps` is negative, or the dtype cannot hold a bound.
        DTypeError: The dtype is bool.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the natural logarithm of each element; NaN for negative elements and minus infinity for 0.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.log(interlock.tensor([1, 2]))
        tensor([0.0000, 0.6931])
    """

def log_(input: Tensor) -> Tensor:
    """In-place version of `log`.

    See `interlock.log`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the decimal logarithm of each element; NaN for negative elements and minus infinity for 0.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.log10(interlock.tensor([1, 1000]))
        tensor([0., 3.])
    """

def log10_(input: Tensor) -> Tensor:
    """In-place version of `log10`.

    See `interlock.log10`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the natural logarithm of 1 plus each element, which is precise near 0.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.log1p(interlock.tensor([0, 1]))
        tensor([0.0000, 0.6931])
    """

def log1p_(input: Tensor) -> Tensor:
    """In-place version of `log1p`.

    See `interlock.log1p`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the binary logarithm of each element; NaN for negative elements and minus infinity for 0.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.log2(interlock.tensor([1, 8]))
        tensor([0., 3.])
    """

def log2_(input: Tensor) -> Tensor:
    """In-place version of `log2`.

    See `interlock.log2`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def log_softmax(
    input: Tensor, dim: SupportsIndex, *, dtype: _DType | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the logarithm of the softmax along a dimension; accurate also where the softmax underflows.

    Args:
        input: The tensor.
        dim: The dimension along which the softmax sums to 1.
        dtype: The floating-point dtype to convert the elements to first. None means no change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.log_softmax(interlock.tensor([1.0, 2.0]), 0)
        tensor([-1.3133, -0.3133])
    """

def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return `log(exp(input) + exp(other))`, elementwise, also where an exponential overflows.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The promoted dtype is not floating point.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.logaddexp(interlock.tensor([1000.0]), interlock.tensor([1000.0]))
        tensor([1000.6932])
    """

def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where both elements are nonzero.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.logical_and(interlock.tensor([0, 2]), interlock.tensor([1, 1]))
        tensor([False,  True])
    """

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where the elements are zero.

    Args:
        input: The tensor.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.logical_not(interlock.tensor([0, 2]))
        tensor([ True, False])
    """

def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where an element is nonzero.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.logical_or(interlock.tensor([0, 2]), interlock.tensor([0, 1]))
        tensor([False,  True])
    """

def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where exactly one of the elements is nonzero.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.logical_xor(interlock.tensor([0, 2]), interlock.tensor([1, 1]))
        tensor([ True, False])
    """

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the logistic function of each element, `-log(1 + exp(-x))`.

    It is accurate also where the logistic function underflows.

    Args:
        input: A floating-point tensor.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        DTypeError: `input` is not floating point.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.logsigmoid(interlock.tensor([-1000.0, 0.0]))
        tensor([-1.0000e+03, -6.9315e-01])
    """

def logspace(
    start: _Number,
    end: _Number,
    steps: SupportsIndex,
    base: builtins.float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return the powers of `base` with `steps` evenly spaced exponents from `start` to `end`, both included.

    Args:
        start: The first exponent, or a tensor with one element.
        end: The last exponent, or a tensor with one element.
        steps: The number of elements.
        base: The base.
        dtype: The element type; None means float32. For integers the bounds of several exponents and the numbers are
            truncated.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: `steps` is negative, or the dtype cannot hold a bound or the only power.
        DTypeError: The dtype is bool.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """

def logsumexp(
    input: Tensor, dim: _Dims, keepdim: builtins.bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the logarithm of the sum of the exponentials over one or several dimensions.

    It is accurate also where an exponential overflows. Integers are converted to float32.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1000.0, 1000.0])
        >>> interlock.logsumexp(x, 0)
        tensor(1000.6932)
    """

def lstm(
    input: Tensor,
    hx: Iterable[Tensor],
    params: Iterable[Tensor],
    has_biases: builtins.bool,
    num_layers: SupportsIndex,
    dropout: builtins.float,
    train: builtins.bool,
    bidirectional: builtins.bool,
    batch_first: builtins.bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the outputs and the last states of a long short-term memory (LSTM), a stack of recurrent layers.

    On devices the kernel is ``cudnn`` while `backends.cudnn.enabled` is set: its calls of `matmul` obey
    `backends.cudnn.rnn.fp32_precision`. The kernel ``native`` obeys the node of `matmul`. Gradients choose their
    arithmetic under the flags of the thread that runs the backward pass.

    Args:
        input: The input, of shape [steps, batch, features], or [batch, steps, features] if `batch_first` is True.
            Floating point.
        hx: The first hidden state and the first cell state, both of shape [num_layers, batch, size].
        params: For each layer the weights of its input, of shape [4 * size, features] (of later layers
            [4 * size, size]), and of its hidden state, of shape [4 * size, size]; if `has_biases` is True, followed by
            their biases, of shape [4 * size]. The gates are in the order input, forget, cell, output.
        has_biases: Whether `params` contains biases.
        num_layers: The number of layers, at least 1. A layer reads the hidden states of the one before.
        dropout: The probability of dropout between layers. It must be 0 if `train` is True.
        train: Whether the layers are trained.
        bidirectional: False. Layers run in one direction; to run another layer backwards, flip its input and output.
        batch_first: Whether the batch is the first dimension of `input` and of the output.

    Returns:
        The hidden state of the last layer in each step, with the dimensions of `input` and `size` features, and the
        last hidden state and cell state of each layer, both of shape [num_layers, batch, size].

    Raises:
        ShapeError: The shapes are incompatible, or there is no step.
        DTypeError: The dtypes differ, or are not floating point.
        RuntimeError: The devices differ.
        ArgumentError: `bidirectional` is True, `dropout` has an effect, or `params` has the wrong length.

    Example:
        >>> import interlock
        >>> x, state = interlock.ones(5, 1, 3), interlock.zeros(1, 1, 2)
        >>> weights = [interlock.zeros(8, 3), interlock.zeros(8, 2)]
        >>> output, hidden, cell = interlock.lstm(
        ...     x, (state, state), weights, False, 1, 0.0, False, False, False
        ... )
        >>> output.shape
        (5, 1, 2)
    """

def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where the elements are smaller than those of `other`.

    Args:
        input: The tensor.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.lt(interlock.tensor([1, 2]), 2)
        tensor([ True, False])
    """

less = lt

def lu(
    A: Tensor, *, pivot: builtins.bool = True, out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None
) -> _return_types.linalg_lu:
    """Return the permutation and the LU factors of matrices.

    Args:
        A: A matrix of float32 or float64, or a batch of them.
        pivot: Must be True.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(P, L, U)` for which `P @ L @ U` is `A`. P has no gradient.

    Raises:
        ShapeError: There are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        ArgumentError: `pivot` is False: there is no kernel without pivoting.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.lu(interlock.tensor([[1.0, 2.0], [2.0, 2.0]])).U
        tensor([[2., 2.],
                [0., 1.]])
    """

def lu_factor(
    A: Tensor, *, pivot: builtins.bool = True, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
) -> _return_types.linalg_lu_factor:
    """Return the LU factors of matrices in one matrix each, and the pivots.

    Args:
        A: A matrix of float32 or float64, or a batch of them.
        pivot: Must be True.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(LU, pivots)`. The upper triangle of `LU` is the upper factor; the other elements are those of
        the lower one, whose diagonal is ones. Row i of the matrix was swapped with row `pivots[i]`, counted from 1.

    Raises:
        LinAlgError: A pivot is 0; the message has the position of the matrix in the batch.
        ShapeError: There are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        ArgumentError: `pivot` is False: there is no kernel without pivoting.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.lu_factor(interlock.tensor([[1.0, 2.0], [2.0, 2.0]])).LU
        tensor([[2.0000, 2.0000],
                [0.5000, 1.0000]])
    """

def lu_factor_ex(
    A: Tensor,
    *,
    pivot: builtins.bool = True,
    check_errors: builtins.bool = False,
    out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.linalg_lu_factor_ex:
    """Return the LU factors of matrices in one matrix each, the pivots, and whether a pivot is 0.

    Args:
        A: A matrix of float32 or float64, or a batch of them.
        pivot: Must be True.
        check_errors: Whether to raise for a pivot of 0.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(LU, pivots, info)`, the first two as those of `lu_factor`. `info` is an int32 tensor with an
        element for each matrix: 0, or the number of the first pivot that is 0, counted from 1.

    Raises:
        LinAlgError: `check_errors` is set, and a pivot is 0.
        ShapeError: There are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        ArgumentError: `pivot` is False: there is no kernel without pivoting.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.lu_factor_ex(interlock.zeros(2, 2)).info
        tensor(1, dtype=interlock.int32)
    """

def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: builtins.bool = True,
    adjoint: builtins.bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the solutions of systems of equations whose LU factors are known.

    Args:
        LU: The factors that `lu_factor` returns, of a matrix `A` or a batch.
        pivots: The pivots that it returns.
        B: The right sides, the columns of a matrix or of a batch of them. Batches are broadcast.
        left: Whether to solve `A @ X = B`, else `X @ A = B`.
        adjoint: Whether to solve with the transposed `A`.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the broadcast shape of `B`.

    Raises:
        ArgumentError: A pivot is not the number of a row. On a device the error is reported asynchronously.
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes differ, are not float32 or float64, or `pivots` is not int32.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> LU, pivots = linalg.lu_factor(interlock.tensor([[1.0, 2.0], [2.0, 2.0]]))
        >>> linalg.lu_solve(LU, pivots, interlock.tensor([[3.0], [4.0]]))
        tensor([[1.],
                [1.]])
    """

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """Return a copy with `value` written where `mask` is True.

    Args:
        input: The tensor.
        mask: The mask, bool. Broadcast with the tensor.
        value: A number, or a 0-d tensor.

    Raises:
        DTypeError: `mask` is not bool.
        ShapeError: The shapes cannot be broadcast.
        ArgumentError: The dtype cannot hold the number.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1, -2, 3])
        >>> interlock.masked_fill(x, x < 0, 0)
        tensor([1, 0, 3])
    """

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return a copy with the first elements of `source` written where `mask` is True. Waits for a device.

    Args:
        input: The tensor.
        mask: The mask, bool. Broadcast to the tensor.
        source: The elements, in row-major order, of the dtype of the tensor. At least as many as the mask is True.

    Raises:
        DTypeError: `mask` is not bool, or the dtypes differ.
        ShapeError: The shapes are incompatible.

    Example:
        >>> import interlock
        >>> mask = interlock.tensor([True, False, True])
        >>> interlock.masked_scatter(interlock.zeros(3), mask, interlock.ones(2))
        tensor([1., 0., 1.])
    """

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements where a mask is True, in row-major order. Waits for a device.

    Args:
        input: The tensor.
        mask: The mask, bool. Broadcast with the tensor.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor with one dimension.

    Raises:
        DTypeError: `mask` is not bool.
        ShapeError: The shapes cannot be broadcast.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1, -2, 3])
        >>> interlock.masked_select(x, x > 0)
        tensor([1, 3])
    """

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product of two tensors.

    A one-dimensional tensor is a row vector on the left and a column vector on the right. The dimensions before the
    last two are broadcast.

    Args:
        input: The left tensor, of shape [..., n, k] or [k]. Floating point or int64.
        other: The right tensor, of shape [..., k, m] or [k], of the same dtype.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of shape [..., n, m], without the dimension of a one-dimensional operand.

    Raises:
        DTypeError: The dtypes differ or are bool.
        ShapeError: The shapes are incompatible.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.matmul(interlock.ones(2, 3), interlock.ones(3))
        tensor([3., 3.])
    """

@overload
def max(input: Tensor, dim: None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the maximum of all elements, or along a dimension, or of each pair of elements of two tensors.

    Args:
        input: The tensor.
        dim: The dimension, or a tensor. None means all elements.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        The maximum of all elements, which share the gradient if they are equal. With a dimension a named tuple
        `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor
        the larger elements of both, as `maximum`. NaN counts as the maximum.

    Raises:
        ShapeError: There are no elements.
        IndexError: The dimension has size 0.
        TypeError: `keepdim` is set without `dim`.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> interlock.max(x)
        tensor(7)
        >>> interlock.max(x, 1).values
        tensor([5, 7])
    """

@overload
def max(
    input: Tensor,
    dim: builtins.int,
    keepdim: builtins.bool = False,
    *,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.max: ...
@overload
def max(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the larger of two elements, or NaN if one of them is NaN.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.maximum(interlock.tensor([1, 5]), interlock.tensor([2, 3]))
        tensor([2, 5])
    """

def mean(
    input: Tensor,
    dim: _Dims | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the mean of all elements, or over one or several dimensions. The mean of no elements is NaN.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        dtype: The floating-point dtype to convert the elements to first. None means no change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> interlock.mean(x, 1)
        tensor([1.5000, 3.5000])
    """

@overload
def median(input: Tensor, dim: None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the median of all elements, or along a dimension: the middle element, or the smaller one of two.

    Args:
        input: The tensor.
        dim: The dimension. None means all elements.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        The median of all elements, which share the gradient if they are equal; NaN if there are none. With a dimension a
        named tuple `(values, indices)`, in which the element at the index receives the gradient. It is NaN where an element
        is.

    Raises:
        ShapeError: There are no elements, and the dtype is an integer dtype.
        IndexError: The reduced dimension has size 0.
        DTypeError: The tensor is a bool tensor.
        TypeError: `keepdim` is set without `dim`.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5, 4], [7, 2, 3]])
        >>> interlock.median(x)
        tensor(3)
        >>> interlock.median(x, 1).values
        tensor([4, 3])
    """

@overload
def median(
    input: Tensor,
    dim: SupportsIndex,
    keepdim: builtins.bool = False,
    *,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.median: ...
@overload
def min(input: Tensor, dim: None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the minimum of all elements, or along a dimension, or of each pair of elements of two tensors.

    Args:
        input: The tensor.
        dim: The dimension, or a tensor. None means all elements.
        keepdim: Whether reduced dimensions remain, with size 1.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        The minimum of all elements, which share the gradient if they are equal. With a dimension a named tuple
        `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor
        the smaller elements of both, as `minimum`. NaN counts as the minimum.

    Raises:
        ShapeError: There are no elements.
        IndexError: The dimension has size 0.
        TypeError: `keepdim` is set without `dim`.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> interlock.min(x)
        tensor(1)
        >>> interlock.min(x, 1).values
        tensor([1, 2])
    """

@overload
def min(
    input: Tensor,
    dim: builtins.int,
    keepdim: builtins.bool = False,
    *,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.min: ...
@overload
def min(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the smaller of two elements, or NaN if one of them is NaN.

    Args:
        input: The tensor.
        other: A tensor. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.minimum(interlock.tensor([1, 5]), interlock.tensor([2, 3]))
        tensor([1, 3])
    """

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product of two matrices.

    Args:
        input: The left matrix, of shape [n, k]. Floating point or int64.
        mat2: The right matrix, of shape [k, m], of the same dtype.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A matrix of shape [n, m].

    Raises:
        DTypeError: The dtypes differ or are bool.
        ShapeError: A tensor is not a matrix, or the inner sizes differ.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.mm(interlock.ones(2, 3), interlock.ones(3, 1))
        tensor([[3.],
                [3.]])
    """

def movedim(input: Tensor, source: _Dims, destination: _Dims) -> Tensor:
    """Return a view with dimensions at other positions. The other dimensions keep their order.

    Args:
        input: The tensor.
        source: The dimension or dimensions that are moved.
        destination: The new position of each of them.

    Raises:
        IndexError: The tensor does not have one of the dimensions.
        ArgumentError: A dimension is named twice, or the numbers of dimensions differ.

    Example:
        >>> import interlock
        >>> interlock.movedim(interlock.zeros(2, 3, 4), 0, -1).shape
        (3, 4, 2)
    """

moveaxis = movedim

def mse_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Tensor:
    """Return the squared error: the squares of the differences of two tensors.

    Args:
        input: A tensor.
        target: A tensor that is broadcast to the shape of `input`, or the reverse. One of the two is floating point.
        weight: Factors of the squares, of the shape of `input`, or None.
        reduction: "sum" of the squares, "none" for each of them, or "mean": the sum, divided by the number of squares,
            or by the sum of the weights.

    Returns:
        A tensor of the broadcast shape if `reduction` is "none", else a 0-d tensor.

    Raises:
        DTypeError: No tensor is floating point.
        ShapeError: The shapes are incompatible.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.mse_loss(interlock.tensor([1.0, 3.0]), interlock.zeros(2))
        tensor(5.)
    """

def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return `input * other`, elementwise. The product of bools is the logical and.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.mul(interlock.tensor([1, 2]), 3)
        tensor([3, 6])
    """

multiply = mul

def multinomial(
    input: Tensor,
    num_samples: SupportsIndex,
    replacement: builtins.bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return indices that are drawn in proportion to weights.

    Args:
        input: The weights, which need not add up to 1: a vector, or a matrix with a row for each distribution.
        num_samples: The number of indices of each row.
        replacement: Whether an index can be drawn several times.
        generator: The generator that draws. None means the default one of the device.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        An int64 tensor of shape [num_samples], or [rows, num_samples] for a matrix of weights.

    Raises:
        ArgumentError: `num_samples` is not positive, or exceeds the number of weights without replacement; or a weight
            is negative or not finite, or all weights of a row are 0. For tensors on a device the latter errors are
            asynchronous.
        DTypeError: The weights are not floating point.
        ShapeError: The tensor does not have one or two dimensions.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.multinomial(interlock.tensor([0.0, 3.0, 0.0]), 1)
        tensor([1])
    """

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix-vector product.

    Args:
        input: A matrix.
        vec: A vector of the size of a row of the matrix, of the same dtype.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A vector with an element for each row.

    Raises:
        ShapeError: The tensors are not a matrix and a vector, or the sizes differ.
        DTypeError: The dtypes differ or are bool.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.mv(interlock.tensor([[1, 2], [3, 4]]), interlock.tensor([1, 1]))
        tensor([3, 7])
    """

def nan_to_num(
    input: Tensor,
    nan: builtins.float | None = None,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Replace NaN and infinities by numbers. Integers and bools are unchanged.

    Args:
        input: The tensor.
        nan: The number that replaces NaN; None means 0.
        posinf: The number that replaces infinity; None means the largest number of the dtype.
        neginf: The number that replaces minus infinity; None means the smallest number of the dtype.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.nan_to_num(interlock.tensor([float("nan"), float("inf"), 1.0]), posinf=5)
        tensor([0., 5., 1.])
    """

def nan_to_num_(
    input: Tensor,
    nan: builtins.float | None = None,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
) -> Tensor:
    """In-place version of `nan_to_num`.

    See `interlock.nan_to_num`.

    Args:
        input: The tensor.
        nan: The number that replaces NaN; None means 0.
        posinf: The number that replaces infinity; None means the largest number of the dtype.
        neginf: The number that replaces minus infinity; None means the smallest number of the dtype.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def nansum(
    input: Tensor,
    dim: _Dims | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the sum of the elements that are not NaN, of all or over one or several dimensions.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, float("nan"), 2.0])
        >>> interlock.nansum(x)
        tensor(3.)
    """

def narrow(input: Tensor, dim: SupportsIndex, start: SupportsIndex, length: SupportsIndex) -> Tensor:
    """Return a view of some consecutive indices of a dimension.

    Args:
        input: The tensor.
        dim: The dimension.
        start: The first index. A negative index counts from the end.
        length: The number of indices.

    Raises:
        IndexError: The tensor does not have dimension `dim` or index `start`.
        ShapeError: The tensor has no dimensions.
        ArgumentError: `length` is negative or exceeds the dimension.

    Example:
        >>> import interlock
        >>> interlock.narrow(interlock.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """

def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where the elements differ from those of `other`.

    Args:
        input: The tensor.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.ne(interlock.tensor([1, 2]), interlock.tensor([1, 3]))
        tensor([False,  True])
    """

not_equal = ne

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the negation of each element.

    Args:
        input: The tensor, of any dtype except bool.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.neg(interlock.tensor([-1, 2]))
        tensor([ 1, -2])
    """

negative = neg

def neg_(input: Tensor) -> Tensor:
    """In-place version of `neg`.

    See `interlock.neg`.

    Args:
        input: The tensor, of any dtype except bool.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The tensor has another dtype.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

negative_ = neg_

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: SupportsIndex = -100,
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Tensor:
    """Return the negative log-likelihood of target classes, `-weight[target] * input[target]` of each sample.

    Args:
        input: Log-probabilities of shape [classes], [samples, classes] or [samples, classes, ...], floating point.
        target: Class indices, int64 or uint8, of the shape of `input` without the dimension of classes.
        weight: A weight for each class, of shape [classes] and of the dtype of `input`, or None.
        ignore_index: The class index of samples that do not count.
        reduction: "sum" of the losses, "none" for the loss of each sample, or "mean": the sum, divided by the sum of
            the weights of the target classes.

    Returns:
        A tensor of the shape of `target` if `reduction` is "none", else a 0-d tensor.

    Raises:
        IndexError: An index in `target` is not a class. On a device this error is reported asynchronously.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point, `target` is not int64 or uint8, or `weight` has another dtype than
            `input`.
        ArgumentError: `weight` requires grad.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x = interlock.tensor([[0.0, 1.0]])
        >>> functional.nll_loss(functional.log_softmax(x, 1), interlock.tensor([0]))
        tensor(1.3133)
    """

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor:
    """Return the coordinates of the elements that are not zero. Waits for a device.

    Args:
        input: The tensor.
        as_tuple: Whether a tuple with one tensor for each dimension is returned.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        An int64 tensor of shape [elements, dimensions], in row-major order, or a tuple.

    Raises:
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.nonzero(interlock.tensor([[0, 2], [3, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def norm(
    input: Tensor,
    p: _Number | Literal["fro"] | None = None,
    dim: _Dims | None = None,
    keepdim: builtins.bool = False,
    dtype: _DType | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the vector norm of all elements, or over one or several dimensions.

    It is the root of order `p` of the sum of the powers of absolute values, the number of nonzero elements for
    order 0, and the largest or smallest absolute value for an infinite order. The gradient is 0 where the norm is
    0.

    Args:
        input: The tensor.
        p: The order: a number, an infinity, or "fro" for 2. None means 2.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        dtype: The floating-point dtype to convert the elements to first, which must not be narrower. None means no
            change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The elements are not floating point, or `dtype` is narrower.
        ArgumentError: `p` is another text.
        ShapeError: `p` is infinite or negative and there are no elements to reduce.
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([3.0, 4.0])
        >>> interlock.norm(x), interlock.norm(x, 1)
        (tensor(5.), tensor(7.))
    """

def numel(input: Tensor) -> builtins.int:
    """Return the number of elements.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.numel(interlock.zeros(2, 3))
        6
    """

def one_hot(tensor: Tensor, num_classes: SupportsIndex = -1) -> Tensor:
    """Return the one-hot encoding of class indices, along a new last dimension.

    Args:
        tensor: The classes, int64. Not negative.
        num_classes: The size of the last dimension; -1 means the largest class and one, which waits for a device.

    Raises:
        DTypeError: `tensor` is not int64.
        ArgumentError: `num_classes` is not positive, or -1 for a tensor without elements.
        RuntimeError: A class is negative or not less than `num_classes`.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.one_hot(interlock.tensor([1, 0]), 3)
        tensor([[0, 1, 0],
                [1, 0, 0]])
    """

@overload
def ones(
    first_size: SupportsIndex | _Sizes,
    /,
    *args: SupportsIndex,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor of ones.

    Args:
        args: `size`, as separate ints or as one tuple or list.
        size: The sizes; by name as a tuple or list.
        dtype: The element type; None means float32.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.ones((2,), dtype=interlock.int64)
        tensor([1, 1])
    """

@overload
def ones(
    *,
    size: _Sizes,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    memory_format: _MemoryFormat | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor of ones with the shape of another tensor.

    Args:
        input: The tensor whose shape is used.
        memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        dtype: The element type; None means the dtype of the tensor.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the device of the tensor.
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

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the outer product of two vectors.

    As in PyTorch the elements are multiplied as by `*`: dtypes are promoted, and no precision flag affects the result.

    Args:
        input: The vector whose elements are the rows of the result.
        vec2: The vector whose elements are the columns of the result.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A matrix with a row for each element of this vector.

    Raises:
        ShapeError: A tensor is not a vector.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.outer(interlock.tensor([1, 2]), interlock.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """

def pad(
    input: Tensor, pad: _Dims, mode: Literal["constant"] = "constant", value: _Number | None = None
) -> Tensor:
    """Return a copy with a number around the elements.

    Args:
        input: The tensor.
        pad: The numbers of new elements before and after those of the last dimension, then of the dimension before it, and
            so on. Negative numbers remove elements.
        mode: "constant"; the other modes of PyTorch are not available.
        value: The number; None means 0.

    Raises:
        ArgumentError: `mode` has another value, `pad` does not fit the dimensions or removes more elements than there are,
            or the dtype cannot hold `value`.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.pad(interlock.tensor([[1, 2, 3]]), (1, -1, 0, 1), value=9)
        tensor([[9, 1, 2],
                [9, 9, 9]])
    """

def permute(input: Tensor, dims: _Dims) -> Tensor:
    """Return a view with permuted dimensions.

    Args:
        input: The tensor.
        dims: The dimensions of the tensor in their new order.

    Raises:
        IndexError: The tensor does not have one of the dimensions.
        ArgumentError: A dimension is missing or named twice.

    Example:
        >>> import interlock
        >>> interlock.permute(interlock.zeros(2, 3, 4), (2, 0, 1)).shape
        (4, 2, 3)
    """

def positive(input: Tensor) -> Tensor:
    """Return the tensor itself.

    Args:
        input: The tensor, of any dtype except bool.

    Raises:
        DTypeError: `input` is a bool tensor.

    Example:
        >>> import interlock
        >>> interlock.positive(interlock.tensor([-1, 2]))
        tensor([-1,  2])
    """

def pow(input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return `input ** exponent`, elementwise.

    Args:
        input: A tensor or a number.
        exponent: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: The promoted dtype is an integer dtype, and `exponent` is a negative number.
        DTypeError: Both are bool tensors.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.pow(2, interlock.tensor([1, 3]))
        tensor([2, 8])
    """

def prod(
    input: Tensor,
    dim: SupportsIndex | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the product of all elements, or along a dimension. The product of no elements is 1.

    Args:
        input: The tensor.
        dim: The dimension. None means all elements.
        keepdim: Whether reduced dimensions remain, with size 1.
        dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 2], [3, 4]])
        >>> interlock.prod(x), interlock.prod(x, 0)
        (tensor(24), tensor([3, 8]))
    """

def promote_types(type1: _DType, type2: _DType) -> _dtype:
    """Return the narrowest dtype that holds the values of both.

    Args:
        type1: A dtype.
        type2: A dtype.

    Example:
        >>> import interlock
        >>> interlock.promote_types(interlock.uint8, interlock.int8)
        interlock.int16
    """

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """Return a copy with `source` written at flat (row-major) indices.

    Args:
        input: The tensor.
        index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
        source: The values, of the dtype of the tensor. As many elements as `index`.
        accumulate: Whether the values are added to the elements. If it is False, and several values target one element,
            which one is stored is unspecified.

    Raises:
        IndexError: An index is out of bounds, or the numbers of elements differ.
        DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
        RuntimeError: `accumulate` is False while `backends.deterministic_algorithms` is set. With
            `deterministic_algorithms_warn_only` it is a UserWarning.

    Example:
        >>> import interlock
        >>> interlock.put(interlock.zeros(3), interlock.tensor([0, -1]), interlock.ones(2))
        tensor([1., 0., 1.])
    """

def qr(
    A: Tensor,
    mode: Literal["reduced", "complete", "r"] = "reduced",
    *,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.linalg_qr:
    """Return the QR factors of matrices.

    Args:
        A: A matrix of float32 or float64, or a batch of them.
        mode: "reduced" for a factor Q with as many columns as the smaller size of the matrix, "complete" for a square
            one, or "r" for R only; Q is then empty.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(Q, R)` for which `Q @ R` is `A`. The columns of Q are orthonormal, and R is upper triangular.
        Both have a gradient if `mode` is "reduced", or "complete" for at most as many rows as columns.

    Raises:
        ArgumentError: `mode` has another value.
        ShapeError: There are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.qr(interlock.tensor([[3.0], [4.0]])).R
        tensor([[-5.]])
    """

def quantize_per_tensor(
    input: Tensor, scale: builtins.float, zero_point: SupportsIndex, dtype: QuantizedDType
) -> QuantizedTensor:
    """Return the numbers as integers of 8 or 32 bits that share a scale and a zero point.

    A number `x` becomes `round(x / scale) + zero_point`, which is computed as the product with the reciprocal of `scale` in
    float32, rounded to the nearest integer, ties to even, and limited to the range of `dtype`. NaN becomes the largest 8-bit
    or the smallest 32-bit integer. The result has no history.

    Args:
        input: A float32 tensor of any shape.
        scale: The difference of the numbers that neighboring integers represent: positive.
        zero_point: The integer that represents 0, in the range of `dtype`.
        dtype: `interlock.quint8`, `qint8` or `qint32`.

    Raises:
        DTypeError: `input` is not float32.
        ArgumentError: `scale` has no positive reciprocal in float32, or `zero_point` is out of range.

    Example:
        >>> import interlock
        >>> interlock.quantize_per_tensor(interlock.tensor([-1.0, 0.0, 0.26]), 0.1, 10, interlock.quint8)
        tensor([-1.0000,  0.0000,  0.3000], size=(3,), dtype=interlock.quint8, scale=0.1, zero_point=10)
    """

def quantized_linear(
    input: QuantizedTensor,
    weight: QuantizedTensor,
    bias: Tensor | None = None,
    scale: builtins.float | None = None,
    zero_point: SupportsIndex | None = None,
) -> QuantizedTensor:
    """Return `input @ weight.T + bias` of quantized tensors, as a quantized tensor.

    `linear` is its name in PyTorch. The flag `quantized.engine` selects the kernel. Sums of integers are exact; they are
    scaled in float64 and rounded to the nearest integer, ties to even.

    Args:
        input: A tensor of quint8 and shape [..., inputs].
        weight: A tensor of qint8 and shape [outputs, inputs].
        bias: A float32 tensor of shape [outputs], or None.
        scale: The scale of the result; by default the one of `input`.
        zero_point: The zero point of the result; by default the one of `input`.

    Returns:
        A tensor of quint8 and shape [..., outputs].

    Raises:
        ArgumentError: `input` is not quint8, `weight` is not qint8, `scale` has no positive reciprocal in float32, or
            `zero_point` is not from 0 to 255.
        ShapeError: The shapes do not fit.
        DTypeError: `bias` is not float32.
        RuntimeError: The tensors are on different devices, or the engine cannot compute the layer: `quantized.engine` is
            "none", or "onednn" without oneDNN, on a CPU without VNNI or for more than 65,793 inputs.

    Example:
        >>> import interlock
        >>> from interlock.nn.quantized import functional
        >>> x = interlock.quantize_per_tensor(interlock.ones(1, 4), 0.1, 10, interlock.quint8)
        >>> w = interlock.quantize_per_tensor(interlock.ones(1, 4), 0.5, 0, interlock.qint8)
        >>> functional.linear(x, w, scale=0.5)
        tensor([[4.]], size=(1, 1), dtype=interlock.quint8, scale=0.5, zero_point=10)
    """

@overload
def rand(
    first_size: SupportsIndex | _Sizes,
    /,
    *args: SupportsIndex,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return random numbers that are uniformly distributed from 0 to 1 (exclusive).

    `manual_seed` sets the seed. The numbers do not depend on the device.

    Args:
        args: `size`, as separate ints or as one tuple or list.
        size: The sizes; by name as a tuple or list.
        generator: The generator that draws. None means the default one of the device.
        dtype: The element type; None means float32.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        DTypeError: `dtype` is not floating point.
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.rand(2, 3)
        >>> x.shape
        (2, 3)
    """

@overload
def rand(
    *,
    size: _Sizes,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    memory_format: _MemoryFormat | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return random numbers that are uniformly distributed from 0 to 1 (exclusive), in the shape of another tensor.

    `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.

    Args:
        input: The tensor whose shape is used.
        generator: The generator that draws. None means the default one of the device.
        memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        dtype: The element type; None means the dtype of the tensor.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the device of the tensor.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        DTypeError: The dtype is not floating point.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.rand_like(interlock.zeros(2, 3)).shape
        (2, 3)
    """

@overload
def randint(
    low: SupportsIndex,
    high: _Sizes,
    size: None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return uniformly distributed random integers. `randint(high, size)` starts at 0.

    `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.

    Args:
        low: The least integer. Without `low` the arguments are `high` and `size`.
        high: The end of the range, which it does not contain.
        size: The sizes, as a tuple or list.
        generator: The generator that draws. None means the default one of the device.
        dtype: The element type; None means int64.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: `high` is not greater than `low`, the dtype cannot hold a bound, or a size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.randint(3, 5, (100,))
        >>> x.min(), x.max()
        (tensor(3), tensor(4))
    """

@overload
def randint(
    low: SupportsIndex,
    high: SupportsIndex,
    size: _Dims,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
@overload
def randint(
    low: SupportsIndex,
    high: None = None,
    *,
    size: _Dims,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
@overload
def randint(
    low: None = None,
    *,
    high: SupportsIndex,
    size: _Dims,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
def randint_like(
    input: Tensor,
    low: SupportsIndex | None = None,
    high: SupportsIndex | None = None,
    *,
    generator: Generator | None = None,
    memory_format: _MemoryFormat | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return uniformly distributed random integers in the shape of another tensor. `randint_like(input, high)` starts at
    0.

    `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.

    Args:
        input: The tensor whose shape is used.
        low: The least integer, or the end if `high` is None.
        high: The end of the range, which it does not contain.
        generator: The generator that draws. None means the default one of the device.
        memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        dtype: The element type; None means the dtype of the tensor.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the device of the tensor.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ArgumentError: `high` is not greater than `low`, or the dtype cannot hold a bound.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.randint_like(interlock.zeros(2), 7, 8)
        tensor([7., 7.])
    """

@overload
def randn(
    first_size: SupportsIndex | _Sizes,
    /,
    *args: SupportsIndex,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return random numbers of the standard normal distribution: mean 0, variance 1.

    `manual_seed` sets the seed. The numbers do not depend on the device.

    Args:
        args: `size`, as separate ints or as one tuple or list.
        size: The sizes; by name as a tuple or list.
        generator: The generator that draws. None means the default one of the device.
        dtype: The element type; None means float32.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        DTypeError: `dtype` is not floating point.
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.randn(2, 3)
        >>> x.shape
        (2, 3)
    """

@overload
def randn(
    *,
    size: _Sizes,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    memory_format: _MemoryFormat | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return random numbers of the standard normal distribution, in the shape of another tensor.

    `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.

    Args:
        input: The tensor whose shape is used.
        generator: The generator that draws. None means the default one of the device.
        memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        dtype: The element type; None means the dtype of the tensor.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the device of the tensor.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        DTypeError: The dtype is not floating point.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.randn_like(interlock.zeros(2, 3)).shape
        (2, 3)
    """

def randperm(
    n: SupportsIndex,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return the integers from 0 to `n` (exclusive) in random order.

    `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.

    Args:
        n: The number of integers.
        generator: The generator that draws. None means the default one of the device.
        dtype: The element type; None means int64.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: `n` is negative, or the dtype cannot hold the integers.
        DTypeError: The dtype is bool.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.randperm(5).sum()
        tensor(10)
    """

def ravel(input: Tensor) -> Tensor:
    """Return the elements in one dimension: a view if the tensor is contiguous, else a copy.

    Args:
        input: The tensor.

    Example:
        >>> import interlock
        >>> interlock.ravel(interlock.zeros(2, 3)).shape
        (6,)
    """

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the reciprocal of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.reciprocal(interlock.tensor([2, 4]))
        tensor([0.5000, 0.2500])
    """

def reciprocal_(input: Tensor) -> Tensor:
    """In-place version of `reciprocal`.

    See `interlock.reciprocal`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return each element, or 0 if it is negative. The gradient at 0 is 0.

    Args:
        input: The tensor, of any dtype except bool.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.relu(interlock.tensor([-1, 2]))
        tensor([0, 2])
    """

def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`.

    See `interlock.relu`.

    Args:
        input: The tensor, of any dtype except bool.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The tensor has another dtype.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def remainder(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the remainder of `input / other`, elementwise, with the sign of `other`, as Python's `%`.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ArgumentError: Integers on the CPU are divided by 0.
        DTypeError: The promoted dtype is bool.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.remainder(interlock.tensor([5, -5]), 3)
        tensor([2, 1])
    """

def repeat_interleave(
    input: Tensor,
    repeats: SupportsIndex | Tensor,
    dim: SupportsIndex | None = None,
    *,
    output_size: SupportsIndex | None = None,
) -> Tensor:
    """Return a copy in which elements along a dimension are repeated, each one several times in a row.

    Args:
        input: The tensor.
        repeats: How often each element is repeated: an int, or an integer tensor with a number for each index of the
            dimension. A tensor on a device is waited for.
        dim: The dimension. None means that the tensor is flattened first.
        output_size: The size of the dimension in the result, which is checked.

    Raises:
        ArgumentError: A number is negative, or `output_size` is not the size of the result.
        ShapeError: `repeats` is a tensor that does not have a number for each index.
        DTypeError: `repeats` is not an integer tensor.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.repeat_interleave(interlock.tensor([1, 2]), interlock.tensor([1, 3]))
        tensor([1, 2, 2, 2])
    """

def reshape(input: Tensor, shape: _Dims) -> Tensor:
    """Return the elements in another shape: a view if possible, else a copy.

    Args:
        input: The tensor.
        shape: The sizes. One may be -1, and is inferred.

    Raises:
        ShapeError: The number of elements differs.

    Example:
        >>> import interlock
        >>> interlock.reshape(interlock.arange(4), (2, -1))
        tensor([[0, 1],
                [2, 3]])
    """

def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: _MemoryFormat | None = None) -> Tensor:
    """Change the shape in place to the shape of another tensor, like `resize_`; the tensor becomes contiguous.

    Args:
        input: The tensor.
        the_template: The tensor whose shape is used.
        memory_format: `interlock.contiguous_format` or `interlock.preserve_format` makes a tensor contiguous that has the
            shape already; None does not.

    Returns:
        The tensor itself.

    Raises:
        ArgumentError: The tensor requires grad, also in no-grad mode.
        RuntimeError: The memory is too small and belongs to another library or was shared with NumPy, or the tensor is
            an inference tensor outside of inference mode.
        TypeError: `the_template` is not a tensor.

    Example:
        >>> import interlock
        >>> interlock.tensor([[1, 2], [3, 4]]).resize_as_(interlock.zeros(3))
        tensor([1, 2, 3])
    """

def result_type(tensor: Tensor | _Number, other: Tensor | _Number) -> _dtype:
    """Return the dtype of the result of an operation on two operands.

    Args:
        tensor: A tensor or a number.
        other: A tensor or a number. Numbers, and tensors without dimensions, only raise the category of the dtype.

    Example:
        >>> import interlock
        >>> interlock.result_type(interlock.tensor([1, 2]), 1.5)
        interlock.float32
    """

def rfft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal["forward", "backward", "ortho"] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the discrete Fourier transforms of real signals along a dimension.

    The other half of each spectrum is the conjugate of what is returned.

    Args:
        input: A floating-point tensor. Integers are converted to float32.
        n: The number of points, at least 1. Signals are cut, or followed by zeros. By default the size of `dim`.
        dim: The dimension of the signals.
        norm: The factor of the result: 1 for "backward" and None, 1 over the root of the number of points for
            "ortho", 1 over the number of points for "forward".
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor with the frequencies from 0 to `n // 2` along `dim`, and a last dimension for the real and imaginary parts.

    Raises:
        ArgumentError: `n` is below 1, or `norm` has another value.
        ShapeError: `input` has no dimension.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import fft
        >>> fft.rfft(interlock.tensor([1.0, 2.0, 3.0]))
        tensor([[ 6.0000,  0.0000],
                [-1.5000,  0.8660]])
    """

def roll(input: Tensor, shifts: _Dims, dims: _Dims | None = None) -> Tensor:
    """Return a copy with the elements moved along dimensions. Those that are moved beyond the end come first.

    Args:
        input: The tensor.
        shifts: The distance for each dimension; a negative one moves elements to the front.
        dims: The dimension or dimensions. None means that the elements are moved in row-major order.

    Raises:
        IndexError: The tensor does not have one of the dimensions.
        ArgumentError: The numbers of shifts and dimensions differ.

    Example:
        >>> import interlock
        >>> interlock.roll(interlock.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([[3, 4],
                [1, 2]])
    """

def round(input: Tensor, *, decimals: SupportsIndex | None = None, out: Tensor | None = None) -> Tensor:
    """Round each element to the nearest integer or decimal place, and ties to the even one.

    Args:
        input: The tensor, of any dtype except bool.
        decimals: The number of decimal places of floating-point elements; negative for tens, hundreds and so on.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor is a bool tensor, or `decimals` is not 0 and the elements are integers.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.round(interlock.tensor([0.5, 1.5, 2.25]), decimals=1)
        tensor([0.5000, 1.5000, 2.2000])
    """

def round_(input: Tensor, *, decimals: SupportsIndex | None = None) -> Tensor:
    """In-place version of `round`.

    See `interlock.round`.

    Args:
        input: The tensor, of any dtype except bool.
        decimals: The number of decimal places of floating-point elements; negative for tens, hundreds and so on.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The tensor is a bool tensor, or `decimals` is not 0 and the elements are integers.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the reciprocal of the square root of each element; NaN for negative elements.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.rsqrt(interlock.tensor([1, 4]))
        tensor([1.0000, 0.5000])
    """

def rsqrt_(input: Tensor) -> Tensor:
    """In-place version of `rsqrt`.

    See `interlock.rsqrt`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: builtins.float | None = 0.0,
    is_causal: builtins.bool = False,
    *,
    scale: builtins.float | None = None,
    enable_gqa: builtins.bool = False,
) -> Tensor:
    """Return the mean of the values for each query, weighted by the softmax of its scaled dot products with the keys.

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
        is_causal: Whether a query sees only the keys up to its own position. Must be False with a mask.
        scale: The factor of the scores; None means `1 / sqrt(size)`.
        enable_gqa: Whether several heads of queries may share one head of keys and values. The number of heads of
            keys and values then divides the number of heads of queries.

    Returns:
        A tensor of shape [..., heads, queries, value size].

    Raises:
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes differ or are not floating point.
        ArgumentError: `dropout_p` is not 0, or `is_causal` is True with a mask.
        RuntimeError: No kernel can run the call; the message lists why each was rejected. Or the tensors are on
            different devices.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x = interlock.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
        >>> functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        tensor([[[[1.0000, 0.0000],
                  [0.3302, 0.6698]]]])
    """

def scatter(
    input: Tensor,
    dim: SupportsIndex,
    index: Tensor,
    src: Tensor | _Number | None = None,
    *,
    value: _Number | None = None,
    reduce: Literal["add", "multiply"] | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return a copy with `src` or `value` written to the elements at `index` along dimension `dim`.

    Args:
        input: The tensor.
        dim: The dimension.
        index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
            `index[j]` along `dim` and at j in the other dimensions. Of several values for one element the last is
            stored.
        src: The values, of the dtype of the tensor and at least as large as `index`; or a number.
        value: A number, instead of `src`.
        reduce: "add" or "multiply" combines the values with the elements; None replaces these. "multiply" has no
            gradient.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
        RuntimeError: An index is negative or out of bounds.
        ArgumentError: `reduce` has another value.
        TypeError: Neither `src` nor `value` is passed, or both are.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.scatter(interlock.zeros(2, 2), 1, interlock.tensor([[1], [0]]), 5)
        tensor([[0., 5.],
                [5., 0.]])
    """

def scatter_add(
    input: Tensor, dim: SupportsIndex, index: Tensor, src: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Return a copy with `src` added to the elements at `index` along dimension `dim`.

    Sums of several floating-point values for one element have no fixed order, unless
    `backends.deterministic_algorithms` is set.

    Args:
        input: The tensor.
        dim: The dimension.
        index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
            `index[j]` along `dim` and at j in the other dimensions.
        src: The values, of the dtype of the tensor and at least as large as `index`.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
        RuntimeError: An index is negative or out of bounds.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> index = interlock.tensor([0, 1, 0])
        >>> interlock.scatter_add(interlock.zeros(2), 0, index, interlock.ones(3))
        tensor([2., 1.])
    """

def select(input: Tensor, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
    """Return a view at one index of a dimension, without that dimension.

    Args:
        input: The tensor.
        dim: The dimension.
        index: The index. Negative indices count from the end.

    Raises:
        IndexError: `dim` or `index` is out of range, or the tensor has no dimensions.

    Example:
        >>> import interlock
        >>> interlock.select(interlock.tensor([[1, 2], [3, 4]]), 1, -1)
        tensor([2, 4])
    """

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logistic function `1 / (1 + exp(-x))` of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.sigmoid(interlock.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """

def sigmoid_(input: Tensor) -> Tensor:
    """In-place version of `sigmoid`.

    See `interlock.sigmoid`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the sign of each element: 1, -1, or 0 for 0 and NaN.

    Args:
        input: The tensor.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.sign(interlock.tensor([-3, 0, 2]))
        tensor([-1,  0,  1])
    """

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a bool tensor that is True where the sign bit is set: for negative elements, also -0.

    Args:
        input: The tensor.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.signbit(interlock.tensor([1.0, -0.0, -2.0]))
        tensor([False,  True,  True])
    """

def silu(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return each element times its logistic function, `x / (1 + exp(-x))`, also called swish.

    Args:
        input: A floating-point tensor.
        inplace: Whether `input` itself is changed and returned.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        DTypeError: `input` is not floating point.
        RuntimeError: `inplace` is True for a leaf that requires grad while gradients are enabled, or for a tensor whose
            elements overlap.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.silu(interlock.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the sine of each element, in radians.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.sin(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8415])
    """

def sin_(input: Tensor) -> Tensor:
    """In-place version of `sin`.

    See `interlock.sin`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the hyperbolic sine of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.sinh(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 1.1752])
    """

def sinh_(input: Tensor) -> Tensor:
    """In-place version of `sinh`.

    See `interlock.sinh`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def slogdet(
    A: Tensor, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
) -> _return_types.linalg_slogdet:
    """Return the signs of the determinants of matrices, and the logarithms of their absolute values.

    Args:
        A: A square matrix of float32 or float64, or a batch of them.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(sign, logabsdet)`, of the shape of the batch. They are 0 and minus infinity for a singular
        matrix.

    Raises:
        ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.slogdet(interlock.tensor([[0.0, 1.0], [1.0, 0.0]])).sign
        tensor(-1.)
    """

def softmax(
    input: Tensor, dim: SupportsIndex, *, dtype: _DType | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the exponentials of the elements, normalized to a sum of 1 along a dimension.

    Args:
        input: The tensor.
        dim: The dimension along which the result sums to 1.
        dtype: The floating-point dtype to convert the elements to first. None means no change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.softmax(interlock.tensor([0.0, 0.0]), 0)
        tensor([0.5000, 0.5000])
    """

def softmin(input: Tensor, dim: SupportsIndex, *, dtype: _DType | None = None) -> Tensor:
    """Return the softmax of the negated elements.

    Args:
        input: The tensor.
        dim: The dimension along which the result sums to 1.
        dtype: The floating-point dtype to convert the elements to first. None means no change.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.softmin(interlock.tensor([0.0, 0.0]), 0)
        tensor([0.5000, 0.5000])
    """

def softplus(
    input: Tensor, beta: builtins.float = 1, threshold: builtins.float = 20, *, out: Tensor | None = None
) -> Tensor:
    """Return a smooth form of `relu`, `log(1 + exp(beta * x)) / beta` of each element x.

    Args:
        input: A floating-point tensor.
        beta: The sharpness. The result approaches `relu` as it grows.
        threshold: Elements x with `beta * x` above it are returned as they are.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        DTypeError: `input` is not floating point.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.softplus(interlock.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """

def solve(A: Tensor, B: Tensor, *, left: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """Return the solutions of systems of equations.

    Args:
        A: A square matrix of float32 or float64, or a batch of them.
        B: The right sides: the columns of a matrix or of a batch of them, or a vector, or a batch of vectors if it has
            the shape of `A` without the last dimension. Batches are broadcast.
        left: Whether to solve `A @ X = B`, else `X @ A = B`.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the broadcast shape of `B`.

    Raises:
        LinAlgError: A matrix is singular; the message has its position in the batch.
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes differ, or are not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> A = interlock.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> linalg.solve(A, interlock.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
    """

def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: builtins.bool = True,
    check_errors: builtins.bool = False,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.linalg_solve_ex:
    """Return the solutions of systems of equations, and whether the matrices are invertible.

    Args:
        A: A square matrix of float32 or float64, or a batch of them.
        B: The right sides, as those of `solve`.
        left: Whether to solve `A @ X = B`, else `X @ A = B`.
        check_errors: Whether to raise for a singular matrix.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(result, info)`. `info` is an int32 tensor with an element for each matrix: 0, or the number of a
        pivot that is 0, counted from 1; the result is then infinite or NaN.

    Raises:
        LinAlgError: `check_errors` is set, and a matrix is singular.
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes differ, or are not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.solve_ex(interlock.zeros(2, 2), interlock.ones(2)).info
        tensor(1, dtype=interlock.int32)
    """

def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: builtins.bool,
    left: builtins.bool = True,
    unitriangular: builtins.bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the solutions of systems of equations with triangular matrices.

    The result has infinite or NaN elements if an element of the diagonal is 0.

    Args:
        A: A triangular matrix of float32 or float64, or a batch of them. The other triangle is not read.
        B: The right sides, the columns of a matrix or of a batch of them. Batches are broadcast.
        upper: Whether the upper triangle is read, else the lower one.
        left: Whether to solve `A @ X = B`, else `X @ A = B`.
        unitriangular: Whether the diagonal counts as ones and is not read.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the broadcast shape of `B`.

    Raises:
        ShapeError: The shapes are incompatible.
        DTypeError: The dtypes differ, or are not float32 or float64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> A = interlock.tensor([[2.0, 0.0], [1.0, 4.0]])
        >>> linalg.solve_triangular(A, interlock.tensor([[2.0], [5.0]]), upper=False)
        tensor([[1.],
                [1.]])
    """

def sort(
    input: Tensor,
    dim: SupportsIndex | None = None,
    descending: builtins.bool = False,
    *,
    stable: builtins.bool = False,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.sort:
    """Return the sorted elements along a dimension, and their indices.

    Args:
        input: The tensor.
        dim: The dimension. None means the last one.
        descending: Whether the largest element is first.
        stable: Whether the order of equal elements is preserved, which it always is.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(values, indices)`. NaN is larger than all numbers.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([3, 1, 2])
        >>> interlock.sort(x).values
        tensor([1, 2, 3])
        >>> interlock.sort(x).indices
        tensor([1, 2, 0])
    """

def split(tensor: Tensor, split_size_or_sections: _Dims, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Return views of consecutive parts of a dimension.

    The views are results of one node: while gradients are recorded they cannot be changed in place.

    Args:
        tensor: The tensor.
        split_size_or_sections: The size of each part, or a tuple or list with the size of each. With one size the last
            part may be smaller.
        dim: The dimension.

    Returns:
        A tuple of views.

    Raises:
        ShapeError: The tensor has no dimensions.
        ArgumentError: A size is negative, the size is 0, or the sizes do not add up to the size of the dimension.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.split(interlock.arange(5), 3)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """

def split_with_sizes(input: Tensor, split_sizes: _Dims, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Return views of consecutive parts of a dimension with given sizes, like `split`.

    Args:
        input: The tensor.
        split_sizes: The size of each part.
        dim: The dimension.

    Returns:
        A tuple of views.

    Raises:
        ShapeError: The tensor has no dimensions.
        ArgumentError: A size is negative, or the sizes do not add up to the size of the dimension.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.split_with_sizes(interlock.arange(3), (1, 2))
        (tensor([0]), tensor([1, 2]))
    """

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the square root of each element; NaN for negative elements.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.sqrt(interlock.tensor([4, 9]))
        tensor([2., 3.])
    """

def sqrt_(input: Tensor) -> Tensor:
    """In-place version of `sqrt`.

    See `interlock.sqrt`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the square of each element. Bools are converted to int64.

    Args:
        input: The tensor.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.square(interlock.tensor([-3, 2]))
        tensor([9, 4])
    """

def square_(input: Tensor) -> Tensor:
    """In-place version of `square`.

    See `interlock.square`.

    Args:
        input: The tensor.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def squeeze(input: Tensor, dim: _Dims | None = None) -> Tensor:
    """Return a view without dimensions of size 1.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to remove; those of other sizes stay. None means all of size 1.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.

    Example:
        >>> import interlock
        >>> interlock.squeeze(interlock.zeros(1, 2, 1), (0, 1)).shape
        (2, 1)
    """

def stack(tensors: Iterable[Tensor], dim: SupportsIndex = 0, *, out: Tensor | None = None) -> Tensor:
    """Stack tensors along a new dimension.

    Args:
        tensors: The tensors, as an iterable. Their shapes must be equal.
        dim: The position of the new dimension; its size is the number of tensors.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the widest dtype of `tensors`.

    Raises:
        ShapeError: The shapes differ.
        IndexError: The result does not have dimension `dim`.
        ArgumentError: `tensors` is empty.
        RuntimeError: `tensors` contains tensors on different devices.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.stack([interlock.tensor([1, 2]), interlock.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """

def std(
    input: Tensor,
    dim: _Dims | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdim: builtins.bool = False,
    *,
    correction: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the standard deviation of all elements, or over one or several dimensions.

    The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
    `UserWarning` is issued if that is not positive. The gradient is 0 where the result is 0.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
        unbiased: Whether the correction is 1, or 0. Not together with `correction`.
        keepdim: Whether reduced dimensions remain, with size 1.
        correction: What is subtracted from the number of elements. None means 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The elements are not floating point.
        ArgumentError: `dim` names a dimension twice.
        TypeError: Both `unbiased` and `correction` are given.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0, 6.0])
        >>> interlock.std(x), interlock.std(x, correction=0)
        (tensor(2.6458), tensor(2.1602))
    """

def std_mean(
    input: Tensor,
    dim: _Dims | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdim: builtins.bool = False,
    *,
    correction: _Number | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean of all elements, or over one or several dimensions.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
        unbiased: Whether the correction is 1, or 0. Not together with `correction`.
        keepdim: Whether reduced dimensions remain, with size 1.
        correction: What is subtracted from the number of elements. None means 1.

    Returns:
        The results of `std` and of `mean`.

    Raises:
        DTypeError: The elements are not floating point.
        ArgumentError: `dim` names a dimension twice.
        TypeError: Both `unbiased` and `correction` are given.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0, 6.0])
        >>> interlock.std_mean(x)
        (tensor(2.6458), tensor(3.))
    """

def sub(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return `input - alpha * other`.

    Args:
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        alpha: A number by which `other` is multiplied first; None means 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: An operand is bool.
        DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
        ArgumentError: The promoted dtype cannot hold `alpha`.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.sub(10, interlock.tensor([1, 2]))
        tensor([9, 8])
    """

subtract = sub

def sum(
    input: Tensor,
    dim: _Dims | None = None,
    keepdim: builtins.bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the sum of all elements, or over one or several dimensions.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
        keepdim: Whether reduced dimensions remain, with size 1.
        dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        IndexError: The tensor does not have dimension `dim`.
        ArgumentError: `dim` names a dimension twice.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 2], [3, 4]])
        >>> interlock.sum(x), interlock.sum(x, 0)
        (tensor(10), tensor([4, 6]))
    """

def svd(
    A: Tensor,
    full_matrices: builtins.bool = True,
    *,
    driver: Literal["gesvd", "gesvdj", "gesvda"] | None = None,
    out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.linalg_svd:
    """Return the singular value decomposition of matrices.

    Args:
        A: A matrix of float32 or float64, or a batch of them.
        full_matrices: Whether U and Vh are square, else they have as many vectors as there are singular values.
        driver: An algorithm of cuSOLVER, for matrices on devices, all of which compute with one algorithm.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(U, S, Vh)`. The singular values S are in descending order, and the vectors, whose signs are
        arbitrary, are the columns of U and the rows of Vh. Vectors of equal singular values have no gradient: it is
        infinite or NaN. Gradients of the vectors beyond the values are ignored.

    Raises:
        LinAlgError: An element is infinite or NaN; the message has the position of the matrix in the batch.
        ShapeError: There are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        ArgumentError: `driver` has another value, or is not None for matrices on the CPU.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.svd(interlock.tensor([[3.0], [4.0]])).S
        tensor([5.])
    """

def svdvals(
    A: Tensor, *, driver: Literal["gesvd", "gesvdj", "gesvda"] | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the singular values of matrices in descending order.

    Args:
        A: A matrix of float32 or float64, or a batch of them.
        driver: An algorithm of cuSOLVER, for matrices on devices, all of which compute with one algorithm.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        LinAlgError: An element is infinite or NaN; the message has the position of the matrix in the batch.
        ShapeError: There are fewer than 2 dimensions.
        DTypeError: The dtype is not float32 or float64.
        ArgumentError: `driver` has another value, or is not None for matrices on the CPU.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> from interlock import linalg
        >>> linalg.svdvals(interlock.tensor([[3.0], [4.0]]))
        tensor([5.])
    """

def swapaxes(input: Tensor, axis0: SupportsIndex, axis1: SupportsIndex) -> Tensor:
    """Return a view with two dimensions exchanged, as `transpose`.

    Args:
        input: The tensor.
        axis0: The first dimension. Negative dimensions count from the last.
        axis1: The second dimension.

    Raises:
        IndexError: The tensor does not have one of the dimensions.

    Example:
        >>> import interlock
        >>> interlock.swapaxes(interlock.zeros(2, 3, 4), 0, -1).shape
        (4, 3, 2)
    """

def t(input: Tensor) -> Tensor:
    """Return the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged.

    Args:
        input: The tensor.

    Raises:
        ShapeError: The tensor has more than two dimensions.

    Example:
        >>> import interlock
        >>> interlock.t(interlock.zeros(2, 3)).shape
        (3, 2)
    """

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements at flat (row-major) indices.

    Args:
        input: The tensor.
        index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `index`.

    Raises:
        IndexError: An index is out of bounds.
        DTypeError: `index` is not int64.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.take(interlock.tensor([[5, 6], [7, 8]]), interlock.tensor([0, -1]))
        tensor([5, 8])
    """

def take_along_dim(
    input: Tensor, indices: Tensor, dim: SupportsIndex | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the elements at `indices` along dimension `dim`, such as the result of `argmax`.

    Args:
        input: The tensor.
        indices: The indices, int64. Broadcast with the tensor in the other dimensions. With `dim` they are taken modulo
            the size of the dimension, so that -1 is the last one.
        dim: The dimension; None flattens both tensors first.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the shape of `indices` after broadcasting.

    Raises:
        ShapeError: The shapes cannot be broadcast, or have different numbers of dimensions.
        DTypeError: `indices` is not int64.
        RuntimeError: `dim` is None, and an index is negative or out of bounds.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([[1, 5], [7, 2]])
        >>> interlock.take_along_dim(x, interlock.argmax(x, 1, True), 1)
        tensor([[5],
                [7]])
    """

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the tangent of each element, in radians.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.tan(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5574])
    """

def tan_(input: Tensor) -> Tensor:
    """In-place version of `tan`.

    See `interlock.tan`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the hyperbolic tangent of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.tanh(interlock.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

def tanh_(input: Tensor) -> Tensor:
    """In-place version of `tanh`.

    See `interlock.tanh`.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

def tensor(
    data: _Nested | npt.NDArray[Any],
    *,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor with a copy of `data`.

    Args:
        data: A number, nested sequences of numbers, a NumPy array or a tensor.
        dtype: The element type. None means the dtype of an array or tensor, else bool, int64 or float32 for Python numbers.
        layout: `interlock.strided` or None, which means the same.
        device: The device. None means the default device; if none is set, the device of `data` if it is a tensor.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.

    Raises:
        ValueError: Sequences of one level have different lengths, or are nested more than 64 levels deep.
        ArgumentError: int64 cannot hold a number.
        OverflowError: `dtype` is floating point and float64 cannot hold an int.
        TypeError: `data` contains other objects, or numbers beside sequences.
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

def tensor_split(
    input: Tensor, indices_or_sections: _Dims | Tensor, dim: SupportsIndex = 0
) -> tuple[Tensor, ...]:
    """Return views of consecutive parts of a dimension, which can be changed in place.

    Args:
        input: The tensor.
        indices_or_sections: The number of parts, the first of which are longer by 1 if the size is not a multiple; or a
            tuple, list or one-dimensional tensor with the index at which each part after the first begins.
        dim: The dimension.

    Returns:
        A tuple of views.

    Raises:
        ShapeError: The tensor has no dimensions.
        ArgumentError: The number of parts is not positive.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.tensor_split(interlock.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """

def tile(input: Tensor, dims: _Dims) -> Tensor:
    """Return a copy in which dimensions are repeated. Of fewer numbers than dimensions, the last is for the last dimension.

    Args:
        input: The tensor.
        dims: How often each dimension is repeated.

    Raises:
        ArgumentError: A number is negative.
        OutOfMemoryError: Not enough memory is available.

    Example:
        >>> import interlock
        >>> interlock.tile(interlock.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """

def topk(
    input: Tensor,
    k: SupportsIndex,
    dim: SupportsIndex | None = None,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
    *,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> _return_types.topk:
    """Return the largest or smallest elements along a dimension, and their indices.

    Args:
        input: The tensor.
        k: The number of elements.
        dim: The dimension. None means the last one.
        largest: Whether to return the largest elements, or the smallest.
        sorted: Whether the elements are in order, which they always are.
        out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. None for new ones.

    Returns:
        A named tuple `(values, indices)`, in order. Of equal elements the first are returned; NaN is larger than
        all numbers.

    Raises:
        ArgumentError: `k` is negative or larger than the dimension.
        DTypeError: The tensor is a bool tensor.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([3, 1, 2])
        >>> interlock.topk(x, 2).values
        tensor([3, 2])
    """

def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix.

    Args:
        input: The tensor.

    Raises:
        ShapeError: The tensor is not a matrix.
        DTypeError: The tensor is a bool tensor.

    Example:
        >>> import interlock
        >>> interlock.trace(interlock.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """

def transpose(input: Tensor, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
    """Return a view with two dimensions exchanged.

    Args:
        input: The tensor.
        dim0: The first dimension. Negative dimensions count from the last.
        dim1: The second dimension.

    Raises:
        IndexError: The tensor does not have one of the dimensions.

    Example:
        >>> import interlock
        >>> interlock.transpose(interlock.zeros(2, 3, 4), 0, -1).shape
        (4, 3, 2)
    """

swapdims = transpose

def tril(input: Tensor, diagonal: SupportsIndex = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the lower triangle of a matrix, or of each matrix of a batch: a copy with zeros above a diagonal.

    Args:
        input: The tensor.
        diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The tensor has fewer than two dimensions.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.tril(interlock.tensor([[1, 2], [3, 4]]), -1)
        tensor([[0, 0],
                [3, 0]])
    """

def triu(input: Tensor, diagonal: SupportsIndex = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the upper triangle of a matrix, or of each matrix of a batch: a copy with zeros below a diagonal.

    Args:
        input: The tensor.
        diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        ShapeError: The tensor has fewer than two dimensions.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.triu(interlock.tensor([[1, 2], [3, 4]]), 1)
        tensor([[0, 2],
                [0, 0]])
    """

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Round each element towards 0 to an integer. Integers are unchanged.

    Args:
        input: The tensor, of any dtype except bool.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The tensor has another dtype.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.trunc(interlock.tensor([-1.5, 1.5]))
        tensor([-1.,  1.])
    """

fix = trunc

def trunc_(input: Tensor) -> Tensor:
    """In-place version of `trunc`.

    See `interlock.trunc`.

    Args:
        input: The tensor, of any dtype except bool.

    Returns:
        `input` itself.

    Raises:
        DTypeError: The tensor has another dtype.
        DTypeError: The dtype of the tensor cannot hold the result.
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    """

fix_ = trunc_

def unbind(input: Tensor, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Return a view at each index of a dimension, without that dimension.

    The views are results of one node: while gradients are recorded they cannot be changed in place.

    Args:
        input: The tensor.
        dim: The dimension.

    Returns:
        A tuple of views.

    Raises:
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.unbind(interlock.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """

def unflatten(input: Tensor, dim: SupportsIndex, sizes: _Dims) -> Tensor:
    """Return a view with a dimension divided into several.

    Args:
        input: The tensor.
        dim: The dimension.
        sizes: The sizes of the new dimensions. One may be -1, and is inferred.

    Raises:
        ShapeError: The sizes do not multiply to the size of the dimension, or the tensor has no dimensions.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> interlock.unflatten(interlock.zeros(2, 12), 1, (3, -1)).shape
        (2, 3, 4)
    """

def unsqueeze(input: Tensor, dim: SupportsIndex) -> Tensor:
    """Return a view with a new dimension of size 1.

    Args:
        input: The tensor.
        dim: The position of the new dimension, from -ndim - 1 to ndim.

    Raises:
        IndexError: `dim` is out of range.

    Example:
        >>> import interlock
        >>> interlock.unsqueeze(interlock.zeros(2, 3), 1).shape
        (2, 1, 3)
    """

def var(
    input: Tensor,
    dim: _Dims | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdim: builtins.bool = False,
    *,
    correction: _Number | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the variance of all elements, or over one or several dimensions.

    The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
    `UserWarning` is issued if that is not positive.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
        unbiased: Whether the correction is 1, or 0. Not together with `correction`.
        keepdim: Whether reduced dimensions remain, with size 1.
        correction: What is subtracted from the number of elements. None means 1.
        out: The tensor that receives the result, and is returned; None for a new one.

    Raises:
        DTypeError: The elements are not floating point.
        ArgumentError: `dim` names a dimension twice.
        TypeError: Both `unbiased` and `correction` are given.
        IndexError: The tensor does not have dimension `dim`.
        DTypeError: `out` has another dtype than the result.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0, 6.0])
        >>> interlock.var(x), interlock.var(x, correction=0)
        (tensor(7.), tensor(4.6667))
    """

def var_mean(
    input: Tensor,
    dim: _Dims | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdim: builtins.bool = False,
    *,
    correction: _Number | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean of all elements, or over one or several dimensions.

    Args:
        input: The tensor.
        dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
        unbiased: Whether the correction is 1, or 0. Not together with `correction`.
        keepdim: Whether reduced dimensions remain, with size 1.
        correction: What is subtracted from the number of elements. None means 1.

    Returns:
        The results of `var` and of `mean`.

    Raises:
        DTypeError: The elements are not floating point.
        ArgumentError: `dim` names a dimension twice.
        TypeError: Both `unbiased` and `correction` are given.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0, 6.0])
        >>> interlock.var_mean(x)
        (tensor(7.), tensor(3.))
    """

def vstack(tensors: Iterable[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along the first dimension. Vectors are the rows of a matrix.

    Args:
        tensors: The tensors, as an iterable.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor of the widest dtype of `tensors`.

    Raises:
        ShapeError: The other sizes differ.
        ArgumentError: `tensors` is empty.
        RuntimeError: `tensors` contains tensors on different devices.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.vstack([interlock.tensor([1, 2]), interlock.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """

@overload
def where(
    condition: Tensor, input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor:
    """Return `input` where a condition is true and `other` elsewhere, or the coordinates of the elements that are not zero.

    Args:
        condition: A bool tensor; without `input` and `other` a tensor of any dtype.
        input: A tensor or a number.
        other: A tensor or a number. Shapes are broadcast, and the dtypes of `input` and `other` promoted.
        out: The tensor that receives the result, and is returned; None for a new one.

    Returns:
        A tensor; without `input` and `other` the tuple of `nonzero(condition, as_tuple=True)`.

    Raises:
        ArgumentError: The promoted dtype cannot hold a number.
        DTypeError: `condition` is not a bool tensor, or `out` has another dtype than the result.
        ShapeError: The shapes cannot be broadcast.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.
        TypeError: Only one of `input` and `other` is passed, or `out` without them.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([-1.0, 2.0])
        >>> interlock.where(x > 0, x, 0)
        tensor([0., 2.])
        >>> interlock.where(x > 0)
        (tensor([1]),)
    """

@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
def zero_(input: Tensor) -> Tensor:
    """Set all elements of a tensor to 0.

    Args:
        input: The tensor, which is changed.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.

    Example:
        >>> import interlock
        >>> interlock.ones(2).zero_()
        tensor([0., 0.])
    """

@overload
def zeros(
    first_size: SupportsIndex | _Sizes,
    /,
    *args: SupportsIndex,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor of zeros.

    Args:
        args: `size`, as separate ints or as one tuple or list.
        size: The sizes; by name as a tuple or list.
        dtype: The element type; None means float32.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the default device.
        requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
        pin_memory: Whether a CPU tensor is allocated in pinned memory.
        out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.

    Raises:
        ArgumentError: A size is negative.
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
        OutOfMemoryError: Not enough memory is available.
        DTypeError: `dtype` differs from the dtype of `out`.
        RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.

    Example:
        >>> import interlock
        >>> interlock.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
    """

@overload
def zeros(
    *,
    size: _Sizes,
    out: Tensor | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    memory_format: _MemoryFormat | None = None,
    dtype: _DType | None = None,
    layout: _Layout | None = None,
    device: _Device | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor:
    """Return a tensor of zeros with the shape of another tensor.

    Args:
        input: The tensor whose shape is used.
        memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.
        dtype: The element type; None means the dtype of the tensor.
        layout: `interlock.strided` or None, which means the same.
        device: The device; None means the device of the tensor.
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

# </functions of operations>
