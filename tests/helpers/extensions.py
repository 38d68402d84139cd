"""Builds extension modules and installs them, with interlock's wheel, into an environment of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 900  # Includes the time to compile PyO3.


def run(*command: str, **variables: str) -> None:
    """Run a command; fail with its output if it fails."""
    # Rust extensions share compiled dependencies, and are compiled apart from this workspace.
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    environment = dict(os.environ, CARGO_TARGET_DIR=f"{target}/extensions", PYO3_PYTHON=sys.executable)
    done = subprocess.run(
        command,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"


def pip(*arguments: str, **variables: str) -> None:
    """Run this environment's pip without network access."""
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments, **variables)


def wheel_of_interlock() -> Path:
    """Return the wheel that the step `wheel` of tools/check.py built."""
    (found,) = (ROOT / "target" / "check" / "wheel").glob("*.whl")
    return found


def build(project: Path, folder: Path, **variables: str) -> Path:
    """Build the wheel of a project with the packages of this environment."""
    # Compilers write into the folder of the project.
    copy = folder / project.name
    ignored = shutil.ignore_patterns("build", "*.egg-info", "target")
    shutil.copytree(project, copy, ignore=ignored)
    wheels = folder / f"{project.name}-wheel"
    pip("wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", str(wheels), str(copy), **variables)
    (found,) = wheels.glob("*.whl")
    return found


def environment_with(wheels: list[Path], folder: Path) -> Path:
    """Create an environment with interlock and these wheels, and nothing else; return its interpreter."""
    venv.EnvBuilder(with_pip=False).create(folder)
    python = folder / "bin" / "python"
    everything = [str(wheel_of_interlock()), *map(str, wheels)]
    pip("--python", str(python), "install", "--no-index", "--no-deps", *everything)
    return python
