"""An interrupt at any place where CPython looks for signals leaves nothing of a scope that it ends."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import interlock
import pytest
from interlock import accelerator, autograd, backends, testing, threads
from interlock._core.accelerator import _active_recording
from interlock._core.state import BegunAtCreation, ScopeGroup
from interlock.accelerator import memory
from interlock.integrations import _torch_carry, _torch_tf32

from tests.helpers.modes import anomaly_and_hooks
from tests.helpers.signal_checks import AtCheck, check_pending_interrupt


def interrupt() -> None:
    raise KeyboardInterrupt


def check_interrupts(
    make: Callable[[], AbstractContextManager[object]], is_closed: Callable[[], object], least: int = 1
) -> None:
    """Interrupt a scope at each check for signals, and expect that a condition holds after its end."""
    for number in itertools.count():
        at = AtCheck(number, interrupt)
        # The name keeps the object, and so what it would end when it is dropped.
        scope = None
        with contextlib.suppress(KeyboardInterrupt), at:
            scope = make()
            with scope:
                pass
        assert is_closed(), f"check {number} of {scope}"
        if not at.is_called:
            break
    assert number >= least


def is_no_recording_active() -> bool:
    active = _active_recording() is not None
    memory.history(0).stop()
    return not active


def test_interrupted_history_ends() -> None:
    check_interrupts(memory.history, is_no_recording_active)


def test_interrupted_record_memory_history_can_be_ended() -> None:
    class Recorded(contextlib.AbstractContextManager[None]):
        def __exit__(self, *_error: object) -> None:
            pass

    def make() -> Recorded:
        memory.record_memory_history()
        return Recorded()

    def is_ended() -> bool:
        memory.record_memory_history(None)
        return _active_recording() is None

    check_interrupts(make, is_ended, 2)


# An interrupt of `open` leaves the file to the collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupted_trace_ends(tmp_path: Path, devices: tuple[str, ...]) -> None:
    path = tmp_path / "trace.json"

    def is_closed() -> bool:
        # A second trace is refused while one is recorded.
        with accelerator.trace(path):
            pass
        return bool(json.loads(path.read_text())["otherData"])

    check_interrupts(lambda: accelerator.trace(path), is_closed, 20)


def test_interrupted_detection_of_races_ends(devices: tuple[str, ...]) -> None:
    detection = testing.detect_races()
    detectors: list[Any] = []

    class Observed(contextlib.AbstractContextManager[None]):
        def __enter__(self) -> None:
            detectors.append(detection.__enter__())

        def __exit__(self, *error: Any) -> None:
            detection.__exit__(*error)

    def is_closed() -> bool:
        open_ones = [*detection._open, *(races for races in detectors if races._detector is not None)]
        detectors.clear()
        return not open_ones

    check_interrupts(Observed, is_closed, 10)


def test_interrupted_capture_is_discarded(devices: tuple[str, ...]) -> None:
    stream = interlock.Stream(dedicated=True)

    class Captured(contextlib.AbstractContextManager[None]):
        def __init__(self) -> None:
            self.graph = accelerator.Graph()

        def __enter__(self) -> None:
            self.graph.__enter__()
            memory.Buffer(8, stream=stream).fill_(1, stream=stream)

        def __exit__(self, *error: Any) -> None:
            self.graph.__exit__(*error)

    with stream:
        check_interrupts(Captured, lambda: not stream.is_capturing(), 8)


def test_interrupt_before_a_capture_keeps_an_earlier_one(devices: tuple[str, ...]) -> None:
    graph, stream = accelerator.Graph(), interlock.Stream()
    buffer = memory.Buffer(8, stream=stream)
    with stream, graph:
        buffer.fill_(1, stream=stream)
    for number in range(8):
        expected = contextlib.suppress(KeyboardInterrupt, interlock.errors.GraphError)
        with expected, stream, AtCheck(number, interrupt):
            graph.__enter__()
        graph.replay()


@pytest.mark.parametrize(
    "make",
    [
        lambda: autograd.set_detect_anomaly(True, False),
        lambda: autograd.detect_anomaly(False),
        lambda: autograd.graph.disable_saved_tensors_hooks("not here"),
    ],
    ids=["set_detect_anomaly", "detect_anomaly", "disable_saved_tensors_hooks"],
)
def test_scope_of_a_mode_has_no_function_that_an_interrupt_ends(
    make: Callable[[], AbstractContextManager[object]],
) -> None:
    before = anomaly_and_hooks()
    scope = make()
    # The constructor of `set_detect_anomaly` is also a function that sets the mode.
    with scope:
        assert anomaly_and_hooks() != before
    assert anomaly_and_hooks() == before
    assert not inspect.isfunction(type(scope).__enter__)
    assert not inspect.isfunction(type(scope).__exit__)


class Fake:
    """A scope that raises an exception, if it is given one, when it is entered or has ended."""

    def __init__(self, at_enter: Exception | None = None, at_exit: Exception | None = None) -> None:
        self.is_open = False
        self._at_enter, self._at_exit = at_enter, at_exit

    def __enter__(self) -> None:
        if self._at_enter is not None:
            raise self._at_enter
        self.is_open = True

    def __exit__(self, *_error: object) -> None:
        self.is_open = False
        if self._at_exit is not None:
            raise self._at_exit


class Group(ScopeGroup):
    def __init__(self, *scopes: Fake) -> None:
        self._scopes = scopes


def test_group_of_scopes_ends_all_and_raises_the_first_exception() -> None:
    first, second = KeyError("first"), ValueError("second")
    scopes = [Fake(), Fake(at_exit=second), Fake(at_exit=first)]
    group = Group(*scopes)
    group.__enter__()
    assert [each.is_open for each in scopes] == [True, True, True]
    with pytest.raises(KeyError) as raised:
        group.__exit__(None, None, None)
    assert raised.value is first
    assert [each.is_open for each in scopes] == [False, False, False]


def test_group_whose_enter_fails_ends_all_and_raises_that_exception() -> None:
    scopes = [Fake(), Fake(at_exit=ValueError("exit")), Fake(at_enter=KeyError("enter"))]
    with pytest.raises(KeyError, match="enter"):
        Group(*scopes).__enter__()
    assert [each.is_open for each in scopes] == [False, False, False]


def test_pending_interrupt_is_raised_instead_of_an_exception_of_the_exit() -> None:
    class Failing(BegunAtCreation):
        def _exit(self, _exited: list[int]) -> None:
            raise ValueError

    check_pending_interrupt(Failing())


def test_interrupted_creation_of_detect_anomaly_writes_no_mode() -> None:
    check_interrupts(autograd.detect_anomaly, lambda: not interlock.is_anomaly_enabled())


def test_interrupted_mutation_of_saved_tensors_ends() -> None:
    def is_closed() -> bool:
        # A scope inside of another one is refused.
        with autograd.graph.allow_mutation_on_saved_tensors():
            return True

    check_interrupts(autograd.graph.allow_mutation_on_saved_tensors, is_closed, 10)


def test_interrupted_settings_of_checkpoints_end() -> None:
    from interlock.utils import checkpoint

    def check(scope: checkpoint._Setting) -> None:
        check_interrupts(lambda: scope, lambda: not scope._tokens and scope._variable.get() is None, 3)

    check(checkpoint.set_checkpoint_early_stop(False))
    check(checkpoint.set_checkpoint_debug_enabled(True))


def test_interrupted_scope_restores_version_counters() -> None:
    x = interlock.zeros(1)
    before = x._version

    class Changed(contextlib.AbstractContextManager[None]):
        def __init__(self) -> None:
            self.scope = autograd._unsafe_preserve_version_counter(x)

        def __enter__(self) -> None:
            self.scope.__enter__()
            x.add_(1)

        def __exit__(self, *error: Any) -> None:
            self.scope.__exit__(*error)

    check_interrupts(Changed, lambda: x._version == before, 5)


def test_interrupted_limits_of_threads_end() -> None:
    before = interlock.get_num_threads()
    scope = threads.limits(before + 1, pools=["interlock"])
    check_interrupts(lambda: scope, lambda: interlock.get_num_threads() == before, 200)
    with threads.limits(before + 2, pools=["interlock"]):
        assert interlock.get_num_threads() == before + 2


@pytest.mark.parametrize("scope", [backends.mkl.verbose(0), backends.mkldnn.verbose(0)])
def test_verbosity_has_no_function_that_an_interrupt_ends(scope: AbstractContextManager[object]) -> None:
    # Without a library of the vendor, the scope of another level can't be entered.
    assert not inspect.isfunction(type(scope).__enter__)
    assert not inspect.isfunction(type(scope).__exit__)


def test_interrupted_no_tf32_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[object] = []
    functions = {
        "enter": entered.append,
        # Once more after an interrupt, which has no effect.
        "exit": lambda guard: entered.remove(guard) if guard in entered else None,
    }
    monkeypatch.setattr(_torch_tf32, "_functions", lambda: functions)
    scope = _torch_tf32.no_tf32()
    check_interrupts(lambda: scope, lambda: not entered and not any(scope._open.values()), 8)


def test_interrupted_integration_is_released() -> None:
    released: list[None] = []
    for number in itertools.count():
        integration = _torch_carry.Integration("carry", lambda: released.append(None))
        at = AtCheck(number, interrupt)
        with contextlib.suppress(KeyboardInterrupt), at, integration:
            pass
        assert released == [None]
        released.clear()
        if not at.is_called:
            break
    assert number >= 2
