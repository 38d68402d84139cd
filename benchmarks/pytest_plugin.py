"""Measure what the pytest plugin adds to each test, and print microseconds as JSON.

The argument is the folder of the installed interlock and pytest. The program runs with an interpreter that
may have PyTorch, which it then loads. It measures the comparison around a test, and the CPU time of a run of
empty tests with and without the plugin.
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

ROUNDS = 150
CALLS = 20
TESTS = 1_000
LIMIT_MICROSECONDS = 200.0


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
    """Return the duration of a run of empty tests, for each test."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"import pytest\n@pytest.mark.parametrize('i', range({TESTS}))\ndef test(i): pass\n"
        loads = "import torch\n" if find_spec("torch") else ""
        (Path(folder) / "test_empty.py").write_text(loads + program)
        (Path(folder) / "conftest.py").write_text(
            "import time\n"
            "def pytest_collection_finish(): globals().update(start=time.process_time())\n"
            "def pytest_sessionfinish():\n"
            "    open('time.txt', 'w').write(str(time.process_time() - start))\n"
        )
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {sys.argv[1]!r}); import pytest; "]
        command[-1] += f"pytest.main(['-q', '-p', 'no:cacheprovider', '--interlock={mode}'])"
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return float((Path(folder) / "time.txt").read_text()) / TESTS * 1e6


def main() -> None:
    """Print the durations, and fail if the comparison takes too long."""
    if find_spec("torch"):
        import_module("torch")
    guard = Guard((), fails=True)
    compared = around_a_test(guard)
    guard.stop()
    off, fail = (min(run(mode) for _ in range(3)) for mode in ("off", "fail"))
    found = {"comparison": compared, "test with the plugin off": off, "test with the plugin on": fail}
    print(json.dumps({name: round(value, 1) for name, value in found.items()}))
    if compared > LIMIT_MICROSECONDS:
        raise SystemExit(f"the comparison takes {compared:.0f} us, the limit is {LIMIT_MICROSECONDS} us")


if __name__ == "__main__":
    main()
