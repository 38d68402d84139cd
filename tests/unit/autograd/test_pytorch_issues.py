"""Issues of PyTorch about gradient modes, and interlock's behaviour (docs/pytorch_issues.md)."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import interlock
import pytest
from interlock import backends

from tests.helpers.subprocess import eval_program, marked_lines, run_program
from tests.helpers.thread_worker import Worker
from tests.unit.autograd.mode_cases import HIDDEN, MODES, START, State, all_modes, public_modes
from tests.unit.autograd.test_decorator_matrix import DECORATORS
from tests.unit.backends.flag_specs import read_all

Pair = tuple[Worker, Worker]
Look = Callable[[], Any]


# PyTorch: a decorated coroutine or async generator is in the mode only while it is created.

ROW_03: dict[str, tuple[Callable[[], Any], Look]] = {
    "no_grad": (interlock.no_grad, public_modes),
    "inference_mode": (interlock.inference_mode, public_modes),
    "cudnn.flags": (backends.cudnn.flags, read_all),
    "override": (lambda: backends.override({"cudnn.benchmark": True}), read_all),
}


@pytest.mark.parametrize(("make", "look"), ROW_03.values(), ids=ROW_03.keys())
def test_decorated_coroutine_affects_only_its_own_task(make: Callable[[], Any], look: Look) -> None:
    without = look()
    with make():
        held = look()

    @make()
    async def numbers() -> AsyncIterator[Any]:
        yield look()
        await asyncio.sleep(0)
        yield look()

    @make()
    async def decorated() -> list[Any]:
        await asyncio.sleep(0)
        return [look(), *[seen async for seen in numbers()], look()]

    async def plain() -> list[Any]:
        seen = []
        for _ in range(8):
            seen.append(look())
            await asyncio.sleep(0)
        return [*seen, *[look() async for _ in numbers()]]

    async def main() -> list[list[Any]]:
        return await asyncio.gather(decorated(), plain(), decorated(), plain())

    assert inspect.iscoroutinefunction(decorated)
    assert inspect.isasyncgenfunction(numbers)
    assert asyncio.run(main()) == [[held] * 4, [without] * 10] * 2
    assert look() == without


# PyTorch: the context manager stores the value to restore, so entering it twice loses that value.

ROW_12: dict[str, tuple[Callable[[], Any], Look]] = {
    **{name: (mode.make, public_modes) for name, mode in MODES.items()},
    "cudnn.flags": (backends.cudnn.flags, read_all),
    "override": (lambda: backends.override({"cudnn.benchmark": True}), read_all),
}


@pytest.mark.parametrize(("make", "look"), ROW_12.values(), ids=ROW_12.keys())
def test_one_mode_entered_twice_and_by_two_threads_restores_everything(
    make: Callable[[], Any], look: Look, workers: Pair
) -> None:
    without, scope = look(), make()
    with scope, scope:
        inside = look()
    assert look() == without
    for worker in workers:
        worker.do(scope.__enter__)
    for worker in workers:
        assert worker.do(look) == inside
        worker.do(lambda: scope.__exit__(None, None, None))
        assert worker.do(look) == look() == without


# PyTorch: decorating changes the mode, some nestings permanently.


@pytest.mark.parametrize("decorator", [each[1] for each in DECORATORS.values()], ids=DECORATORS.keys())
def test_decorating_does_not_change_the_mode(decorator: Callable[[], Any]) -> None:
    before = all_modes(), read_all(), backends.flags_frozen()

    @decorator()
    def function() -> None: ...

    @decorator()
    def generator() -> Iterator[None]:
        yield

    @decorator()
    async def coroutine() -> None: ...

    assert (all_modes(), read_all(), backends.flags_frozen()) == before


# The result of each mode for (grad, inference), as PyTorch documents it.
DECIDES: dict[str, Callable[[State], State]] = {
    "no_grad": lambda state: (False, state[1]),
    "enable_grad": lambda state: (True, state[1]),
    "set_grad_enabled(True)": lambda state: (True, state[1]),
    "set_grad_enabled(False)": lambda state: (False, state[1]),
    "inference_mode(True)": lambda _: (False, True),
    "inference_mode(False)": lambda _: (True, False),
}


def nest(state: State, depth: int) -> None:
    """Check the state, and recurse into every scope and every decorator."""
    assert public_modes() == state
    for name, decides in DECIDES.items() if depth else ():
        inside = partial(nest, decides(state), depth - 1)
        with MODES[name].make():
            inside()
        assert public_modes() == state, name
        MODES[name].make()(inside)()
        assert public_modes() == state, name


def test_nestings_of_up_to_four_modes_have_the_documented_result() -> None:
    nest(START, 4)
    assert all_modes() == (True, False, True, False, True)


@pytest.mark.parametrize("kind", HIDDEN, ids=lambda kind: kind.__name__)
def test_decorating_a_class_warns_with_the_cure(kind: Any) -> None:
    before = all_modes()
    with pytest.warns(FutureWarning, match="decorate its methods"):
        kind(not before[2 + HIDDEN.index(kind)])(type("Plain", (), {}))
    assert all_modes() == before


# PyTorch: versions can't be preserved if one tensor has none, and the error for a view names no cure.


def test_versions_are_preserved_for_mixed_tensors_and_exceptions() -> None:
    with interlock.inference_mode():
        without = interlock.ones(2)
    plain, changed = interlock.ones(2), interlock.ones(2).add_(1)

    @interlock._unsafe_preserve_version_counter((without, plain, without, changed))
    def fail() -> None:
        for tensor in (plain, changed):
            tensor.add_(1)
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (plain._version, changed._version) == (0, 1)
    assert (plain.tolist(), changed.tolist()) == ([2.0, 2.0], [3.0, 3.0])


def test_error_for_a_view_made_in_no_grad_mode_names_the_cure() -> None:
    base = interlock.ones(4, requires_grad=True) * 1
    with interlock.no_grad():
        view = base[:2]
    with pytest.raises(
        RuntimeError, match=r"created in no_grad mode.*create the view and change it in the same mode"
    ):
        view.mul_(2)


def test_error_for_a_view_names_its_line_under_interlock_debug() -> None:
    program = "autograd.change_a_view_made_without_grad"
    done = run_program(program, env={"INTERLOCK_DEBUG": "1"})
    assert done.code == 0, done.stderr
    assert "created in no_grad mode at" in done.stdout
    assert f"{marked_lines(program)['made']}," in done.stdout


def test_error_for_an_inference_tensor_names_the_cure() -> None:
    with interlock.inference_mode():
        fixed = interlock.ones(2)
    with pytest.raises(RuntimeError, match=r"inference.*clone\(\)"):
        fixed.requires_grad_()


# PyTorch: a backward pass starts threads even if multithreading is disabled. A test of rust/tensor checks
# that each node runs on the calling thread.


def test_backward_starts_no_thread() -> None:
    assert eval_program("autograd.pytorch_issues_threads_of_a_backward_pass") == [True, True, True, 1]


# PyTorch: the state of a new thread depends on the build of CPython, and writes inside a scope are lost.

INSIDE, WRITTEN, DEFAULTS = [False, True, False], [True, True, True], [True, False, True]


@pytest.mark.parametrize("inherit", [None, 0, 1])
def test_threads_have_defaults_and_a_copied_context_its_own_state(
    inherit: int | None,
) -> None:
    # Pythons before 3.14 ignore the option.
    options = [] if inherit is None else ["-X", f"thread_inherit_context={inherit}"]
    seen = eval_program("autograd.pytorch_issues_inheritance", options=options)
    thread = INSIDE if inherit and sys.version_info >= (3, 14) else DEFAULTS
    assert seen[:4] == [INSIDE, thread, INSIDE, INSIDE], "a copy of the context has the scopes on any thread"
    assert seen[4:6] == [WRITTEN, INSIDE], "a write in the copy changes the copy"
    assert seen[6:] == [DEFAULTS, WRITTEN, WRITTEN, True], "and the exit leaves the copy as it is"
