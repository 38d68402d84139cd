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


def run(*command: str) -> None:
    """Run a command; fail with its output if it fails."""
    # Extensions in Rust have the profile of the Rust tests, so that dependencies are compiled once.
    variables = {"MATURIN_PEP517_ARGS": "--profile dev", "PYO3_PYTHON": sys.executable}
    done = subprocess.run(
        command,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"


def pip(*arguments: str) -> None:
    """Run the pip of the environment of the tests."""
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)


def wheel_of_interlock() -> Path:
    """Return the wheel that the step `wheel` of tools/check.py built."""
    (found,) = (ROOT / "target" / "check" / "wheel").glob("*.whl")
    return found


def build(project: Path, folder: Path) -> Path:
    """Build the wheel of a project into a folder, with the packages of the environment of the tests."""
    if not (project / "Cargo.toml").exists():
        # setuptools writes into the folder of the project.
        project = Path(
            shutil.copytree(project, folder / project.name, ignore=shutil.ignore_patterns("build"))
        )
    wheels = folder / "wheel"
    pip("wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", str(wheels), str(project))
    (found,) = wheels.glob("*.whl")
    return found


SETUP = """\
import interlock
from setuptools import Extension, setup

module = Extension("{name}", ["{name}.c"], include_dirs=[interlock.get_include()])
setup(name="{name}", version="1.0", ext_modules=[module], py_modules=[])
"""


def environment_with_module(name: str, source: str, folder: Path) -> Path:
    """Compile a module in C, and create an environment with it and interlock; return its interpreter."""
    project, built = folder / name, folder / "build"
    for path in (project, built):
        path.mkdir()
    (project / "setup.py").write_text(SETUP.format(name=name))
    (project / f"{name}.c").write_text(source)
    return environment_with([build(project, built)], folder / "environment")


def environment_with(wheels: list[Path], folder: Path) -> Path:
    """Create an environment with interlock and these wheels, and nothing else; return its interpreter."""
    venv.EnvBuilder(with_pip=False).create(folder)
    python = folder / "bin" / "python"
    everything = [str(wheel_of_interlock()), *map(str, wheels)]
    pip("--python", str(python), "install", "--no-index", "--no-deps", *everything)
    return python
