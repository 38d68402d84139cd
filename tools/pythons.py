"""Run the whole pytest suite on every supported CPython, with one wheel.

`pythons.py [3.N ...] [-- PYTEST ARGUMENTS]` searches `PATH`, pyenv's versions and the folders of the variable
`PYTHONS` (colon-separated) for the versions that pyproject.toml lists, or for the given ones. It uses the
newest release of each, creates an environment for it in `.venv-pythons`, installs the release wheel of the
working tree there, and runs pytest. The exit status is 1 if a suite fails, crashes or hangs.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import environment as environments
import package
import steps
from check import counts

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".venv-pythons"
CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")
# Longer than the timeout of any test: a test that compiles a program may take 600 seconds.
SECONDS_OF_SILENCE = 900.0
SECONDS_TO_ANSWER = 60.0
SECONDS_TO_PRINT_TRACEBACKS = 10.0
WORKERS = 2
PIP = "pip==26.3"
QUIET = ["--quiet", "--disable-pip-version-check"]
# An abi3 extension module cannot be loaded by a free-threaded build.
QUESTION = """
import json, sys, sysconfig
gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
shared = bool(sysconfig.get_config_var("Py_ENABLE_SHARED"))
print(json.dumps({
    "usable": gil and sys.implementation.name == "cpython",
    "version": list(sys.version_info),
    "libraries": str(sysconfig.get_config_var("LIBDIR")) if shared else "",
    "headers": sysconfig.get_path("include"),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A CPython on this machine."""

    path: Path
    version: tuple[int, int, int, str, int]
    libraries: str
    """The folder of its shared library, or an empty string."""
    headers: str
    """The folder of its headers."""

    @property
    def minor(self) -> str:
        """Return the version without its patch, as in 3.14."""
        return f"{self.version[0]}.{self.version[1]}"

    @property
    def release(self) -> str:
        """Return the full version, as in 3.14.2 or 3.15.0rc1."""
        major, minor, patch, level, serial = self.version
        letters = {"alpha": "a", "beta": "b", "candidate": "rc"}
        return f"{major}.{minor}.{patch}" + (f"{letters[level]}{serial}" if level in letters else "")

    @property
    def environment(self) -> Path:
        """Return the folder of the environment."""
        return ENVIRONMENTS / self.minor

    @property
    def python(self) -> str:
        """Return the interpreter of the environment."""
        return environments.python_of(str(self.environment))

    @property
    def packages(self) -> Path:
        """Return the folder of the environment's packages."""
        return self.environment / "lib" / f"python{self.minor}" / "site-packages"


@dataclass(frozen=True)
class Outcome:
    """The result of one suite."""

    release: str
    verdict: str
    detail: str
    seconds: float

    def line(self) -> str:
        """Return the line of the summary."""
        return f"{self.release:<8}  {self.verdict:<7}  {self.detail:<40}  {self.seconds:.0f} s"


def supported() -> list[str]:
    """Return the versions in the classifiers of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    matches = (CLASSIFIER.fullmatch(each) for each in project["classifiers"])
    return [match[1] for match in matches if match]


def folders() -> list[Path]:
    """Return every folder that may contain interpreters."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    named = [os.environ.get("PYTHONS", ""), os.environ.get("PATH", "")]
    listed = [Path(folder) for names in named for folder in names.split(os.pathsep) if folder]
    return [*listed, *sorted(pyenv.glob("versions/*/bin"))]


def query(path: Path) -> Interpreter | None:
    """Return the interpreter at `path`, or None if it does not start or cannot load the wheel."""
    try:
        printed = subprocess.run(
            [str(path), "-I", "-c", QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_TO_ANSWER,
            check=True,
        )
        answer = json.loads(printed.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None  # For example a shim of pyenv whose version is not selected.
    if not answer["usable"]:
        return None
    major, minor, patch, level, serial = answer["version"]
    return Interpreter(path, (major, minor, patch, level, serial), answer["libraries"], answer["headers"])


def find(wanted: list[str]) -> dict[str, Interpreter]:
    """Return the newest release of each version that is wanted and installed."""
    newest: dict[str, Interpreter] = {}
    for minor in wanted:
        for folder in folders():
            path = folder / f"python{minor}"
            found = query(path) if path.exists() else None
            if found is None or found.minor != minor:
                continue
            if minor not in newest or found.version > newest[minor].version:
                newest[minor] = found
    return newest


def is_current(interpreter: Interpreter) -> bool:
    """Return whether the environment exists, is of this release and has its pip."""
    made = query(Path(interpreter.python))
    return (
        made is not None and made.version == interpreter.version and (interpreter.packages / "pip").is_dir()
    )


def create(interpreter: Interpreter) -> None:
    """Create the environment, with a pip that knows this Python.

    `venv` would take pip from `ensurepip`, which Debian's Pythons lack, and `pip --python` would run this
    environment's pip, which may be too old for a newer Python.
    """
    print(f"creating {interpreter.environment.relative_to(ROOT)} with {interpreter.path}", flush=True)
    folder = interpreter.environment
    subprocess.run([str(interpreter.path), "-m", "venv", "--without-pip", "--clear", str(folder)], check=True)
    pip = [sys.executable, "-m", "pip", "install", *QUIET, "--target", str(interpreter.packages)]
    subprocess.run([*pip, "--no-deps", "--only-binary", ":all:", PIP], check=True)


def prepare(interpreter: Interpreter, wheel: Path) -> None:
    """Create the environment if needed, and install the requirements of the tests and the wheel."""
    if not is_current(interpreter):
        create(interpreter)
    # A pinned package without a wheel for this version is an error, because its compilation can take an hour.
    # Dependencies may be compiled: PyYAML, for example, compiles quickly.
    wanted = environments.requirements("test")
    names = ",".join(re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in wanted)
    environments.install(str(interpreter.environment), [f"--only-binary={names}", *wanted])
    pip = [interpreter.python, "-m", "pip", "install", *QUIET]
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheel)], check=True)


def suite(interpreter: Interpreter, arguments: list[str]) -> list[list[str]]:
    """Return the commands of the whole suite, or the one with the given arguments of pytest."""
    cache = ["-o", f"cache_dir={interpreter.environment / 'pytest-cache'}"]
    pytest = [interpreter.python, "-m", "pytest", *cache]
    if arguments:
        return [[*pytest, *arguments]]
    # Tests that compare durations run alone.
    parallel = ["-n", str(WORKERS), "--dist", "worksteal"]
    return [[*pytest, *parallel, "--full", "-m", "not timing"], [*pytest, "--full", "-m", "timing"]]


def variables(interpreter: Interpreter) -> dict[str, str]:
    """Return the environment variables of one suite."""
    result = steps.environment()
    result["PYO3_PYTHON"] = interpreter.python
    # Debian's pyconfig.h includes another one by its path from the parent folder.
    parent = str(Path(interpreter.headers).parent)
    result["CPATH"] = os.pathsep.join(filter(None, [parent, os.environ.get("CPATH", "")]))
    if interpreter.libraries:
        name = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
        result[name] = os.pathsep.join(filter(None, [interpreter.libraries, os.environ.get(name, "")]))
    return result


def watch(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Wait until a suite exits. If it prints nothing for too long, kill it and return False."""
    size, changed = 0, time.monotonic()
    while True:
        try:
            process.wait(timeout=1.0)
            return True
        except subprocess.TimeoutExpired:
            pass
        if log.stat().st_size != size:
            size, changed = log.stat().st_size, time.monotonic()
        if time.monotonic() - changed > SECONDS_OF_SILENCE:
            kill(process)
            return False


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a suite and its workers. On SIGABRT, pytest's faulthandler prints the stacks of all threads."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGABRT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=SECONDS_TO_PRINT_TRACEBACKS)
    # Also a worker that outlives the suite.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def start(interpreter: Interpreter, command: list[str], log: Path) -> tuple[bool, int]:
    """Run one command, and return whether it exited by itself, and its exit status."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables(interpreter),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return watch(process, log), process.returncode
        except BaseException:
            kill(process)
            raise


def run(interpreter: Interpreter, arguments: list[str]) -> Outcome:
    """Run one suite, and print the output of each command that fails."""
    started = time.monotonic()
    log = interpreter.environment / "pytest.log"
    verdict, detail, output = "ok", "", ""
    for command in suite(interpreter, arguments):
        exited, status = start(interpreter, command, log)
        printed = log.read_text(encoding="utf-8", errors="replace")
        output += printed
        if status != 0:
            print(f"\n{printed}\n$ {' '.join(command)}\nexit status {status}\n", flush=True)
        if not exited:
            verdict, detail = "HUNG", f"no output for {SECONDS_OF_SILENCE:.0f} s"
        elif status < 0:
            verdict, detail = "CRASHED", signal.Signals(-status).name
        elif status > 0 and verdict == "ok":
            verdict = "FAILED"
    return Outcome(interpreter.release, verdict, detail or counts(output), time.monotonic() - started)


def attempt(interpreter: Interpreter, wheel: Path, arguments: list[str]) -> Outcome:
    """Prepare one environment and run its suite."""
    try:
        prepare(interpreter, wheel)
    except subprocess.CalledProcessError as error:
        failed = " ".join(str(part) for part in error.cmd)
        return Outcome(interpreter.release, "FAILED", f"not prepared: {failed}", 0.0)
    print(f"{interpreter.release} ...", flush=True)
    return run(interpreter, arguments)


def main(given: list[str]) -> int:
    """Run every suite, also after a failure, and print one line for each version."""
    split = given.index("--") if "--" in given else len(given)
    versions, arguments = given[:split], given[split + 1 :]
    unknown = set(versions) - set(supported())
    if unknown:
        print(
            f"not supported: {', '.join(sorted(unknown))}; supported: {', '.join(supported())}",
            file=sys.stderr,
        )
        return 1
    wanted = versions or supported()
    found = find(wanted)
    wheel = package.build(ROOT, package.WHEELS, "published")
    outcomes = {minor: attempt(each, wheel, arguments) for minor, each in found.items()}
    print()
    for minor in wanted:
        print(outcomes[minor].line() if minor in outcomes else f"{minor:<8}  not found")
    # A version that is not installed is a failure only if it was requested.
    missing = not found or any(minor not in found for minor in versions)
    return 1 if missing or any(outcome.verdict != "ok" for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
