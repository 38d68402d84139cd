"""Compile the baselines: minimal C and Rust implementations of the measured operations."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "target" / "benchmarks"


class CannotMeasureError(Exception):
    """A requirement of the benchmarks is missing; the message is one sentence."""


def extension() -> Path:
    """Compile baseline.c for this interpreter, and return the folder of the extension module."""
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        raise CannotMeasureError(
            f"{header} is missing: install the headers of this Python "
            "(Debian and Ubuntu: the package python3-dev)."
        )
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / f"interlock_baseline{sysconfig.get_config_var('EXT_SUFFIX')}"
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    source = HERE / "baseline.c"
    command = ["cc", "-O2", "-fPIC", *shared, f"-I{header.parent}", str(source), "-o", str(target)]
    subprocess.run(command, check=True)
    return BUILD


def target_folder() -> Path:
    """Return the target directory of cargo."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def cdylib() -> Path:
    """Build the cdylib that measures the Rust interface within a shared library, in release mode."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "interlock-benchmarks"], cwd=ROOT, check=True
    )
    suffix = "dylib" if sys.platform == "darwin" else "so"
    return target_folder() / "release" / f"libinterlock_benchmarks.{suffix}"
