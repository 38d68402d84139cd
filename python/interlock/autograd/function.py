"""Operations with a backward function of the program: `Function`.

A build without the tensor runtime lacks this module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._arguments import as_bool
from interlock._core.autograd import is_grad_enabled, no_grad, set_grad_enabled
from interlock._core.tensor import Tensor, _FunctionNode, _input_grad_buffers, _record_function, dtype
from interlock.errors import ArgumentError

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """The methods of `ctx`, the object that `forward` passes to `backward`.

    Any attribute may be set on it, for values that are not tensors.
    """

    needs_input_grad: tuple[bool, ...]
    """For each argument of `apply`, whether it is a tensor that requires grad."""

    to_save: tuple[Tensor | None, ...] = ()
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    materialize_grads: bool = True
    output_grad_dtypes: tuple[dtype | None, ...] | None = None
    """The arguments of `set_output_grad_dtype`, until the call is recorded."""

    _argument_count: int = 0
    _input_positions: tuple[int, ...] = ()
    _runs_backward: bool = False

    @property
    def input_grad_buffers(self) -> tuple[Tensor | None, ...]:
        """For each argument of `forward` the sum of the gradients that the backward pass has so far, or None.

        `backward` may add the gradient of an argument to it in place, and return None for the argument,
        instead of a tensor that the pass adds. It must not keep the tensor after its return. It is None if
        nothing else has contributed to the gradient yet, if the gradient is not needed, and if its memory is
        shared with another tensor; so `backward` must be able to return the gradient, too. It does not
        contain the `grad` of a leaf.

        Raises:
            RuntimeError: The `backward` of this call does not run, the pass has `create_graph=True`, anomaly
                mode is on, or `register_hook` of the node has registered a hook.

        Example:
            >>> import interlock
            >>> class Double(interlock.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return x * 2
            ...
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         (buffer,) = ctx.input_grad_buffers
            ...         print(buffer)
            ...         if buffer is None:
            ...             return grad * 2
            ...         buffer.add_(grad, alpha=2)
            >>> x = interlock.ones(1, requires_grad=True)
            >>> doubled = Double.apply(x)
            >>> (doubled + x * 5).backward()
            tensor([5.])
            >>> x.grad
            tensor([7.])

        """
        if not self._runs_backward:
            raise RuntimeError(
                "input_grad_buffers: must be read while the backward function of this node runs"
            )
        buffers: list[Tensor | None] = [None] * self._argument_count
        for position, buffer in zip(self._input_positions, _input_grad_buffers(), strict=True):
            buffers[position] = buffer
        return tuple(buffers)

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `backward`, which reads them from `ctx.saved_tensors`.

        The backward pass fails if one of them is changed in place after `forward`. A second call replaces the
        tensors of the first.

        Args:
            tensors: Tensors, and None.

        Raises:
            TypeError: An argument is neither a tensor nor None.

        Example:
            >>> import interlock
            >>> class Square(interlock.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.save_for_backward(x)
            ...         return x * x
            ...
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         (x,) = ctx.saved_tensors
            ...         return 2 * x * grad
            >>> x = interlock.tensor([3.0], requires_grad=True)
            >>> Square.apply(x).backward()
            >>> x.grad
            tensor([6.])

        """
        for tensor in tensors:
            if tensor is not None:
                _check_tensor("save_for_backward: each argument", "a Tensor or None", tensor)
        self.to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare arguments that `forward` has changed in place. `forward` must also return them.

        Args:
            tensors: Arguments of `forward`.

        Raises:
            RuntimeError: An argument is not a tensor.

        Example:
            >>> import interlock
            >>> class Increment(interlock.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.mark_dirty(x)
            ...         return x.add_(1)
            ...
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return grad
            >>> x = interlock.ones(1)
            >>> Increment.apply(x) is x
            True

        """
        for tensor in tensors:
            _check_tensor("mark_dirty: each argument", "a Tensor", tensor, RuntimeError)
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare results of `forward` that have no gradient.

        `backward` still receives a gradient for each of them, which consists of zeros.

        Args:
            tensors: Results of `forward`.

        Raises:
            RuntimeError: An argument is not a tensor.

        """
        for tensor in tensors:
            _check_tensor("mark_non_differentiable: each argument", "a Tensor", tensor, RuntimeError)
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether `backward` receives zeros, and not None, for a result without a gradient.

        Args:
            value: Whether zeros are passed. The default is True.

        Raises:
            TypeError: `value` is not a bool.

        """
        self.materialize_grads = as_bool("set_materialize_grads: value", value)

    def set_output_grad_dtype(self, *dtypes: dtype | None) -> None:
        """Set the dtype in which `backward` receives the gradient of each result.

        Without this call it is the dtype of the result.

        Args:
            dtypes: For each result a floating-point dtype, or None for the dtype that the gradient has. It
                must be None for a result that is not a tensor or has no gradient.

        Raises:
            RuntimeError: It was called before.
            ArgumentError: An argument is neither a floating-point dtype nor None. `apply` raises it if there
                are more or fewer arguments than results, or if a result without a gradient has a dtype.

        Example:
            >>> import interlock
            >>> class Half(interlock.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.set_output_grad_dtype(interlock.float32)
            ...         return x.half()
            ...
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         print(grad.dtype)
            ...         return grad
            >>> x = interlock.ones(1, requires_grad=True)
            >>> Half.apply(x).backward()
            interlock.float32

        """
        if self.output_grad_dtypes is not None:
            raise RuntimeError("set_output_grad_dtype: must be called once for each call of the function")
        _check_grad_dtypes(dtypes)
        self.output_grad_dtypes = dtypes


class BackwardCFunction(_FunctionNode, FunctionCtx):
    """The class of `ctx`, which is also the `grad_fn` of the results. Each `Function` has a subclass."""

    _forward_cls: ClassVar[type[Function]]

    def _run_backward(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Call `backward` with the gradients of the results and return those of the tensor arguments."""
        # A backward pass that `backward` starts may run this node again.
        outer, self._runs_backward = self._runs_backward, True
        try:
            returned: Any = self._forward_cls.backward(self, *gradients)
        finally:
            self._runs_backward = outer
        name = type(self).__name__
        results = returned if isinstance(returned, tuple) else (returned,)
        for position, result in enumerate(results):
            if result is None:
                continue
            _check_tensor(f"{name}: each result of backward", "a Tensor or None", result, RuntimeError)
            if position < self._argument_count and position not in self._input_positions:
                raise RuntimeError(
                    f"{name}: backward must return None for argument {position} of forward, which is not a "
                    "Tensor, got Tensor"
                )
        surplus = any(result is not None for result in results[self._argument_count :])
        if len(results) < self._argument_count or surplus:
            raise RuntimeError(
                f"{name}: backward must return one gradient for each argument of forward, "
                f"{self._argument_count}, got {len(results)}"
            )
        return tuple(results[position] for position in self._input_positions)


class FunctionMeta(type):
    """The metaclass of `Function`, which creates the class of its `ctx`."""

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        attributes = {"_forward_cls": cls, "__module__": cls.__module__}
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), attributes)


class Function(metaclass=FunctionMeta):
    """An operation whose backward function is written in Python.

    A subclass defines the static methods `forward` and `backward`, and is called with `apply`. `forward`
    receives `ctx` and the arguments; it may also be written without `ctx`, together with `setup_context`.
    `backward` receives `ctx` and a gradient for each result, and returns a gradient or None for each
    argument. With `create_graph=True` the operations of `backward` are recorded, so that it can be
    differentiated again.

    Example:
        >>> import interlock
        >>> class Double(interlock.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = interlock.ones(2, requires_grad=True)
        >>> Double.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])

    """

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Raise RuntimeError: a function is called with `apply` of its class."""
        name = type(self).__name__
        raise RuntimeError(
            f"{name}: call {name}.apply(...); an instance of an autograd.Function is not called"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results. Operations are not recorded.

        Args:
            args: `ctx`, unless the class defines `setup_context`, and the arguments of `apply`.
            kwargs: The keyword arguments of `apply`.

        Returns:
            One result or a tuple of results.

        Raises:
            NotImplementedError: The subclass does not define `forward`.

        """
        raise NotImplementedError(
            "forward: a subclass of autograd.Function must define it as a static method"
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what `backward` needs, for a `forward` without `ctx`.

        Args:
            ctx: The object that is passed to `backward`.
            inputs: The arguments of `forward`.
            output: The result of `forward`.

        Raises:
            NotImplementedError: The subclass does not define `setup_context`.

        """
        raise NotImplementedError("setup_context: a forward() without ctx needs it")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """Compute the gradients of the arguments: `backward(ctx, *grad_outputs)`.

        Args:
            args: The object that `forward` or `setup_context` has filled, and the gradient of each result.
            kwargs: Empty. With this parameter, type checkers accept a `backward` with any parameters in a
                subclass.

        Returns:
            A gradient or None for each argument of `forward`; without a tuple if there is one argument.

        Raises:
            NotImplementedError: The subclass does not define `backward`.

        """
        raise NotImplementedError(
            "backward: a subclass of autograd.Function must define it as a static method"
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call `forward` and record the call if an argument requires grad.

        Keyword arguments are bound to the positions of `forward`. `backward` returns a gradient or None for
        each position up to the last argument that was passed. With `setup_context` it does so for every
        position, also for those with defaults, and `inputs` has all of them.

        Args:
            args: The arguments of `forward`. Only tensors that are passed directly have gradients, not those
                in lists.
            kwargs: The arguments of `forward` by name. Keyword-only parameters have no gradients.

        Returns:
            The result of `forward`.

        Raises:
            TypeError: `forward` takes other arguments.
            ArgumentError: A tensor that was marked dirty is not an argument and a result, or is a view.
            RuntimeError: A leaf that requires grad was marked dirty.

        """
        ctx = cls._backward_cls()
        has_setup = cls.setup_context is not Function.setup_context
        if has_setup:
            args, kwargs = _bind(cls.forward, args, kwargs, defaults=True)
        elif kwargs:
            (_, *rest), kwargs = _bind(cls.forward, (ctx, *args), kwargs, defaults=False)
            args = tuple(rest)
        positions = tuple(index for index, each in enumerate(args) if isinstance(each, Tensor))
        # Before `forward`, which may change tensors in place.
        ctx.needs_input_grad = tuple(isinstance(each, Tensor) and each.requires_grad for each in args)
        with no_grad():
            if has_setup:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        results = output if isinstance(output, tuple) else (output,)
        ctx._input_positions, ctx._argument_count = positions, len(args)
        recorded = _record_function(
            ctx,
            cls._backward_cls.__name__,
            tuple(args[index] for index in positions),
            tuple(each if isinstance(each, Tensor) else None for each in results),
            ctx.dirty_tensors,
            ctx.non_differentiable,
            ctx.to_save,
            ctx.materialize_grads,
            _grad_dtypes(ctx, results),
        )
        # The node saves the tensors now, and frees them after the backward pass.
        ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()
        ctx.output_grad_dtypes = None
        wrapped = tuple(
            each if tensor is None else tensor for each, tensor in zip(results, recorded, strict=True)
        )
        return wrapped if isinstance(output, tuple) else wrapped[0]


def _check_grad_dtypes(dtypes: tuple[object, ...]) -> None:
    for each in dtypes:
        if each is not None and not (isinstance(each, dtype) and each.is_floating_point):
            given = each if isinstance(each, dtype) else type(each).__name__
            raise ArgumentError(
                f"set_output_grad_dtype: each argument must be a floating-point dtype or None, got {given}"
            )


def _grad_dtypes(ctx: FunctionCtx, results: tuple[Any, ...]) -> tuple[dtype | None, ...] | None:
    """Return the dtypes that `set_output_grad_dtype` has set, or None."""
    dtypes: object = ctx.output_grad_dtypes
    if dtypes is None:
        return None
    # A program may assign the attribute.
    if not isinstance(dtypes, tuple):
        raise ArgumentError(f"apply: ctx.output_grad_dtypes must be a tuple, got {type(dtypes).__name__}")
    _check_grad_dtypes(dtypes)
    if len(dtypes) != len(results):
        raise ArgumentError(
            f"set_output_grad_dtype: one argument must be passed for each result of forward, {len(results)}, "
            f"got {len(dtypes)}"
        )
    for index, (each, result) in enumerate(zip(dtypes, results, strict=True)):
        has_gradient = (
            isinstance(result, Tensor)
            and result.is_floating_point()
            and not any(result is other for other in ctx.non_differentiable)
        )
        if each is not None and not has_gradient:
            raise ArgumentError(
                f"set_output_grad_dtype: the argument of result {index} must be None, because the result has "
                f"no gradient, got {each}"
            )
    return dtypes


def _bind(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, defaults: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Bind keyword arguments to positions, and keyword-only parameters to names.

    With `defaults` each position has a value, otherwise each one up to the last argument that was passed.
    """
    # Imported here, because the import of `inspect` takes a third of the time budget of `import interlock`.
    import inspect

    bound = inspect.signature(forward).bind(*args, **kwargs)
    passed = set(bound.arguments)
    bound.apply_defaults()
    if defaults:
        return bound.args, bound.kwargs
    count = len(args)
    for position, parameter in enumerate(bound.signature.parameters.values()):
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            break
        if parameter.name in passed:
            count = max(count, position + 1)
    return bound.args[:count], bound.kwargs


class _DifferentiatedTwice(Function):
    """The error of differentiating a backward function that was marked with `once_differentiable`."""

    @staticmethod
    def forward(ctx: Any, *results: Any) -> Any:
        return results

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            "once_differentiable: the backward function can be differentiated only once, because it was "
            "marked with @once_differentiable"
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` whose operations are not recorded, so that differentiating it again is an error.

    Args:
        fn: The static method `backward`.

    Returns:
        The function that runs `fn` in `no_grad` mode.

    Example:
        >>> import interlock
        >>> from interlock.autograd.function import once_differentiable
        >>> class Exp(interlock.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         y = x.exp()
        ...         ctx.save_for_backward(y)
        ...         return y
        ...
        ...     @staticmethod
        ...     @once_differentiable
        ...     def backward(ctx, grad):
        ...         (y,) = ctx.saved_tensors
        ...         return grad * y

    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            returned = fn(ctx, *args)
        if not is_grad_enabled():
            return returned
        inputs = [*args, *getattr(ctx, "saved_tensors", ())]
        if not any(isinstance(each, Tensor) and each.requires_grad for each in inputs):
            return returned
        results = returned if isinstance(returned, tuple) else (returned,)
        with set_grad_enabled(True):
            failing = _DifferentiatedTwice.apply(
                *(
                    each.detach().requires_grad_()
                    if isinstance(each, Tensor) and each.is_floating_point()
                    else each
                    for each in results
                )
            )
        return failing if isinstance(returned, tuple) else failing[0]

    return wrapper


def _check_tensor(what: str, wanted: str, given: object, kind: type[Exception] = TypeError) -> None:
    if not isinstance(given, Tensor):
        raise kind(f"{what} must be {wanted}, got {type(given).__name__}")
