"""Every flag of the table in scopes and under a freeze."""

from __future__ import annotations

from typing import Any

import pytest
from interlock import backends, errors

from tests.unit.backends.flag_specs import FLAGS, STORED, WRONG, Flag, ids, read_all

pytestmark = pytest.mark.usefixtures("restored")

EACH = pytest.mark.parametrize("flag", FLAGS, ids=ids)
EACH_STORED = pytest.mark.parametrize("flag", STORED, ids=ids)
EACH_WRONG = pytest.mark.parametrize(("flag", "wrong"), WRONG, ids=ids)
FROM = pytest.mark.parametrize("start", ["the default", "an assigned value"])


def begin(flag: Flag, start: str) -> object:
    """Assign a value other than the default if the test starts from one; return the value read."""
    if start == "an assigned value":
        flag.set(flag.legal[-1])
    return flag.get()


def of_another_module(flag: Flag) -> str:
    """Return an unrelated boolean flag."""
    return "mkldnn.enabled" if flag.name != "mkldnn.enabled" else "cudnn.enabled"


@EACH
@FROM
def test_override_sets_only_the_named_flag(flag: Flag, start: str) -> None:
    begin(flag, start)
    process, before, epoch = backends.snapshot(), read_all(), backends.epoch()
    untouched = {other.name for other in FLAGS if "32" not in other.name and other is not flag}
    for given, reads in flag.accepted:
        with backends.override(**{flag.name: given}):
            assert flag.get() == reads
            assert all(value == before[name] for name, value in read_all().items() if name in untouched)
            assert backends.snapshot() == process
        assert read_all() == before
    assert (backends.snapshot(), backends.epoch()) == (process, epoch)


@EACH
@FROM
def test_decorated_function_has_the_flag_while_it_runs(flag: Flag, start: str) -> None:
    before = begin(flag, start)
    for given, reads in flag.accepted:

        @backends.override(**{flag.name: given})
        def called(depth: int) -> list[object]:
            return [flag.get(), *(called(depth - 1) if depth else [])]

        assert called(1) == [reads, reads] == called(1)
        assert flag.get() == before


@EACH_WRONG
def test_override_refuses_a_wrong_value_with_the_name_and_changes_nothing(flag: Flag, wrong: object) -> None:
    before = read_all()
    given: dict[str, Any] = {of_another_module(flag): False, flag.name: wrong}
    expected = errors.FlagTypeError if flag.has_wrong_type(wrong) else errors.FlagValueError
    with pytest.raises(expected) as caught:
        backends.override(**given)
    assert str(caught.value).startswith(f"{flag.qualified} ")
    assert all(word in str(caught.value) for word in flag.allowed)
    assert read_all() == before


@EACH
@FROM
def test_write_in_a_scope_that_sets_the_flag_ends_with_it(flag: Flag, start: str) -> None:
    before = begin(flag, start)
    process = backends.snapshot()
    with backends.override(**{flag.name: flag.base}):
        for given, reads in flag.accepted:
            flag.set(given)
            assert flag.get() == reads
        flag.delete()
        assert flag.get() == flag.default, "it is unset in the scope, whatever the process's value"
        assert backends.snapshot() == process
    assert flag.get() == before


@EACH
def test_write_in_a_scope_of_other_flags_is_process_wide(flag: Flag) -> None:
    with backends.override(**{of_another_module(flag): True}):
        flag.set(flag.legal[-1])
    assert flag.get() == flag.legal[-1]


@EACH
@FROM
def test_freeze_refuses_every_way_to_write_the_flag(flag: Flag, start: str) -> None:
    begin(flag, start)
    before, values, epoch = backends.snapshot(), read_all(), backends.epoch()
    with backends.frozen():
        for value in flag.legal:
            with pytest.raises(errors.FlagsFrozenError) as caught:
                flag.set(value)
            assert flag.qualified in str(caught.value)
            assert "test_flag_scopes.py" in str(caught.value), "the line of the freeze"
        with pytest.raises(errors.FlagsFrozenError, match=flag.name):
            flag.delete()
        assert (backends.snapshot(), read_all(), backends.epoch()) == (before, values, epoch)
    flag.set(flag.legal[-1])
    assert flag.get() == flag.legal[-1]


@EACH
@FROM
def test_scopes_can_be_entered_and_exited_under_a_freeze(flag: Flag, start: str) -> None:
    before = begin(flag, start)
    with backends.frozen():
        for given, reads in flag.accepted:
            with backends.override(**{flag.name: given}):
                assert flag.get() == reads
            assert flag.get() == before
        assert backends.flags_frozen()


@EACH
def test_freeze_refuses_a_write_into_a_scope(flag: Flag) -> None:
    with backends.override(**{flag.name: flag.base}), backends.frozen():
        with pytest.raises(errors.FlagsFrozenError, match=flag.name):
            flag.set(flag.legal[-1])
        with pytest.raises(errors.FlagsFrozenError, match=flag.name):
            flag.delete()
        assert flag.get() == flag.base


@EACH_WRONG
def test_wrong_value_is_reported_before_the_freeze(flag: Flag, wrong: object) -> None:
    with backends.frozen(), pytest.raises((errors.FlagTypeError, errors.FlagValueError)):
        flag.set(wrong)
    assert flag.get() == flag.default
