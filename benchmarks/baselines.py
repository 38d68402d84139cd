"""Compile the baselines: minimal C and Rust implementations of the measured operations."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import interlock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "target" / "benchmarks"


class CannotMeasureError(Exception):
    """A requirement of the benchmarks is missing; the message is one sentence."""


def extension(source: str = "baseline.c", name: str = "interlock_baseline", *include: str) -> Path:
    """Compile an extension module for this interpreter, and return its folder."""
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        raise CannotMeasureError(
            f"{header} is missing: install the headers of this Python "
            "(Debian and Ubuntu: the package python3-dev)."
        )
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    folders = [f"-I{folder}" for folder in (header.parent, *include)]
    subprocess.run(
        ["cc", "-O2", "-fPIC", *shared, *folders, str(HERE / source), "-o", str(target)], check=True
    )
    return BUILD


def header_extension() -> Path:
    """Compile header.c with interlock's header, and return its folder."""
    return extension("header.c", "interlock_header", interlock.get_include())


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
