"""The demo of the control plane prints the same in a build with tensors and in one without."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.helpers.subprocess import run_command

EXAMPLE = Path(__file__).parents[2] / "examples" / "control_plane.py"

EXPECTED = """
1. 200 tasks and 8 threads, each with a flag and a mode of its own
   tasks that read their own values:        200 of 200
   threads that read their own values:      8 of 8
   the process, unchanged:                  benchmark_limit 10, grad True

2. A captured state on a worker
   this thread:                             benchmark_limit 3, grad False
   the worker by itself:                    benchmark_limit 10, grad True
   the worker in the captured state:        benchmark_limit 3, grad False

3. Who set what
   flag                       value   effective  level    reason
   mkldnn.enabled             False   False      process  set at control_plane.py:LINE
   cudnn.deterministic        False   True       default  overridden by deterministic_algorithms
   cudnn.conv.fp32_precision  ieee    ieee       scope    inherited from fp32_precision
   mha.fastpath               True    True       default
   written: deterministic_algorithms = True, set at control_plane.py:LINE
   written: mkldnn.enabled = False, set at control_plane.py:LINE

4. Streams, events and an injected error
   queued; the event has completed:         False
   after the wait, in this order:           first stream, second stream
   a copy that fails was queued:            no error yet
   the wait raises AcceleratorError:        copy from cpu to host:0 failed on host:0: an injected error

5. The memory of a device of 64 MiB
   in use, at most in use:                  24 MiB, 40 MiB
   in use, with the allocator's cache:      24 MiB, 42 MiB
   48 MiB more raise OutOfMemoryError:      out of memory: tried to allocate 48.00 MiB on host:0
   after close() and empty_cache():         0 MiB, 0 MiB
"""


def lines_of(text: str) -> list[int]:
    """Return the numbers of the lines of the example that begin with `text`."""
    source = EXAMPLE.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(source, 1) if line.strip().startswith(text)]


def test_demo_prints_what_each_part_shows_and_the_lines_that_set_flags() -> None:
    done = run_command([sys.executable, "-W", "error", str(EXAMPLE)], env={"INTERLOCK_DEBUG": "1"})
    assert (done.code, done.stderr) == (0, "")
    (enabled,) = lines_of("backends.mkldnn.enabled = ")
    (algorithms,) = lines_of("backends.deterministic_algorithms = ")
    expected = EXPECTED
    for number in (enabled, algorithms, enabled):
        expected = expected.replace(":LINE", f":{number}", 1)
    assert done.stdout.partition("\n")[2] == expected


def test_demo_runs_without_the_lines() -> None:
    done = run_command([sys.executable, "-W", "error", str(EXAMPLE)])
    assert (done.code, done.stderr) == (0, "")
    assert "written" not in done.stdout
