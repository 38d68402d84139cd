"""`explain`, `snapshot`, `restore`, `reset` and `epoch`."""

from __future__ import annotations

import json
import pickle
import re
from enum import Enum

import interlock
import pytest
from interlock import backends, errors

from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program, eval_python, marked_lines, run_program
from tests.unit.backends.flag_specs import read_all

pytestmark = pytest.mark.usefixtures("restored")


def test_source_is_an_enum_with_the_value_as_text() -> None:
    level = backends.explain("cudnn.enabled").level
    assert isinstance(level, Enum)
    assert isinstance(level, str)
    assert {str(each) for each in type(level)} == {"scope", "process", "environment", "default"}
    assert pickle.loads(pickle.dumps(level)) is level


def test_explain_suggests_a_name_for_an_unknown_flag() -> None:
    with pytest.raises((AttributeError, LookupError, ValueError), match=r"cudnn\.benchmark\b"):
        backends.explain("cudnn.benchmrak")
    with pytest.raises(TypeError):
        backends.explain(3)


SET_BY = "backends.flags.explain_who_set_a_flag"


def test_explain_names_the_line_that_set_a_flag_if_traced() -> None:
    never, assigned, scoped, after, deleted = eval_program(SET_BY, env={"INTERLOCK_DEBUG": "1"})
    lines = marked_lines(SET_BY)
    assert never is None
    assert assigned == lines["assigned"]
    assert scoped == lines["scoped"]
    assert after == assigned
    assert deleted is None
    assert eval_program(SET_BY) == [None] * 5


def test_modules_that_call_for_others_are_not_named() -> None:
    program = "backends.flags.explain_who_set_a_flag_through_other_modules"
    lines = marked_lines(program)
    names = eval_program(program, env={"INTERLOCK_DEBUG": "1"})
    assert names == [lines[mark] for mark in ("stack", "mock", "patch")]


def test_file_whose_path_is_no_utf_8_is_named() -> None:
    program = "backends.flags.print_who_set_a_flag"
    done = run_program(program, list(b"/d\xff/x.py"), env={"INTERLOCK_DEBUG": "1"})
    assert re.fullmatch(r"'/d(\\ufffd)+/x\.py:1'", done.stdout.strip())


def test_explain_names_the_node_from_which_a_precision_is_inherited() -> None:
    name = "cudnn.conv.fp32_precision"
    assert backends.explain(name).inherited_from is None, "the default is its own"
    backends.fp32_precision = "ieee"
    assert backends.explain(name)[1] == "ieee"
    assert backends.explain(name).inherited_from == "fp32_precision"
    with backends.override({"cudnn.fp32_precision": "tf32"}):
        inherited = backends.explain(name)
        assert (inherited.inherited_from, inherited.level) == ("cudnn.fp32_precision", "scope")
    backends.cudnn.conv.fp32_precision = "tf32"
    assert backends.explain(name).inherited_from is None
    assert backends.explain("cudnn.enabled").inherited_from is None


def test_snapshot_can_be_pickled_and_written_as_json() -> None:
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


def test_snapshot_excludes_later_writes_and_scopes() -> None:
    taken = backends.snapshot()
    with backends.cudnn.flags():
        assert backends.snapshot() == taken
    backends.cudnn.enabled = False
    assert backends.snapshot() != taken
    backends.cudnn.enabled = True
    assert backends.snapshot() != taken, "assigned is not the same as unset"
    del backends.cudnn.enabled
    assert backends.snapshot() == taken


def test_restore_and_reset_do_not_affect_scopes() -> None:
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
def test_restore_refuses_an_invalid_snapshot_and_changes_nothing(wrong: object) -> None:
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


def test_snapshot_restores_in_another_process() -> None:
    backends.cudnn.benchmark_limit = 4
    backends.fp32_precision = "ieee"
    data = pickle.dumps(backends.snapshot()).hex()
    assert eval_python(OTHER_PROCESS.format(data=data)) == [4, "ieee", True]


def test_install_sets_the_process_to_the_snapshot() -> None:
    backends.cudnn.benchmark_limit = 4
    install = pickle.loads(pickle.dumps(backends.snapshot().install))
    held = backends.snapshot()
    backends.reset()
    backends.fp32_precision = "ieee"
    with backends.cudnn.flags():
        install()
        assert backends.cudnn.benchmark_limit == 10, "an open scope stays active"
    assert backends.snapshot() == held


def test_install_writes_only_flags_that_differ() -> None:
    backends.cudnn.benchmark_limit = 4
    same = backends.snapshot()
    epoch = backends.epoch()
    with backends.frozen():
        pickle.loads(pickle.dumps(same.install))()
    same.install()
    assert backends.epoch() == epoch


@pytest.mark.parametrize("value", [False, True], ids=["another value", "the default, assigned"])
def test_install_raises_under_a_freeze_if_a_flag_differs(value: bool) -> None:
    other = backends.snapshot()
    backends.cudnn.enabled = value
    before = backends.snapshot()
    with backends.frozen():
        with pytest.raises(errors.FlagsFrozenError):
            other.install()
        assert backends.snapshot() == before


def test_refused_write_does_not_change_the_epoch() -> None:
    start = backends.epoch()
    with pytest.raises(errors.FlagTypeError):
        backends.cudnn.enabled = "yes"
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError):
        backends.cudnn.enabled = False
    assert backends.epoch() == start


def test_scopes_do_not_change_the_epoch() -> None:
    start = backends.epoch()
    with backends.cudnn.flags(), backends.flags("ieee"), interlock.no_grad():
        assert backends.cudnn.enabled is False
    assert backends.epoch() == start
