"""Values of other libraries that captured states and tasks carry."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
import random
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import interlock
import pytest
from interlock import Executor, aio, errors
from interlock.state import Registration, register_carried


class Verbosity(threading.local):
    level = 0


verbosity = Verbosity()


def save() -> int:
    return verbosity.level


def restore(level: int) -> None:
    verbosity.level = level


@pytest.fixture
def registration() -> Iterator[Registration]:
    verbosity.level = 0
    with register_carried("verbosity", save, restore) as registration:
        yield registration


def captured(level: int) -> interlock.ThreadState:
    verbosity.level = level
    state = interlock.capture()
    verbosity.level = 0
    return state


def test_captured_value_is_that_of_the_thread_while_the_state_is_active(registration: Registration) -> None:
    one, two = captured(1), captured(2)
    assert one.run(lambda: (save(), two.run(save), save())) == (1, 2, 1)
    assert one.wrap(save)() == 1
    verbosity.level = 7
    with Executor(1) as pool:
        submitted = pool.submit(save)
        verbosity.level = 0
        assert (submitted.result(), pool.submit(save).result(), save()) == (7, 0, 0)


def test_state_puts_back_what_it_has_found_in_any_order(registration: Registration) -> None:
    first, second = captured(1).apply(), captured(2).apply()
    verbosity.level = 9
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert save() == 2
    second.__exit__(None, None, None)
    assert save() == 9


def test_install_sets_the_value_of_a_worker(registration: Registration) -> None:
    with ThreadPoolExecutor(1, initializer=captured(3).install) as pool:
        assert pool.submit(save).result() == 3


def tasks(wrong: list[int]) -> Coroutine[Any, Any, Any]:
    async def child(level: int) -> None:
        wrong[0] += save() != level
        verbosity.level += 1000
        await asyncio.sleep(0.001)
        wrong[0] += save() != level + 1000

    async def work(level: int) -> None:
        verbosity.level = level
        for _ in range(5):
            await asyncio.sleep(random.random() * 0.002)
            wrong[0] += save() != level
        await asyncio.gather(child(level), child(level))
        wrong[0] += save() != level

    async def main() -> None:
        await asyncio.gather(*(work(level) for level in range(1, 100)))

    return main()


def test_tasks_have_values_of_their_own(registration: Registration) -> None:
    wrong = [0]
    aio.run(tasks(wrong))
    assert (wrong, save()) == ([0], 0)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="switches of contexts are reported since Python 3.14")
def test_tasks_and_contexts_of_plain_asyncio_have_values_of_their_own(registration: Registration) -> None:
    wrong = [0]
    asyncio.run(tasks(wrong))
    assert (wrong, save()) == ([0], 0)
    kept = contextvars.copy_context()
    assert kept.run(lambda: (save(), restore(5))) == (0, None)
    assert (save(), kept.run(save)) == (0, 5)
    # A copy of a context that runs, and one that another thread enters, begin with the value of the thread.
    assert kept.run(lambda: (restore(6), contextvars.copy_context().run(save))) == (None, 6)
    copy = kept.run(contextvars.copy_context)
    with ThreadPoolExecutor(1) as pool:
        assert [pool.submit(copy.run, save).result(), pool.submit(save).result()] == [0, 0]
    assert (save(), kept.copy().run(save)) == (0, 6)


def test_tasks_share_the_value_of_their_thread_without_a_registration() -> None:
    wrong = [0]
    thread = threading.Thread(target=lambda: aio.run(tasks(wrong)))
    thread.start()
    thread.join()
    assert wrong[0] > 100


def test_executor_of_a_loop_gives_to_thread_the_values_of_the_task(registration: Registration) -> None:
    async def task(level: int) -> list[int]:
        verbosity.level = level
        await asyncio.sleep(0)
        return [await asyncio.to_thread(save) for _ in range(3)]

    async def main() -> list[list[int]]:
        asyncio.get_running_loop().set_default_executor(Executor())
        return await asyncio.gather(*(task(level) for level in range(1, 20)))

    assert aio.run(main()) == [[level] * 3 for level in range(1, 20)]


def test_exceptions_of_the_functions_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*level: int) -> int:
        raise LookupError("no level")

    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    with register_carried("failing", fail, restore):
        assert interlock.capture().run(save) == save()
    with register_carried("failing", save, fail):
        state = interlock.capture()
        verbosity.level += 1
        assert state.run(save) == save()
    assert [str(each.exc_value) for each in reported] == ["no level"] * len(reported)
    # Saved at the capture, before and after the call; restored before and after it.
    assert len(reported) == 2 + 2


def test_interrupts_of_the_functions_are_raised_after_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts: list[type[BaseException]] = []

    def interrupt(*level: object) -> object:
        if interrupts:
            raise interrupts.pop()
        return object()

    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    for functions in ((interrupt, restore), (object, interrupt)):
        with register_carried("interrupted", *functions):
            state = interlock.capture()
            interrupts.append(KeyboardInterrupt)
            with pytest.raises(KeyboardInterrupt):
                state.run(int)
            assert (interrupts, reported) == ([], [])


def test_value_that_the_thread_has_is_not_restored() -> None:
    values = [["first"], ["second"]]
    present, restored = values[0], []

    def restore_list(value: list[str]) -> None:
        nonlocal present
        restored.append(value)
        present = value

    with register_carried("list", lambda: present, restore_list):
        state = interlock.capture()
        assert state.run(lambda: present) is values[0]
        assert restored == []
        present = values[1]
        assert state.run(lambda: present) is values[0]
        assert restored == values


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, save, restore), "register_carried: name must be a str, got int"),
        (("other", 1, restore), "register_carried: save must be callable, got int"),
        (("other", save, None), "register_carried: restore must be callable, got None"),
    ],
)
def test_arguments_are_checked(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        register_carried(*arguments)


def test_name_is_unique(registration: Registration) -> None:
    message = r'^register_carried: name "verbosity" is registered already$'
    for functions in ((save, save), (restore, restore), (functools.partial(save), restore)):
        with pytest.raises(errors.ArgumentError, match=message):
            register_carried("verbosity", *functions)
    registration.remove()
    register_carried("verbosity", restore, restore).remove()


def renamed(function: Callable[..., Any], result: Callable[..., Any]) -> Callable[..., Any]:
    """Return `result` with the names of a function, as the import of a module again makes one."""
    result.__module__, result.__qualname__ = function.__module__, function.__qualname__
    return result


def test_functions_of_a_reloaded_module_replace_the_earlier_ones(registration: Registration) -> None:
    earlier = captured(1)
    numbers, restored = itertools.count(), list[int]()

    def note(number: int) -> None:
        restored.append(number)

    with register_carried("verbosity", renamed(save, lambda: next(numbers)), renamed(restore, note)):
        # The earlier registration has ended.
        registration.remove()
        interlock.capture().run(list)
        assert restored == [0, 1]
        # A state that was captured before has its functions.
        assert earlier.run(save) == 1
        assert restored == [0, 1]
    called = next(numbers)
    interlock.capture()
    assert next(numbers) == called + 1
