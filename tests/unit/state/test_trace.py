"""What `INTERLOCK_DEBUG=1` tells of scopes that are open, or were left, where nobody expects it."""

from __future__ import annotations

import re
import textwrap

import interlock
import pytest

from tests.helpers.subprocess import eval_python, run_python

TRACED = {"INTERLOCK_DEBUG": "1"}
PREAMBLE = textwrap.dedent("""\
    import asyncio, contextlib, threading, warnings
    import interlock
    from interlock import aio, backends, enable_grad, no_grad

    def on_a_thread(action):
        thread = threading.Thread(target=action)
        thread.start()
        thread.join()

    caught = warnings.catch_warnings(record=True)
    told = caught.__enter__()
    warnings.simplefilter("always")
    """)
ENDING = """
caught.__exit__()
result = [[each.category.__name__, str(each.message), f"{each.filename}:{each.lineno}"] for each in told]
"""


def told_by(code: str) -> list[tuple[str, list[str], str]]:
    """Run `code` traced and return each warning: category, marks of the lines it names, mark of its own line.

    A line of the code is marked by a comment at its end.
    """
    text = PREAMBLE + textwrap.dedent(code)
    marks = {str(number): line.rpartition("# ")[2] for number, line in enumerate(text.splitlines(), 1)}
    named = re.compile(r"child_script\.py:(\d+)")
    return [
        (category, [marks[line] for line in named.findall(message)], marks[own.rpartition(":")[2]])
        for category, message, own in eval_python(text + ENDING, env=TRACED)
    ]


UNDECORATED = """
    def numbers():
        with {scope}:  # entered
            yield 1

    for number in numbers():
        {consumer}  # seen
        {consumer}  # seen again
"""


@pytest.mark.parametrize(
    "scope",
    [
        "no_grad()",
        "interlock.inference_mode()",
        "interlock.set_grad_enabled(False)",
        "backends.override({'cudnn.enabled': False})",
        "backends.cudnn.flags()",
        "interlock.capture().apply()",
    ],
)
def test_a_scope_open_in_a_suspended_generator_is_told_once_with_both_places(scope: str) -> None:
    consumer = "interlock.is_grad_enabled()"
    told = told_by(UNDECORATED.format(scope=scope, consumer=consumer))
    assert told == [("ScopeWarning", ["entered", "seen"], "seen")]


@pytest.mark.parametrize(
    "consumer",
    [
        "interlock.is_inference_mode_enabled()",
        "interlock.set_grad_enabled(True)",
        "interlock.capture()",
        "enable_grad().__enter__()",
        "interlock.ones(2) * 2",
        "backends.override({'cudnn.enabled': False}).__enter__()",
    ],
)
def test_whatever_meets_such_a_scope_tells(consumer: str) -> None:
    told = told_by(UNDECORATED.format(scope="no_grad()", consumer=consumer))
    assert ("ScopeWarning", ["entered", "seen"], "seen") in told


def test_tasks_that_share_a_state_are_told() -> None:
    told = told_by("""
        async def first():
            with no_grad():  # entered
                await asyncio.sleep(0)

        async def second():
            with enable_grad():  # entered by the other
                await asyncio.sleep(0)

        async def main():
            await asyncio.gather(first(), second())

        asyncio.run(main())
    """)
    category, lines, _ = told[0]
    assert (category, lines) == ("ScopeWarning", ["entered", "entered by the other"])


def test_tasks_with_a_state_of_their_own_have_nothing_to_tell() -> None:
    told = told_by("""
        async def first():
            with no_grad():
                await asyncio.sleep(0)

        async def main():
            with enable_grad():
                await asyncio.gather(first(), first())

        aio.run(main())
    """)
    assert told == []


def test_a_leave_out_of_order_is_told_with_what_stays_open() -> None:
    told = told_by("""
        first, second = no_grad(), enable_grad()
        first.__enter__()  # entered
        second.__enter__()  # entered later
        first.__exit__(None, None, None)  # left
        second.__exit__(None, None, None)
    """)
    assert told == [("ScopeWarning", ["entered", "left", "entered later"], "left")]


def test_a_leave_on_another_thread_is_told_with_both_places() -> None:
    told = told_by("""
        scope = backends.override({"cudnn.enabled": False})
        scope.__enter__()  # entered

        def leave():
            scope.__exit__(None, None, None)  # left

        on_a_thread(leave)
    """)
    assert told == [("ScopeWarning", ["entered", "left"], "left")]


def test_a_scope_that_is_open_when_the_process_ends_is_told() -> None:
    code = (
        PREAMBLE
        + "def leaves_open():\n    no_grad().__enter__()\n\nleaves_open()\non_a_thread(leaves_open)\n"
    )
    done = run_python(code + "caught.__exit__()\n", env=TRACED)
    assert done.code == 0
    line = PREAMBLE.count("\n") + 2
    assert done.stderr.count(f"child_script.py:{line}: ScopeWarning: ") == 2


def test_scopes_of_threads_and_tasks_that_have_ended_are_open_no_longer_and_told_once_at_the_end() -> None:
    code = PREAMBLE + textwrap.dedent("""\
        def leaves_open():
            for _ in range(3):
                no_grad().__enter__()  # entered

        async def work():
            leaves_open()

        on_a_thread(leaves_open)
        aio.run(work())
        caught.__exit__()

        import gc, time
        deadline = time.monotonic() + 30
        while interlock.state.open_scopes() and time.monotonic() < deadline:
            # Python's part of a thread is joined before the rest of it has ended.
            gc.collect()
            time.sleep(0.01)
        print(interlock.state.open_scopes())
        """)
    done = run_python(code, env=TRACED)
    assert (done.code, done.stdout) == (0, "[]\n")
    line = code[: code.index("# entered")].count("\n") + 1
    told = "the scope entered here was still open when its thread or task ended"
    assert done.stderr.count("ScopeWarning: ") == 1
    assert f"child_script.py:{line}: ScopeWarning: {told}" in done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "with no_grad(), backends.cudnn.flags(), interlock.capture().apply():\n    interlock.capture()",
        "@no_grad()\ndef numbers():\n    yield 1\n\nfor _ in numbers():\n    interlock.is_grad_enabled()",
        "@contextlib.contextmanager\ndef quiet():\n    with no_grad():\n        yield\n\n"
        "with quiet():\n    interlock.is_grad_enabled()",
        "with contextlib.ExitStack() as stack:\n    stack.enter_context(no_grad())\n    interlock.capture()",
        "async def work():\n    with no_grad():\n        await asyncio.sleep(0)\n\nasyncio.run(work())",
        "interlock.set_grad_enabled(False)\ninterlock.set_grad_enabled(True)",
    ],
    ids=["with", "decorated generator", "contextmanager", "ExitStack", "one task", "function"],
)
def test_ordinary_programs_have_nothing_to_tell(code: str) -> None:
    assert told_by(code) == []


def test_a_warning_that_is_an_error_leaves_the_state_right() -> None:
    seen = eval_python(
        PREAMBLE
        + textwrap.dedent("""
        warnings.simplefilter("error")

        def numbers():
            with no_grad():
                yield 1

        generator = numbers()
        next(generator)
        scope = enable_grad()
        try:
            scope.__enter__()
        except interlock.errors.ScopeWarning:
            result = [interlock.is_grad_enabled()]
        generator.close()
        result.append(interlock.is_grad_enabled())
        """)
        + "caught.__exit__()\n",
        env=TRACED,
    )
    assert seen == [False, True]


def test_without_the_variable_nothing_is_kept() -> None:
    with interlock.no_grad():
        assert interlock.state.open_scopes() == []
    where = eval_python(
        "import interlock\nwith interlock.no_grad():\n    result = interlock.state.open_scopes()", env=TRACED
    )
    assert [each.rpartition("/")[2] for each in where] == ["child_script.py:2"]
