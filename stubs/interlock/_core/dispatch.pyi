from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import EllipsisType, NotImplementedType
from typing import Any, Literal, Protocol, Self, final, overload

from interlock._core.accelerator import device
from interlock._core.tensor import Tensor, _Device, _DType, _Sizes, dtype

__all__ = [
    "Call",
    "Considered",
    "KernelCall",
    "Reason",
    "Recording",
    "RegisteredKernel",
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "explain",
    "list_flash_attention_impls",
    "record",
    "register_flash_attention_impl",
]

@final
class Call:
    """A call of an operation and the choice of its kernel. `str` returns the line that `INTERLOCK_DISPATCH=1` prints.

    Example:
        >>> import interlock
        >>> from interlock import dispatch
        >>> x = interlock.ones(2, 2)
        >>> dispatch.explain("matmul", x, x).kernel
        'native'
    """
    @property
    def operation(self) -> str:
        """The name of the operation, such as ``"matmul"``."""
    @property
    def arguments(self) -> str:
        """The device, dtype and shapes."""
    @property
    def kernel(self) -> str | None:
        """The name of the kernel that ran the call, or None if every kernel refused."""
    @property
    def is_model(self) -> bool:
        """Whether the kernel emulates the library of its name without calling it."""
    @property
    def inputs(self) -> Literal["float32", "tf32", "bf16", "bfx9"] | None:
        """The precision to which float32 inputs were rounded: ``"float32"`` (unchanged), ``"tf32"``, ``"bf16"``, or
        ``"bfx9"`` for three bfloat16 parts of each, whose nine products emulate float32. None for inputs of another
        dtype, and for an operation whose calls of `matmul` are recorded separately.
        """
    @property
    def sums(self) -> Literal["float32", "float16", "float16 halves", "bfloat16 halves"] | None:
        """The type in which `matmul` of float16 and bfloat16 inputs accumulated: ``"float32"``, ``"float16"``, or
        ``"float16 halves"`` or ``"bfloat16 halves"`` if two partial sums were rounded to that type and added.
        None for inputs of another dtype.
        """
    @property
    def composite(self) -> str | None:
        """The operation that the call is part of, such as ``"linear"``, or None."""
    @property
    def notes(self) -> tuple[str, ...]:
        """Details of the choice, such as the path of `einsum`."""

    @property
    def considered(self) -> tuple[Considered, ...]:
        """All kernels of the operation, in the order in which they were tried."""
    def __eq__(self, other: object, /) -> bool: ...

@final
class Considered:
    """A kernel that was considered for a call."""
    @property
    def kernel(self) -> str:
        """The name of the kernel."""
    @property
    def outcome(self) -> Literal["chosen", "behind", "refused"]:
        """``"chosen"``, ``"behind"`` if an earlier kernel was chosen, or ``"refused"``."""
    @property
    def reason(self) -> Reason | None:
        """The reason why the kernel was rejected, or None."""
    def __eq__(self, other: object, /) -> bool: ...

@final
class Reason:
    """The reason why a kernel cannot run a call. `str` returns it as a sentence."""
    @property
    def flag(self) -> str | None:
        """The dotted name, below `backends`, of the flag whose value excludes the kernel, or None."""
    @property
    def library(self) -> str | None:
        """The title of the vendor library that the kernel lacks, or None."""
    def __eq__(self, other: object, /) -> bool: ...

@final
class Recording:
    """A context manager that records the calls of operations, and the sequence of the calls. Created by `record`."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> Call: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Call]: ...
    def __iter__(self) -> Iterator[Call]: ...

@final
class KernelCall:
    """A call as passed to the condition of a kernel that `register_kernel` has registered."""
    @property
    def operation(self) -> Literal["matmul", "scaled_dot_product_attention", "conv2d"]:
        """The name of the operation."""
    @property
    def device(self) -> device:
        """The device of the result."""
    @property
    def dtype(self) -> dtype:
        """The dtype of the operands."""
    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the operands."""
    @property
    def options(self) -> dict[str, Any]:
        """The options: of ``"scaled_dot_product_attention"`` has_mask, is_causal and enable_gqa, of ``"conv2d"`` stride,
        padding, dilation and groups.
        """

@final
class RegisteredKernel:
    """A kernel that `register_kernel` has registered. `with kernel:` removes it at the end of the block."""
    @property
    def operation(self) -> Literal["matmul", "scaled_dot_product_attention", "conv2d"]:
        """The name of the operation."""
    @property
    def name(self) -> str:
        """The name of the kernel."""
    @property
    def dsl(self) -> Literal["cutedsl", "flydsl", "helion", "python", "triton"]:
        """The language of the kernel."""
    @property
    def is_registered(self) -> bool:
        """Whether the kernel was not removed."""
    def remove(self) -> None:
        """Remove the kernel. Has no effect if it was removed before. A call that runs the kernel on another thread ends
        with its result.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

class _FlashAttentionHandle(Protocol):
    def remove(self) -> object: ...

def register_flash_attention_impl(
    impl: str, *, register_fn: Callable[[], _FlashAttentionHandle | None]
) -> None:
    """Register the function that activates an implementation of flash attention.

    Args:
        impl: The name. A function that was registered with it before is replaced.
        register_fn: A function without required arguments, which `activate_flash_attention_impl` calls. It registers
            kernels, usually with `dispatch.register_kernel(..., replaces="flash")`, and returns an object whose `remove`
            removes them, such as the registered kernel; or None if they cannot be removed.

    Raises:
        TypeError: `impl` is not a str or `register_fn` is not callable.

    Example:
        >>> from interlock import dispatch
        >>> from interlock.nn import attention
        >>> def activate():
        ...     kernel = lambda query, key, value, **options: NotImplemented
        ...     name = "scaled_dot_product_attention"
        ...     return dispatch.register_kernel(name, "mine", kernel, replaces="flash")
        >>> attention.register_flash_attention_impl("mine", register_fn=activate)
        >>> attention.activate_flash_attention_impl("mine")
        >>> attention.current_flash_attention_impl()
        'mine'
        >>> attention.restore_flash_attention_impl()
    """

def activate_flash_attention_impl(impl: str) -> None:
    """Activate an implementation of flash attention in the process, instead of the active one.

    The active implementation is removed first. If the function of the new one raises, none is active.

    Args:
        impl: The name of a registered implementation. ``"FA3"`` and ``"FA4"`` import the package that contains them.

    Raises:
        ValueError: No implementation of this name is registered.
        TypeError: `impl` is not a str.
        ModuleNotFoundError: The package of ``"FA3"`` or ``"FA4"`` is not installed.
    """

def list_flash_attention_impls() -> list[str]:
    """Return the names of the registered implementations of flash attention, in alphabetical order."""

def current_flash_attention_impl() -> str | None:
    """Return the name of the active implementation of flash attention, or None for interlock's own kernels. An
    implementation whose function returned None is not reported.
    """

def _restore_flash_attention_impl() -> bool: ...
def _register_kernel(
    operation: str,
    name: str,
    function: Callable[..., Tensor | NotImplementedType],
    dsl: str,
    condition: Callable[[KernelCall], bool | str | None] | None,
    replaces: str | None,
    requires: Mapping[str, bool | str] | None,
) -> RegisteredKernel: ...
def _registered_kernels() -> list[tuple[str, str, str]]: ...
def record() -> Recording:
    """Record the calls of operations with the choice of their kernels.

    The recording is part of the state: it applies to the context that enters it, to copies of that context, and where a
    captured state is applied. An inner recording replaces an outer one. Work that a graph replays is not
    recorded again.

    Returns:
        A context manager whose target is the sequence of calls. It can be read while it is entered and afterwards.

    Example:
        >>> import interlock
        >>> from interlock import dispatch
        >>> x = interlock.ones(2, 2)
        >>> with dispatch.record() as calls:
        ...     y = x @ x
        >>> calls[0].operation, calls[0].kernel
        ('matmul', 'native')
    """

@overload
def explain(operation: Literal["matmul"], /, *tensors: Tensor) -> Call:
    """Return the choice of a kernel for a call in the current context now, without running it.

    The kernel that is chosen may still refuse when it runs; the next one is then tried.

    Args:
        operation: The name of the operation: ``"matmul"``, ``"einsum"``, ``"scaled_dot_product_attention"``,
            ``"conv2d"``, ``"lstm"``, ``"empty"``, ``"index_add"``, ``"index_put"``, ``"put"``, ``"scatter_add"``, a
            function of `interlock.fft`, or of `interlock.linalg` ``"cholesky"``, ``"eigh"``, ``"lu_factor"``,
            ``"qr"``, ``"solve_triangular"`` or ``"svd"``.
        tensors: The arguments of the operation: its operands, for einsum after the equation, for empty the sizes. The
            positions in an index are not read.
        options: The keyword arguments of the operation.

    Raises:
        ArgumentError: There is no operation of this name.
        ShapeError: The shapes are incompatible.
        TypeError: `operation` is not a str, the operation takes other arguments, or an operand is not a tensor.

    Example:
        >>> import interlock
        >>> from interlock import dispatch
        >>> x = interlock.ones(2, 2)
        >>> for considered in dispatch.explain("matmul", x, x).considered:
        ...     print(considered)
        cublas: needs a device, got cpu
        cublaslt: needs a device, got cpu
        mkldnn: backends.mkldnn.numerics is 'hardware', not 'model'
        onednn: needs at least 524288 multiplications, got 8
        mkl: needs at least 524288 multiplications, got 8
        native: chosen
        >>> x = interlock.ones(1, 1, 2, 2)
        >>> dispatch.explain("scaled_dot_product_attention", x, x, x, is_causal=True).kernel
        'flash'
    """

@overload
def explain(operation: Literal["einsum"], equation: str, /, *operands: Tensor) -> Call: ...
@overload
def explain(operation: Literal["einsum"], equation: str, operands: Sequence[Tensor], /) -> Call: ...
@overload
def explain(
    operation: Literal["einsum"],
    operand: Tensor,
    /,
    *operands_and_labels: Tensor | Sequence[int | EllipsisType],
) -> Call: ...
@overload
def explain(
    operation: Literal["scaled_dot_product_attention"],
    /,
    *tensors: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Call: ...
@overload
def explain(
    operation: Literal["conv2d"],
    /,
    *tensors: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | Literal["same", "valid"] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Call: ...
@overload
def explain(
    operation: Literal["lstm"],
    /,
    input: Tensor,
    hx: Iterable[Tensor],
    params: Iterable[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: Literal[False],
    batch_first: bool,
) -> Call: ...
@overload
def explain(
    operation: Literal["empty"],
    /,
    *args: int | _Sizes,
    size: _Sizes | None = None,
    dtype: _DType | None = None,
    device: _Device | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Call: ...
@overload
def explain(
    operation: Literal["index_add"],
    /,
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: float | None = None,
) -> Call: ...
@overload
def explain(
    operation: Literal["index_put"],
    /,
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Call: ...
@overload
def explain(
    operation: Literal["put"], /, input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False
) -> Call: ...
@overload
def explain(
    operation: Literal["scatter_add"], /, input: Tensor, dim: int, index: Tensor, src: Tensor
) -> Call: ...
@overload
def explain(operation: Literal["cholesky"], /, input: Tensor, *, upper: bool = ...) -> Call: ...
@overload
def explain(
    operation: Literal["eigh"], /, input: Tensor, UPLO: Literal["L", "U", "l", "u"] = ...
) -> Call: ...
@overload
def explain(operation: Literal["lu_factor"], /, A: Tensor, *, pivot: bool = ...) -> Call: ...
@overload
def explain(
    operation: Literal["qr"], /, A: Tensor, mode: Literal["reduced", "complete", "r"] = ...
) -> Call: ...
@overload
def explain(
    operation: Literal["solve_triangular"],
    /,
    A: Tensor,
    B: Tensor,
    *,
    upper: bool | None = ...,
    left: bool = ...,
    unitriangular: bool = ...,
) -> Call: ...
@overload
def explain(operation: Literal["svd"], /, A: Tensor, full_matrices: bool = ...) -> Call: ...
@overload
def explain(
    operation: Literal["fft", "ifft", "rfft", "irfft"],
    /,
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: Literal["forward", "backward", "ortho"] | None = None,
) -> Call: ...
@overload
def explain(
    operation: Literal["fft2", "ifft2", "fftn", "ifftn"],
    /,
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = ...,
    norm: Literal["forward", "backward", "ortho"] | None = None,
) -> Call: ...
