"""Locks that are held while a setting is read or written."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from interlock._core.state import HeldLocks
from interlock.settings import _locks


def on_thread(function: Callable[[], object]) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def is_free(lock: threading._RLock) -> bool:
    def acquire() -> bool:
        is_acquired = lock.acquire(blocking=False)
        if is_acquired:
            lock.release()
        return is_acquired

    return bool(on_thread(acquire))


def test_locks_are_held_in_the_block() -> None:
    one, other = locks = threading.RLock(), threading.RLock()
    with HeldLocks(locks, 0) as is_held, HeldLocks(locks, 0) as is_held_again:
        assert (is_held, is_held_again, is_free(one), is_free(other)) == (True, True, False, False)
    assert (is_free(one), is_free(other)) == (True, True)


def test_locks_are_released_by_an_exception() -> None:
    lock = threading.RLock()
    with pytest.raises(KeyError), HeldLocks((lock,), 0):
        raise KeyError
    assert is_free(lock)


@pytest.mark.parametrize("seconds", [0, 0.01])
def test_locks_that_another_thread_keeps_are_not_held(seconds: float) -> None:
    one, other = threading.RLock(), threading.RLock()

    def enter() -> list[bool]:
        with HeldLocks((one, other), seconds) as is_held:
            pass
        return [is_held, is_free(one)]

    with other:
        assert on_thread(enter) == [False, True]


def test_locks_are_released_with_an_object_that_is_never_exited() -> None:
    lock = threading.RLock()
    held = HeldLocks((lock,), 0)
    assert held.__enter__()
    assert not is_free(lock)
    del held
    assert is_free(lock)


def test_error_of_a_lock_releases_the_others() -> None:
    lock = threading.RLock()
    with pytest.raises(AttributeError, match="acquire"), HeldLocks((lock, object()), 0):
        raise AssertionError
    assert is_free(lock)


def test_call_goes_on_without_a_lock_that_another_thread_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_locks, "LONGEST_WAIT", 0.01)
    lock = threading.RLock()
    with lock:
        assert on_thread(lambda: _locks.try_locked((lock,), 0.0, int)) is NotImplemented
        assert on_thread(lambda: _locks.call_locked((lock,), int, "7")) == 7
