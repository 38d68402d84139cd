"""Modes of PyTorch in captured states and tasks, with a fake of its interface, or with PyTorch itself."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interlock.integrations import _torch_carry

from tests.helpers import torch_python
from tests.helpers.torch_python import eval_with_torch

needs_torch = pytest.mark.skipif("config.getoption('--torch') == 'fake'", reason="needs --torch=PYTHON")
NOTHING = [False, True, False]
NO_GRAD = [False, False, False]
INFERENCE = [True, False, False]
AUTOCAST = [True, False, True]


def run(name: str, folder: Path, *arguments: object) -> Any:
    return eval_with_torch(f"settings.torch_modes.{name}", folder, *arguments)


def test_captured_state_has_the_modes_of_torch(tmp_path: Path) -> None:
    assert run("use_captured_modes", tmp_path) == {
        "imported": [False, False],
        "applied": AUTOCAST,
        "wrapped": AUTOCAST,
        "submitted": NO_GRAD,
        "after": NOTHING,
        "inside another mode": [AUTOCAST, NO_GRAD],
        "guard entered inside": NOTHING,
        "guard exited outside": NOTHING,
        # A state that has modes keeps them.
        "without": [NOTHING, AUTOCAST, NOTHING],
    }


@pytest.mark.parametrize("isolates", [True, False], ids=["aio", "asyncio"])
def test_overlapping_tasks_have_modes_of_their_own(isolates: bool, tmp_path: Path) -> None:
    result = run("overlap_tasks", tmp_path, 200, isolates)
    steps, wrong, after = result["carried"]
    assert steps == 200 * 4 * 7
    if isolates:
        assert (wrong, after) == (0, NOTHING)
    # Without it the same tasks read each other's modes.
    assert result["without"][1] > 100


@pytest.mark.skipif(sys.version_info < (3, 14), reason="switches of contexts are reported since Python 3.14")
def test_overlapping_tasks_of_plain_asyncio_have_modes_of_their_own() -> None:
    result = torch_python.eval_with_fake("settings.torch_modes.overlap_tasks", 200, False)
    assert result["carried"] == [200 * 4 * 7, 0, NOTHING]


def test_states_on_many_threads_put_back_what_they_find(tmp_path: Path) -> None:
    assert run("overlap_threads", tmp_path, 32) == [32 * 50 * 4, 0]


def test_torch_follows_modes_of_interlock(tmp_path: Path) -> None:
    assert run("follow_modes", tmp_path) == {
        "no_grad": NO_GRAD,
        "enable_grad inside": NOTHING,
        "after it": NO_GRAD,
        "inference_mode": INFERENCE,
        "inside torch.no_grad": NO_GRAD,
        "enable_grad inside it": NOTHING,
        "inside it again": NO_GRAD,
        "submitted inside it": NO_GRAD,
        "written": NO_GRAD,
        "process, on a thread": NO_GRAD,
        "released": NOTHING,
        "scope open before": NO_GRAD,
        "released in the scope": NOTHING,
        "after it all": NOTHING,
    }


def test_scopes_inside_of_scopes_of_torch_are_followed(tmp_path: Path) -> None:
    assert run("follow_inside_scopes_of_torch", tmp_path) == {
        "no_grad again": [NO_GRAD, NOTHING, NO_GRAD, NOTHING],
        # A captured state sets the modes of interlock, inside of which PyTorch's scope was.
        "captured": [NO_GRAD, NOTHING],
        "enable_grad again": [NOTHING, NO_GRAD],
        "no_grad": [NO_GRAD, NO_GRAD, NO_GRAD, NO_GRAD],
        "applied": [NOTHING, NO_GRAD],
        "inference_mode again": [INFERENCE, NOTHING],
        "no_grad, not inference": [NO_GRAD, NOTHING],
        "between": NOTHING,
        "after a write": [NO_GRAD, NOTHING, NO_GRAD, NO_GRAD, NO_GRAD],
        # PyTorch's scope, which ends last, puts back the value of the scope that has ended before.
        "exit of an outer scope": [NO_GRAD, NOTHING],
        # A write of the value that interlock has already is not followed.
        "written": [NO_GRAD, NO_GRAD, NOTHING],
        "PyTorch's scope ended": NOTHING,
        "over the process": [NO_GRAD, NO_GRAD],
        "released": NOTHING,
    }


def test_torch_follows_modes_of_tasks(tmp_path: Path) -> None:
    assert run("follow_in_tasks", tmp_path, True) == [0, NOTHING]


def test_torch_follows_the_process_in_suspended_tasks(tmp_path: Path) -> None:
    assert run("follow_the_process_in_tasks", tmp_path) == [[True, False, True, True], True]


def test_functions_on_a_pool_leave_no_modes_to_later_ones(tmp_path: Path) -> None:
    found = run("follow_on_pools", tmp_path)
    # Since 3.14 Python reports the end of a context; before, inherited modes are not followed.
    inherited = NO_GRAD if sys.version_info >= (3, 14) else NOTHING
    assert found["ThreadPoolExecutor"] == {
        "inherit": [[False, inherited], NOTHING],
        "enter": [[False, INFERENCE], NOTHING],
    }
    # It applies the state of the caller on the thread, and puts back what was there.
    assert found["Executor"] == {
        "inherit": [[False, NO_GRAD], NOTHING],
        "enter": [[False, INFERENCE], NOTHING],
    }


def test_abandoned_generator_leaves_the_modes_of_torch_to_its_task(tmp_path: Path) -> None:
    # The loop closes the generator in a task of its own. The exit of a scope of interlock there ends it here.
    assert run("abandon_generators", tmp_path) == {
        "no_grad of PyTorch": NO_GRAD,
        "closed": NOTHING,
        "no_grad of interlock": NOTHING,
        "after the task": NOTHING,
    }


def test_torch_follows_flags_of_interlock(tmp_path: Path) -> None:
    assert run("follow_flags", tmp_path) == {
        "assigned before": True,
        "assigned": True,
        "who": "follow_flags",
        "alias": "tf32",
        "other names": [
            [False, False, True, "default"],
            [True, True, False, "cusolver"],
            [False, False, True, "default"],
        ],
        "unset": False,
        "scope": [False, "ieee"],
        "write in the scope": True,
        "after the scope": [True, "tf32"],
        "conflict": [False, True],
        "warned": ["SettingWarning"],
        "released": [False, False],
    }


def test_change_that_is_reported_late_is_not_followed(tmp_path: Path) -> None:
    assert run("follow_a_change_that_is_reported_late", tmp_path) == [False, False]


def test_flag_that_torch_refuses_to_put_back_keeps_no_other(tmp_path: Path) -> None:
    caught, held = run("follow_flags_of_a_library_that_refuses_to_put_back", tmp_path)
    assert caught[0] == "follow: torch.backends.cudnn.benchmark is left as it is"
    assert held == []


@needs_torch
def test_flags_without_effect_on_torch_are_those_of_the_page(tmp_path: Path) -> None:
    found = run("flags_without_effect", tmp_path)
    assert found
    # The page names those that accept other values, too.
    assert all(re.fullmatch(r"python_native\.\w+\.enabled", name) for name in found)


def test_precision_that_is_followed_is_read_from_the_tree(tmp_path: Path) -> None:
    assert run("follow_precision", tmp_path) == [["tf32", "raises"], ["none", "highest"]]


def test_integration_begins_after_the_last_one_has_ended() -> None:
    steps: list[str] = []
    ending, has_begun = threading.Event(), threading.Event()

    def begin() -> Callable[[], None]:
        steps.append("begins")
        if ending.is_set():
            has_begun.set()
        return end

    def end() -> None:
        ending.set()
        # It has not, because the other thread waits for this one.
        has_begun.wait(0.2)
        steps.append("has ended")

    shared = _torch_carry._Shared(begin)
    thread = threading.Thread(target=shared.use("carry").release)
    thread.start()
    assert ending.wait(20)
    second = shared.use("carry")
    thread.join()
    second.release()
    assert steps == ["begins", "has ended", "begins", "has ended"]


def test_tf32_is_disabled_on_many_threads_by_one_scope(tmp_path: Path) -> None:
    assert run("disable_tf32_on_many_threads", tmp_path) == []


def test_tf32_is_disabled_on_one_thread(tmp_path: Path) -> None:
    if not torch_python.is_real():
        refused = run("disable_tf32_without_the_guard", tmp_path)
        assert refused.startswith("no_tf32: PyTorch 2.13.0+fake must export at::NoTF32Guard")
        return
    exited = "no_tf32: exited on another thread than it was entered on"
    assert run("disable_tf32", tmp_path) == [
        *(False, True, False, exited, False),
        # Decorated functions, and a task beside a suspended one.
        *(True, True, True, False, False),
    ]
