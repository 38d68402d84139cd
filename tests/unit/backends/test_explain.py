"""`explain`, `snapshot`, `restore`, `reset` and `epoch`."""

from __future__ import annotations

import json
import pickle
from enum import Enum

import interlock
import pytest
from interlock import backends, errors

from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program, eval_python
from tests.unit.backends.flag_specs import read_all

pytestmark = pytest.mark.usefixtures("restored")


def test_the_level_is_an_enum_whose_text_is_the_word() -> None:
    level = backends.explain("cudnn.enabled").level
    assert isinstance(level, Enum)
    assert isinstance(level, str)
    assert {str(each) for each in type(level)} == {"scope", "process", "environment", "default"}
    assert pickle.loads(pickle.dumps(level)) is level


def test_explain_suggests_the_near_name_of_one_it_does_not_know() -> None:
    with pytest.raises((AttributeError, LookupError, ValueError), match=r"cudnn\.benchmark\b"):
        backends.explain("cudnn.benchmrak")
    with pytest.raises(TypeError):
        backends.explain(3)


SET_BY = "explain_who_set_a_flag.py"


def test_explain_says_who_set_a_flag_when_asked_to_remember() -> None:
    never, assigned, scoped, after, deleted = eval_program(f"backends/{SET_BY}", env={"INTERLOCK_DEBUG": "1"})
    assert never is None
    assert assigned.endswith(f"{SET_BY}:6")
    assert scoped.endswith(f"{SET_BY}:8")
    assert after == assigned
    assert deleted is None
    assert eval_program(f"backends/{SET_BY}") == [None] * 5


def test_a_snapshot_travels_through_pickle_and_json() -> None:
    backends.cudnn.benchmark_limit = 4
    backends.cudnn.conv.fp32_precision = "ieee"
    taken = backends.snapshot()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(taken, protocol)) == taken
    text = json.dumps(taken)
    assert "cudnn.benchmark_limit" in text
    backends.reset()
    assert backends.snapshot() != taken
    backends.restore(pickle.loads(pickle.dumps(taken)))
    assert backends.snapshot() == taken
    assert (backends.cudnn.benchmark_limit, backends.cudnn.conv.fp32_precision) == (4, "ieee")
    backends.reset()
    backends.restore(json.loads(text))
    assert backends.snapshot() == taken


def test_a_snapshot_does_not_follow_later_writes_and_shows_no_scope() -> None:
    taken = backends.snapshot()
    with backends.cudnn.flags():
        assert backends.snapshot() == taken
    backends.cudnn.enabled = False
    assert backends.snapshot() != taken
    backends.cudnn.enabled = True
    assert backends.snapshot() != taken, "assigned is not the same as unset"
    del backends.cudnn.enabled
    assert backends.snapshot() == taken


def test_restore_and_reset_are_for_the_process_and_leave_scopes_alone() -> None:
    taken = backends.snapshot()
    with backends.override(**{"cudnn.enabled": False}):
        backends.restore(taken)
        assert backends.cudnn.enabled is False
        backends.reset()
        assert backends.cudnn.enabled is False
    assert backends.cudnn.enabled is True


@pytest.mark.parametrize(
    "wrong", [None, 3, "text", {"cudnn.bogus": True}, {"cudnn.enabled": "yes"}], ids=stable_repr
)
def test_restore_refuses_what_is_no_snapshot_and_changes_nothing(wrong: object) -> None:
    backends.cudnn.benchmark = True
    before, values = backends.snapshot(), read_all()
    with pytest.raises((TypeError, ValueError, LookupError, AttributeError)):
        backends.restore(wrong)
    assert (backends.snapshot(), read_all()) == (before, values)


OTHER_PROCESS = """
    import pickle
    from interlock import backends
    backends.restore(pickle.loads(bytes.fromhex({data!r})))
    result = [backends.cudnn.benchmark_limit, backends.fp32_precision, backends.cudnn.enabled]
"""


def test_a_snapshot_restores_in_another_process() -> None:
    backends.cudnn.benchmark_limit = 4
    backends.fp32_precision = "ieee"
    data = pickle.dumps(backends.snapshot()).hex()
    assert eval_python(OTHER_PROCESS.format(data=data)) == [4, "ieee", True]


def test_install_makes_the_process_hold_what_the_snapshot_holds() -> None:
    backends.cudnn.benchmark_limit = 4
    install = pickle.loads(pickle.dumps(backends.snapshot().install))
    held = backends.snapshot()
    backends.reset()
    backends.fp32_precision = "ieee"
    with backends.cudnn.flags():
        install()
        assert backends.cudnn.benchmark_limit == 10, "a scope that is open stays in force"
    assert backends.snapshot() == held


def test_install_writes_nothing_where_the_process_holds_that_already() -> None:
    backends.cudnn.benchmark_limit = 4
    same = backends.snapshot()
    epoch = backends.epoch()
    with backends.frozen():
        pickle.loads(pickle.dumps(same.install))()
    same.install()
    assert backends.epoch() == epoch


@pytest.mark.parametrize("value", [False, True], ids=["another value", "the default, assigned"])
def test_install_is_refused_by_a_freeze_where_it_would_change_something(value: bool) -> None:
    other = backends.snapshot()
    backends.cudnn.enabled = value
    before = backends.snapshot()
    with backends.frozen():
        with pytest.raises(errors.FlagsFrozenError):
            other.install()
        assert backends.snapshot() == before


def test_a_refused_write_does_not_move_the_epoch() -> None:
    start = backends.epoch()
    with pytest.raises(errors.FlagTypeError):
        backends.cudnn.enabled = "yes"
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError):
        backends.cudnn.enabled = False
    assert backends.epoch() == start


def test_scopes_do_not_move_the_epoch() -> None:
    start = backends.epoch()
    with backends.cudnn.flags(), backends.flags("ieee"), interlock.no_grad():
        assert backends.cudnn.enabled is False
    assert backends.epoch() == start
