"""What importing a package costs over starting Python: milliseconds, and peak memory in megabytes."""

import subprocess
import time
from dataclasses import dataclass

ROUNDS = 15
# VmHWM belongs to the program; the peak of getrusage on Linux starts with that of the parent.
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
    """The least time and memory seen, with nothing imported and with the package."""

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
    """Run the code in a fresh process."""
    return subprocess.run([python, "-I", "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout


def milliseconds(python: str, code: str) -> float:
    """Return the time from start to end of a fresh process."""
    started = time.perf_counter()
    run(python, code)
    return (time.perf_counter() - started) * 1e3


def of(python: str, package: str, rounds: int = ROUNDS) -> Startup:
    """Measure both, taking turns; a first import, not counted, reads the files once."""
    code = f"import {package}"
    run(python, code)
    pairs = [(milliseconds(python, "pass"), milliseconds(python, code)) for _ in range(rounds)]
    peaks = [(float(run(python, PEAK)), float(run(python, code + PEAK))) for _ in range(3)]
    return Startup(
        min(bare for bare, _ in pairs),
        min(full for _, full in pairs),
        min(bare for bare, _ in peaks) / 1e6,
        min(full for _, full in peaks) / 1e6,
    )
