"""Comparison of gradients with finite differences.

A build without the tensor runtime lacks this module.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._arguments import as_bool
from interlock._core.autograd import no_grad
from interlock._core.tensor import Tensor, float64, grad, stack, tensor, zeros_like
from interlock._quote import shown
from interlock.errors import ArgumentError, GradcheckError

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_INFINITY = float("inf")

_Jacobian = list[list[float]]
"""A row for each element of an output, a column for each element of an input."""


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of a function with finite differences.

    Each element of each input that requires grad is changed in place by `eps` in both directions, and
    restored. The inputs should have dtype float64: the differences of smaller types are not precise enough.

    Args:
        func: A function of tensors that returns a tensor or several.
        inputs: The arguments of `func`, of which at least one requires grad. Arguments that are not tensors
            are passed on.
        eps: The change of an element.
        atol: The absolute tolerance.
        rtol: The tolerance relative to the finite difference.
        raise_exception: Whether a difference raises. Otherwise the result is False.
        nondet_tol: The largest difference between two backward passes of one graph.
        check_undefined_grad: Has no effect: each output is differentiated alone, so that the gradients of the
            other outputs are undefined in every check.
        check_grad_dtypes: Whether each gradient must have the dtype of its input.
        check_batched_grad: Must be False: there is no `vmap`.
        check_batched_forward_grad: Must be False: there is no forward-mode differentiation.
        check_forward_ad: Must be False: there is no forward-mode differentiation.
        check_backward_ad: Must be True.
        fast_mode: Must be False: the whole Jacobian is compared.
        masked: Must be False or None: there are no sparse tensors.

    Returns:
        Whether all gradients agree.

    Raises:
        ArgumentError: No input requires grad, or an option has a value that is not supported.
        GradcheckError: A gradient differs or is NaN, or `func` returns outputs of another number, shape or
            dtype in another call, and `raise_exception` is True.
        TypeError: `func` cannot be called, `inputs` are no tensors, `func` returned something else than
            tensors, or a tolerance is not a number.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0], dtype=interlock.float64, requires_grad=True)
        >>> interlock.autograd.gradcheck(lambda x: x * x.exp(), x)
        True

    """
    unsupported = {
        "check_batched_grad": check_batched_grad,
        "check_batched_forward_grad": check_batched_forward_grad,
        "check_forward_ad": check_forward_ad,
        "fast_mode": fast_mode,
        "masked": bool(masked),
    }
    _refuse("gradcheck", unsupported, {"check_backward_ad": check_backward_ad})
    _check_options("gradcheck", func, {"eps": eps, "atol": atol, "rtol": rtol, "nondet_tol": nondet_tol})
    _check_flags("gradcheck", {"raise_exception": raise_exception, "check_grad_dtypes": check_grad_dtypes})
    arguments = _arguments("gradcheck", inputs)
    checked = _Checked("gradcheck", func, arguments)
    return _is_right(checked, eps, atol, rtol, nondet_tol, check_grad_dtypes, raise_exception)


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the gradients of the gradients of a function with finite differences.

    Args:
        func: A function of tensors that returns a tensor or several.
        inputs: The arguments of `func`, of which at least one requires grad.
        grad_outputs: The gradient of each output. None means different numbers around 1.
        eps: The change of an element.
        atol: The absolute tolerance.
        rtol: The tolerance relative to the finite difference.
        gen_non_contig_grad_outputs: Whether the gradients of outputs that are created are not contiguous.
        raise_exception: Whether a difference raises. Otherwise the result is False.
        nondet_tol: The largest difference between two backward passes of one graph.
        check_undefined_grad: As for `gradcheck`.
        check_grad_dtypes: As for `gradcheck`.
        check_batched_grad: Must be False: there is no `vmap`.
        check_fwd_over_rev: Must be False: there is no forward-mode differentiation.
        check_rev_over_rev: Must be True.
        fast_mode: Must be False: the whole Jacobian is compared.
        masked: Must be False: there are no sparse tensors.

    Returns:
        Whether all gradients agree.

    Raises:
        ArgumentError: No input requires grad, or an option has a value that is not supported.
        GradcheckError: A gradient differs or is NaN, or `func` returns outputs of another number, shape or
            dtype in another call, and `raise_exception` is True.
        TypeError: `func` cannot be called, `inputs` are no tensors, `func` returned something else than
            tensors, or a tolerance is not a number.

    Example:
        >>> import interlock
        >>> x = interlock.tensor([1.0, 2.0], dtype=interlock.float64, requires_grad=True)
        >>> interlock.autograd.gradgradcheck(lambda x: x**3, x)
        True

    """
    unsupported = {
        "check_batched_grad": check_batched_grad,
        "check_fwd_over_rev": check_fwd_over_rev,
        "fast_mode": fast_mode,
        "masked": masked,
    }
    _refuse("gradgradcheck", unsupported, {"check_rev_over_rev": check_rev_over_rev})
    _check_options("gradgradcheck", func, {"eps": eps, "atol": atol, "rtol": rtol, "nondet_tol": nondet_tol})
    _check_flags(
        "gradgradcheck", {"raise_exception": raise_exception, "check_grad_dtypes": check_grad_dtypes}
    )
    arguments = _arguments("gradgradcheck", inputs)
    original = _Checked("gradgradcheck", func, arguments)
    outputs = _requiring_grad(original.outputs())
    if not outputs:
        raise ArgumentError("gradgradcheck: func must return a tensor that requires grad, got none")
    if grad_outputs is None:
        directions = tuple(_direction(output, gen_non_contig_grad_outputs) for output in outputs)
    else:
        directions = _as_tuple("gradgradcheck: grad_outputs", grad_outputs)
    if len(directions) != len(outputs):
        raise ArgumentError(
            "gradgradcheck: grad_outputs must have one gradient for each output that requires grad "
            f"({len(outputs)}), got {len(directions)}"
        )

    def first_gradients(*_: Tensor) -> tuple[Tensor, ...]:
        # The arguments are those of `original`, whose elements are changed in place.
        outputs = _requiring_grad(original.outputs())
        found = grad(outputs, _requiring_grad(arguments), directions, create_graph=True, allow_unused=True)
        return tuple(gradient for gradient in found if gradient is not None)

    checked = _Checked("gradgradcheck", first_gradients, (*arguments, *directions))
    return _is_right(checked, eps, atol, rtol, nondet_tol, check_grad_dtypes, raise_exception)


def _refuse(function: str, unsupported: dict[str, bool], required: dict[str, bool]) -> None:
    for name, value in unsupported.items():
        if value:
            raise ArgumentError(
                f"{function}: {name} must be False, because True is not supported, got {shown(value)}"
            )
    for name, value in required.items():
        if not value:
            raise ArgumentError(
                f"{function}: {name} must be True, because False is not supported, got {shown(value)}"
            )


def _check_options(function: str, func: object, numbers: dict[str, float]) -> None:
    """Raise unless the function can be called and the step and the tolerances are usable numbers."""
    # A name of its own: mypy would narrow the type to one that stubtest does not find.
    is_callable = callable(func)
    if not is_callable:
        raise TypeError(f"{function}: func must be callable, got {type(func).__name__}")
    for name, value in numbers.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"{function}: {name} must be a float, got {type(value).__name__}")
        if name == "eps" and not (value and abs(value) < float("inf")):
            raise ArgumentError(f"{function}: eps must be finite and not 0, got {value}")
        if name != "eps" and not value >= 0:
            raise ArgumentError(f"{function}: {name} must not be negative, got {value}")


def _check_flags(function: str, flags: dict[str, bool]) -> None:
    for name, value in flags.items():
        as_bool(f"{function}: {name}", value)


def _as_tuple(what: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, Tensor):
        return (given,)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a Tensor or a sequence of Tensors, got {type(given).__name__}")
    return tuple(given)


def _outputs(function: str, returned: Any) -> tuple[Tensor, ...]:
    """Return what the checked function returned as tensors."""
    outputs = _as_tuple(f"{function}: the result of func", returned)
    for output in outputs:
        if not isinstance(output, Tensor):
            raise TypeError(f"{function}: func must return Tensors, got {type(output).__name__}")
    return outputs


def _arguments(function: str, inputs: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    arguments = _as_tuple(f"{function}: inputs", inputs)
    checked = _requiring_grad(arguments)
    if not checked:
        raise ArgumentError(f"{function}: inputs must contain a tensor that requires grad, got none")
    for position, each in enumerate(arguments):
        if not isinstance(each, Tensor) or not each.requires_grad:
            continue
        if each.dtype is not float64:
            warnings.warn(
                f"{function}: input {position} has dtype {each.dtype}, whose finite differences are not "
                "precise; use float64",
                stacklevel=3,
            )
        if any(stride == 0 and size > 1 for stride, size in zip(each.stride(), each.shape, strict=True)):
            raise ArgumentError(
                f"{function}: input {position} must not be expanded, because a change of one of its elements "
                "changes others; pass its clone()"
            )
    return arguments


def _requiring_grad(arguments: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(each for each in arguments if isinstance(each, Tensor) and each.requires_grad)


def _indices(of: Tensor) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(size) for size in of.shape))


def _flat(values: Tensor) -> list[float]:
    return [float(value) for value in values.detach().cpu().reshape(-1).tolist()]


def _direction(output: Tensor, is_strided: bool) -> Tensor:
    """Return a tensor like an output whose elements are different numbers from 0.5 to 1.5."""
    golden_ratio = 0.6180339887498949  # Its multiples modulo 1 are spread evenly.
    values = [0.5 + (position * golden_ratio) % 1 for position in range(output.numel())]
    made = tensor(values, dtype=output.dtype, device=output.device).reshape(output.shape)
    if is_strided:
        made = stack([made, made], -1).select(-1, 0)
    return made.requires_grad_()


class _Checked:
    """A function with its arguments, of which every call must return outputs like those of the first call."""

    def __init__(
        self, name: str, func: Callable[..., Tensor | Sequence[Tensor]], arguments: tuple[Tensor, ...]
    ) -> None:
        self.name = name
        self.arguments = arguments
        self._func = func
        self._layout: str | None = None

    def outputs(self) -> tuple[Tensor, ...]:
        """Call the function and return its floating-point outputs."""
        returned = _outputs(self.name, self._func(*self.arguments))
        outputs = tuple(each for each in returned if each.is_floating_point())
        layout = ", ".join(f"{each.dtype} of shape {tuple(each.shape)}" for each in outputs) or "none"
        if self._layout is None:
            self._layout = layout
        elif layout != self._layout:
            raise GradcheckError(
                f"{self.name}: func must return floating-point outputs of the same number, shapes and dtypes "
                f"in each call, got {layout} after {self._layout}"
            )
        return outputs


def _is_right(
    checked: _Checked,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_grad_dtypes: bool,
    raise_exception: bool,
) -> bool:
    try:
        _check(checked, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(
    checked: _Checked, eps: float, atol: float, rtol: float, nondet_tol: float, check_grad_dtypes: bool
) -> None:
    for input_number, each in enumerate(_requiring_grad(checked.arguments)):
        numerical = _numerical(checked, each, eps)
        # After the inputs were changed and restored, so that no saved tensor of this graph is.
        for output_number, output in enumerate(checked.outputs()):
            place = f"output {output_number} with respect to input {input_number}"
            differences = numerical[output_number]
            if _has_nan(differences):
                raise GradcheckError(
                    f"{checked.name}: the finite differences of {place} must not be nan: func must be finite "
                    f"at distances of eps ({eps}) from its inputs\nfinite differences: {differences}"
                )
            analytical = _analytical(checked.name, output, each, check_grad_dtypes, place)
            if _has_nan(analytical):
                raise GradcheckError(
                    f"{checked.name}: the gradient of {place} must not be nan\n"
                    f"finite differences: {differences}\nbackward: {analytical}"
                )
            again = _analytical(checked.name, output, each, check_grad_dtypes, place)
            if not _agree(analytical, again, nondet_tol, 0.0):
                raise GradcheckError(
                    f"{checked.name}: two backward passes of {place} differ by more than nondet_tol "
                    f"({nondet_tol})"
                )
            if not _agree(analytical, differences, atol, rtol):
                raise GradcheckError(
                    f"{checked.name}: the Jacobian of {place} must agree with finite differences\n"
                    f"finite differences: {differences}\nbackward: {analytical}"
                )


def _numerical(checked: _Checked, changed: Tensor, eps: float) -> list[_Jacobian]:
    """Return for each output its Jacobian with respect to one argument, from finite differences."""
    memory, columns = changed.detach(), []
    for index in _indices(changed):
        original = memory[index].item() if index else memory.item()
        sides = []
        for moved in (original + eps, original - eps):
            _set(memory, index, moved)
            try:
                sides.append([_flat(output) for output in checked.outputs()])
            finally:
                _set(memory, index, original)
        columns.append(
            [
                [(high - low) / (2 * eps) for high, low in zip(*output, strict=True)]
                for output in zip(*sides, strict=True)
            ]
        )
    if not columns:
        return [[[] for _ in range(output.numel())] for output in checked.outputs()]
    return [[list(row) for row in zip(*output, strict=True)] for output in zip(*columns, strict=True)]


def _set(memory: Tensor, index: tuple[int, ...], value: float) -> None:
    with no_grad():
        (memory[index] if index else memory).fill_(value)


def _analytical(name: str, output: Tensor, of: Tensor, check_dtypes: bool, place: str) -> _Jacobian:
    """Return the Jacobian of an output with respect to one argument, from backward passes."""
    if not output.requires_grad:
        return [[0.0] * of.numel() for _ in range(output.numel())]
    rows = []
    for index in _indices(output):
        one_hot = zeros_like(output)
        _set(one_hot, index, 1.0)
        found: Sequence[Tensor | None] = grad(output, of, one_hot, retain_graph=True, allow_unused=True)
        gradient = found[0]
        if gradient is None:
            rows.append([0.0] * of.numel())
            continue
        if check_dtypes and gradient.dtype is not of.dtype:
            raise GradcheckError(
                f"{name}: the gradient of {place} must have dtype {of.dtype}, got {gradient.dtype}"
            )
        rows.append(_flat(gradient))
    return rows


def _has_nan(jacobian: _Jacobian) -> bool:
    # No order holds for NaN. `math.isnan` would be one more module that `import interlock` loads.
    return not all(abs(value) <= _INFINITY for value in itertools.chain(*jacobian))


def _agree(found: _Jacobian, wanted: _Jacobian, atol: float, rtol: float) -> bool:
    def is_close(one: float, other: float) -> bool:
        # An infinite number equals only itself, whatever the tolerances are.
        return one == other or (abs(other) < _INFINITY and abs(one - other) <= atol + rtol * abs(other))

    return all(map(is_close, itertools.chain(*found), itertools.chain(*wanted)))
