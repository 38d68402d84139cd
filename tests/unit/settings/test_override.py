"""Scopes hold settings of the process exclusively, and put back the values of before."""

from __future__ import annotations

import asyncio
import contextvars
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from interlock import settings
from interlock.errors import (
    ArgumentError,
    SettingConflictError,
    SettingValueError,
    SettingWarning,
    UnknownSettingError,
)

from tests.helpers.subprocess import run_program
from tests.helpers.thread_worker import Worker
from tests.unit.settings.library import Library, library

__all__ = ["library"]

LEVEL = "mylib.level"


def levels(value: int, **options: object) -> settings.override:
    return settings.override({LEVEL: value}, **options)  # type: ignore[arg-type]


def test_scope_sets_and_puts_back(library: Library) -> None:
    with levels(2) as scope:
        assert isinstance(scope, settings.override)
        assert repr(scope) == "override(mylib.level=2)"
        assert library.values["level"] == 2
    assert library.values["level"] == 1
    enter, leave = settings.explain(LEVEL).writes[-2:]
    assert (enter.file, enter.new, leave.file, leave.new) == (__file__, 2, __file__, 1)


def test_scope_puts_back_after_an_exception(library: Library) -> None:
    with pytest.raises(KeyError), levels(2):
        raise KeyError
    assert library.values["level"] == 1


def test_nested_scopes_of_one_holder_stack(library: Library) -> None:
    with levels(2):
        with levels(3):
            assert library.values["level"] == 3
            with levels(3):
                assert library.values["level"] == 3
        assert library.values["level"] == 2
    assert library.values["level"] == 1


def test_one_scope_can_be_entered_repeatedly(library: Library) -> None:
    scope = levels(2)
    with scope, scope:
        assert library.values["level"] == 2
    with scope:
        assert library.values["level"] == 2
    assert library.values["level"] == 1
    with pytest.raises(RuntimeError, match="override: exited without being entered"):
        scope.__exit__(None, None, None)


def test_values_are_set_all_or_none(library: Library) -> None:
    with (
        pytest.raises(
            SettingValueError,
            match=r"override: mylib\.fast does not accept 'refused': ValueError: mylib refuses",
        ),
        settings.override({LEVEL: 2, "mylib.tls": 3, "mylib.fast": "refused"}),
    ):
        pytest.fail("entered")
    assert library.values == {"level": 1, "fast": False, "mode": "slow"}
    assert library.get_tls() == 0
    with levels(3):
        assert library.values["level"] == 3


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: settings.override(3), TypeError, "override: values must be a mapping, got int"),
        (
            lambda: levels(1, on_conflict="x"),
            ArgumentError,
            'override: on_conflict must be "raise", "wait" or',
        ),
        (lambda: levels(1, timeout=1), ArgumentError, 'timeout must be None unless on_conflict is "wait"'),
        (lambda: levels("x").__enter__(), SettingValueError, "override: mylib.level must be an int, got 'x'"),  # type: ignore[arg-type]
        (lambda: settings.override({"mylib.x": 1}).__enter__(), UnknownSettingError, 'setting "mylib.x"'),
        (
            lambda: settings.override({"mylib.constant": 1}).__enter__(),
            SettingValueError,
            "override: mylib.constant is read-only",
        ),
    ],
)
def test_wrong_arguments_are_refused(
    library: Library, make: Callable[[], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        make()


def test_other_thread_with_an_equal_value_joins(library: Library, workers: tuple[Worker, Worker]) -> None:
    scope = levels(2)
    with levels(2):
        workers[0].do(scope.__enter__)
    # The last holder puts back.
    assert library.values["level"] == 2
    workers[0].do(lambda: scope.__exit__(None, None, None))
    assert library.values["level"] == 1


def test_other_thread_with_another_value_is_refused_with_both_lines(
    library: Library, workers: tuple[Worker, Worker]
) -> None:
    with levels(2):
        with pytest.raises(SettingConflictError) as caught:
            workers[0].do(levels(3).__enter__)
        assert library.values["level"] == 2
    text = str(caught.value)
    assert text.startswith(f"override: mylib.level is held with the value 2 by the override at {__file__}:")
    assert (
        len(re.findall(re.escape(__file__) + r":\d+", text) + re.findall(r"thread_worker.py:\d+", text)) == 2
    )
    assert "; 3 is requested at " in text


def test_thread_with_a_copied_context_nests(library: Library, workers: tuple[Worker, Worker]) -> None:
    with levels(2):
        context = contextvars.copy_context()
        with_three = levels(3)
        workers[0].do(lambda: context.run(with_three.__enter__))
        assert library.values["level"] == 3
        # A scope of this context would now disturb the one that nests in it.
        with pytest.raises(SettingConflictError), levels(4):
            pytest.fail("entered")
        workers[0].do(lambda: context.run(with_three.__exit__, None, None, None))
        assert library.values["level"] == 2
    assert library.values["level"] == 1


def test_scope_cannot_be_joined_above_the_scope_of_another_holder(
    library: Library, workers: tuple[Worker, Worker]
) -> None:
    with levels(2), levels(3):
        # It would still hold 3 when the outer scope needs 2 again.
        with pytest.raises(
            SettingConflictError,
            match=r"is held with the value 2 by the override at .*, inside of which it is held with the "
            r"value 3 by the override at .*; 3 is requested at ",
        ):
            workers[0].do(levels(3).__enter__)
        with pytest.raises(
            SettingConflictError,
            match=r"is held with the value 3 by the override at [^,]*; 2 is requested at ",
        ):
            workers[0].do(levels(2).__enter__)


def test_scope_that_was_joined_cannot_be_changed_by_a_nested_one(
    library: Library, workers: tuple[Worker, Worker]
) -> None:
    scope = levels(2)
    with levels(2):
        workers[0].do(scope.__enter__)
        with pytest.raises(SettingConflictError), levels(3):
            pytest.fail("entered")
        workers[0].do(lambda: scope.__exit__(None, None, None))
        with levels(3):
            assert library.values["level"] == 3


def test_inner_scope_that_outlives_the_outer_one_keeps_its_value(library: Library) -> None:
    outer, inner = levels(2), levels(3)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert library.values["level"] == 3
    inner.__exit__(None, None, None)
    assert library.values["level"] == 1


def test_scope_exited_in_another_context_is_closed(library: Library) -> None:
    scope = levels(2)
    contextvars.copy_context().run(scope.__enter__)
    scope.__exit__(None, None, None)
    assert library.values["level"] == 1
    with levels(3):
        assert library.values["level"] == 3


def test_third_value_is_left_and_reported(library: Library) -> None:
    with (
        pytest.warns(SettingWarning, match=r"mylib\.level was set to 9 at .*test_override\.py:\d+ while"),
        levels(2),
    ):
        library.set_level(9)
    assert library.values["level"] == 9
    library.set_level(1)


@pytest.mark.parametrize("value", [2, 3])
def test_nested_scope_sets_its_value_over_a_third_one(library: Library, value: int) -> None:
    outer = levels(2)
    outer.__enter__()
    library.set_level(7)
    with levels(value):
        assert library.values["level"] == value
    assert library.values["level"] == 7
    with pytest.warns(SettingWarning, match=r"mylib\.level was set to 7"):
        outer.__exit__(None, None, None)
    assert library.values["level"] == 7
    library.set_level(1)


@pytest.mark.parametrize("make", [lambda: levels(2), lambda: settings.pin({LEVEL: 2})], ids=["scope", "pin"])
def test_joining_scope_or_pin_sets_its_value_over_a_third_one(
    library: Library, workers: tuple[Worker, Worker], make: Callable[[], settings.override | settings.pin]
) -> None:
    outer = levels(2)
    outer.__enter__()
    library.set_level(7)
    scope = workers[0].do(lambda: make().__enter__())
    assert library.values["level"] == 2
    workers[0].do(lambda: scope.__exit__(None, None, None))
    with pytest.warns(SettingWarning, match=r"mylib\.level was set to 7"):
        outer.__exit__(None, None, None)
    assert library.values["level"] == 7
    library.set_level(1)


def test_scope_over_a_third_value_is_joined(library: Library, workers: tuple[Worker, Worker]) -> None:
    outer, inner, joined = levels(2), levels(2), levels(2)
    outer.__enter__()
    library.set_level(7)
    inner.__enter__()
    workers[0].do(joined.__enter__)
    inner.__exit__(None, None, None)
    assert library.values["level"] == 2, "the last scope puts it back"
    workers[0].do(lambda: joined.__exit__(None, None, None))
    assert library.values["level"] == 7
    with pytest.warns(SettingWarning, match=r"mylib\.level was set to 7"):
        outer.__exit__(None, None, None)
    library.set_level(1)


@pytest.mark.parametrize("value", [2, 3])
def test_third_value_is_left_by_scopes_that_end_out_of_order(library: Library, value: int) -> None:
    outer, inner = levels(2), levels(value)
    outer.__enter__()
    library.set_level(7)
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert library.values["level"] == value
    with pytest.warns(SettingWarning, match=r"mylib\.level was set to 7 at .*test_override\.py"):
        inner.__exit__(None, None, None)
    assert library.values["level"] == 7
    library.set_level(1)


def test_value_of_an_alias_whose_scope_has_ended_does_not_come_back(library: Library) -> None:
    outer, alias, inner = (
        settings.override({name: value})
        for name, value in (("mylib.mode", "slow"), ("mylib.fast", True), ("mylib.mode", "slow"))
    )
    for scope in (outer, alias, inner):
        scope.__enter__()
    assert library.values["mode"] == "slow"
    for scope in (alias, inner):
        scope.__exit__(None, None, None)
        assert library.values["mode"] == "slow", "the outer scope holds it"
    outer.__exit__(None, None, None)
    assert library.values == {"level": 1, "fast": False, "mode": "slow"}


def test_values_that_exclude_each_other_are_refused_beside_another_scope(
    library: Library, workers: tuple[Worker, Worker]
) -> None:
    scope = settings.override({"mylib.fast": True, "mylib.mode": "slow"})
    with settings.override({"mylib.mode": "slow"}):
        with pytest.raises(SettingConflictError, match=r"mylib\.mode is held"):
            workers[0].do(scope.__enter__)
        assert library.values["mode"] == "slow"


def test_third_value_is_left_on_this_thread_and_on_new_ones() -> None:
    # As PyTorch's number of threads: OpenMP's number of this thread is one of a new thread's default.
    values = {"total": 2}
    here = threading.local()

    def set_total(value: int) -> None:
        values["total"] = here.value = value

    def get_total() -> int:
        return getattr(here, "value", values["total"])

    def set_mine(value: int) -> None:
        here.value = value

    rows = (
        settings.Setting("mylib.mine", get=get_total, set=set_mine, extent="thread", family="mylib threads"),
        settings.Setting("mylib.own", get=lambda: 2, set=set_mine, family="mylib threads"),
        settings.Setting(
            "mylib.total", get=get_total, set=set_total, family="mylib threads", per_thread_reads=True
        ),
    )
    with settings.register(*rows):
        with (
            pytest.warns(SettingWarning, match=r"mylib\.total was set to 3 .*; it is left as it is"),
            settings.override({"mylib.mine": 1, "mylib.own": 1, "mylib.total": 1}),
        ):
            set_total(3)
        assert (get_total(), values["total"]) == (3, 3)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(get_total).result() == 3


def test_value_of_before_written_inside_is_no_third_value(library: Library) -> None:
    with levels(2):
        library.set_level(1)
    assert library.values["level"] == 1


def test_scope_over_an_alias_of_a_held_setting_is_refused(
    library: Library, workers: tuple[Worker, Worker]
) -> None:
    with settings.override({"mylib.fast": True}):
        with pytest.raises(SettingConflictError, match=r"mylib\.fast is held .* it would change at"):
            workers[0].do(settings.override({"mylib.mode": "slow"}).__enter__)
        assert library.values == {"level": 1, "fast": True, "mode": "quick"}


def test_waiting_thread_enters_when_the_holder_exits(
    library: Library, workers: tuple[Worker, Worker]
) -> None:
    holder = levels(2)
    workers[0].do(holder.__enter__)
    threading.Timer(0.05, lambda: workers[0].do(lambda: holder.__exit__(None, None, None))).start()
    with levels(3, on_conflict="wait", timeout=20):
        assert library.values["level"] == 3
    assert library.values["level"] == 1


def test_waiting_ends_with_the_timeout(library: Library, workers: tuple[Worker, Worker]) -> None:
    holder = levels(2)
    workers[0].do(holder.__enter__)
    start = time.monotonic()
    with pytest.raises(SettingConflictError, match=r"after waiting for 0.05 s$"):
        levels(3, on_conflict="wait", timeout=0.05).__enter__()
    assert time.monotonic() - start >= 0.05
    workers[0].do(lambda: holder.__exit__(None, None, None))


def test_waiting_for_a_holder_on_the_same_thread_is_refused(library: Library) -> None:
    with (
        levels(2),
        pytest.raises(SettingConflictError, match="waiting would block it, because it runs on this thread"),
    ):
        contextvars.Context().run(levels(3, on_conflict="wait").__enter__)


def test_warning_leaves_the_setting_in_conflict_and_sets_the_others(
    library: Library, workers: tuple[Worker, Worker]
) -> None:
    holder = levels(2)
    workers[0].do(holder.__enter__)
    scope = settings.override({LEVEL: 3, "mylib.fast": True}, on_conflict="warn")
    with pytest.warns(SettingWarning, match=r"mylib\.level is left as it is: mylib\.level is held"), scope:
        assert library.values == {"level": 2, "fast": True, "mode": "quick"}
    workers[0].do(lambda: holder.__exit__(None, None, None))
    with settings.override({"mylib.fast": True}), pytest.warns(SettingWarning, match=r"mylib\.mode is left"):
        contextvars.Context().run(
            lambda: (
                settings.override({"mylib.mode": "slow"}, on_conflict="warn")
                .__enter__()
                .__exit__(None, None, None)
            )
        )


def test_settings_of_threads_are_set_for_one_thread(library: Library, workers: tuple[Worker, Worker]) -> None:
    mine, other = settings.override({"mylib.tls": 1}), settings.override({"mylib.tls": 2})
    with mine:
        workers[0].do(other.__enter__)
        assert (library.get_tls(), workers[0].do(library.get_tls)) == (1, 2)
        workers[0].do(lambda: other.__exit__(None, None, None))
        assert (library.get_tls(), workers[0].do(library.get_tls)) == (1, 0)
    assert library.get_tls() == 0


def test_scope_of_a_thread_exited_elsewhere_is_left_and_reported(
    library: Library, workers: tuple[Worker, Worker]
) -> None:
    scope = settings.override({"mylib.tls": 2})
    workers[0].do(scope.__enter__)
    with pytest.warns(SettingWarning, match=r"mylib\.tls is left as it is on thread"):
        scope.__exit__(None, None, None)
    assert (library.get_tls(), workers[0].do(library.get_tls)) == (0, 2)


def test_scopes_of_a_thread_exited_out_of_order_leave_nothing_behind(library: Library) -> None:
    outer, inner = settings.override({"mylib.tls": 1}), settings.override({"mylib.tls": 2})
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert library.get_tls() == 2
    inner.__exit__(None, None, None)
    assert library.get_tls() == 0


def test_settings_of_contexts_are_set_for_one_context(library: Library) -> None:
    seen = []

    def run() -> None:
        with settings.override({"mylib.context": 5}):
            seen.append(library.of_context.get())

    contextvars.copy_context().run(run)
    with settings.override({"mylib.context": 6}):
        seen.append(library.of_context.get())
        contextvars.copy_context().run(run)
        seen.append(library.of_context.get())
    assert (seen, library.of_context.get()) == ([5, 6, 5, 6], 0)


def test_scope_of_a_context_exited_in_another_one_is_left_and_reported(library: Library) -> None:
    scope, context = settings.override({"mylib.context": 5}), contextvars.copy_context()
    context.run(scope.__enter__)
    library.of_context.set(7)
    with pytest.warns(
        SettingWarning, match=r"mylib\.context is left as it is in the context that entered the"
    ):
        scope.__exit__(None, None, None)
    assert (library.of_context.get(), context.run(library.of_context.get)) == (7, 5)
    library.of_context.set(0)


# asyncio


def test_tasks_with_other_values_are_refused(library: Library) -> None:
    async def main() -> None:
        async with levels(2):
            # A task made inside nests; one that was made before does not.
            await asyncio.create_task(nested())
            assert library.values["level"] == 2
            with pytest.raises(SettingConflictError):
                await asyncio.create_task(nested(), context=contextvars.Context())

    async def nested() -> None:
        async with levels(3):
            assert library.values["level"] == 3

    asyncio.run(main())
    assert library.values["level"] == 1


def test_sibling_tasks_inside_one_scope_conflict(library: Library) -> None:
    async def nested(value: int, entered: asyncio.Event) -> None:
        async with levels(value):
            entered.set()
            await asyncio.sleep(60)

    async def main() -> None:
        async with levels(2):
            entered = asyncio.Event()
            task = asyncio.create_task(nested(3, entered))
            await entered.wait()
            with pytest.raises(SettingConflictError):
                await nested(4, asyncio.Event())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert library.values["level"] == 2

    asyncio.run(main())


def test_waiting_task_leaves_the_event_loop_running(library: Library) -> None:
    order = []

    async def hold(value: int) -> None:
        async with levels(value, on_conflict="wait", timeout=20):
            order.append(value)
            await asyncio.sleep(0.01)
            assert library.values["level"] == value
            order.append(value)

    async def main() -> None:
        await asyncio.gather(*(asyncio.create_task(hold(value)) for value in range(2, 12)))

    asyncio.run(main())
    assert sorted(order) == [value for value in range(2, 12) for _ in range(2)]
    assert order[::2] == order[1::2]
    assert library.values["level"] == 1


def test_waiting_task_can_be_cancelled_and_times_out(library: Library) -> None:
    async def main() -> None:
        async with levels(2):
            waiting = asyncio.create_task(wait(60), context=contextvars.Context())
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            with pytest.raises(SettingConflictError, match=r"after waiting for 0\.01 s"):
                await asyncio.create_task(wait(0.01), context=contextvars.Context())
        await wait(60)

    async def wait(seconds: float) -> None:
        async with levels(3, on_conflict="wait", timeout=seconds):
            assert library.values["level"] == 3

    asyncio.run(main())
    assert library.values["level"] == 1


def test_cancelled_task_puts_back(library: Library) -> None:
    async def main() -> None:
        async def hold() -> None:
            async with levels(2):
                await asyncio.sleep(60)

        task = asyncio.create_task(hold())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert library.values["level"] == 2
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert library.values["level"] == 1

    asyncio.run(main())


# Decorators


def test_decorated_function_holds_during_each_call(library: Library) -> None:
    @levels(2)
    def decorated(depth: int) -> object:
        """Return the level."""
        return [library.values["level"], *(decorated(depth - 1) if depth else [])]  # type: ignore[misc]

    assert decorated(2) == [2, 2, 2]
    assert library.values["level"] == 1
    assert (decorated.__name__, decorated.__doc__) == ("decorated", "Return the level.")


def test_decorated_coroutine_function_holds_from_its_first_step_to_its_end(library: Library) -> None:
    @levels(2)
    async def decorated() -> list[object]:
        before = library.values["level"]
        await asyncio.sleep(0)
        return [before, library.values["level"]]

    async def main() -> None:
        task = asyncio.create_task(decorated())
        await asyncio.sleep(0)
        assert library.values["level"] == 2
        assert await task == [2, 2]

    asyncio.run(main())
    assert library.values["level"] == 1


def test_scope_of_a_decorator_has_the_line_of_its_function(library: Library) -> None:
    @levels(2)
    async def coroutine() -> None:
        with pytest.raises(SettingConflictError) as caught:
            await asyncio.to_thread(contextvars.Context().run, levels(3).__enter__)
        errors.append(str(caught.value))

    @levels(2)
    def function() -> None:
        pass

    async def main() -> None:
        await asyncio.create_task(coroutine())

    errors: list[str] = []
    lines = [each.__wrapped__.__code__.co_firstlineno for each in (coroutine, function)]  # type: ignore[attr-defined]
    asyncio.run(main())
    assert f"by the override at {__file__}:{lines[0]} (thread MainThread)" in errors[0]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(function).result()
    writes = settings.explain(LEVEL).writes[-4:]
    assert [(write.file, write.line) for write in writes] == [
        (__file__, line) for line in lines for _ in "12"
    ]
    assert [write.function.rpartition(".")[2] for write in writes if write.function] == [
        *["coroutine"] * 2,
        *["function"] * 2,
    ]


def test_decorated_generator_holds_while_it_runs(library: Library) -> None:
    @levels(2)
    def decorated() -> Iterator[object]:
        yield library.values["level"]
        yield library.values["level"]

    seen = []
    for value in decorated():
        seen += [value, library.values["level"]]
    assert seen == [2, 1, 2, 1]


def test_scope_in_a_suspended_generator_ends_silently_with_the_process() -> None:
    done = run_program("settings.scopes.left_to_a_generator")
    assert (done.code, done.stdout, done.stderr) == (0, "\n1\n", "")


def test_decorator_looks_names_up_at_each_call() -> None:
    decorated = settings.override({"nolib.x": 1})(lambda: None)
    with pytest.raises(UnknownSettingError, match="nolib"):
        decorated()


def test_classes_and_async_generators_are_not_decorated() -> None:
    async def generate() -> object:
        yield 1

    with pytest.raises(TypeError, match="is an async generator, which a decorator cannot hold"):
        levels(2)(generate)
    with pytest.raises(TypeError, match="override: function must be a function, got <class"):
        levels(2)(Library)
