"""Run the Rust tests, the Python tests and the fuzzers under AddressSanitizer.

`RUSTC_BOOTSTRAP=1` makes the stable compiler accept `-Zsanitizer=address`, whose runtime it ships as a static
archive. Rust programs link it. For the extension module the runtime must be loaded before anything else, so a
shared library is linked from the archive and preloaded into Python.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from check import Outcome, run, summary
from environment import create, install, python_of, requirements
from package import maturin, only, pip
from steps import NEXTEST, PYTHON, ROOT, RUST_PACKAGES, Step

TARGET_DIR = ROOT / "target" / "sanitized"
WHEELS = TARGET_DIR / "wheel"
RUNTIME = TARGET_DIR / "libasan_runtime.so"
ENVIRONMENT = str(ROOT / ".venv-sanitized")
# Leak detection is off, because Python frees little memory at exit. A failed allocation must return NULL to
# the code under test. A report must end the process with a signal, not with a status that a test may expect.
# Local variables stay on the stack, because a backward pass measures the free part of the stack from one.
OPTIONS = ":".join(
    (
        "detect_leaks=0",
        "detect_stack_use_after_return=0",
        "allocator_may_return_null=1",
        "max_allocation_size_mb=2048",
        "abort_on_error=1",
        "allow_user_segv_handler=1",
    )
)
# Libraries that a test program loads use the sanitizer runtime of the program. Globals have no red zones:
# those of ELF notes would be parts of the section that the search for a second copy of the state reads.
RUST_FLAGS = "-Zsanitizer=address -Cllvm-args=-asan-globals=0 -Clink-arg=-Wl,--export-dynamic-symbol=__asan_*"
COMPILER = {
    "RUSTC_BOOTSTRAP": "1",
    "RUSTFLAGS": RUST_FLAGS,
    "CARGO_TARGET_DIR": str(TARGET_DIR),
    "ASAN_OPTIONS": OPTIONS,
}
PRELOADED = {"LD_PRELOAD": str(RUNTIME), "ASAN_OPTIONS": OPTIONS, "PYTHONMALLOC": "malloc"}
FUZZ = ["-m", "tests.fuzz", "--seconds", "60"]
# The other folders test text, types and packages. The launcher is pure Python, and sets LD_PRELOAD itself.
FOLDERS = ("accelerator", "autograd", "backends", "state", "tensor")
TESTS = [*(f"tests/unit/{folder}" for folder in FOLDERS), "tests/integration/processes"]


def output_of(*command: str) -> str:
    """Return the standard output of a command without the last line break."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def host() -> str:
    """Return the compiler's target triple for this machine."""
    lines = dict(line.split(": ", 1) for line in output_of("rustc", "-vV").splitlines() if ": " in line)
    return lines["host"]


def link_runtime() -> None:
    """Link the archive of the runtime as a shared library.

    One object of the archive has a section `.preinit_array`, which is not allowed in shared libraries. It
    makes a program initialize the runtime first; a preloaded library is always initialized first.
    """
    archive = only(Path(output_of("rustc", "--print", "target-libdir")), "librustc-*_rt.asan.a")
    copy = TARGET_DIR / archive.name
    shutil.copy(archive, copy)
    (preinit,) = (name for name in output_of("ar", "t", str(copy)).splitlines() if "preinit" in name)
    subprocess.run(["ar", "d", str(copy), preinit], check=True)
    whole = ["-Wl,--whole-archive", str(copy), "-Wl,--no-whole-archive"]
    # The runtime wraps functions of C++ that it finds when it is loaded, such as the one that throws.
    libraries = ["-lpthread", "-ldl", "-lm", "-lrt", "-lresolv", "-Wl,--no-as-needed", "-lstdc++"]
    subprocess.run(["cc", "-shared", "-o", str(RUNTIME), *whole, *libraries], check=True)


def build_wheel(target: str) -> None:
    """Build the wheel with the sanitizer and install it into a separate environment."""
    os.environ |= COMPILER
    shutil.rmtree(WHEELS, ignore_errors=True)
    build = ["build", "--profile", "dev", "--target", target, "--compatibility", "linux"]
    maturin(ROOT, *build, "--interpreter", PYTHON, "--out", str(WHEELS))
    create(ENVIRONMENT)
    install(ENVIRONMENT, requirements("test"))
    pip(python_of(ENVIRONMENT), "install", "--no-deps", "--force-reinstall", str(only(WHEELS, "*.whl")))


def steps(target: str) -> list[Step]:
    """Return the steps that run under the sanitizer."""
    python = python_of(ENVIRONMENT)
    selected = ["-n", "2", "--dist", "worksteal", "-m", "not timing and not slow"]
    tool = [PYTHON, str(Path(__file__))]
    return [
        Step("rust tests", [[*NEXTEST, *RUST_PACKAGES, "--target", target]], variables=COMPILER),
        Step("wheel", [[*tool, "wheel", target], [*tool, "runtime"]]),
        Step("pytest", [[python, "-m", "pytest", *selected, *TESTS]], variables=PRELOADED, needs=("wheel",)),
        Step("fuzz", [[python, *FUZZ]], variables=PRELOADED, needs=("wheel",)),
    ]


def main(arguments: list[str]) -> int:
    """Run all steps, or the named ones."""
    target = host()
    if sys.platform != "linux":
        print(f"make test-sanitized needs Linux, not {target}", file=sys.stderr)
        return 1
    outcomes: list[Outcome] = []
    for step in steps(target):
        if not arguments or step.name in arguments:
            print(f"{step.name} ...", flush=True)
            outcomes.append(run(step, {outcome.name for outcome in outcomes if not outcome.passed}))
    return summary(outcomes)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["wheel", target]:
            build_wheel(target)
        case ["runtime"]:
            link_runtime()
        case arguments:
            sys.exit(main(arguments))
