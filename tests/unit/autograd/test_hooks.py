"""Hooks of tensors and nodes: their order, their results and errors, and the objects that they own."""

from __future__ import annotations

import gc
import os
import traceback
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import interlock
import pytest
from interlock import Tensor
from interlock._core.accelerator import HostCallback
from interlock._core.tensor import _SavedInput
from interlock.autograd import graph
from interlock.errors import ArgumentError, DTypeError, ShapeError
from interlock.utils.checkpoint import checkpoint

from tests.helpers.subprocess import eval_program, eval_python, run_program

ROOT = Path(__file__).parents[3]


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float32, requires_grad=True)


def noting(log: list[str], name: str) -> Callable[..., None]:
    return lambda *args: log.append(name)


def test_hooks_are_called_in_the_order_of_pytorch() -> None:
    log: list[str] = []
    x = leaf(1, 2)
    y = x * 2
    y.register_hook(noting(log, "first hook of y"))
    y.retain_grad()
    y.register_hook(noting(log, "second hook of y"))
    node = y.grad_fn
    assert node is not None
    node.register_hook(noting(log, "after the node of y"))
    node.register_prehook(noting(log, "before the node of y"))
    accumulate = node.next_functions[0][0]
    assert accumulate is not None
    accumulate.register_hook(noting(log, "after the accumulation"))
    accumulate.register_prehook(noting(log, "before the accumulation"))
    x.register_post_accumulate_grad_hook(noting(log, "gradient accumulated"))
    x.register_hook(noting(log, "hook of x"))
    y.sum().backward()
    assert log == [
        "first hook of y",
        "second hook of y",
        "before the node of y",
        "after the node of y",
        "hook of x",
        "before the accumulation",
        "gradient accumulated",
        "after the accumulation",
    ]


def test_register_hook_passes_each_result_to_the_next_hook() -> None:
    x = leaf(1, 2)
    seen: list[Any] = []
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    y.register_hook(lambda grad: seen.append(grad.tolist()))
    y.register_hook(lambda grad: grad + 1)
    y.sum().backward()
    assert seen == [[10.0, 10.0]]
    # The retained gradient is what all hooks have returned, also those that were registered later.
    assert y.grad is not None
    assert y.grad.tolist() == [11.0, 11.0]
    assert x.grad is not None
    assert x.grad.tolist() == [33.0, 33.0]


def test_register_hook_of_a_leaf_receives_the_sum_of_its_gradients_once() -> None:
    x = leaf(2)
    seen: list[Any] = []
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    (x * x + x * 3).sum().backward()
    assert seen == [[7.0]]
    (x * 5).sum().backward()
    assert seen == [[7.0], [5.0]]


def test_register_hook_replaces_the_gradients_of_autograd_grad() -> None:
    x = leaf(1, 2)
    y = x * 2
    x.register_hook(lambda grad: grad * 100)
    y.register_hook(lambda grad: grad * 10)
    by_y, by_x = interlock.autograd.grad(y.sum(), (y, x))
    assert (by_y.tolist(), by_x.tolist()) == ([10.0, 10.0], [2000.0, 2000.0])
    assert x.grad is None


def test_register_hook_before_an_inplace_change_receives_the_old_gradient() -> None:
    x = leaf(1, 1)
    y = x * 1
    seen: list[Any] = []
    y.register_hook(lambda grad: seen.append(("old", grad.tolist())))
    y.mul_(3)
    y.register_hook(lambda grad: seen.append(("new", grad.tolist())))
    y.sum().backward()
    assert seen == [("new", [1.0, 1.0]), ("old", [3.0, 3.0])]


def test_post_accumulate_hook_receives_the_leaf_and_may_drop_its_gradient() -> None:
    x = leaf(1, 2)
    seen: list[Any] = []

    def step(parameter: Tensor) -> None:
        assert parameter.grad is not None
        seen.append((parameter is x, parameter.grad.tolist()))
        parameter.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    (x * 3).sum().backward(inputs=[x])
    assert seen == [(True, [2.0, 2.0]), (True, [3.0, 3.0])]
    assert x.grad is None
    interlock.autograd.grad((x * 2).sum(), x)
    assert len(seen) == 2


def test_post_accumulate_hook_runs_before_older_nodes() -> None:
    log: list[str] = []
    first, second = leaf(2), leaf(3)
    hidden = first * 5
    hidden.register_hook(noting(log, "hidden"))
    second.register_post_accumulate_grad_hook(noting(log, "second"))
    first.register_post_accumulate_grad_hook(noting(log, "first"))
    (hidden * second).sum().backward()
    assert log == ["second", "hidden", "first"]


def test_node_hooks_replace_gradients() -> None:
    x = leaf(1, 2)
    y = x * 2
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda grads: (None if grads[0] is None else grads[0] * 10,))
    y.grad_fn.register_hook(lambda inputs, results: tuple(None if g is None else g + 1 for g in inputs))
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [21.0, 21.0]


@pytest.mark.parametrize(
    ("hook", "error", "text"),
    [
        (lambda g: g[:1], ShapeError, r"must be of shape \(3,\), got shape \(1,\)"),
        (lambda g: g.double(), DTypeError, "must be of dtype float32, got float64"),
        (lambda g: 3, TypeError, "register_hook: the result of the hook must be a Tensor or None, got int"),
    ],
)
def test_wrong_result_of_a_hook_is_an_error(hook: Any, error: type[Exception], text: str) -> None:
    x = leaf(1, 2, 3)
    y = x * 2
    handle = y.register_hook(hook)
    total = y.sum()
    with pytest.raises(error, match=text):
        total.backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    total.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_wrong_results_of_node_hooks_are_errors() -> None:
    x = leaf(1)
    cases: list[tuple[str, Any, type[Exception], str]] = [
        ("register_prehook", lambda grads: grads[0], TypeError, "a tuple of Tensors or None, got Tensor"),
        ("register_prehook", lambda grads: (), ArgumentError, "must be 1, got 0"),
        ("register_prehook", lambda grads: (1, 2), ArgumentError, "must be 1, got 2"),
        ("register_prehook", lambda grads: (1,), TypeError, "must be a Tensor or None, got int"),
        ("register_hook", lambda inputs, results: ("a",), ArgumentError, "must be 2, got 1"),
        ("register_hook", lambda inputs, results: inputs[:1], ArgumentError, "must be 2, got 1"),
        ("register_hook", lambda inputs, results: (inputs[0],) * 2, ArgumentError, "must be None where"),
    ]
    for method, hook, error, text in cases:
        y = x * 2
        getattr(y.grad_fn, method)(hook)
        with pytest.raises(error, match=text):
            y.backward()
        assert x.grad is None


def test_wrong_result_of_a_post_accumulate_hook_is_an_error() -> None:
    for result, error in (
        (interlock.ones(1), RuntimeError),
        (interlock.nn.Parameter(leaf(1)), RuntimeError),
        (5, TypeError),
    ):
        x = leaf(1)
        x.register_post_accumulate_grad_hook(lambda leaf, result=result: result)
        with pytest.raises(error, match="the result of the hook must be None, got"):
            x.sum().backward()


def test_exception_of_a_hook_propagates_with_its_traceback() -> None:
    x = leaf(1, 2)

    def failing(grad: Tensor) -> None:
        raise LookupError("of the hook")

    y = x * 2
    y.register_hook(failing)
    with pytest.raises(LookupError, match="of the hook") as caught:
        y.sum().backward()
    assert "failing" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert interlock.is_grad_enabled()
    assert x.grad is None


def test_hook_runs_in_the_mode_of_the_pass() -> None:
    x = leaf(1)
    seen: list[bool] = []
    x.register_hook(lambda grad: seen.append(interlock.is_grad_enabled()))
    interlock.autograd.grad(x * x, x)
    interlock.autograd.grad(x * x, x, create_graph=True)
    assert seen == [False, True]


def test_hook_may_run_another_backward_pass() -> None:
    x, inner = leaf(1), leaf(5)

    def nested(grad: Tensor) -> Tensor:
        with interlock.enable_grad():
            (inner * inner).backward()
        assert inner.grad is not None
        return grad * inner.grad

    y = x * 2
    y.register_hook(nested)
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [20.0]


def test_remove_ends_a_hook_and_may_be_repeated() -> None:
    x = leaf(1)
    log: list[str] = []
    first, second = x.register_hook(noting(log, "first")), x.register_hook(noting(log, "second"))
    assert first.id < second.id
    first.remove()
    first.remove()
    (x * 2).backward()
    assert log == ["second"]
    with x.register_hook(noting(log, "scoped")) as handle:
        assert isinstance(handle, interlock.utils.hooks.RemovableHandle)
        (x * 2).backward()
    (x * 2).backward()
    assert log == ["second", "second", "scoped", "second"]
    second.remove()
    log.clear()
    y = x + 2
    node = y.grad_fn
    assert node is not None
    before, after = node.register_prehook(noting(log, "before")), node.register_hook(noting(log, "after"))
    y.backward()
    before.remove()
    y.backward()
    after.remove()
    y.backward()
    assert log == ["before", "after", "after"]


def test_hook_that_is_removed_during_its_node_is_still_called() -> None:
    x = leaf(1)
    log: list[str] = []

    def removing(grad: Tensor) -> None:
        log.append("removing")
        later.remove()

    x.register_hook(removing)
    later = x.register_hook(noting(log, "later"))
    (x * 2).backward()
    (x * 2).backward()
    assert log == ["removing", "later", "removing"]


def test_register_hook_refuses_tensors_without_gradient_and_other_objects() -> None:
    plain = interlock.ones(2)
    with pytest.raises(RuntimeError, match="does not require grad"):
        plain.register_hook(lambda grad: None)
    with pytest.raises(RuntimeError, match="does not require grad"):
        plain.register_post_accumulate_grad_hook(lambda leaf: None)
    with pytest.raises(ArgumentError, match="must be a leaf"):
        (leaf(1) * 2).register_post_accumulate_grad_hook(lambda leaf: None)
    with pytest.raises(TypeError, match="register_hook: hook must be callable, got int"):
        leaf(1).register_hook(3)  # type: ignore[arg-type]
    x = leaf(1)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="must be None, got a Tensor"):
        (x * 2).backward()


def test_grad_fn_and_grad_are_one_object() -> None:
    x = leaf(1)
    y = x * 2
    node = y.grad_fn
    assert node is not None
    assert node is y.grad_fn
    accumulate = node.next_functions[0][0]
    assert accumulate is not None
    assert accumulate is node.next_functions[0][0]
    assert accumulate.variable is x
    y.backward()
    assert x.grad is not None
    assert x.grad is x.grad


def test_hook_receives_the_leaf_object_that_a_node_has_made() -> None:
    x = interlock.ones(1, requires_grad=True)
    seen: list[Tensor] = []
    x.register_post_accumulate_grad_hook(seen.append)
    y = x * 2
    assert y.grad_fn is not None
    del x
    node, _ = y.grad_fn.next_functions[0]
    assert node is not None
    variable = node.variable
    y.backward()
    assert [each is variable for each in seen] == [True]


def test_metadata_belongs_to_the_node() -> None:
    y = leaf(1) * 2
    assert y.grad_fn is not None
    y.grad_fn.metadata["key"] = "value"
    assert y.grad_fn.metadata == {"key": "value"}
    assert (leaf(1) * 2).grad_fn.metadata == {}  # type: ignore[union-attr]


def test_backward_with_a_result_as_input_retains_its_gradient() -> None:
    x = leaf(3)
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    (y * y).backward(inputs=[y])
    assert y.grad is not None
    assert (y.grad.tolist(), x.grad, y.retains_grad) == ([120.0], None, True)


class Marker:
    """An object whose end can be observed."""

    leaf: Tensor
    node: object


def node_of(x: Tensor) -> Any:
    """Return the node that accumulates the gradients of a leaf."""
    node = (x * 1).grad_fn
    assert node is not None
    return node.next_functions[0][0]


def _hook_of_a_leaf(marker: Marker) -> None:
    x = leaf(1)
    x.register_hook(lambda grad: print(x, marker))


def _hook_of_a_result(marker: Marker) -> None:
    y = leaf(1) * 2
    y.register_hook(lambda grad: print(y, marker))


def _hook_of_a_node(marker: Marker) -> None:
    node = (leaf(1) * 2).grad_fn
    assert node is not None
    node.register_hook(lambda inputs, results: print(node, marker))


def _post_accumulate_hook(marker: Marker) -> None:
    x = leaf(1)
    x.register_post_accumulate_grad_hook(lambda leaf: print(x, marker))


def _multi_grad_hook(marker: Marker, mode: Literal["all", "any"]) -> None:
    x, y = leaf(1), leaf(1) * 2
    graph.register_multi_grad_hook((x, y), lambda _: print(x, y, marker), mode=mode)
    y.sum().backward(retain_graph=True)


def _multi_grad_hook_of_all(marker: Marker) -> None:
    _multi_grad_hook(marker, "all")


def _multi_grad_hook_of_any(marker: Marker) -> None:
    _multi_grad_hook(marker, "any")


def _metadata(marker: Marker) -> None:
    y = leaf(1) * 2
    assert y.grad_fn is not None
    y.grad_fn.metadata["cycle"] = (y, marker)


def _context_of_a_function(marker: Marker) -> None:
    class Keeping(interlock.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.marker = marker
            return x * 2

    y = Keeping.apply(leaf(1))
    y.grad_fn.result = y


def _hooks_of_saved_tensors(marker: Marker) -> None:
    hooks = graph.saved_tensors_hooks(lambda tensor: (tensor, hooks, marker), lambda packed: packed[0])
    with hooks:
        y = leaf(1).exp()
    y.backward()


def _hooks_of_saved_tensors_without_functions(marker: Marker) -> None:
    # Methods cannot be cleared, so the collector must clear the object itself.
    owner: list[Any] = []
    hooks = graph.saved_tensors_hooks(owner.append, owner.pop)
    owner += [hooks, marker]


def _packed_tensor(marker: Marker) -> None:
    packed: list[Any] = [marker]
    with graph.saved_tensors_hooks(lambda tensor: packed, lambda packed: leaf(1)):
        packed.append(leaf(1).exp())


def _unpack_hook(marker: Marker) -> None:
    results: list[Any] = [marker]
    with graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: results):  # type: ignore[arg-type, return-value]
        results.append(leaf(1).exp())


def _checkpoint(marker: Marker) -> None:
    results: list[Any] = [marker]
    results.append(checkpoint(lambda x: (x.exp(), results)[0], leaf(1)))


def _argument_of_a_checkpoint(marker: Marker) -> None:
    saved: list[Any] = [marker]
    x = leaf(1) * 2
    x.register_hook(lambda _: print(saved))
    saved.append(_SavedInput(x))


def _hook_of_the_node_of_a_leaf(marker: Marker) -> None:
    x = leaf(1)
    node = node_of(x)
    node.register_hook(lambda *_: print(node, x, marker))


def _prehook_of_the_node_of_an_edge(marker: Marker) -> None:
    node = graph.get_gradient_edge(leaf(1)).node
    node.register_prehook(lambda _: print(node, marker))


def _hook_of_a_leaf_beside_its_node(marker: Marker) -> None:
    marker.leaf = leaf(1)
    marker.node = node_of(marker.leaf)
    marker.leaf.register_hook(lambda _: print(marker))
    marker.leaf.register_post_accumulate_grad_hook(lambda _: print(marker))


def _metadata_of_the_node_of_a_leaf(marker: Marker) -> None:
    node = node_of(leaf(1))
    node.metadata["node"] = node, marker


def _packed_argument_of_a_checkpoint(marker: Marker) -> None:
    packed: list[Any] = [marker]
    with graph.saved_tensors_hooks(lambda tensor: packed, lambda packed: leaf(1)):
        packed.append(_SavedInput(leaf(1)))


def _captured_state(
    marker: Marker, use: Callable[[interlock.ThreadState], Any] = lambda state: state
) -> None:
    states: list[Any] = [marker]
    with graph.saved_tensors_hooks(states.append, states.pop):
        states.append(use(interlock.capture()))


def _applied_state(marker: Marker) -> None:
    _captured_state(marker, lambda state: state.apply())


def _function_with_a_state(marker: Marker) -> None:
    _captured_state(marker, lambda state: state.wrap(print))


def _queued_call(marker: Marker) -> None:
    arguments: list[Any] = [marker]
    call = HostCallback(interlock.Stream(device="host:0"), print, (arguments,), {}, [])
    arguments.append(call)


CYCLES = [
    _hook_of_a_leaf,
    _hook_of_the_node_of_a_leaf,
    _prehook_of_the_node_of_an_edge,
    _hook_of_a_leaf_beside_its_node,
    _metadata_of_the_node_of_a_leaf,
    _hook_of_a_result,
    _hook_of_a_node,
    _post_accumulate_hook,
    _multi_grad_hook_of_all,
    _multi_grad_hook_of_any,
    _metadata,
    _context_of_a_function,
    _hooks_of_saved_tensors,
    _hooks_of_saved_tensors_without_functions,
    _packed_tensor,
    _unpack_hook,
    _checkpoint,
    _argument_of_a_checkpoint,
    _packed_argument_of_a_checkpoint,
    _captured_state,
    _applied_state,
    _function_with_a_state,
    _queued_call,
]


def test_cycles_through_tensors_are_collected() -> None:
    # In a process of its own: nothing is collected while another thread waits inside an operation.
    code = f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from tests.unit.autograd.test_hooks import CYCLES, is_collected
        result = [cycle.__name__ for cycle in CYCLES if not is_collected(cycle)]
    """
    assert eval_python(code, env={"INTERLOCK_ACCELERATOR": "host"}) == []


@pytest.mark.parametrize("waiting", ["worker of launched functions", "synchronize"])
def test_cycle_is_collected_while_a_thread_waits(waiting: str) -> None:
    assert eval_program("autograd.cycle_while_a_thread_waits", waiting, env={"INTERLOCK_ACCELERATOR": "host"})


def is_collected(cycle: Callable[[Marker], None]) -> bool:
    """Return whether the garbage collector finds a cycle that contains a marker."""
    marker = Marker()
    observed = weakref.ref(marker)
    cycle(marker)
    del marker
    gc.collect()
    return observed() is None


def test_collection_of_a_shared_tensor_keeps_its_hooks() -> None:
    x = leaf(1)
    log: list[str] = []
    x.register_hook(noting(log, "hook"))
    y = x * 2
    # The Python object of the leaf is part of a cycle; the graph still uses the leaf and its hook.
    cycle: list[Any] = [x]
    cycle.append(cycle)
    del x, cycle
    gc.collect()
    y.backward()
    assert log == ["hook"]


def test_collection_keeps_the_hooks_of_a_leaf_whose_node_is_used() -> None:
    log: list[str] = []
    x, other = leaf(1), leaf(1)
    node = node_of(x)
    for each in (node, node_of(other)):
        each.register_hook(noting(log, "hook"))
    # The program uses the node of `x`, and a graph that it uses contains the node of `other`.
    y = other * 2
    cycle: list[Any] = [x, other, node_of(other)]
    cycle.append(cycle)
    del x, other, each, cycle
    gc.collect()
    (node.variable * 2).backward()
    y.backward()
    assert log == ["hook", "hook"]


@pytest.mark.parametrize("owner", ["graph", "scope", "captured state"])
def test_collection_keeps_the_hooks_of_saved_tensors_that_others_own(owner: str) -> None:
    # On a thread of its own, because the scope of the hooks, which only the cycle refers to, is never left.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(gradient_with_hooks_of_a_cycle, owner).result() == [4.0]


def gradient_with_hooks_of_a_cycle(owner: str) -> list[float]:
    """Return a gradient that is computed with hooks of saved tensors in a cycle of objects."""
    cycle: list[Any] = []
    hooks = graph.saved_tensors_hooks(lambda x, _=cycle: x.tolist(), lambda x, _=cycle: interlock.tensor(x))
    cycle.append(hooks)
    x = leaf(2)
    hooks.__enter__()
    y, state = x * x, interlock.capture()
    if owner != "scope":
        hooks.__exit__(None, None, None)
    del hooks, cycle
    if owner == "graph":
        del state
    gc.collect()
    if owner == "scope":
        del state
        y = x * x
    elif owner == "captured state":
        with state.apply():
            y = x * x
    y.backward()
    assert x.grad is not None
    return list(x.grad.tolist())


def test_hook_is_released_with_its_tensor() -> None:
    marker = Marker()
    observed = weakref.ref(marker)
    x = leaf(1)
    x.register_hook(lambda grad, marker=marker: None)  # type: ignore[misc]
    del x, marker
    assert observed() is None


def test_hooks_of_several_threads_run_on_the_thread_of_their_pass() -> None:
    import threading

    def run(number: int) -> bool:
        seen: list[int] = []
        x = leaf(*range(5000))
        x.register_hook(lambda grad: seen.append(threading.get_ident()))
        for _ in range(5):
            (x * number).sum().backward()
        assert x.grad is not None
        return seen == [threading.get_ident()] * 5 and x.grad[0].item() == 5 * number

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(20)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings(
    "ignore:This process:DeprecationWarning"
)  # "is multi-threaded", since CPython 3.12
def test_hook_that_was_registered_before_a_fork_runs_in_the_child() -> None:
    x = leaf(1)
    x.register_hook(lambda grad: grad * 7)
    child = os.fork()
    if child == 0:
        (x * 2).backward()
        os._exit(0 if x.grad is not None and x.grad.tolist() == [14.0] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_backward_passes_inside_of_each_other_fit_small_stacks() -> None:
    done = run_program("autograd.passes_on_small_stacks")
    assert (done.code, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.slow
def test_backward_passes_inside_of_each_other_are_limited() -> None:
    def again(gradient: Tensor) -> None:
        with interlock.enable_grad():
            x = leaf(1)
            y = x * 2
            y.register_hook(again)
            y.backward()

    x = leaf(1)
    y = x * 2
    y.register_hook(again)
    with pytest.raises(
        RecursionError, match="backward: at most 2000 backward passes can run inside of each other"
    ):
        y.backward()
    (x * 2).backward()
    assert x.grad is not None


@pytest.mark.parametrize("size", [0, 1, 8])
@pytest.mark.parametrize("place", ["hook", "prehook", "multi-grad hook"])
def test_gradient_that_a_hook_has_resized_is_an_error_of_the_next_node(place: str, size: int) -> None:
    x = leaf(1, 2, 3, 4)
    y = x * 2

    def resize(grad: Tensor) -> None:
        grad.resize_(size)

    if place == "hook":
        y.register_hook(resize)
    elif place == "prehook":
        y.grad_fn.register_prehook(lambda grads: resize(grads[0]))
    else:
        graph.register_multi_grad_hook((y,), lambda grads: resize(grads[0]))
    text = (
        r"MulBackward0: a gradient must be of shape \(4,\), or have more dimensions to sum over, "
        rf"got \({size},\): a hook or backward\(\) has resized a gradient"
    )
    for total in (y.sum(), (y * y).sum()):
        with pytest.raises(ShapeError, match=text):
            total.backward(retain_graph=True)
    assert x.grad is None


@pytest.mark.parametrize(
    ("change", "retained"),
    [
        (lambda base, view: view.mul_(3), True),
        (lambda base, view: view.mul_(3).mul_(1), True),
        # The node of the view is replaced when it is next queried.
        (lambda base, view: (base.mul_(3), view.grad_fn), True),
        (lambda base, view: (view[1:].mul_(1), view.mul_(3)), True),
        (lambda base, view: base.mul_(3), False),
        (lambda base, view: view[:].mul_(3), False),
    ],
)
def test_retained_gradient_of_a_changed_view_is_that_of_its_value(change: Any, retained: bool) -> None:
    for uses_new_value in (True, False):
        x = leaf(1, 1)
        base = x * 2
        view = base.view(2)
        view.retain_grad()
        old = view * 7
        change(base, view)
        total = (view * 5 + old if uses_new_value else old).sum()
        total.backward()
        moved = [5.0, 5.0] if uses_new_value else None
        assert x.grad is not None
        assert x.grad.tolist() == ([44.0, 44.0] if uses_new_value else [14.0, 14.0])
        expected = moved if uses_new_value or retained else [7.0, 7.0]
        assert (None if view.grad is None else view.grad.tolist()) == expected


class NoGradient(interlock.autograd.Function):
    """Has a backward function that returns no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> None:
        return None


class Identity(interlock.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, materialize: bool) -> Tensor:
        ctx.set_materialize_grads(materialize)
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None]:
        return grad, None


def test_hooks_of_tensors_without_a_gradient_receive_none() -> None:
    log: list[Any] = []
    x = leaf(1)
    y = x * 2
    node = y.grad_fn
    assert node is not None
    y.register_hook(lambda grad: log.append(("hook of y", grad)))
    node.register_prehook(lambda grads: log.append(("before", grads)))
    node.register_hook(lambda inputs, grads: log.append(("after", inputs, grads)))
    x.register_hook(lambda grad: log.append(("hook of x", grad)))
    accumulate = node.next_functions[0][0]
    assert accumulate is not None
    accumulate.register_prehook(lambda grads: log.append(("before x", grads)))
    accumulate.register_hook(lambda inputs, grads: log.append(("after x", inputs, grads)))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append(("accumulated", leaf.grad)))
    graph.register_multi_grad_hook((x, y), lambda grads: log.append(("all", grads)))
    NoGradient.apply(y).backward(retain_graph=True)
    ends = [
        ("before x", (None,)),
        ("accumulated", None),
        ("after x", (), (None,)),
    ]
    first = [
        ("hook of y", None),
        ("before", (None,)),
        ("after", (None, None), (None,)),
        ("hook of x", None),
        ("all", [None, None]),
    ]
    assert log == first + ends
    assert x.grad is None
    log.clear()
    assert interlock.autograd.grad(NoGradient.apply(y), x, allow_unused=True) == (None,)
    assert log == first


def test_leaf_waits_for_a_use_without_a_gradient() -> None:
    for order in (1, -1):
        log: list[list[float]] = []
        x = leaf(1)
        x.register_hook(lambda grad, log=log: log.append(grad.tolist()))
        uses = [NoGradient.apply, lambda x: x * 3][::order]
        (uses[0](x) + uses[1](x)).backward()
        assert log == [[3.0]]
        assert x.grad is not None
        assert x.grad.tolist() == [3.0]


@pytest.mark.parametrize("source", ["post", "pre", "function"])
def test_function_without_a_gradient_runs_with_zeros_or_none(source: str) -> None:
    for materialize in (True, False):
        x = leaf(1, 2)
        y = Identity.apply(x, materialize)
        z = NoGradient.apply(y) if source == "function" else y * 3
        if source == "post":
            z.grad_fn.register_hook(lambda inputs, grads: (None,) * len(inputs))
        if source == "pre":
            z.grad_fn.register_prehook(lambda grads: (None,))
        z.sum().backward()
        found = None if x.grad is None else x.grad.tolist()
        assert found == ([0.0, 0.0] if materialize else None)


def test_hook_may_not_return_a_gradient_where_there_is_none() -> None:
    for method in ("register_hook", "register_prehook"):
        y = leaf(1) * 2
        owner = y if method == "register_hook" else y.grad_fn
        result = interlock.ones(1) if method == "register_hook" else (interlock.ones(1),)
        getattr(owner, method)(lambda grad, result=result: result)
        with pytest.raises(RuntimeError, match="must be None where the gradient is None, got a tensor"):
            NoGradient.apply(y).backward()


def test_pass_without_a_gradient_ignores_changed_and_released_tensors() -> None:
    x = leaf(1)
    base = x * 1
    y = base * base
    base.add_(1)
    NoGradient.apply(y).backward()
    assert x.grad is None
    z = x * x
    z.backward(retain_graph=True)
    z.backward()
    NoGradient.apply(z).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0]


def test_results_that_detach_keep_their_hooks() -> None:
    log: list[tuple[str, list[float]]] = []
    x = leaf(1)
    y = x * 2
    handle = y.register_hook(lambda grad: log.append(("y", grad.tolist())))
    z = y * 3
    y.detach_().requires_grad_()
    y.register_hook(lambda grad: log.append(("new", grad.tolist())))
    (z + y * 5).backward()
    assert sorted(log) == [("new", [5.0]), ("y", [3.0]), ("y", [5.0])]
    log.clear()
    handle.remove()
    (y * 4).backward()
    (x * 2).backward()
    assert log == [("new", [4.0])]
    assert y.grad is not None
    assert y.grad.tolist() == [9.0]


def test_hook_of_a_detached_result_is_collected() -> None:
    assert eval_program("autograd.hook_of_a_detached_result_is_collected") is True
