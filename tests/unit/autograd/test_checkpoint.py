"""`utils.checkpoint`: functions that a backward pass calls again for the tensors that it needs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import interlock
import pytest
from interlock import Tensor, autograd
from interlock.accelerator import memory
from interlock.autograd.graph import disable_saved_tensors_hooks, save_on_cpu
from interlock.errors import ArgumentError
from interlock.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

Function = Callable[..., Any]


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True)


def gradient(function: Function, *inputs: Tensor) -> list[Any]:
    """Return the gradients of the sum of a function."""
    function(*inputs).sum().backward()
    gradients = [None if each.grad is None else each.grad.tolist() for each in inputs]
    for each in inputs:
        each.grad = None
    return gradients


class Block:
    """A function that logs the steps that run."""

    def __init__(self) -> None:
        self.log = ""

    def __call__(self, x: Tensor) -> Tensor:
        self.log += "a"
        y = x.sin()
        self.log += "b"
        z = y.cos()
        self.log += "c"
        result = z.exp()
        self.log += "d"
        return result


def check(block: Block, checkpointed: Function, plain: Function, log: str) -> None:
    """Check the gradients of a checkpoint and the steps that have run."""
    x = leaf(0.3, 0.4)
    found = gradient(checkpointed, x)
    assert block.log == log
    assert found == gradient(plain, x)


@pytest.mark.parametrize(("early_stop", "log"), [(True, "abcdabc"), (False, "abcdabcd")])
def test_backward_computes_the_saved_tensors_again(early_stop: bool, log: str) -> None:
    block = Block()
    check(block, lambda x: checkpoint(block, x, early_stop=early_stop), block, log)
    block.log = ""
    with set_checkpoint_early_stop(early_stop):
        y = checkpoint(block, leaf(1), early_stop=not early_stop)
    y.backward()
    assert block.log == log


def test_checkpoints_may_be_nested() -> None:
    block = Block()

    def inner(x: Tensor) -> Any:
        return checkpoint(block, checkpoint(block, x))

    check(block, lambda x: checkpoint(inner, x), lambda x: block(block(x)), "abcd" * 2 + "abcd" + "abcabc")


def test_arguments_may_be_named_and_in_containers() -> None:
    block = Block()
    check(block, lambda x: checkpoint(lambda *, k: block(k), k=x), block, "abcdabc")
    block.log = ""
    check(block, lambda x: checkpoint(lambda d: block(d["x"][0]), {"x": [x]}), block, "abcdabc")


def test_arguments_that_are_leaves_are_the_same_objects() -> None:
    found: list[bool] = []
    parameter = interlock.nn.Parameter(interlock.ones(2))

    def function(given: Tensor) -> Tensor:
        found.append(given is parameter)
        return given.sin() * given

    checkpoint(function, parameter).sum().backward()
    assert found == [True, True]


def test_each_pass_computes_the_tensors_again() -> None:
    block, x = Block(), leaf(1)
    y = checkpoint(block, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert block.log == "abcdabcabc"
    first = x.grad
    assert first is not None
    assert first.tolist() == [2 * each for each in gradient(block, leaf(1))[0]]
    with pytest.raises(RuntimeError, match="graph already freed"):
        y.backward()


def test_a_pass_of_one_result_stops_after_the_last_tensor_of_the_function() -> None:
    log: list[str] = []

    def two(u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        log.append("first")
        a = u.exp()
        log.append("second")
        return a, v.exp()

    u, v = leaf(1), leaf(2)
    a, b = checkpoint(two, u, v)
    a.backward()
    assert v.grad is None
    b.backward()
    assert v.grad is not None
    assert log == ["first", "second"] * 3


def test_second_derivatives() -> None:
    def second(function: Function) -> Any:
        x = leaf(0.3, 0.4)
        (first,) = autograd.grad(function(x).sum(), x, create_graph=True)
        return autograd.grad(first.sum(), x)[0].tolist()

    assert second(lambda x: checkpoint(Block(), x)) == second(Block())
    assert autograd.gradcheck(lambda x: checkpoint(Block(), x), leaf(0.3, 0.4))
    assert autograd.gradgradcheck(lambda x: checkpoint(Block(), x), leaf(0.3, 0.4))


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("options", [{}, {"retain_graph": True}, {"create_graph": True}])
def test_a_function_may_start_a_backward_pass(early_stop: bool, options: Any) -> None:
    def function(x: Tensor) -> Tensor:
        y = x.sin()
        z = y.cos()
        (inner,) = autograd.grad(z.sum(), x, **options)
        return x.cos() * inner * (z if options else 1)

    x = leaf(0.3, 0.4)
    assert gradient(lambda x: checkpoint(function, x, early_stop=early_stop), x) == gradient(function, x)


def test_a_function_of_the_program_may_read_its_saved_tensors_twice() -> None:
    class Cube(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            assert ctx.saved_tensors[0].tolist() == ctx.saved_tensors[0].tolist()
            return 3 * ctx.saved_tensors[0] ** 2 * grad

    x = leaf(2)
    assert gradient(lambda x: checkpoint(Cube.apply, x * 1), x) == [[12.0]]
    y = checkpoint(Cube.apply, x)
    assert y.grad_fn.saved_tensors[0].tolist() == [2.0]  # type: ignore[attr-defined]


def test_handlers_in_the_function_do_not_catch_the_end_of_a_recomputation() -> None:
    log: list[str] = []

    def function(x: Tensor) -> Tensor:
        try:
            return x.sin()
        except Exception:
            log.append("caught")
            raise

    def stubborn(x: Tensor) -> Tensor:
        try:
            y = x.sin()
        except BaseException:
            y = x.cos()
        return y

    x = leaf(0.3)
    assert gradient(lambda x: checkpoint(function, x), x) == gradient(function, x)
    assert gradient(lambda x: checkpoint(stubborn, x), x) == gradient(stubborn, x)
    assert log == []


# --- the state of the first call


def test_recomputation_has_the_state_of_the_first_call(restored: None) -> None:
    flags: list[Any] = []
    cudnn = interlock.backends.cudnn
    before = cudnn.benchmark

    def function(x: Tensor) -> Tensor:
        flags.append((cudnn.benchmark, cudnn.allow_tf32, interlock.is_anomaly_enabled()))
        return x.sin()

    x = leaf(1)
    with interlock.backends.override({"cudnn.allow_tf32": False}):
        y = checkpoint(function, x)
    cudnn.benchmark = not before
    with autograd.detect_anomaly():
        y.backward()
    assert flags == [(before, False, False)] * 2


def test_recomputation_on_another_thread_has_the_state_of_the_first_call() -> None:
    modes: list[bool] = []

    def function(x: Tensor) -> Tensor:
        modes.append(autograd.is_view_replay_enabled())
        return x.sin()

    x = leaf(1)
    with autograd._force_original_view_tracking(True):
        y = checkpoint(function, x)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(y.backward).result()
    assert modes == [True, True]


def test_recomputation_draws_the_random_numbers_of_the_first_call() -> None:
    drawn: list[Any] = []

    def function(x: Tensor) -> Tensor:
        drawn.append(interlock.rand(2).tolist())
        return x.sin()

    interlock.manual_seed(3)
    y = checkpoint(function, leaf(1))
    following = interlock.rand(1).item()
    interlock.manual_seed(3)
    z = checkpoint(function, leaf(1))
    y.backward()
    assert drawn[0] == drawn[1] == drawn[2]
    assert interlock.rand(1).item() == following
    z = checkpoint(function, leaf(1), preserve_rng_state=False)
    z.backward()
    assert drawn[-1] != drawn[-2]


def test_a_checkpoint_without_recorded_gradients_only_calls_the_function() -> None:
    def contexts() -> Any:
        raise AssertionError("no context is needed")

    with interlock.no_grad():
        y = checkpoint(Block(), leaf(1), context_fn=contexts)
    assert not y.requires_grad
    assert not checkpoint(Block(), interlock.ones(2)).requires_grad


def test_contexts_of_the_calls() -> None:
    log: list[str] = []

    class Context:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> None:
            log.append(f"enter {self.name}")

        def __exit__(self, *args: object) -> None:
            log.append(f"exit {self.name}")

    def contexts() -> Any:
        return Context("first"), Context("again")

    y = checkpoint(Block(), leaf(1), context_fn=contexts)
    assert log == ["enter first", "exit first"]
    y.backward()
    assert log[2:] == ["enter again", "exit again"]

    class Suppressing(Context):
        def __exit__(self, *args: object) -> bool:  # type: ignore[override]
            return True

    with pytest.raises(RuntimeError, match="must not return a context manager that suppresses"):
        checkpoint(lambda x: x / "a", leaf(1), context_fn=lambda: (Suppressing("s"), Context("c")))  # type: ignore[arg-type,return-value]
    for context in noop_context_fn():
        with context:
            pass


# --- memory


@pytest.mark.slow
def test_a_checkpoint_stores_no_activations(devices: tuple[str, ...]) -> None:
    device = devices[0]
    x = interlock.ones(1 << 16, device=device, requires_grad=True)

    def block(x: Tensor) -> Tensor:
        for _ in range(8):
            x = x.sin()
        return x

    def peak(function: Function) -> tuple[int, int]:
        gc.collect()
        interlock.accelerator.synchronize(device)
        memory.reset_peak_memory_stats(device)
        before = memory.memory_allocated(device)
        y = x
        for _ in range(4):
            y = function(y)
        stored = memory.memory_allocated(device) - before
        y.sum().backward()
        x.grad = None
        return stored // x.nbytes, (memory.max_memory_allocated(device) - before) // x.nbytes

    plain, checkpointed = peak(block), peak(lambda x: checkpoint(block, x))
    assert plain[0] == 32
    assert checkpointed[0] <= 5
    assert checkpointed[1] <= 4 + 8 + 5


def test_recomputed_tensors_of_a_retained_graph_are_freed_after_the_pass(devices: tuple[str, ...]) -> None:
    x = interlock.ones(1 << 16, device=devices[0], requires_grad=True)
    y = checkpoint(lambda x: x.sin().cos().exp(), x).sum()
    y.backward(retain_graph=True)
    interlock.accelerator.synchronize(devices[0])
    before = memory.memory_allocated(devices[0])
    y.backward(retain_graph=True)
    gc.collect()
    interlock.accelerator.synchronize(devices[0])
    assert memory.memory_allocated(devices[0]) == before
    # The result and the argument with its gradient: no activations.
    assert before <= 2 * x.nbytes + 1024


def test_activations_are_not_stored_in_the_outer_checkpoint() -> None:
    activations: list[weakref.ref[Tensor]] = []

    def block(x: Tensor) -> Tensor:
        y = x.sin()
        activations.append(weakref.ref(y))
        return y.cos()

    y = checkpoint(lambda x: checkpoint(block, checkpoint(block, x)), leaf(1))
    gc.collect()
    assert [each() for each in activations] == [None, None]
    y.backward()
    gc.collect()
    assert not any(each() for each in activations)


def test_arguments_of_a_checkpoint_are_freed_with_the_graph() -> None:
    class Owned:
        """An argument."""

    argument = Owned()
    alive = weakref.ref(argument)
    y = checkpoint(lambda x, argument: x.sin(), leaf(1), argument)
    del argument
    gc.collect()
    assert alive() is not None
    y.backward()
    gc.collect()
    assert alive() is None


def test_a_checkpoint_saves_its_arguments_through_hooks(devices: tuple[str, ...]) -> None:
    x = interlock.ones(4, device=devices[0], requires_grad=True)
    with save_on_cpu():
        y = checkpoint(lambda y: y.sin(), x * 2)
    y.sum().backward()
    assert x.grad is not None
    assert str(x.grad.device) == devices[0]


def test_passes_on_threads_compute_their_own_tensors() -> None:
    x = leaf(0.3, 0.4)
    y = checkpoint(lambda x: checkpoint(Block(), x), x).sum()
    expected = autograd.grad(Block()(x).sum(), x)[0].tolist()

    def work(_: int) -> Any:
        return autograd.grad(y, x, retain_graph=True)[0].tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(40))) == [expected] * 40


# --- errors


class Changing:
    """A function whose second call differs from the first."""

    def __init__(self, first: Function, second: Function) -> None:
        self.functions = [first, second]

    def __call__(self, x: Tensor) -> Any:
        return self.functions.pop(0)(x)


FEWER = (lambda x: x.sin().cos(), lambda x: x.sin())
MORE = (lambda x: x.sin(), lambda x: x.sin().cos())
SHAPE = (lambda x: x.sin(), lambda x: x[:1].sin())
DTYPE = (lambda x: x.sin(), lambda x: x.float().sin())


@pytest.mark.parametrize(
    ("functions", "options", "message"),
    [
        (FEWER, {}, "the recomputation saves 1 tensors, and the first call has saved 2"),
        (FEWER, {"determinism_check": "none"}, "the recomputation saves 1 tensors"),
        (MORE, {"early_stop": False}, "saves more than the 1 tensors of the first call"),
        (SHAPE, {}, r"tensor 0: shape \(2,\), interlock.float64, cpu; recomputed: shape \(1,\)"),
        (DTYPE, {}, "float64, cpu; recomputed: .* interlock.float32, cpu"),
    ],
)
def test_other_saved_tensors_raise(functions: Any, options: Any, message: str) -> None:
    y = checkpoint(Changing(*functions), leaf(1, 2), **options)
    with pytest.raises(CheckpointError, match=message) as caught:
        y.sum().backward()
    assert "debug=True lists the lines" in str(caught.value)


def test_saved_tensors_on_another_device_raise(devices: tuple[str, ...]) -> None:
    functions = Changing(lambda x: x.sin(), lambda x: x.to(devices[0]).sin())
    y = checkpoint(functions, leaf(1, 2))
    with pytest.raises(
        CheckpointError, match=f"float64, cpu; recomputed: .* interlock.float64, {devices[0]}"
    ):
        y.sum().backward()


def test_more_tensors_and_unchecked_facts_do_not_raise() -> None:
    x = leaf(1, 2)
    assert gradient(lambda x: checkpoint(Changing(*MORE), x), x) == gradient(lambda x: x.sin(), x)
    unchecked = gradient(lambda x: checkpoint(Changing(*DTYPE), x, determinism_check="none"), x)
    assert unchecked[0] == pytest.approx(gradient(lambda x: x.sin(), x)[0])


@pytest.mark.parametrize("by_scope", [True, False])
def test_debug_lists_the_lines_that_save_tensors(by_scope: bool) -> None:
    with set_checkpoint_debug_enabled(True if by_scope else None):
        y = checkpoint(Changing(*FEWER), leaf(1), debug=not by_scope)
    with pytest.raises(CheckpointError) as caught:
        y.backward()
    lines = str(caught.value).splitlines()
    sites = [line.partition(" in ")[2] for line in lines if "test_checkpoint.py:" in line]
    assert lines[1] == "the first call has saved tensors at:"
    assert lines[4] == "the recomputation has saved tensors at:"
    assert sites == ["<lambda>"] * 3
    with set_checkpoint_debug_enabled(False):
        y = checkpoint(Changing(*FEWER), leaf(1), debug=True)
    with pytest.raises(CheckpointError, match="debug=True lists"):
        y.backward()


def test_an_argument_that_was_changed_in_place_raises() -> None:
    argument = leaf(1) * 1
    y = checkpoint(Block(), argument)
    argument.add_(1)
    with pytest.raises(RuntimeError, match=r"checkpoint: a saved tensor of shape .* was changed in place"):
        y.backward()


def test_exceptions_of_the_function_propagate() -> None:
    def failing(x: Tensor) -> Any:
        raise LookupError("of the function")

    with pytest.raises(LookupError, match="of the function"):
        checkpoint(failing, leaf(1))
    y = checkpoint(Changing(lambda x: x.sin(), failing), leaf(1))
    interlock.manual_seed(5)
    with pytest.raises(LookupError, match="of the function"):
        y.backward()
    assert interlock.is_grad_enabled()


def test_disabled_hooks_make_a_checkpoint_raise() -> None:
    with (
        disable_saved_tensors_hooks("no checkpoint here"),
        pytest.raises(RuntimeError, match="no checkpoint"),
    ):
        checkpoint(Block(), leaf(1))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"use_reentrant": True}, ArgumentError, "use_reentrant must be False, got True"),
        ({"use_reentrant": None}, TypeError, "use_reentrant must be a bool, got NoneType"),
        ({"determinism_check": "some"}, ArgumentError, "determinism_check must be .*, got 'some'"),
        ({"debug": 1}, TypeError, "debug must be a bool, got int"),
        ({"early_stop": "yes"}, TypeError, "early_stop must be a bool, got str"),
        ({"preserve_rng_state": 0}, TypeError, "preserve_rng_state must be a bool, got int"),
    ],
)
def test_wrong_arguments_raise(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^checkpoint: {message}"):
        checkpoint(Block(), leaf(1), **arguments)


def test_other_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError, match="checkpoint: function must be callable, got int"):
        checkpoint(3, leaf(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="set_checkpoint_early_stop: enable must be a bool"):
        set_checkpoint_early_stop(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="set_checkpoint_debug_enabled: enabled must be a bool"):
        set_checkpoint_debug_enabled(1)  # type: ignore[arg-type]
    assert issubclass(CheckpointError, RuntimeError)


def test_without_a_function_it_is_a_decorator() -> None:
    block = Block()
    for decorated in (checkpoint()(block), checkpoint(None, use_reentrant=False)(block)):
        block.log = ""
        check(block, decorated, Block(), "abcdabc")

    @checkpoint(early_stop=False)
    def scaled(x: Tensor, *, factor: float = 2.0) -> Tensor:
        """Return a scaled sine."""
        block.log += "f"
        return x.sin() * factor

    block.log = ""
    x = leaf(0.0)
    scaled(x, factor=3.0).backward()
    assert x.grad is not None
    assert (x.grad.tolist(), block.log) == ([3.0], "ff")
    assert (scaled.__name__, scaled.__doc__) == ("scaled", "Return a scaled sine.")


def test_decorated_methods_follow_the_modes_of_each_call() -> None:
    class Layer:
        calls = 0

        @checkpoint(preserve_rng_state=False)
        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            return x.sin().exp()

    layer, x = Layer(), leaf(0.5)
    layer.forward(x).backward()
    assert layer.calls == 2
    with interlock.no_grad():
        assert layer.forward(x).requires_grad is False
    assert layer.calls == 3


def test_wrong_arguments_of_the_decorator_raise() -> None:
    with pytest.raises(ArgumentError, match=r"^checkpoint: without a function .* must be options, got a, b$"):
        checkpoint(a=1, b=2)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^checkpoint: function must be callable, got int"):
        checkpoint()(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^checkpoint: function must be callable, got NoneType"):
        checkpoint(None, leaf(1))  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="use_reentrant must be False"):
        checkpoint(use_reentrant=True)


def test_scopes_of_settings_are_per_thread_and_can_be_entered_again() -> None:
    block = Block()
    scope = set_checkpoint_early_stop(False)
    with scope, scope, ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: checkpoint(block, leaf(1)).backward()).result()
    assert block.log == "abcdabc"
