"""Scopes of many threads and tasks overlap, in child processes, which a timeout ends if they hang."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_program


def test_overlapping_threads_with_equal_values_join() -> None:
    found = eval_program("settings.scopes.overlap_threads", [1], "raise")
    assert (found["wrong"], found["refused"], found["entered"]) == ([], 0, found["rounds"])
    assert (found["level"], found["held"]) == (0, [])
    assert found["failed"] > 0


def test_overlapping_threads_with_unequal_values_are_refused() -> None:
    found = eval_program("settings.scopes.overlap_threads", [1, 2, 3], "raise")
    assert found["wrong"] == []
    assert found["entered"] + found["refused"] == found["rounds"]
    assert found["entered"] > 0
    assert (found["level"], found["held"]) == (0, [])


def test_overlapping_threads_with_unequal_values_wait() -> None:
    found = eval_program("settings.scopes.overlap_threads", [1, 2, 3], "wait")
    assert (found["wrong"], found["refused"], found["entered"]) == ([], 0, found["rounds"])
    assert (found["level"], found["held"]) == (0, [])


def test_cancelled_tasks_of_several_event_loops_release_what_they_hold() -> None:
    found = eval_program("settings.scopes.cancel_tasks_of_several_event_loops")
    assert (found["wrong"], found["level"], found["held"]) == ([], 0, [])
    assert found["entered"] > 0
    assert found["cancelled"] > 0


def test_forked_child_has_its_own_holds_and_not_those_of_other_threads() -> None:
    results, parent, after = eval_program(
        "settings.scopes.fork_while_other_threads_hold", options=["-W", "ignore::DeprecationWarning"]
    )
    assert results == [[0, 5, [], 2]] * 20
    assert (parent, after) == (1, 0)


@pytest.mark.parametrize("is_in_a_scope", [False, True])
def test_forked_child_records_and_holds_what_another_thread_was_writing(is_in_a_scope: bool) -> None:
    found = eval_program(
        "settings.scopes.fork_inside_a_setter_of_another_thread",
        is_in_a_scope,
        options=["-W", "ignore::DeprecationWarning"],
    )
    assert found == ["fork_inside_a_setter_of_another_thread", 2, 2, 0]


def test_child_forked_at_any_check_of_a_scope_of_another_thread_is_whole(full: bool) -> None:
    wrong, checks, is_restored, still_open = eval_program(
        "settings.forks.fork_at_any_check_of_a_scope_of_another_thread", full, seconds=300
    )
    assert (wrong, is_restored, still_open) == ([], True, 0)
    assert checks > 300


def test_child_forked_inside_of_a_setter_continues_its_scope() -> None:
    assert eval_program("settings.forks.fork_inside_a_setter") == [1, 0, "[1, 5, 0]"]


def test_open_scopes_are_listed_while_other_threads_enter_some() -> None:
    assert eval_program("settings.scopes.list_scopes_while_other_threads_enter_some") == [20_000, 0]
