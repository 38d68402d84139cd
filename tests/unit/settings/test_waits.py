"""Functions of settings may wait for threads that use other settings. In child processes, which may hang."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_program

USES = (
    "write a variable",
    "write",
    "explain",
    "snapshot",
    "restore",
    "writes",
    "names",
    "enable",
    "register",
    "limits",
    "override",
    "pin",
)


@pytest.mark.parametrize("use", USES)
def test_setter_may_wait_for_a_thread_that_uses_settings(use: str) -> None:
    if use == "write":
        pytest.importorskip("numpy")
    assert eval_program("settings.waits.setter_waits_for_a_thread", use) == [4, 2, []]


def test_getter_may_wait_for_an_import_that_writes_settings_elsewhere() -> None:
    pytest.importorskip("numpy")
    assert eval_program("settings.waits.getter_waits_for_an_import") == 5


@pytest.mark.parametrize(("name", "is_waiting"), [("other", True), ("level", False)])
def test_async_scope_does_not_block_the_event_loop(name: str, is_waiting: bool) -> None:
    found = eval_program("settings.waits.task_enters_while_a_setter_waits", name)
    assert found == [[is_waiting, 1], {"level": 0, "other": 0}]


def test_setter_that_waits_for_a_scope_of_its_setting_gets_an_error() -> None:
    program = "settings.waits.setter_waits_for_a_thread_with_the_same_setting"
    inside, after, errors, held = eval_program(program, "enter")
    assert (inside, after, held) == (1, 0, [])
    assert errors == [
        "override: another thread has been reading or writing mylib.level for 0.2 s: the functions of a "
        "setting must not wait for a thread that sets it"
    ]


def test_setter_that_waits_for_the_end_of_a_scope_of_its_setting_goes_on() -> None:
    program = "settings.waits.setter_waits_for_a_thread_with_the_same_setting"
    inside, after, errors, held = eval_program(program, "exit")
    assert (inside, after, errors, held) == (1, 0, [], [])
