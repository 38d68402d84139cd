"""Check the artifacts in target/dist, and print one line for each check.

Runs on each file the checkers that pyproject.toml pins in the extra `release`. Then it installs the wheels of
this platform into an environment for each supported CPython on `PATH`, in pyenv or in the folders of the
variable `PYTHONS`, and runs the examples of README.md and of the tour, `python -m interlock watch`, and
pytest with a test that leaves a changed flag.
"""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import environment as environments
import pythons
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "target" / "dist"
ENVIRONMENTS = ROOT / "target" / "release-check"
TOOLS = Path(sys.executable).parent
SECONDS = 300
LICENCES = {"LICENSE-MIT", "LICENSE-APACHE", "LICENSE-THIRD-PARTY"}
# A block that prints the text below it.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WATCHED = """
import os
os.environ["OMP_NUM_THREADS"] = "3"
"""
LEAKING_TEST = """
from interlock import backends

def test_that_leaves_a_flag_changed():
    backends.cudnn.benchmark = True
"""


class Failed(Exception):
    """A check failed; the text is shown."""


@dataclass
class Report:
    """The results so far."""

    failures: int = 0

    def check(self, subject: str, name: str, action: Callable[[], str | None]) -> None:
        """Run a check, which may return a detail, and print its line."""
        try:
            detail = action()
            verdict, more = "ok", f" ({detail})" if detail else ""
        except Exception as error:
            self.failures += 1
            reason = str(error) if isinstance(error, Failed) else repr(error)
            verdict, more = "FAILED", "\n" + reason.rstrip()
        print(f"{verdict:<7} {subject}: {name}{more}", flush=True)


def run(command: list[str], folder: Path | None = None, *, status: int = 0) -> str:
    """Run a command and return its output; fail unless it exits with a status."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != status:
        raise Failed(f"$ {' '.join(command)}\n{done.stdout}\nexit status {done.returncode}")
    return done.stdout


def expect(condition: bool, otherwise: str) -> None:
    """Fail with a text unless a condition is true."""
    if not condition:
        raise Failed(otherwise)


def tool(name: str, *arguments: str) -> Callable[[], None]:
    """Return a check that a program of the environment exits with 0."""

    def action() -> None:
        run([str(TOOLS / name), *arguments])

    return action


def version() -> str:
    """Return the version of the workspace, which that of the artifacts equals."""
    return str(
        tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    )


def platform_of(wheel: Path) -> str:
    """Compare the tag of a wheel with the symbols that its library needs, and return the tag."""
    tags = {tag.platform for tag in parse_wheel_filename(wheel.name)[3]}
    printed = " ".join(run([str(TOOLS / "auditwheel"), "show", str(wheel)]).split())
    (found,) = re.findall(r'platform tag: "(\w+)"', printed)
    expect(found in tags, f"the file is named {sorted(tags)}, and auditwheel finds {found}:\n{printed}")
    return str(found)


def licences(names: set[str]) -> None:
    """Check that the licences of interlock and of other crates are in a wheel."""
    found = {name.rpartition("/licenses/")[2] for name in names if ".dist-info/licenses/" in name}
    expect(found == LICENCES, f"found {sorted(found)}")


def sbom(archive: zipfile.ZipFile) -> str:
    """Validate the SBOM of a wheel, and return the number of its components."""
    found = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
    expect(len(found) == 1, f"found {found}")
    text = archive.read(found[0]).decode()
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    expect(error is None, str(error))
    return f"{len(json.loads(text)['components'])} crates"


def build_paths(archive: zipfile.ZipFile) -> None:
    """Check that no file of a wheel names a folder of the build."""
    folders = {str(ROOT), str(Path.home()) + "/", "/registry/src/", "/release-build/", "file://"}
    for name in archive.namelist():
        content = archive.read(name)
        found = [folder for folder in folders if folder.encode() in content]
        expect(not found, f"{name} contains {found}")


def unwinder(archive: zipfile.ZipFile) -> None:
    """Check that the extension unwinds with the library with which CPython stops threads (zig_linker.sh)."""
    (name,) = (name for name in archive.namelist() if name.startswith("interlock/_core.") and ".so" in name)
    expect(b"libgcc_s" in archive.read(name), f"{name} has an unwinder of its own")


def check_source_distribution(report: Report, path: Path) -> None:
    """Check a source distribution."""

    def contents() -> str:
        with tarfile.open(path) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        wanted = {
            "PKG-INFO",
            "Cargo.lock",
            "README.md",
            "LICENSE-MIT",
            "LICENSE-THIRD-PARTY",
            "pyproject.toml",
        }
        expect(wanted <= names, f"missing: {sorted(wanted - names)}")
        expect(path.name == f"interlock-{version()}.tar.gz", f"the version is not {version()}")
        return f"{len(names)} files"

    report.check(path.name, "contents", contents)


def check_wheel(report: Report, path: Path) -> None:
    """Check a wheel without installing it."""
    tags = parse_wheel_filename(path.name)[3]
    is_linux = any("linux" in tag.platform for tag in tags)
    if is_linux:
        report.check(path.name, "auditwheel show", lambda: platform_of(path))
    report.check(path.name, "check-wheel-contents", tool("check-wheel-contents", str(path)))
    report.check(path.name, "abi3audit --strict", tool("abi3audit", "--strict", str(path)))
    with zipfile.ZipFile(path) as archive:
        report.check(path.name, "licences", lambda: licences({*archive.namelist()}))
        report.check(path.name, "SBOM", lambda: sbom(archive))
        if is_linux:
            report.check(path.name, "unwinder", lambda: unwinder(archive))
        report.check(path.name, "no path of the build", lambda: build_paths(archive))
    of_file = str(parse_wheel_filename(path.name)[1])
    report.check(path.name, "version", lambda: expect(of_file == version(), f"{of_file} is not {version()}"))


def create(interpreter: pythons.Interpreter, wheel: Path) -> str:
    """Install a wheel and pytest into a new environment, and return its interpreter."""
    folder = ENVIRONMENTS / interpreter.minor
    run([str(interpreter.path), "-m", "venv", "--without-pip", "--clear", str(folder)])
    python = environments.python_of(str(folder))
    # The pip of this environment knows newer Pythons than that of `venv`, which Debian's Pythons lack.
    (pytest,) = (each for each in environments.requirements("test") if each.startswith("pytest=="))
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    run([*pip, "--no-deps", str(wheel)])
    run([*pip, pytest])
    return python


def examples(python: str, page: Path, folder: Path) -> str:
    """Run the examples of a page, compare what they print, and return their number."""
    found = EXAMPLE.findall(page.read_text(encoding="utf-8"))
    expect(bool(found), f"{page.name} has no example")
    for code, printed in found:
        shown = run([python, "-W", "error", "-c", code], folder)
        expect(shown == printed, f"{code}\nprinted\n{shown}\ninstead of\n{printed}")
    return f"{len(found)} examples"


def watch(python: str, folder: Path) -> None:
    """Check that `watch` reports the line of a program that changes a setting."""
    (folder / "watched.py").write_text(WATCHED)
    report = run([python, "-m", "interlock", "watch", "--fail", "watched.py"], folder, status=5)
    expect("OMP_NUM_THREADS" in report and "watched.py:3" in report, report)


def plugin(python: str, folder: Path) -> None:
    """Check that pytest fails a test that leaves a flag changed, only with the option of the plugin."""
    (folder / "test_leak.py").write_text(LEAKING_TEST)
    run([python, "-m", "pytest", "-q", "test_leak.py"], folder)
    report = run([python, "-m", "pytest", "-q", "--interlock=fail", "test_leak.py"], folder, status=1)
    expect("cudnn.benchmark: False (not assigned) -> True" in report, report)


def check_installed(report: Report, interpreter: pythons.Interpreter, wheel: Path) -> None:
    """Install a wheel for one interpreter, and use it."""
    subject = f"CPython {interpreter.release}"
    python = environments.python_of(str(ENVIRONMENTS / interpreter.minor))
    failures = report.failures
    report.check(subject, f"install {wheel.name}", lambda: create(interpreter, wheel) and None)
    if report.failures != failures:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for page in (ROOT / "README.md", ROOT / "docs" / "tour.md"):
            report.check(subject, page.name, partial(examples, python, page, folder))
        report.check(subject, "python -m interlock watch", lambda: watch(python, folder))
        report.check(subject, "pytest --interlock=fail", lambda: plugin(python, folder))


def is_for_this_machine(wheel: Path) -> bool:
    """Return whether a wheel is for the platform of this machine, with any Python."""
    here = {tag.platform for tag in sys_tags()}
    return any(tag.platform in here for tag in parse_wheel_filename(wheel.name)[3])


def oldest(wheel: Path) -> int:
    """Return the minor version of the oldest CPython that can load a wheel of the stable ABI."""
    return min(int(tag.interpreter.removeprefix("cp3")) for tag in parse_wheel_filename(wheel.name)[3])


def main() -> int:
    """Check each file."""
    report = Report()
    sources, wheels = sorted(DIST.glob("*.tar.gz")), sorted(DIST.glob("*.whl"))
    if not sources and not wheels:
        print("target/dist is empty: run `make release-build`", file=sys.stderr)
        return 1
    for path in (*sources, *wheels):
        report.check(path.name, "twine check --strict", tool("twine", "check", "--strict", str(path)))
    for path in sources:
        check_source_distribution(report, path)
    for path in wheels:
        check_wheel(report, path)
    wanted = pythons.supported()
    found = pythons.find(wanted)
    shutil.rmtree(ENVIRONMENTS, ignore_errors=True)
    for path in wheels:
        if not is_for_this_machine(path):
            print(f"skipped {path.name}: not for this machine, so only its files were checked")
            continue
        for interpreter in found.values():
            if interpreter.version[1] >= oldest(path):
                check_installed(report, interpreter, path)
    for minor in wanted:
        if minor not in found:
            print(f"skipped CPython {minor}: not found")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
