"""Exits during work, forks and failing devices, with the driver "cuda" on a fake of NVIDIA's library."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.helpers import fake_cuda, fake_driver
from tests.helpers.subprocess import Result, eval_program, eval_python, run_program
from tests.unit.accelerator.exit_scenarios import EXITS, check

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the fake library is found as libraries are on Linux"),
    fake_driver.NEEDS_COMPILER,
]

# Python 3.12 and later warn of a fork in a process with threads, which is tested here.
OPTIONS = ("-W", "ignore:This process:DeprecationWarning")


def environment() -> dict[str, str]:
    return fake_cuda.environment() | {"INTERLOCK_ACCELERATOR": "cuda"}


def run(program: str) -> Result:
    return run_program(program, env=environment(), options=OPTIONS)


@pytest.mark.product
@pytest.mark.parametrize("leave", EXITS)
@pytest.mark.parametrize("group", range(5))
def test_exit_during_queued_work_keeps_the_exit_status(leave: str, group: int) -> None:
    check(
        "accelerator.exits.exit_during_queued_work_on_cuda",
        leave,
        group,
        env=environment(),
        options=OPTIONS,
        handlers="registered before\n",
    )


def value(program: str, *arguments: object) -> Any:
    return eval_program(program, *arguments, env=environment(), options=OPTIONS)


def test_plan_cache_of_the_current_device_is_used() -> None:
    code = (
        "from interlock import accelerator; from interlock.backends.cuda import cufft_plan_cache as caches\n"
    )
    code += "accelerator.set_device_index(1); caches.max_size = 7; result = [caches.device_index]\n"
    code += "result += [caches[0].max_size, caches[1].max_size]"
    assert eval_python(code, env=environment(), options=OPTIONS) == [1, 4096, 7]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("", ["nothing", "nothing", 0]),
        ("wrong", ["nothing", "nothing", 0]),
        ("warn", ["nothing", "UserWarning", 0]),
        ("error", ["nothing", "AcceleratorError", 1]),
    ],
)
def test_contexts_on_other_devices_are_reported_if_the_environment_asks(
    mode: str, expected: list[object]
) -> None:
    seen = eval_program(
        "accelerator.drivers.set_devices_with_contexts",
        env=environment() | {"TORCH_CUDA_CHECK_STRAY_CONTEXT": mode},
        options=OPTIONS,
    )
    assert seen[:3] == expected
    assert mode not in ("warn", "error") or all(
        word in seen[3] for word in ("cuda:0", "cuda:1", "set_device_index")
    )


def test_forked_child_is_refused_every_handle_and_spares_its_parent() -> None:
    reported, why, is_available, status, parent = value(
        "accelerator.cuda.forked_child_is_refused_every_handle_and_spares_its_parent"
    )
    assert {name for name, error in reported.items() if error != "ForkedProcessError"} == set()
    assert "forked" in why
    assert (is_available, status) == (False, 0)
    assert parent == [None] * len(parent)


@pytest.mark.parametrize("code", [700, 719])
def test_failed_device_stays_lost_and_the_exit_status_is_kept(code: int) -> None:
    (name, number, operation, text), later = value(
        "accelerator.cuda.failed_device_stays_lost_and_the_exit_status_is_kept", code
    )
    assert (name, number, operation) == ("AcceleratorError", code, "Stream.synchronize")
    assert {700: "CUDA_ERROR_ILLEGAL_ADDRESS", 719: "CUDA_ERROR_LAUNCH_FAILED"}[code] in text
    assert set(later.values()) == {"DeviceLostError"}


def test_exit_with_a_failed_device_prints_nothing() -> None:
    done = run("accelerator.exits.exit_with_a_failed_device_prints_nothing")
    assert (done.code, done.stdout, done.stderr) == (0, "end\n", "")
