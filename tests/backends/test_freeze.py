"""The freeze stops every write however it is spelled, and no scope."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import backends, errors

from tests import child
from tests.flag_table import FLAGS, STORED, WRONG, Flag, ids, read_all

pytestmark = pytest.mark.usefixtures("restored")

ALL = pytest.mark.parametrize("flag", FLAGS, ids=ids)
STARTING = backends.snapshot()
OTHER_WRITERS: dict[str, Callable[[], Any]] = {
    "set_float32_matmul_precision": lambda: interlock.set_float32_matmul_precision("high"),
    "backends.set_flags": lambda: backends.set_flags("ieee"),
    "cudnn.set_flags": lambda: backends.cudnn.set_flags(_benchmark=True),
    "mkldnn.set_flags": lambda: backends.mkldnn.set_flags(_enabled=False),
    "reset": lambda: backends.reset(),
    "restore": lambda: backends.restore(STARTING),
}


@ALL
def test_a_frozen_flag_can_not_be_assigned(flag: Flag) -> None:
    before, values = backends.snapshot(), read_all()
    with backends.frozen():
        with pytest.raises(errors.FlagsFrozenError) as caught:
            flag.set(flag.other)
        assert flag.name in str(caught.value)
        with pytest.raises(errors.FlagsFrozenError, match=flag.name):
            flag.delete()
        assert (backends.snapshot(), read_all()) == (before, values)
    flag.set(flag.other)
    assert flag.get() == flag.other


@pytest.mark.parametrize("write", OTHER_WRITERS.values(), ids=OTHER_WRITERS.keys())
def test_a_freeze_stops_every_other_writer(write: Callable[[], Any]) -> None:
    backends.cudnn.deterministic = True
    before, values = backends.snapshot(), read_all()
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError):
        write()
    assert (backends.snapshot(), read_all()) == (before, values)
    write()
    assert backends.snapshot() != before


@ALL
def test_a_freeze_never_stops_a_scope(flag: Flag) -> None:
    with backends.frozen():
        with backends.override(**{flag.name: flag.other}):
            assert flag.get() == flag.other
        assert flag.get() != flag.other
        with backends.cudnn.flags(enabled=False), backends.mkldnn.flags(), backends.flags("ieee"):
            assert (backends.cudnn.enabled, backends.fp32_precision) == (False, "ieee")
        assert backends.cudnn.enabled is True


@pytest.mark.parametrize("flag", STORED, ids=ids)
def test_a_freeze_stops_a_write_that_would_land_in_a_scope(flag: Flag) -> None:
    with backends.override(**{flag.name: flag.base}), backends.frozen():
        with pytest.raises(errors.FlagsFrozenError, match=flag.name):
            flag.set(flag.other)
        assert flag.get() == flag.base


def test_the_message_says_where_the_freeze_was_called() -> None:
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError, match=r"test_freeze\.py:\d+"):
        backends.cudnn.enabled = False


@pytest.mark.parametrize(("flag", "wrong"), WRONG[::5], ids=ids)
def test_a_wrong_value_is_named_as_such_even_when_frozen(flag: Flag, wrong: object) -> None:
    with backends.frozen(), pytest.raises((errors.FlagTypeError, errors.FlagValueError)):
        flag.set(wrong)
    assert flag.get() == flag.default


def test_scoped_freezes_are_counted() -> None:
    first, second = backends.frozen(), backends.frozen()
    assert backends.flags_frozen() is False
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert backends.flags_frozen() is True
    with pytest.raises(errors.FlagsFrozenError):
        backends.cudnn.enabled = False
    second.__exit__(None, None, None)
    assert backends.flags_frozen() is False
    backends.cudnn.enabled = False
    assert backends.cudnn.enabled is False


def test_an_exception_ends_a_scoped_freeze() -> None:
    with pytest.raises(KeyError), backends.frozen():
        raise KeyError
    assert backends.flags_frozen() is False


def test_a_freeze_is_for_every_thread(workers) -> None:
    def write() -> None:
        backends.cudnn.benchmark = True

    with backends.frozen():
        assert workers[0].do(backends.flags_frozen) is True
        with pytest.raises(errors.FlagsFrozenError):
            workers[0].do(write)
    workers[0].do(write)
    assert backends.cudnn.benchmark is True


def test_the_modes_are_not_flags_and_stay_free() -> None:
    with backends.frozen(), interlock.no_grad():
        assert interlock.is_grad_enabled() is False
        interlock.set_grad_enabled(True)
        assert interlock.is_grad_enabled() is True


ONE_WAY = """
    from interlock import backends, errors
    backends.cudnn.benchmark = True
    assert backends.flags_frozen() is False
    assert backends.disable_global_flags() is None
    with backends.frozen():
        pass
    answer = [backends.flags_frozen()]
    for write in (
        lambda: setattr(backends.cudnn, "benchmark", False),
        lambda: backends.cudnn.set_flags(_enabled=False),
        lambda: backends.reset(),
    ):
        try:
            write()
        except errors.FlagsFrozenError as error:
            answer.append("child_script.py:5" in str(error))
    with backends.cudnn.flags(enabled=False):
        answer.append(backends.cudnn.enabled)
    answer += [backends.cudnn.benchmark, backends.cudnn.enabled, backends.flags_frozen()]
"""


def test_disable_global_flags_is_for_good_and_names_its_caller() -> None:
    assert child.value(ONE_WAY) == [True, True, True, True, False, True, True, True]


def test_loops_of_scopes_on_two_threads_let_no_write_through() -> None:
    done, refused, wrote = threading.Event(), 0, 0

    def loop() -> None:
        while not done.is_set():
            with backends.cudnn.flags(enabled=False), backends.frozen():
                pass

    with backends.frozen():
        threads = [threading.Thread(target=loop) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(2000):
            try:
                backends.cudnn.benchmark = True
                wrote += 1
            except errors.FlagsFrozenError:
                refused += 1
        done.set()
        for thread in threads:
            thread.join(timeout=20)
        assert backends.flags_frozen() is True
    assert (refused, wrote) == (2000, 0)
    assert backends.flags_frozen() is False
    assert backends.cudnn.benchmark is False
