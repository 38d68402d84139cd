"""Build and install the wheel, and check that the source distribution builds the same one.

`install [PROFILE] [PYTHON]` builds the wheel with a Cargo profile, by default that of the Rust tests, and
installs it into `.venv` or into the environment of another interpreter. `light` does this without the tensor
runtime. `release` builds the release wheel from the source distribution, compares its list of files with that
of a wheel of the working tree, and installs it.
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
# A published wheel is compressed once and downloaded often.
PUBLISHED = ("--profile", "published", "--compression-level", "9")


def only(folder: Path, pattern: str) -> Path:
    """Return the only file of a folder that matches a pattern."""
    (found,) = folder.glob(pattern)
    return found


def maturin(project: Path, *arguments: str) -> None:
    """Run maturin in `project`."""
    subprocess.run([sys.executable, "-m", "maturin", *arguments], cwd=project, check=True)


def build(project: Path, folder: Path, profile: str, *, tensors: bool = True) -> Path:
    """Build the wheel of `project` into an emptied `folder`, with or without the tensor runtime."""
    shutil.rmtree(folder, ignore_errors=True)
    # With this feature the Rust tests reuse the compiled dependencies of the wheel.
    features = ["--features", "shared-with-tests"] if profile == "dev" else []
    features += [] if tensors else ["--no-default-features"]
    profiles = PUBLISHED if profile == "published" else ("--profile", profile)
    options = [*profiles, *features, "--interpreter", sys.executable]
    maturin(project, "build", *options, "--out", str(folder))
    return only(folder, "*.whl")


def pip(python: str, *arguments: str) -> None:
    """Run pip for the environment of an interpreter."""
    quiet = ["--disable-pip-version-check", "--quiet"]
    subprocess.run([python, "-m", "pip", *quiet, *arguments], check=True)


def install_wheel(wheel: Path, python: str) -> None:
    """Install a wheel, and store it as the only file of `WHEELS`, where tests/packaging expects it."""
    if wheel.parent != WHEELS:
        shutil.rmtree(WHEELS, ignore_errors=True)
        WHEELS.mkdir(parents=True)
        shutil.copy(wheel, WHEELS)
    pip(python, "install", "--no-deps", "--force-reinstall", str(wheel))


def install(profile: str = "dev", python: str = sys.executable) -> int:
    """Build and install the wheel. The installed wheel is removed first, even if the build fails."""
    pip(python, "uninstall", "--yes", "interlock")
    install_wheel(build(ROOT, WHEELS, profile), python)
    return 0


def light(profile: str = "dev", python: str = sys.executable) -> int:
    """Build and install the wheel without the tensor runtime, like `install`."""
    pip(python, "uninstall", "--yes", "interlock")
    install_wheel(build(ROOT, WHEELS, profile, tensors=False), python)
    return 0


def unpack(source_distribution: Path, folder: Path) -> Path:
    """Unpack a source distribution into an emptied `folder`, and return the folder of its project."""
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(source_distribution) as archive:
        archive.extractall(folder, filter="data")
    # All its files are dated 2006. Cargo compares modification times, and would not rebuild changed files.
    for path in folder.rglob("*"):
        path.touch()
    return only(folder, "interlock-*/pyproject.toml").parent


def unpacked_source_distribution() -> Path:
    """Create and unpack the source distribution, always in the same folder, for incremental builds."""
    archives = WORK / "archive"
    shutil.rmtree(archives, ignore_errors=True)
    maturin(ROOT, "sdist", "--out", str(archives))
    return unpack(only(archives, "*.tar.gz"), SOURCES)


def files(wheel: Path) -> set[str]:
    """Return the names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def release() -> int:
    """Build the release wheel from the source distribution, compare its list of files, and install it."""
    # The wheel without tensors has the same files.
    ours = files(build(ROOT, WHEELS, "dev", tensors=False))
    # Cargo cannot distinguish the two copies of the crates, so each has its own target directory.
    os.environ["CARGO_TARGET_DIR"] = str(WORK / "cargo")
    wheel = build(unpacked_source_distribution(), WORK / "release-wheel", "published")
    theirs = files(wheel)
    for name in sorted(ours - theirs):
        print(f"only in the wheel of the working tree: {name}")
    for name in sorted(theirs - ours):
        print(f"only in the wheel of the source distribution: {name}")
    if ours != theirs:
        return 1
    install_wheel(wheel, sys.executable)
    return 0


if __name__ == "__main__":
    sys.exit({"install": install, "light": light, "release": release}[sys.argv[1]](*sys.argv[2:]))
