"""Measure what the pytest plugin adds to each test, and print microseconds as JSON.

The argument is the folder of the installed interlock and pytest. The program runs with an interpreter that
may have PyTorch or JAX, which it then loads. It measures the comparison around a test by itself, and the user
time of runs of empty tests with and without the plugin, which take turns. A test of a run costs more than the
comparison by itself, which is repeated at once: between two tests the processor runs other code.
"""

import json
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from interlock._pytest.guard import Guard

SITE = str(Path(sys.argv[1]).resolve())
ROUNDS = 150
CALLS = 20
TESTS = 2_000
RUNS = 5
LIMIT_MICROSECONDS = 200.0
LOADED = tuple(name for name in ("torch", "jax") if find_spec(name))


def best(function: Callable[[], object]) -> float:
    """Return the shortest duration of a call in microseconds."""
    return min(timeit.repeat(function, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


class Item:
    """Takes the finalizer of a test."""

    def addfinalizer(self, finalizer: Callable[[], object]) -> None:
        """Do nothing: the benchmark ends the test itself."""


def around_a_test(guard: Guard) -> float:
    """Return the duration of what runs before and after each test that changes nothing."""

    def compare() -> None:
        guard._item = Item()  # type: ignore[assignment]
        guard._begin_test()
        guard._end_test()

    return best(compare)


def run(mode: str) -> float:
    """Return the user time of a run of empty tests, for each test."""
    arguments = ["-p", "no:cacheprovider", "-p", "_interlock_pytestplugin", f"--interlock={mode}"]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_empty.py").write_text(
            f"import pytest\n@pytest.mark.parametrize('i', range({TESTS}))\ndef test(i): pass\n"
        )
        (Path(folder) / "conftest.py").write_text(
            "".join(f"import {name}\n" for name in LOADED) + "from resource import RUSAGE_SELF, getrusage\n"
            "def used(): return getrusage(RUSAGE_SELF).ru_utime\n"
            "def pytest_collection_finish(): globals().update(start=used())\n"
            "def pytest_sessionfinish(): open('time.txt', 'w').write(str(used() - start))\n"
        )
        code = f"import sys; sys.path.insert(0, {SITE!r}); import pytest; pytest.main({arguments!r})"
        # Other plugins that are installed would run, too.
        variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""}
        command = [sys.executable, "-c", code]
        subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)
        return float((Path(folder) / "time.txt").read_text()) / TESTS * 1e6


def main() -> None:
    """Print the durations, and fail if the plugin adds too much to a test."""
    for name in LOADED:
        import_module(name)
    guard = Guard((), fails=True)
    compared = around_a_test(guard)
    guard.stop()
    runs = [(run("off"), run("fail")) for _ in range(RUNS)]
    # Other programs on the machine only add to a time.
    without, with_plugin = (min(times) for times in zip(*runs, strict=True))
    added = with_plugin - without
    found = {
        "comparison by itself": compared,
        "test without the plugin": without,
        "test with the plugin": with_plugin,
        "added to a test": added,
    }
    print(json.dumps({name: round(value, 1) for name, value in found.items()}))
    if added > LIMIT_MICROSECONDS:
        raise SystemExit(f"the plugin adds {added:.0f} us to a test, the limit is {LIMIT_MICROSECONDS} us")


if __name__ == "__main__":
    main()
