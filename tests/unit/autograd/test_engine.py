"""Backward passes: gradients without history, the state of the thread, and passes of several threads."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd import Function, graph
from interlock.autograd.anomaly_mode import detect_anomaly

from tests.helpers.subprocess import eval_program


def leaf(*values: float, **options: Any) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True, **options)


class Passes:
    """Delays the operation that adds to `.grad`: in anomaly mode it queries the stack of the program."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, meet: Callable[[], None]) -> None:
        original = traceback.format_stack
        delayed = threading.local()
        self.met = 0

        def format_stack(*args: Any, **kwargs: Any) -> list[str]:
            # Only the first addition of a thread: one that repeats it is not delayed.
            if not getattr(delayed, "done", False):
                delayed.done = True
                self.met += 1
                meet()
            return original(*args, **kwargs)

        monkeypatch.setattr(traceback, "format_stack", format_stack)

    @staticmethod
    def accumulate(x: Tensor, gradient: float) -> None:
        # The addition is recorded only if the gradient has a history.
        with detect_anomaly(check_nan=False):
            x.backward(interlock.full_like(x.detach(), gradient, requires_grad=True), create_graph=True)


@pytest.mark.filterwarnings("ignore:backward")
@pytest.mark.filterwarnings("ignore:Anomaly")
def test_two_recorded_passes_accumulate_both_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    x = leaf(1, 2)
    x.grad = interlock.ones(2, dtype=interlock.float64)
    both = threading.Barrier(2, timeout=30)
    passes = Passes(monkeypatch, lambda: (both.wait(), None)[1])
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(passes.accumulate, x, gradient) for gradient in (10, 100)]:
            done.result()
    assert x.grad.tolist() == [111, 111]
    assert passes.met == 2


@pytest.mark.filterwarnings("ignore:backward")
@pytest.mark.filterwarnings("ignore:Anomaly")
def test_a_recorded_pass_keeps_what_another_pass_adds_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    x = leaf(1, 2)
    x.grad = interlock.ones(2, dtype=interlock.float64)
    passes = Passes(monkeypatch, lambda: x.backward(interlock.full((2,), 100.0, dtype=interlock.float64)))
    passes.accumulate(x, 10)
    assert x.grad is not None
    assert x.grad.tolist() == [111, 111]
    assert passes.met == 1


class WithHistory(Function):
    """An identity whose gradient has a history of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return with_history(grad)


def with_history(grad: Tensor) -> Tensor:
    with interlock.enable_grad():
        return grad * interlock.ones_like(grad).requires_grad_()


def by_leaf_hook(x: Tensor) -> Tensor:
    x.register_hook(with_history)
    return x * 1


def by_hook_of_a_result(x: Tensor) -> Tensor:
    y = x.clone()
    y.register_hook(with_history)
    return y


def by_node_hook(x: Tensor) -> Tensor:
    y = x.clone()
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda inputs, results: (with_history(inputs[0]),))
    return y


def by_prehook_of_the_accumulation(x: Tensor) -> Tensor:
    y = x.clone()
    assert y.grad_fn is not None
    accumulation = y.grad_fn.next_functions[0][0]
    assert accumulation is not None
    accumulation.register_prehook(lambda results: (with_history(results[0]),))
    return y


SOURCES = [by_leaf_hook, by_hook_of_a_result, by_node_hook, by_prehook_of_the_accumulation, WithHistory.apply]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("device", ["cpu", "host:0"])
@pytest.mark.parametrize("accumulated", [False, True])
def test_grad_has_no_history_after_a_plain_pass(
    source: Callable[[Tensor], Tensor], device: str, accumulated: bool, devices: tuple[str, ...]
) -> None:
    x = leaf(1, 2, device=device)
    seen: list[bool] = []
    x.register_post_accumulate_grad_hook(lambda x: seen.append(x.grad is not None and x.grad.requires_grad))
    if accumulated:
        x.grad = interlock.ones_like(x)
    source(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == ([2, 2] if accumulated else [1, 1])
    assert not x.grad.requires_grad
    assert x.grad.grad_fn is None
    assert seen == [False]


@pytest.mark.parametrize("source", SOURCES)
def test_retained_and_returned_gradients_have_no_history(source: Callable[[Tensor], Tensor]) -> None:
    x = leaf(1, 2)
    y = x * 2
    source(y).sum().backward(inputs=(x, y))
    assert y.grad is not None
    assert not y.grad.requires_grad
    assert x.grad is not None
    assert not x.grad.requires_grad
    y = x * 2
    for gradient in interlock.autograd.grad(source(y).sum(), (x, y)):
        assert not gradient.requires_grad


def test_the_gradient_of_an_output_has_no_history_in_grad() -> None:
    x = leaf(1, 2)
    x.backward(with_history(interlock.ones(2, dtype=interlock.float64)))
    assert x.grad is not None
    assert not x.grad.requires_grad


@pytest.mark.parametrize("mode", ["all", "any"])
def test_multi_hooks_receive_gradients_without_history(mode: Any) -> None:
    x = leaf(1, 2)
    y = x * 2
    seen: list[Any] = []
    graph.register_multi_grad_hook((y,), seen.append, mode=mode)
    WithHistory.apply(y).sum().backward()
    (gradient,) = seen[0] if mode == "all" else seen
    assert not gradient.requires_grad


def test_gradients_of_a_recorded_pass_keep_their_history() -> None:
    x = leaf(1, 2)
    (gradient,) = interlock.autograd.grad(WithHistory.apply(x).sum(), x, create_graph=True)
    assert gradient.requires_grad


def entering_hooks(log: list[str]) -> Callable[[], object]:
    def enter() -> object:
        hooks = graph.saved_tensors_hooks(lambda t: (log.append("packed"), t)[1], lambda t: t)
        hooks.__enter__()
        return hooks

    return enter


def enter_mode() -> object:
    mode = interlock.no_grad()
    mode.__enter__()
    return mode


def enter_inference_mode() -> object:
    mode = interlock.inference_mode()
    mode.__enter__()
    return mode


def leave_all_open(place: str, enter: Callable[[], object], opened: list[Any]) -> Tensor:
    """Return the result of an operation during whose backward pass `enter` is called."""

    class Entering(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            opened.append(enter())
            return grad

    def hook(*args: Any) -> None:
        opened.append(enter())

    def unpack(tensor: Tensor) -> Tensor:
        hook()
        return tensor

    x = leaf(1, 2)
    if place == "function":
        return Entering.apply(x)
    if place == "unpack hook":
        with graph.saved_tensors_hooks(lambda t: t, unpack):
            return x.exp()
    y = x.clone()
    assert y.grad_fn is not None
    if place == "hook":
        y.register_hook(hook)
    elif place == "leaf hook":
        x.register_hook(hook)
    elif place == "post-accumulate hook":
        x.register_post_accumulate_grad_hook(hook)
    elif place == "prehook of a node":
        y.grad_fn.register_prehook(hook)
    elif place == "multi-grad hook":
        graph.register_multi_grad_hook((x, y), hook)
    else:
        y.grad_fn.register_hook(hook)
    return y


PLACES = [
    "function", "hook", "leaf hook", "multi-grad hook", "hook of a node", "post-accumulate hook",
    "prehook of a node", "unpack hook",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_scopes_that_program_code_leaves_open_end_with_its_node(place: str) -> None:
    log: list[str] = []
    opened: list[Any] = []
    for enter in (entering_hooks(log), enter_mode, enter_inference_mode):
        leave_all_open(place, enter, opened).sum().backward()
        assert opened
        assert interlock.is_grad_enabled()
        assert not interlock.is_inference_mode_enabled()
        x = leaf(3)
        assert (x * x).requires_grad
        assert log == []
    # The exit of a scope that has ended does nothing.
    for scope in opened:
        scope.__exit__(None, None, None)
    assert interlock.is_grad_enabled()


def test_modes_that_a_hook_writes_do_not_reach_the_next_node() -> None:
    x = leaf(1, 2)
    y = x.clone()
    seen: list[bool] = []
    y.register_hook(lambda grad: interlock.set_grad_enabled(True) and None)
    x.register_hook(lambda grad: seen.append(interlock.is_grad_enabled()))
    y.sum().backward()
    assert seen == [False]
    assert interlock.is_grad_enabled()


def test_scopes_around_a_pass_stay_open() -> None:
    x = leaf(1, 2)
    log: list[str] = []
    y = x.clone()
    y.register_hook(lambda grad: enter_mode() and None)
    with graph.saved_tensors_hooks(lambda t: (log.append("packed"), t)[1], lambda t: t):
        y.sum().backward()
        x * x
    assert log == ["packed", "packed"]
    x * x
    assert log == ["packed", "packed"]


def test_prehooks_and_hooks_of_a_node_run_if_its_result_is_an_input() -> None:
    log: list[str] = []
    x = leaf(1)
    y = x.clone()
    assert y.grad_fn is not None
    y.register_hook(lambda grad: log.append("tensor"))
    y.grad_fn.register_prehook(lambda results: log.append("prehook"))
    y.grad_fn.register_hook(lambda inputs, results: log.append(f"hook {inputs}"))
    y.sum().backward(inputs=(y,))
    assert log == ["tensor", "prehook", "hook (None,)"]
    assert x.grad is None
    assert y.grad is not None
    assert y.grad.tolist() == [1]
    log.clear()
    # As in PyTorch, `grad` does not run the node.
    interlock.autograd.grad(x.clone().sum(), x)
    assert log == []


def test_function_of_the_program_runs_if_its_result_is_an_input() -> None:
    log: list[str] = []

    class Noting(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            log.append("backward")
            return grad

    x = leaf(1)
    y = Noting.apply(x)
    y.sum().backward(inputs=(y,))
    assert (log, x.grad) == (["backward"], None)
    y = Noting.apply(x)
    interlock.autograd.grad(y.sum(), y)
    assert log == ["backward"]


def test_saved_tensors_that_no_gradient_needs_are_not_checked() -> None:
    x = leaf(1)
    y = x.exp()
    z = y.sum()
    with interlock.no_grad():
        y.mul_(2)
    for _ in range(2):
        z.backward(inputs=(y,), retain_graph=True)
    assert y.grad is not None
    assert y.grad.tolist() == [2]


def nested(depth: int, work: Callable[[], object]) -> None:
    """Call `work` inside of `depth` backward passes, each of which a hook starts."""

    def hook(grad: Tensor) -> None:
        with interlock.enable_grad():
            if depth > 1:
                nested(depth - 1, work)
            else:
                work()

    y = leaf(1) * 2
    y.register_hook(hook)
    y.sum().backward()


def test_passes_that_move_to_another_thread_have_the_state_of_the_first() -> None:
    seen: list[tuple[bool, int, int]] = []
    log: list[str] = []

    def work() -> None:
        x = leaf(3)
        x * x
        seen.append((interlock.backends.cudnn.benchmark, threading.get_ident(), len(log)))

    with (
        interlock.backends.override({"cudnn.benchmark": True}),
        graph.saved_tensors_hooks(lambda t: (log.append("packed"), t)[1], lambda t: t),
    ):
        nested(60, work)
        log.clear()
        nested(61, work)
    (flag, here, _), (deep_flag, thread, packed) = seen
    assert (flag, deep_flag) == (True, True)
    assert here == threading.get_ident()
    assert thread != here
    assert packed > 0


def test_functions_of_a_deep_pass_run_on_one_thread_of_python() -> None:
    local = threading.local()
    seen: list[int] = []

    def count(grad: Tensor) -> None:
        local.count = getattr(local, "count", 0) + 1
        seen.append(local.count)

    def work() -> None:
        x = leaf(1)
        x.register_hook(count)
        y = x.clone()
        y.register_hook(count)
        y.sum().backward()

    nested(60, work)
    assert seen == [1, 2]


def test_exception_of_a_deep_pass_propagates() -> None:
    def fail() -> None:
        raise KeyError("deep")

    for depth in (1, 60, 61, 150):
        with pytest.raises(KeyError, match="deep"):
            nested(depth, fail)


def views_that_became_leaves() -> dict[str, tuple[Tensor, Tensor]]:
    """Return bases that require grad, and views without history of them."""
    views: dict[str, tuple[Tensor, Tensor]] = {}
    for name, view in {
        "slice": lambda x: x[:2],
        "view": lambda x: x.view(2, 2),
        "expand": lambda x: x.expand(2, 4),
        "select": lambda x: x.select(0, 1),
        "unbind": lambda x: x.unbind()[0],
    }.items():
        base = leaf(1, 1, 1, 1)
        with interlock.no_grad():
            views[name] = base, view(base)
    base = leaf(1, 1)
    with interlock.inference_mode():
        views["inference mode"] = base, base[:1]
    base = leaf(1, 1) * 2
    with interlock.no_grad():
        views["base with history"] = base, base[:1]
    base = interlock.ones(2, dtype=interlock.float64)
    views["base that requires grad later"] = base, base[:1]
    base.requires_grad_()
    return views


@pytest.mark.parametrize("name", views_that_became_leaves())
def test_view_that_became_a_leaf_accumulates_its_gradient(name: str) -> None:
    base, view = views_that_became_leaves()[name]
    assert (view.requires_grad, view.is_leaf) == (True, True)
    log: list[str] = []
    view.register_hook(lambda grad: log.append("hook"))
    (view * 3).sum().backward()
    assert (view.grad, log) == (None, [])
    view.requires_grad_()
    view.register_post_accumulate_grad_hook(lambda view: log.append("accumulated"))
    total = (view * 3).sum()
    (found,) = interlock.autograd.grad(total, view, retain_graph=True)
    total.backward()
    assert view.grad.tolist() == found.tolist() == (interlock.ones_like(view) * 3).tolist()
    assert log == ["hook", "hook", "accumulated"]
    if base.is_leaf:
        assert base.grad is None
        base.requires_grad_(False)
    assert view.requires_grad


def freeze(x: Tensor) -> object:
    return x.requires_grad_(False)


@pytest.mark.parametrize("change", [freeze, Tensor.detach_])
def test_leaf_that_does_not_require_grad_any_more_accumulates_nothing(
    change: Callable[[Tensor], object],
) -> None:
    x, log = leaf(1, 1), []
    x.register_hook(lambda grad: log.append("hook"))
    x.register_post_accumulate_grad_hook(lambda x: log.append("accumulated"))
    x.grad = interlock.ones_like(x)
    total = (x * x).sum()
    edge = graph.get_gradient_edge(x)
    change(x)
    total.backward(retain_graph=True)
    total.backward(inputs=[edge], retain_graph=True)
    assert x.grad.tolist() == [1.0, 1.0]
    # As in PyTorch the hooks of the leaf run, and its gradient can be computed.
    assert log == ["hook", "accumulated"] * 2
    (found,) = interlock.autograd.grad(total, edge, retain_graph=True)
    assert found.tolist() == [2.0, 2.0]
    x.requires_grad_()
    total.backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_leaf_that_a_hook_freezes_accumulates_nothing() -> None:
    for place in (lambda x, y: y, lambda x, y: x):
        x = leaf(1)
        y = x * 2
        place(x, y).register_hook(lambda grad, x=x: freeze(x) and None)
        y.backward()
        assert x.grad is None


@pytest.mark.parametrize("change", [freeze, Tensor.detach_])
def test_leaf_that_became_the_result_of_an_operation_is_an_error(change: Callable[[Tensor], object]) -> None:
    x, other = leaf(1), leaf(1)
    y = x * 2 + other
    edge = graph.get_gradient_edge(x)
    change(x)
    x.add_(other)
    with pytest.raises(
        RuntimeError, match=r"backward: a leaf of the graph was changed in place .* clone\(\)"
    ):
        y.backward(retain_graph=True)
    with pytest.warns(UserWarning, match="the result of an operation"):
        assert x.grad is None
    (found,) = interlock.autograd.grad(y, edge, retain_graph=True)
    assert found.tolist() == [2.0]
    # The new value has a history.
    assert interlock.autograd.grad(x * 3, other)[0].tolist() == [3.0]


def test_pass_accumulates_only_in_its_inputs() -> None:
    for as_edge in (False, True):
        x, z = leaf(1), leaf(1)
        log: list[str] = []
        x.register_hook(lambda grad, log=log: log.append("hook"))
        x.register_post_accumulate_grad_hook(lambda leaf, log=log: log.append("accumulated"))
        root = interlock.autograd.graph.get_gradient_edge(x) if as_edge else x
        one = interlock.ones(1)
        interlock.autograd.backward([root, z * 2], [one, one], inputs=[z])
        assert (x.grad, z.grad.tolist(), log) == (None, [2.0], [])
        # Also with a use of the leaf that the pass does not visit.
        interlock.autograd.backward([root, x * 3, z * 2], [one, one, one], inputs=[z])
        assert (x.grad, z.grad.tolist(), log) == (None, [4.0], [])
        # As in PyTorch the hooks of the only output run.
        x.backward(one, inputs=[x * 2])
        assert (x.grad, log) == (None, ["hook"])
        interlock.autograd.backward([root], [one], inputs=[x])
        assert (x.grad.tolist(), log) == ([1.0], ["hook", "hook", "accumulated"])


def test_hooks_of_several_outputs_run_only_if_an_input_depends_on_them() -> None:
    x, z = leaf(1), leaf(1)
    y = x * 2
    y.retain_grad()
    log: list[list[float]] = []
    y.register_hook(lambda grad: log.append(grad.tolist()))
    interlock.autograd.backward([y, z * 2], [interlock.ones(1)] * 2, inputs=[z])
    assert (x.grad, y.grad, z.grad.tolist(), log) == (None, None, [2.0], [])


def test_leaves_among_the_outputs_are_complete_first() -> None:
    log: list[str] = []
    x, y, z = leaf(1), leaf(1), leaf(1)
    for name, tensor in (("x", x), ("y", y), ("z", z)):
        tensor.register_post_accumulate_grad_hook(lambda leaf, name=name: log.append(name))
    interlock.autograd.backward([y * 2, x, z], [interlock.ones(1)] * 3)
    assert log == ["x", "z", "y"]


def test_signal_interrupts_a_pass_between_small_nodes() -> None:
    assert eval_program("autograd.interrupt_between_small_nodes") == "None"
