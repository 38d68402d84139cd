"""Measure the time and peak memory of importing a package, compared with starting Python."""

import subprocess
import time
from dataclasses import dataclass

ROUNDS = 15
# Also imports the namespaces that most programs use, which interlock imports at their first use.
NAMESPACES = "import interlock; " + "; ".join(
    f"interlock.{name}" for name in ("accelerator", "autograd", "backends", "dispatch", "state", "utils")
)
# VmHWM is the peak of the program; on Linux, the peak of getrusage includes that of the parent before exec.
PEAK = """
import sys
if sys.platform == "linux":
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")))
else:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@dataclass(frozen=True)
class Startup:
    """The minimum time and memory of starting Python, without and with importing the package."""

    bare_milliseconds: float
    milliseconds: float
    bare_megabytes: float
    megabytes: float

    @property
    def extra_milliseconds(self) -> float:
        """Return the time of the import."""
        return self.milliseconds - self.bare_milliseconds

    @property
    def extra_megabytes(self) -> float:
        """Return the memory of the import."""
        return self.megabytes - self.bare_megabytes


def run(python: str, code: str) -> str:
    """Run code in a new process."""
    return subprocess.run([python, "-I", "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout


def milliseconds(python: str, code: str) -> float:
    """Return the run time of a new process."""
    started = time.perf_counter()
    run(python, code)
    return (time.perf_counter() - started) * 1e3


def of(python: str, code: str, rounds: int = ROUNDS) -> Startup:
    """Measure an interpreter without and with this code, taking turns, after a first run as warm-up."""
    run(python, code)
    pairs = [(milliseconds(python, "pass"), milliseconds(python, code)) for _ in range(rounds)]
    peaks = [(float(run(python, PEAK)), float(run(python, code + PEAK))) for _ in range(3)]
    return Startup(
        min(bare for bare, _ in pairs),
        min(full for _, full in pairs),
        min(bare for bare, _ in peaks) / 1e6,
        min(full for _, full in peaks) / 1e6,
    )
