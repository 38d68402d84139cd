"""The steps of `make test`: what each one runs and where."""

import os
import shutil
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

# The binding has no Rust tests, and to link it as a plain library takes a libpython that many systems lack.
# tests/integration/embedding builds the host where there is one.
RUST_PACKAGES = ["--workspace", "--exclude", "interlock-python", "--exclude", "embed_host"]
# Has no tests, and criterion is expensive to compile.
BENCHMARKS = "interlock-program-benchmarks"
RUST_PACKAGES += ["--exclude", BENCHMARKS]
FACADE_FEATURES = ["accelerator", "host", "cuda"]
LINTS = ["--all-targets", "--", "-D", "warnings"]
ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv" / "bin" / "python")
TYPED_TESTS = ["benchmarks", "tests/conformance/api", "tests/fuzz", "tests/hardware"]
STUBTEST_ALLOWLIST = ROOT / "tests" / "typing" / "stubtest_allowlist.txt"


@dataclass(frozen=True)
class Step:
    """Commands run one after the other; the step fails with the first that fails."""

    name: str
    commands: list[list[str]]
    folder: Path = ROOT
    variables: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = field(default=())


def environment() -> dict[str, str]:
    """Return the environment of every command.

    One interpreter for all of them: PyO3 compiles again whenever it sees another one. Where the interpreter
    is a shared library outside the folders that the system's loader knows, a Rust program linked with it
    needs to be told.
    """
    variables = dict(os.environ)
    variables["PYO3_PYTHON"] = PYTHON
    variables["CARGO_TERM_COLOR"] = "never"
    variables["NO_COLOR"] = "1"
    variables.setdefault("CARGO_TARGET_DIR", str(ROOT / "target"))
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        name = "DYLD_LIBRARY_PATH" if os.uname().sysname == "Darwin" else "LD_LIBRARY_PATH"
        folders = [str(sysconfig.get_config_var("LIBDIR")), variables.get(name, "")]
        variables[name] = os.pathsep.join(folder for folder in folders if folder)
    # The sources must be seen only where a step names them: the rest tests the installed wheel.
    variables.pop("PYTHONPATH", None)
    return variables


def rust_tests() -> list[str]:
    """Return the command of the Rust tests: nextest gives each test a process, and so statics, of its own."""
    if shutil.which("cargo-nextest") is not None:
        return ["cargo", "nextest", "run", *RUST_PACKAGES]
    return ["cargo", "test", *RUST_PACKAGES, "--lib", "--bins", "--tests"]


def models() -> list[list[str]]:
    """Return the commands that run the models of threads, and check the code that only they compile."""
    package = ["--package", "interlock-core", "--lib"]
    nextest = shutil.which("cargo-nextest") is not None
    runner = ["cargo", "nextest", "run"] if nextest else ["cargo", "test"]
    return [
        [*runner, *package, "loom_tests::"],
        ["cargo", "clippy", *package, "--tests", "--", "-D", "warnings"],
    ]


def variables_of_models() -> dict[str, str]:
    """Return what models are compiled with: all crates anew, so in a folder of their own."""
    flags = f"{os.environ.get('RUSTFLAGS', '')} --cfg loom"
    return {
        "RUSTFLAGS": flags.strip(),
        "CARGO_TARGET_DIR": os.path.join(environment()["CARGO_TARGET_DIR"], "loom"),
    }


def facade() -> list[list[str]]:
    """Return the commands that check the facade without features and with each alone."""
    command = ["cargo", "clippy", "--package", "interlock-runtime", "--no-default-features"]
    chosen: list[list[str]] = [[], *(["--features", feature] for feature in FACADE_FEATURES)]
    return [[*command, *features, "--", "-D", "warnings"] for features in chosen]


def stubtest() -> list[str]:
    """Return the command that compares the stubs with the modules of the installed wheel."""
    command = [PYTHON, "-m", "mypy.stubtest", "interlock"]
    return command + (["--allowlist", str(STUBTEST_ALLOWLIST)] if STUBTEST_ALLOWLIST.exists() else [])


def pytest(*arguments: str, workers: int = 2) -> list[str]:
    """Return the command of a run of pytest in `workers` processes, or in its own with 0."""
    return [PYTHON, "-m", "pytest", "-n", str(workers), "--dist", "worksteal", *arguments]


def quick_steps(empty: Path) -> list[Step]:
    """Return the steps of `make test`, the fastest first; no source is visible from the folder `empty`."""
    return [
        Step("rust format", [["cargo", "fmt", "--all", "--check"]]),
        Step("ruff check", [[PYTHON, "-m", "ruff", "check", "."]]),
        Step("ruff format", [[PYTHON, "-m", "ruff", "format", "--check", "."]]),
        Step("mypy package", [[PYTHON, "-m", "mypy", "--strict", "python/interlock", "tools"]]),
        Step("wheel", [[PYTHON, "tools/package.py", "install"]]),
        Step("generated files", [[PYTHON, "tools/generate.py", "--check"]], needs=("wheel",)),
        # The programs of tests/typing are checked by both type checkers in tests/typing/test_typing.py.
        Step("mypy tests", [[PYTHON, "-m", "mypy", "--strict", *TYPED_TESTS]], needs=("wheel",)),
        Step("basedpyright", [[PYTHON, "-m", "basedpyright", "tests/hardware/gpu"]], needs=("wheel",)),
        Step("stubtest", [stubtest()], folder=empty, needs=("wheel",)),
        Step("clippy", [["cargo", "clippy", "--workspace", "--exclude", BENCHMARKS, *LINTS], *facade()]),
        Step("rust tests", [rust_tests()]),
        Step("pytest", [pytest("-m", "not slow and not timing")], needs=("wheel",)),
        Step("pytest timing", [pytest("-m", "timing", workers=0)], needs=("wheel",)),
    ]


def remaining_steps() -> list[Step]:
    """Return the steps of `make test-all`: what `make test` leaves out, and pytest on the release wheel."""
    return [
        Step("clippy benchmarks", [["cargo", "clippy", "--package", BENCHMARKS, *LINTS]]),
        Step("loom", models(), variables=variables_of_models()),
        Step("rust doctests", [["cargo", "test", *RUST_PACKAGES, "--doc"]]),
        Step(
            "rust documentation",
            [["cargo", "doc", *RUST_PACKAGES, "--no-deps"], [PYTHON, "tools/rustdoc.py"]],
            variables={"RUSTDOCFLAGS": "-D warnings"},
        ),
        Step("release wheel", [[PYTHON, "tools/package.py", "release"]]),
        Step(
            "pytest release",
            [pytest("--full", "-m", "not timing"), pytest("-m", "timing", workers=0)],
            needs=("release wheel",),
        ),
        Step(
            "pytest fake-cuda",
            [pytest("tests/unit/accelerator", "--full", "--driver=fake-cuda")],
            needs=("release wheel",),
        ),
    ]
