"""Python code in a process of its own that uses NVIDIA's driver, with or without kernels of ours at hand."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.subprocess import Result, eval_python, run_python

ROOT = str(Path(__file__).resolve().parents[3])
# The helpers are not installed; the package is, and ROOT has none.
ENVIRONMENT = {"INTERLOCK_ACCELERATOR": "cuda", "PYTHONPATH": ROOT}

KERNELS = """
import json, os, signal, sys, threading, time

import interlock
from interlock import Event, Stream, accelerator, errors
from interlock.accelerator.memory import Buffer, copy_, fill_
from tests.hardware.gpu.slow_kernel import Kernels, Library

accelerator.synchronize()
library = Library()
kernels = Kernels(library)
stream, cell = Stream(exclusive=True), Buffer(4).fill_(0)
accelerator.synchronize()


def slow(seconds, number=1):
    kernels.spin(stream.native_handle, seconds, cell.data_ptr(), number)

"""


def run(code: str) -> Result:
    """Run code that finds what `KERNELS` makes."""
    return run_python(KERNELS + textwrap.dedent(code), env=ENVIRONMENT)


def value(code: str, more: Mapping[str, str] | None = None) -> Any:
    """Return what such code leaves in the name `answer`; `more` is of its environment."""
    return eval_python(KERNELS + textwrap.dedent(code), env=ENVIRONMENT | dict(more or {}))


def value_without_kernels(code: str) -> Any:
    """Return what code leaves in the name `answer` in a process that has not used a device."""
    return eval_python(code, env=ENVIRONMENT)
