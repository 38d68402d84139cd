"""Errors for wrong arguments of every function, method, constructor and setter, found by introspection."""

from __future__ import annotations

import sys

import interlock
import pytest
from interlock import backends, errors

from tests.fuzz.harness import ROOT
from tests.fuzz.messages import problem
from tests.fuzz.names import Target
from tests.helpers.subprocess import run_command

# The number of parameters; about 3,700.
FEWEST = 3_000


@pytest.mark.slow
@pytest.mark.subprocess
def test_errors_for_wrong_arguments_name_the_function_and_are_short() -> None:
    done = run_command(
        [sys.executable, "-m", "tests.fuzz.messages"], env={"PYTHONPATH": str(ROOT)}, seconds=180
    )
    assert done.code == 0, done.stderr
    *findings, count = done.stdout.splitlines()
    assert findings == []
    assert int(count) > FEWEST


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (TypeError("use: name must be a str, got int"), None),
        (errors.FlagTypeError("backends.cudnn.enabled must be a bool, got 3"), None),
        (errors.DeviceError('unknown device "gpu"; available here: cpu'), None),
        (TypeError("argument 'name': 'int' object is not an instance of 'str'"), "PyO3's"),
        (TypeError("expected tuple of length 2, but got tuple of length 3"), "PyO3's"),
        (TypeError("'int' object is not iterable"), "names neither the function"),
        (ValueError("use: name must be short, got " + "x" * 10_000), "characters"),
        (ValueError("use: name must be a name, got a\nb"), "control characters"),
        (KeyError("name"), "not documented"),
        (SystemError("error return without exception set"), "not documented"),
    ],
)
def test_an_error_that_does_not_help_is_found(error: Exception, found: str | None) -> None:
    problem_of_error = problem(Target("interlock.accelerator.use", interlock.accelerator.use), error)
    assert (problem_of_error is None) if found is None else (found in (problem_of_error or ""))


def test_methods_and_setters_are_named() -> None:
    error = TypeError("Event.record: stream must be a Stream, got int")
    assert problem(Target("interlock.Event.record", interlock.Event.record), error) is None
    assert problem(Target("interlock.Event.wait", interlock.Event.wait), error) is not None
    setter = Target("setattr backends.cudnn.enabled", lambda: setattr(backends.cudnn, "enabled", 3))
    assert problem(setter, errors.FlagTypeError("backends.cudnn.enabled must be a bool, got 3")) is None
    assert problem(setter, TypeError("must be a bool")) is not None
