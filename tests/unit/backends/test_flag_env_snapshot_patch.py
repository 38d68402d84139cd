"""Every flag of the table in the environment, in snapshots, in `explain` and under patching tools."""

from __future__ import annotations

import functools
import itertools
import json
import pickle
from typing import Any
from unittest import mock

import pytest
from interlock import backends

from tests.helpers.subprocess import eval_program
from tests.unit.backends.flag_specs import FLAGS, STORED, Flag, ids

pytestmark = pytest.mark.usefixtures("restored")

EACH = pytest.mark.parametrize("flag", FLAGS, ids=ids)
EACH_STORED = pytest.mark.parametrize("flag", STORED, ids=ids)
FROM = pytest.mark.parametrize("start", ["the default", "an assigned value"])

NOT_UNDERSTOOD = ("maybe", "", "-1", "1,0,1")
"""Values that no flag accepts."""


def text_of(value: object) -> str:
    """Return a value in the format of a variable."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return ",".join(map(text_of, value)) if isinstance(value, tuple | list) else str(value)


def spelled(flag: Flag) -> list[tuple[str, object]]:
    """Return texts for the variable, each with the value that the flag then reads as.

    A node that is set to `none` reads as its parent, which a separate test covers.
    """
    if flag.attribute == "fp32_precision":
        return [(text_of(value), value) for value in flag.legal if value != "none"]
    return [(text_of(given), reads) for given, reads in flag.accepted if given is not None]


def as_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


@functools.cache
def read_with(number: int, *, views: bool) -> Any:
    """Return all values and warnings of a process in which each variable has its text with this number."""
    flags = [flag for flag in FLAGS if flag.is_view is views]
    variables = {flag.variable: spelled(flag)[number % len(spelled(flag))][0] for flag in flags}
    last = {flag.name: flag.legal[-1] for flag in flags}
    return eval_program("backends.imports.read_every_flag", last, env=variables)


@EACH
def test_variable_sets_the_flag_unless_it_is_assigned(flag: Flag) -> None:
    for number, (_, reads) in enumerate(spelled(flag)):
        values, warned = read_with(number, views=flag.is_view)
        assert values[flag.name] == [
            list(reads) if isinstance(reads, tuple) else reads,
            "environment",
            flag.variable,
        ]
        assert warned == []


def accepts_texts(flag: Flag) -> bool:
    """Return whether a flag accepts any text."""
    return flag.default == ""


@functools.cache
def read_with_text(text: str) -> Any:
    """Return all values and warnings of a process in which every variable has this text."""
    last = {flag.name: flag.legal[-1] for flag in FLAGS}
    return eval_program("backends.imports.read_every_flag", last, env={flag.variable: text for flag in FLAGS})


def allowed_in_the_environment(flag: Flag) -> tuple[str, ...]:
    return ("0, 1, false or true",) if any(isinstance(value, bool) for value in flag.legal) else flag.allowed


@EACH
@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_invalid_variable_warns_once_and_is_ignored(flag: Flag, text: str) -> None:
    values, warned = read_with_text(text)
    assert len(warned) == sum(not accepts_texts(each) for each in FLAGS)
    if accepts_texts(flag):
        assert values[flag.name][:2] == [text, "environment"]
        return
    assert values[flag.name] == [as_json(flag.default), "default", None]
    (message,) = (each for each in warned if each.startswith(f"{flag.variable} "))
    assert f"{flag.qualified} " in message
    assert text in message
    for word in allowed_in_the_environment(flag):
        assert word in message


def start_and_other(flag: Flag, start: str) -> tuple[Any, Any]:
    """Return the initial value, which is assigned if it is not the default, and another one for the patch."""
    if start == "an assigned value":
        flag.set(flag.legal[-1])
        return flag.get(), flag.base
    return flag.get(), flag.legal[-1]


@EACH
@FROM
def test_mock_patch_object_restores_the_whole_state(flag: Flag, start: str) -> None:
    first, second = start_and_other(flag, start)
    before = backends.snapshot()
    with mock.patch.object(flag.owner, flag.attribute, second):
        assert flag.get() == second
    assert flag.get() == first
    assert backends.snapshot() == before, "value and level of every flag"
    flag.set(second)
    assert flag.get() == second, "no instance attribute shadows the flag"


@EACH
@FROM
def test_monkeypatch_restores_the_value(flag: Flag, start: str) -> None:
    """It assigns the value that it read, so an unset flag is assigned afterwards: see `ARCHITECTURE.md`."""
    first, second = start_and_other(flag, start)
    before = backends.snapshot()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flag.owner, flag.attribute, second)
        assert flag.get() == second
    assert flag.get() == first
    if start == "an assigned value":
        assert backends.snapshot() == before


@EACH
@FROM
def test_snapshot_restores_the_flag_also_through_pickle_and_json(flag: Flag, start: str) -> None:
    first, second = start_and_other(flag, start)
    explained = backends.explain(flag.name)
    taken = backends.snapshot()
    ways = [taken, json.loads(json.dumps(taken))]
    ways += [pickle.loads(pickle.dumps(taken, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for again in ways:
        flag.set(second)
        backends.restore(again)
        assert flag.get() == first
        assert backends.explain(flag.name) == explained
        assert backends.snapshot() == taken
    assert ways[2:] == [taken] * (len(ways) - 2)


@EACH
def test_explain_returns_the_value_and_its_source(flag: Flag) -> None:
    def seen() -> tuple[Any, ...]:
        explanation = backends.explain(flag.name)
        assert explanation._fields == (
            *("name", "value", "level", "set_by", "effective", "overridden_by", "affects"),
            "inherited_from",
        )
        assert explanation.name == flag.name
        assert explanation.set_by is None, "it is recorded only under INTERLOCK_DEBUG=1"
        assert (explanation.effective, explanation.overridden_by) == (explanation.value, None)
        assert isinstance(explanation.affects, str)
        assert explanation.affects
        return explanation.value, explanation.level

    last = flag.legal[-1]
    assert seen() == (flag.default, "default")
    flag.set(last)
    assert seen() == (last, "process")
    with backends.override(**{flag.name: flag.base}):
        assert seen() == (flag.base, "scope")
        flag.delete()
        assert seen() == (flag.default, "scope")
    assert seen() == (last, "process")
    flag.delete()
    assert seen() == (flag.default, "default")


@EACH
def test_epoch_increases_with_every_change_of_the_process(flag: Flag) -> None:
    seen = [backends.epoch()]
    for value in flag.legal:
        flag.set(value)
        seen.append(backends.epoch())
        flag.delete()
        seen.append(backends.epoch())
    assert all(earlier < later for earlier, later in itertools.pairwise(seen))
    with backends.override(**{flag.name: flag.legal[-1]}):
        flag.set(flag.base)
    assert backends.epoch() == seen[-1]
