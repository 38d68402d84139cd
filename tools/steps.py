"""The steps of `make test`, `make test-all` and `make check-crates`: their commands and environments."""

import os
import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

# The bindings have no Rust tests, and linking them as an ordinary library requires a libpython, which many
# systems lack. tests/integration/embedding builds the embedding programs if there is one.
RUST_PACKAGES = [
    "--workspace",
    "--exclude",
    "interlock-python",
    "--exclude",
    "interlock-extension",
    "--exclude",
    "embed_host",
    "--exclude",
    "rust_host",
]
# The benchmarks have no tests, and criterion is slow to compile.
BENCHMARKS = "interlock-program-benchmarks"
RUST_PACKAGES += ["--exclude", BENCHMARKS]
# Without the tensor runtime, and like the light wheel with the dependencies of the Rust tests.
LIGHT = ["--package", "interlock-python", "--no-default-features", "--features", "shared-with-tests"]
# The tests of the parts that a light wheel has; tests/conftest.py skips those that need tensors. Its code is
# part of that of the wheel, which has passed every case. Only names can be missing, so each test runs its
# first and its last case. The launcher does not use the extension.
LIGHT_TESTS = ["tests/unit", "--ignore=tests/unit/launcher"]
LIGHT_TESTS += ["tests/integration/processes", "tests/integration/test_control_plane.py"]
LIGHT_TESTS += [
    f"tests/packaging/test_{name}.py" for name in ("capi", "features", "import", "public_names", "wheel")
]
# Runs each test in its own process, with new statics: the tests choose drivers, and write flags.
NEXTEST = ["cargo", "nextest", "run", "--no-fail-fast"]
FACADE_FEATURES = ["accelerator", "host", "cuda"]
LINTS = ["--all-targets", "--", "-D", "warnings"]
ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv" / "bin" / "python")
DOCS_PYTHON = str(ROOT / ".venv-docs" / "bin" / "python")
TYPED_TESTS = ["benchmarks", "examples", "tests/conformance/api", "tests/fuzz", "tests/hardware"]
STUBTEST_ALLOWLIST = ROOT / "tests" / "typing" / "stubtest_allowlist.txt"
# Exact versions: a new release of a checker must not break a tested commit.
CRATE_TOOLS = ["cargo-deny@0.20.2", "cargo-semver-checks@0.51.0"]
# Not "bans": the runtimes that the crates of integrations/ use choose the versions of what they need.
CLIENT_CHECKS = ["advisories", "licenses", "sources"]
CRATE_TOOLS_FOLDER = ROOT / "target" / "tools"


@dataclass(frozen=True)
class Step:
    """A sequence of commands. The step fails at the first command that fails."""

    name: str
    commands: list[list[str]]
    folder: Path = ROOT
    variables: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = field(default=())


def environment() -> dict[str, str]:
    """Return the environment variables of all commands.

    All commands use one interpreter, because PyO3 is compiled again for another one. If libpython is a shared
    library outside of the loader's folders, the loader's search path is extended for Rust programs that link
    it.
    """
    variables = dict(os.environ)
    variables["PYO3_PYTHON"] = PYTHON
    variables["CARGO_TERM_COLOR"] = "never"
    variables["NO_COLOR"] = "1"
    variables.setdefault("CARGO_TARGET_DIR", str(ROOT / "target"))
    variables |= variables_of_maturin(Path(variables["CARGO_TARGET_DIR"]))
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        name = "DYLD_LIBRARY_PATH" if os.uname().sysname == "Darwin" else "LD_LIBRARY_PATH"
        folders = [str(sysconfig.get_config_var("LIBDIR")), variables.get(name, "")]
        variables[name] = os.pathsep.join(folder for folder in folders if folder)
    # Tests must import the installed wheel, not the sources.
    variables.pop("PYTHONPATH", None)
    return variables


def variables_of_maturin(target: Path) -> dict[str, str]:
    """Return the variables with which maturin has compiled PyO3 in a target directory, if it has.

    With others, each command that follows would compile PyO3 and the bindings again.
    """
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    files = sorted((target / "maturin").glob(f"pyo3-config-*-{python}-abi3.txt"))
    return {"PYO3_CONFIG_FILE": str(files[0]), "PYO3_BUILD_EXTENSION_MODULE": "1"} if files else {}


def models() -> list[list[str]]:
    """Return the commands that run the loom tests and check the code that is compiled only for loom."""
    package = ["--package", "interlock-core", "--lib"]
    return [
        [*NEXTEST, *package, "loom_tests::"],
        ["cargo", "clippy", *package, "--tests", "--", "-D", "warnings"],
    ]


def variables_of_models() -> dict[str, str]:
    """Return the variables of the loom tests, which are compiled in their own target directory."""
    flags = f"{os.environ.get('RUSTFLAGS', '')} --cfg loom"
    return {
        "RUSTFLAGS": flags.strip(),
        "CARGO_TARGET_DIR": os.path.join(environment()["CARGO_TARGET_DIR"], "loom"),
    }


def facade() -> list[list[str]]:
    """Return the commands that check the facade without features and with each single feature."""
    command = ["cargo", "clippy", "--package", "interlock-runtime", "--no-default-features"]
    selections: list[list[str]] = [[], *(["--features", feature] for feature in FACADE_FEATURES)]
    return [[*command, *features, "--", "-D", "warnings"] for features in selections]


def stubtest() -> list[str]:
    """Return the command that compares the stubs with the installed modules."""
    command = [PYTHON, "-m", "mypy.stubtest", "interlock"]
    return command + (["--allowlist", str(STUBTEST_ALLOWLIST)] if STUBTEST_ALLOWLIST.exists() else [])


def pytest(*arguments: str, workers: int = 2) -> list[str]:
    """Return the command that runs pytest with `workers` processes, or without xdist workers for 0."""
    return [PYTHON, "-m", "pytest", "-n", str(workers), "--dist", "worksteal", *arguments]


def quick_steps(empty: Path) -> list[Step]:
    """Return the steps of `make test`, the fastest first.

    Stubtest runs in the folder `empty`, in which Python cannot import the sources.
    """
    return [
        Step("rust format", [["cargo", "fmt", "--all", "--check"]]),
        Step("ruff check", [[PYTHON, "-m", "ruff", "check", "."]]),
        Step("words", [[PYTHON, "tools/words.py"]]),
        Step("ruff format", [[PYTHON, "-m", "ruff", "format", "--check", "."]]),
        Step("mypy package", [[PYTHON, "-m", "mypy", "--strict", "python", "tools"]]),
        Step("wheel", [[PYTHON, "tools/package.py", "install"]]),
        Step("generated files", [[PYTHON, "tools/generate.py", "--check"]], needs=("wheel",)),
        # tests/typing/test_typing.py runs both type checkers on the programs of tests/typing.
        Step("mypy tests", [[PYTHON, "-m", "mypy", "--strict", *TYPED_TESTS]], needs=("wheel",)),
        Step("basedpyright", [[PYTHON, "-m", "basedpyright", "tests/hardware/gpu"]], needs=("wheel",)),
        Step("stubtest", [stubtest()], folder=empty, needs=("wheel",)),
        Step("clippy", [["cargo", "clippy", "--workspace", "--exclude", BENCHMARKS, *LINTS], *facade()]),
        Step("rust tests", [[*NEXTEST, *RUST_PACKAGES]]),
        Step("pytest", [pytest("-m", "not slow and not timing")], needs=("wheel",)),
        Step("pytest timing", [pytest("-m", "timing", workers=0)], needs=("wheel",)),
    ]


def remaining_steps() -> list[Step]:
    """Return the additional steps of `make test-all`, including pytest on other builds."""
    return [
        Step("clippy benchmarks", [["cargo", "clippy", "--package", BENCHMARKS, *LINTS]]),
        Step("loom", models(), variables=variables_of_models()),
        Step("rust doctests", [["cargo", "test", *RUST_PACKAGES, "--doc"]]),
        Step(
            "rust documentation",
            [["cargo", "doc", *RUST_PACKAGES, "--no-deps"], [PYTHON, "tools/rustdoc.py"]],
            variables={"RUSTDOCFLAGS": "-D warnings"},
        ),
        Step(
            "documentation site",
            [[PYTHON, "tools/environment.py", "docs"], [DOCS_PYTHON, "-m", "mkdocs", "build", "--quiet"]],
            variables={"NO_MKDOCS_2_WARNING": "1"},
        ),
        Step(
            "light wheel",
            [["cargo", "clippy", *LIGHT, "--", "-D", "warnings"], [PYTHON, "tools/package.py", "light"]],
        ),
        Step(
            "pytest light",
            [pytest(*LIGHT_TESTS, "--few-cases", "-m", "not slow and not timing")],
            needs=("light wheel",),
        ),
        # After the light wheel, which it replaces in .venv.
        Step("release wheel", [[PYTHON, "tools/package.py", "release"]]),
        Step(
            "pytest release",
            [pytest("--full", "--other-build", "-m", "not timing"), pytest("-m", "timing", workers=0)],
            needs=("release wheel",),
        ),
        Step(
            "pytest fake-cuda",
            [pytest("tests/unit/accelerator", "--full", "-m", "driver", "--driver=fake-cuda")],
            needs=("release wheel",),
        ),
    ]


def published() -> list[str]:
    """Return the names of the crates that are published."""
    manifests = [tomllib.loads(path.read_text()) for path in sorted(ROOT.glob("rust/*/Cargo.toml"))]
    return [one["package"]["name"] for one in manifests if one["package"]["publish"] == ["crates-io"]]


def baseline() -> str:
    """Return the commit with whose interfaces the crates are compared, or an empty string.

    It is `BASELINE`, or the last tag of a release.
    """
    command = ["git", "describe", "--tags", "--match", "v*", "--abbrev=0"]
    tag = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return os.environ.get("BASELINE") or tag


def crate_steps() -> list[Step]:
    """Return the steps of `make check-crates`, which need the network."""
    target = environment()["CARGO_TARGET_DIR"]
    deny = str(CRATE_TOOLS_FOLDER / "bin" / "cargo-deny")
    clients = [["--manifest-path", str(path)] for path in sorted(ROOT.glob("integrations/*/Cargo.toml"))]
    semver = [str(CRATE_TOOLS_FOLDER / "bin" / "cargo-semver-checks"), "semver-checks", "--baseline-rev"]
    packages = [option for name in published() for option in ("--package", name)]
    # Not in the target directory of the other builds, which would retain gigabytes of the tools, and without
    # the slow optimizations that their release profiles select.
    install = ["env", "-u", "CARGO_TARGET_DIR", "CARGO_PROFILE_RELEASE_LTO=off"]
    install += ["CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16", "cargo", "install", "--quiet", "--locked"]
    steps = [
        Step("tools", [[*install, "--root", str(CRATE_TOOLS_FOLDER), *CRATE_TOOLS]]),
        Step("minimum rust", [[PYTHON, "tools/minimum_rust.py"]]),
        Step("dependencies", [[deny, "check", "bans", "licenses", "sources"]], needs=("tools",)),
        Step("advisories", [[deny, "check", "advisories"]], needs=("tools",)),
        Step(
            "rust clients", [[deny, *client, "check", *CLIENT_CHECKS] for client in clients], needs=("tools",)
        ),
        Step(
            "docs.rs",
            # One by one, so that no crate has the features that another enables.
            [["cargo", "doc", "--no-deps", "--all-features", "--package", name] for name in published()],
            # Separate, because tools/rustdoc.py reads the pages of the other directory.
            variables={"RUSTDOCFLAGS": "-D warnings", "CARGO_TARGET_DIR": os.path.join(target, "docs-rs")},
        ),
        Step("publish", [["cargo", "publish", "--workspace", "--dry-run"]]),
    ]
    if commit := baseline():
        print(f"semver: the baseline is {commit}")
        steps.append(Step("semver", [[*semver, commit, *packages]], needs=("tools",)))
    else:
        print("semver is not checked: there is no tag of a release; BASELINE=COMMIT compares with a commit")
    if os.environ.get("ADVISORIES") == "no":
        print("advisories are not checked: ADVISORIES=no")
        steps = [step for step in steps if step.name != "advisories"]
    return steps
