"""Build the wheel that is tested, and check that the source distribution makes the same one.

`install [PROFILE] [PYTHON]` builds the wheel with a Cargo profile, by default that of the Rust tests, and
installs it into `.venv` or into the environment of another interpreter. `compare` builds a wheel from the
source distribution and compares the two lists of files.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "check"
WHEELS = WORK / "wheel"
SOURCES = WORK / "sdist"


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of `folder` that matches."""
    (found,) = folder.glob(pattern)
    return found


def maturin(project: Path, *arguments: str) -> None:
    """Run maturin in `project`."""
    subprocess.run([sys.executable, "-m", "maturin", *arguments], cwd=project, check=True)


def build(project: Path, folder: Path, profile: str) -> Path:
    """Build the wheel of `project` into an emptied `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    interpreter = ["--interpreter", sys.executable]
    maturin(project, "build", "--profile", profile, *interpreter, "--out", str(folder))
    return only(folder, "*.whl")


def install(profile: str = "dev", python: str = sys.executable) -> int:
    """Build the wheel and install it; the wheel installed before is removed even if the build fails."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "uninstall", "--yes", "interlock"], check=True)
    subprocess.run([*pip, "install", "--no-deps", str(build(ROOT, WHEELS, profile))], check=True)
    return 0


def unpacked_source_distribution() -> Path:
    """Make the source distribution and unpack it, always at the same place, so that cargo reuses its work."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    maturin(ROOT, "sdist", "--out", str(SOURCES))
    with tarfile.open(only(SOURCES, "*.tar.gz")) as archive:
        archive.extractall(SOURCES, filter="data")
    # All files in it are dated 2006. Cargo goes by dates, and would take yesterday's build for today's.
    for path in SOURCES.rglob("*"):
        path.touch()
    return only(SOURCES, "interlock-*/pyproject.toml").parent


def files(wheel: Path) -> set[str]:
    """Return the names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def compare() -> int:
    """Compare the wheel of the working tree with the wheel of the source distribution."""
    ours = files(only(WHEELS, "*.whl"))
    # Cargo can't tell the two copies of our crates apart, so each has a folder of its own to build in.
    os.environ["CARGO_TARGET_DIR"] = str(WORK / "cargo")
    theirs = files(build(unpacked_source_distribution(), WORK / "wheel-from-sdist", "release"))
    for name in sorted(ours - theirs):
        print(f"only in the wheel of the working tree: {name}")
    for name in sorted(theirs - ours):
        print(f"only in the wheel of the source distribution: {name}")
    return 0 if ours == theirs else 1


if __name__ == "__main__":
    sys.exit({"install": install, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
