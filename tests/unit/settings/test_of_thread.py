"""Values of threads of the system, also of those that Python did not start."""

from __future__ import annotations

import gc
import threading
import weakref

from interlock.integrations._of_thread import OfThread

from tests.helpers.subprocess import eval_program


def test_value_outlives_a_call_on_a_thread_that_python_did_not_start() -> None:
    found, here, count = eval_program("settings.of_thread.values_of_a_thread_that_python_did_not_start")
    # Python's own value has ended with the first call.
    assert found == ["of the first call", None]
    assert (here, count) == (None, 0)


def test_forked_child_has_the_value_of_the_thread_that_forked() -> None:
    assert eval_program("settings.of_thread.value_in_a_forked_child") == ["of the main thread", 1]


def test_forked_child_has_its_value_if_another_thread_forks_meanwhile() -> None:
    found = eval_program(
        "settings.of_thread.value_in_a_child_while_another_thread_forks",
        options=["-W", "ignore::DeprecationWarning"],
    )
    assert found == "of the main thread"


def test_each_thread_has_a_value_and_none_frees_it() -> None:
    values: OfThread[list[int]] = OfThread()
    value = [1]
    values.set(value)
    seen: list[list[int] | None] = []
    thread = threading.Thread(target=lambda: seen.append(values.get()))
    thread.start()
    thread.join()
    assert (seen, values.get()) == ([None], [1])
    values.set(None)
    values.set(None)
    assert (values.get(), values._values) == (None, {})


def test_values_that_nothing_uses_are_freed() -> None:
    values: OfThread[int] = OfThread()
    freed = weakref.ref(values)
    del values
    gc.collect()
    assert freed() is None
