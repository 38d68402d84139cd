"""Compile the floors: small C and Rust programs that do the same things with nothing around them."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "target" / "benchmarks"


class CannotMeasureError(Exception):
    """Something that the benchmarks need is missing; the message is one sentence."""


def extension() -> Path:
    """Compile floor.c for this interpreter, and return the folder to import it from."""
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        raise CannotMeasureError(
            f"{header} is missing: install the headers of this Python "
            "(Debian and Ubuntu: the package python3-dev)."
        )
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / f"interlock_floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    source = HERE / "floor.c"
    command = ["cc", "-O2", "-fPIC", *shared, f"-I{header.parent}", str(source), "-o", str(target)]
    subprocess.run(command, check=True)
    return BUILD


def target_folder() -> Path:
    """Return the folder in which cargo builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def cdylib() -> Path:
    """Build the cdylib that times the Rust interface from inside, optimised as the wheel is."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "interlock-benchmarks"], cwd=ROOT, check=True
    )
    suffix = "dylib" if sys.platform == "darwin" else "so"
    return target_folder() / "release" / f"libinterlock_benchmarks.{suffix}"
