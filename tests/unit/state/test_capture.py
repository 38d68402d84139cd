"""The whole state of a thread, captured and applied elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import gc
import inspect
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import AsyncMock

import interlock
import pytest
from interlock import backends, capture, no_grad
from interlock.backends import cudnn

from tests.helpers.subprocess import eval_python
from tests.helpers.thread_worker import Worker

Seen = tuple[bool, bool, bool, bool]
DEFAULT: Seen = (True, False, True, False)


def seen() -> Seen:
    """Return two modes and two flags of this thread."""
    return (
        interlock.is_grad_enabled(),
        interlock.is_inference_mode_enabled(),
        cudnn.enabled,
        cudnn.deterministic,
    )


def without_cudnn() -> interlock.ThreadState:
    """Return a state with grad mode and cudnn disabled."""
    with no_grad(), backends.override({"cudnn.enabled": False}):
        return capture()


INSIDE: Seen = (False, False, False, False)


@pytest.mark.parametrize(
    "put_in_force",
    [
        lambda state: state.run(seen),
        lambda state: state.wrap(seen)(),
        lambda state: state.apply()(seen)(),
        lambda state: _inside(state.apply()),
    ],
    ids=["run", "wrap", "apply decorates", "apply"],
)
def test_apply_activates_the_state_on_another_thread_until_exit(
    put_in_force: Callable[[interlock.ThreadState], Seen], workers: tuple[Worker, Worker]
) -> None:
    state = without_cudnn()
    assert workers[0].do(lambda: put_in_force(state)) == INSIDE
    assert workers[0].do(seen) == DEFAULT
    assert seen() == DEFAULT


def _inside(scope: contextlib.AbstractContextManager[object]) -> Seen:
    with scope:
        return seen()


def test_apply_hides_the_scopes_of_the_thread() -> None:
    state = without_cudnn()
    with backends.override({"cudnn.deterministic": True}), interlock.inference_mode():
        assert state.run(seen) == INSIDE
        assert seen() == (False, True, True, True)


def test_state_without_flags_follows_the_process(restored: None) -> None:
    state = capture()
    cudnn.deterministic = True
    with cudnn.flags():
        assert state.run(seen) == (True, False, True, True)


def test_pinned_state_keeps_every_flag(restored: None) -> None:
    backends.mkldnn.matmul.fp32_precision = "bf16"
    state = capture(pin=True)
    before = state.run(lambda: {row.name: backends.explain(row.name).value for row in backends.snapshot()})
    cudnn.deterministic = True
    backends.mkldnn.matmul.fp32_precision = "ieee"
    backends.cuda.matmul.allow_tf32 = True
    after = state.run(lambda: {row.name: backends.explain(row.name).value for row in backends.snapshot()})
    assert after == before
    assert before["mkldnn.matmul.fp32_precision"] == "bf16"
    assert {row.level for row in map(state.wrap(backends.explain), before)} <= {"scope", "default"}


def test_scopes_override_pinned_flags() -> None:
    with backends.override({"cudnn.enabled": False}):
        state = capture(pin=True)
    assert state.run(seen) == (True, False, False, False)


def test_install_sets_the_initial_state_of_a_pool_thread() -> None:
    with ThreadPoolExecutor(2, initializer=without_cudnn().install) as pool:
        assert set(pool.map(lambda _: seen(), range(20))) == {INSIDE}
    assert seen() == DEFAULT


def test_install_replaces_the_installed_state(workers: tuple[Worker, Worker]) -> None:
    worker = workers[0]
    state, default = without_cudnn(), capture()
    worker.do(state.install)
    worker.do(default.install)
    assert worker.do(seen) == DEFAULT


def test_install_is_not_affected_by_undoing_an_earlier_write(
    workers: tuple[Worker, Worker],
) -> None:
    worker, state = workers[0], without_cudnn()
    scope = worker.do(lambda: interlock.set_grad_enabled(False))
    worker.do(state.install)
    with_it_open = worker.do(lambda: _inside(scope))
    assert with_it_open == INSIDE
    assert worker.do(seen) == INSIDE


def test_open_scopes_stay_active_above_the_installed_state(workers: tuple[Worker, Worker]) -> None:
    worker, scope = workers[0], interlock.enable_grad()
    worker.do(scope.__enter__)
    worker.do(without_cudnn().install)
    assert worker.do(seen) == (True, False, False, False)
    worker.do(lambda: scope.__exit__(None, None, None))
    assert worker.do(seen) == INSIDE


def test_state_without_flags_hides_the_installed_state(workers: tuple[Worker, Worker]) -> None:
    worker, state = workers[0], capture()

    def install() -> list[Seen]:
        without_cudnn().install()
        return [seen(), state.run(seen)]

    assert worker.do(lambda: state.run(install)) == [DEFAULT, DEFAULT]
    assert worker.do(seen) == INSIDE


def test_writes_are_undone_with_the_state_that_owns_them() -> None:
    def write() -> Seen:
        interlock.set_grad_enabled(True)
        cudnn.enabled = True
        return seen()

    state = without_cudnn()
    assert state.run(write) == (True, False, True, False)
    assert state.run(seen) == INSIDE
    assert seen() == DEFAULT


def test_one_apply_scope_is_entered_twice_and_by_two_threads(workers: tuple[Worker, Worker]) -> None:
    scope = without_cudnn().apply()
    with scope:
        with scope:
            workers[0].do(scope.__enter__)
            assert seen() == INSIDE
        assert seen() == INSIDE
    assert seen() == DEFAULT
    assert workers[0].do(seen) == INSIDE
    workers[1].do(lambda: scope.__exit__(None, None, None))
    assert workers[0].do(no_grad()(seen)) == (False, False, True, False)
    assert workers[0].do(seen) == DEFAULT


def test_run_passes_arguments_and_errors_through() -> None:
    state = without_cudnn()
    assert state.run(lambda *arguments, **named: (arguments, named, seen()), 1, two=2) == (
        (1,),
        {"two": 2},
        INSIDE,
    )
    with pytest.raises(ZeroDivisionError):
        state.run(lambda: 1 // 0)
    assert seen() == DEFAULT


def test_wrapped_generators_and_coroutines_have_the_state_in_each_resume() -> None:
    state = without_cudnn()

    @state.wrap
    def generator() -> Iterator[Seen]:
        yield seen()
        yield seen()

    @state.wrap
    async def coroutine() -> Seen:
        await asyncio.sleep(0)
        return seen()

    @state.wrap
    async def async_generator() -> AsyncIterator[Seen]:
        yield seen()

    async def consume() -> list[Seen]:
        return [await coroutine(), seen()] + [x async for x in async_generator()]

    assert [(inside, seen()) for inside in generator()] == [(INSIDE, DEFAULT)] * 2
    assert inspect.iscoroutinefunction(coroutine)
    assert asyncio.run(consume()) == [INSIDE, DEFAULT, INSIDE]


def test_state_captured_inside_another_is_that_state() -> None:
    inner = without_cudnn().run(capture)
    assert repr(inner) == repr(without_cudnn())
    with backends.override({"cudnn.deterministic": True}):
        assert inner.run(seen) == INSIDE


def test_state_shows_its_modes_and_flags() -> None:
    assert repr(without_cudnn()) == (
        "ThreadState(grad=False, inference=False, multithreading=True, view_replay=False, "
        "layout_policy=True, anomaly=False, anomaly_check_nan=True, cudnn.enabled=False)"
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_states_scopes_and_wrapped_functions_are_pickled_as_plain_data(protocol: int) -> None:
    with (
        no_grad(),
        backends.override({"cudnn.enabled": False, "cudnn.conv.fp32_precision": "tf32"}),
        interlock.device("meta"),
    ):
        state = capture()

    def copied(given: Any) -> Any:
        return pickle.loads(pickle.dumps(given, protocol))

    assert repr(copied(state)) == repr(state)
    assert type(copied(state)) is type(state)
    with copied(state.apply()):
        assert repr(capture()) == repr(state)
    assert copied(state.wrap(seen))() == state.run(seen)
    assert seen() == DEFAULT


def test_pickle_restores_the_state_in_another_process() -> None:
    state = without_cudnn()
    content = pickle.dumps(state.wrap(interlock.capture)).hex()
    code = f"import pickle; result = repr(pickle.loads(bytes.fromhex({content!r}))())"
    assert eval_python(code) == repr(state)


def test_state_with_a_stream_names_what_cannot_be_pickled(devices: tuple[str, ...]) -> None:
    with interlock.Stream(devices[0]):
        state = capture()
    text = "cannot be pickled: its current streams belong to this process"
    for what, given in (("a ThreadState", state), ("the scope of a ThreadState", state.apply())):
        with pytest.raises(TypeError, match=f"^{what} {text}$"):
            pickle.dumps(given)


def test_pickle_that_was_changed_is_refused() -> None:
    make, (modes, flags, device, default_device) = capture().__reduce__()
    for wrong, error in (
        (({"grade": True}, flags, device, default_device), "ThreadState: a mode must be one of grad, "),
        (({"grad": 1}, flags, device, default_device), "ThreadState: a mode must be a bool"),
        ((modes, {"cudnn.enabel": True}, device, default_device), "cudnn.enabel"),
        ((modes, flags, 128, default_device), "a device index must be a number from 0 to 127"),
        ((modes, flags, True, default_device), "ThreadState: device must be an index, got bool"),
        ((modes, flags, device, "nowhere"), "nowhere"),
    ):
        with pytest.raises((TypeError, ValueError, AttributeError), match=error):
            make(*wrong)


def test_wrapped_local_function_names_the_cure_if_it_is_pickled() -> None:
    def local() -> None: ...

    with pytest.raises(
        TypeError, match=r"^wrap: the result of wrapping '.*local' cannot be pickled, .*define it"
    ):
        pickle.dumps(capture().wrap(local))


@capture().wrap
def replaced() -> bool:
    """Wrapped in place of itself."""
    return interlock.is_grad_enabled()


def test_wrapped_function_in_place_of_itself_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(replaced)) is replaced


def test_wrapped_function_is_treated_as_the_function() -> None:
    class Counter:
        count = 3

        @capture().wrap
        def read(self, times: int) -> int:
            """Return a multiple of the count."""
            return self.count * times

    async def coroutine() -> int:
        return 1

    def generator() -> Iterator[int]:
        yield 1

    assert Counter().read(2) == 6
    assert Counter().read.__name__ == "read"
    assert Counter.read.__doc__ == "Return a multiple of the count."
    assert str(inspect.signature(Counter.read)) == "(self, times: 'int') -> 'int'"
    assert inspect.iscoroutinefunction(capture().wrap(coroutine))
    assert inspect.isgeneratorfunction(capture().wrap(generator))
    wrapped = capture().wrap(seen)
    assert copy.copy(wrapped) is wrapped
    assert copy.deepcopy(wrapped) is wrapped


async def coroutine() -> Seen:
    await asyncio.sleep(0)
    return seen()


def generator() -> Iterator[Seen]:
    yield seen()


async def async_generator() -> AsyncIterator[Seen]:
    yield seen()


class Coroutine:
    async def __call__(self) -> Seen:
        return seen()


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (coroutine, "coroutine function 'coroutine'"),
        (functools.partial(coroutine), "coroutine function 'partial'"),
        (Coroutine(), "coroutine function 'Coroutine'"),
        (Coroutine().__call__, "coroutine function 'Coroutine.__call__'"),
        (AsyncMock(), "coroutine function 'AsyncMock'"),
        (no_grad()(coroutine), "coroutine function 'coroutine'"),
        (capture().wrap(coroutine), "coroutine function 'coroutine'"),
        (generator, "generator function 'generator'"),
        (async_generator, "async generator function 'async_generator'"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_run_refuses_functions_whose_body_would_run_without_the_state(
    function: Callable[[], object], named: str
) -> None:
    with pytest.raises(TypeError) as raised:
        without_cudnn().run(function)
    assert str(raised.value) == (
        f"run: function must be a plain function, got the {named}; its body would run without the state; "
        "call the result of wrap instead"
    )
    gc.collect()
    assert seen() == DEFAULT


def test_cure_of_run_works() -> None:
    state = without_cudnn()
    assert asyncio.run(state.wrap(coroutine)()) == INSIDE
    assert list(state.wrap(generator)()) == [INSIDE]
    # A coroutine that runs to its end in the call runs in the state.
    assert state.run(asyncio.run, coroutine()) == INSIDE


@pytest.mark.parametrize("function", [seen, functools.partial(seen), staticmethod(seen), no_grad()(seen)])
def test_run_accepts_every_plain_function(function: Callable[[], Seen]) -> None:
    assert without_cudnn().run(function) == INSIDE


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_state_never_changes_and_is_its_own_copy(duplicate: Callable[[object], object]) -> None:
    state = capture()
    assert duplicate(state) is state


def test_constructor_captures_the_state() -> None:
    with interlock.no_grad():
        assert repr(interlock.ThreadState()) == repr(capture())


@pytest.mark.parametrize(
    "call",
    [
        lambda: capture(True),  # type: ignore[misc]
        lambda: capture(pin=1),  # type: ignore[arg-type]
        lambda: capture().run(),  # type: ignore[call-arg]
        lambda: capture().run(3),  # type: ignore[arg-type]
        lambda: capture().wrap(3),  # type: ignore[type-var]
        lambda: capture().install(3),  # type: ignore[call-arg]
        lambda: interlock.ThreadState(3),  # type: ignore[call-arg]
    ],
)
def test_wrong_call_is_a_type_error(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        call()
    assert seen() == DEFAULT
