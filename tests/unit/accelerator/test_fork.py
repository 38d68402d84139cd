"""Forked children: handles of the parent are refused, and devices are reinitialized."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.subprocess import Result, eval_program, run_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

HOST = {"INTERLOCK_ACCELERATOR": "host:2"}


# Python 3.12 and later warn of a fork in a process with threads, which is tested here.
OPTIONS = ("-W", "ignore:This process:DeprecationWarning")


def run(program: str) -> Result:
    return run_program(program, env=HOST, options=OPTIONS)


def test_handles_of_the_parent_are_refused_in_a_child() -> None:
    done = run("accelerator.fork.handles_of_the_parent_are_refused_in_a_child")
    assert (done.code, done.stdout, done.stderr) == (0, "0\n", "")


def test_child_reinitializes_the_devices_while_the_parent_runs() -> None:
    done = run("accelerator.fork.child_reinitializes_the_devices_while_the_parent_runs")
    assert (done.code, done.stdout, done.stderr) == (0, "0 0\nTrue\n", "")


def test_current_device_of_the_parent_is_not_inherited() -> None:
    done = run("accelerator.fork.current_device_of_the_parent_is_not_inherited")
    assert (done.code, done.stdout, done.stderr) == (0, "0\n", "")


def test_child_does_not_allocate_from_the_pool_of_an_open_scope() -> None:
    done = run("accelerator.fork.child_does_not_allocate_from_the_pool_of_an_open_scope")
    assert (done.code, done.stdout, done.stderr) == (0, "0 2\n1\n", "")


def test_handles_of_the_parent_can_be_dropped_in_a_child() -> None:
    done = run("accelerator.fork.handles_of_the_parent_can_be_dropped_in_a_child")
    assert (done.code, done.stdout, done.stderr) == (0, "0\n", "")


def test_forks_while_threads_use_devices_neither_hang_nor_fail() -> None:
    done = run("accelerator.fork.forks_while_threads_use_devices_neither_hang_nor_fail")
    assert (done.code, done.stdout, done.stderr) == (0, f"{[0] * 20}\n", "")


def test_child_may_choose_another_driver() -> None:
    done = run("accelerator.fork.child_may_choose_another_driver")
    assert (done.code, done.stdout, done.stderr) == (0, "0 2\n", "")


def test_device_count_in_the_parent_does_not_affect_a_child() -> None:
    assert eval_program(
        "accelerator.streams.device_count_in_the_parent_does_not_affect_a_child", env=HOST
    ) == [
        [True, 2, "host"],
        [2, 2],
    ]
