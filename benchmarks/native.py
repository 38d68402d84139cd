"""Measure the Rust interface: with criterion in a program, and with loops in a shared library."""

import ctypes
import json
import shutil
import subprocess
from pathlib import Path

from benchmarks.baselines import ROOT, cdylib, target_folder

PACKAGE = "interlock-program-benchmarks"
CRITERION_PASSES = 5
CRITERION_OPTIONS = ["--warm-up-time", "0.3", "--measurement-time", "0.7", "--sample-size", "50", "--noplot"]
CDYLIB_ROUNDS = 30
CDYLIB_ITERATIONS = 200_000


def in_a_program() -> dict[str, float]:
    """Return the nanoseconds of each benchmark by name, such as "flag/read": the minimum of a few medians."""
    least: dict[str, float] = {}
    results = target_folder() / "criterion"
    shutil.rmtree(results, ignore_errors=True)
    for _ in range(CRITERION_PASSES):
        # One after the other: each is a process with its own driver.
        for program in ("control_plane", "allocator"):
            command = ["cargo", "bench", "--quiet", "-p", PACKAGE, "--bench", program, "--"]
            subprocess.run([*command, *CRITERION_OPTIONS], cwd=ROOT, check=True, capture_output=True)
        for estimates in results.glob("*/*/new/estimates.json"):
            name = "/".join(estimates.parts[-4:-2])
            median = json.loads(estimates.read_text())["median"]["point_estimate"]
            least[name] = min(least.get(name, float("inf")), median)
    return least


def in_a_cdylib(library: Path | None = None) -> dict[str, float]:
    """Return the nanoseconds of operations within a library loaded at run time. All take turns."""
    loaded = ctypes.CDLL(str(library or cdylib()))
    functions = {}
    for name in ("bare_read", "mode_read", "guard"):
        functions[name] = loaded[f"interlock_time_{name}"]
        functions[name].argtypes = [ctypes.c_uint64]
        functions[name].restype = ctypes.c_double
    least = dict.fromkeys(functions, float("inf"))
    for _ in range(CDYLIB_ROUNDS):
        for name, function in functions.items():
            least[name] = min(least[name], function(CDYLIB_ITERATIONS))
    return least
