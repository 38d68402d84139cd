"""Create a virtual environment, or print one sentence about the requirement that is missing.

interlock is built and tested in `.venv`; the demos install it in `.venv-demo`. `vendor` creates
`.venv-vendor` with the libraries of vendors, `docs` creates `.venv-docs` with the programs that build the
site, `workflows` creates `.venv-workflows` with those that check GitHub's workflows, `release` creates
`.venv-release` with those that build and check the artifacts of a release, `integrations-2.13` and
`integrations-2.15` create environments with these versions of PyTorch, `integrations-jax-0.4` and
`integrations-jax-0.10` some with versions of JAX and NumPy, `integrations-clusters` one with Dask, Ray,
joblib and Spark, `integrations-ort` one with ONNX Runtime, and `packages` creates `.venv-packages` with
popular packages that use them.

The Makefile runs this file with the interpreter `PYTHON`. It uses syntax that every Python 3 accepts (quoted
annotations, no f-strings), so that an interpreter that is too old can still report this.
"""

import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENVIRONMENT = os.path.join(ROOT, ".venv")
INTEGRATIONS = (
    "integrations-2.13",
    "integrations-2.15",
    "integrations-jax-0.4",
    "integrations-jax-0.10",
    "integrations-clusters",
    "integrations-ort",
)
OTHER_ENVIRONMENTS = {
    use: os.path.join(ROOT, ".venv-" + use)
    for use in ("demo", "vendor", "docs", "workflows", "packages", "release", *INTEGRATIONS)
}

MISSING_PYTHON = (
    "interlock needs CPython 3.11 or newer and {0} is {1}: "
    "install one and select it, as in `make PYTHON=python3.13 ...`."
)
MISSING_WHEELS = (
    "the libraries of make test-vendor are available only for Linux on x86-64, not for {0} on {1}."
)
MISSING_VENV = "{0} has no venv module: install it (Debian and Ubuntu: the package python3-venv)."
MISSING_TOOL = {
    "cargo": "cargo was not found: install Rust 1.90 or newer (https://rustup.rs) and put it on PATH.",
    "cc": "cc was not found: install a C compiler, which Rust needs for linking "
    "(Debian and Ubuntu: the package gcc; macOS: xcode-select --install).",
    "cargo-clippy": "cargo clippy was not found: install it with `rustup component add clippy`.",
    "cargo-fmt": "cargo fmt was not found: install it with `rustup component add rustfmt`.",
}


def missing(tools: "list[str]") -> "str | None":
    """Return one sentence about the first missing requirement, or None."""
    if sys.version_info < (3, 11):
        return MISSING_PYTHON.format(sys.executable, ".".join(str(part) for part in sys.version_info[:3]))
    try:
        import ensurepip  # noqa: F401 (without it, which Debian packages separately, venv fails half way)
        import venv  # noqa: F401
    except ImportError:
        return MISSING_VENV.format(sys.executable)
    for tool in tools:
        if shutil.which(tool) is None:
            return MISSING_TOOL[tool]
    return None


def missing_wheels() -> "str | None":
    """Return one sentence if vendors publish no libraries for this machine, or None."""
    system, machine = os.uname().sysname, os.uname().machine
    return None if (system, machine) == ("Linux", "x86_64") else MISSING_WHEELS.format(system, machine)


def python_of(environment: str) -> str:
    """Return the interpreter of an environment."""
    return os.path.join(environment, "bin", "python")


def is_current(environment: str) -> bool:
    """Return whether an environment exists, can be started, and has the version of this Python."""
    python = python_of(environment)
    if not os.path.exists(python):
        return False
    process = subprocess.Popen([python, "-c", "import sys; print(sys.version)"], stdout=subprocess.PIPE)
    return process.communicate()[0].decode().strip() == sys.version.strip()


def create(environment: str) -> None:
    """Create an environment unless it is current."""
    if is_current(environment):
        return
    import venv

    name = os.path.basename(environment)
    print("creating {} with Python {}.{}.{}".format(name, *sys.version_info[:3]), flush=True)
    venv.EnvBuilder(with_pip=True, clear=True).create(environment)


def requirements(use: str) -> "list[str]":
    """Return the requirements in pyproject.toml for an environment: `test`, `vendor`, `docs`, ..."""
    import tomllib

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)
    extras = project["project"]["optional-dependencies"]
    wanted = {
        "test": project["build-system"]["requires"] + extras["test"],
        "vendor": extras["test-vendor"],
        "docs": extras["docs"],
        "workflows": extras["workflows"],
        "release": project["build-system"]["requires"] + extras["release"],
        "packages": extras["watch-packages"],
    }
    # A dot is not allowed in the name of an extra.
    wanted.update({each: extras["test-" + each.replace(".", "-")] for each in INTEGRATIONS})
    return [str(requirement) for requirement in wanted[use]]


def install(environment: str, wanted: "list[str]") -> None:
    """Install requirements, without network access if they are already installed."""
    stamp = os.path.join(environment, ".test-requirements")
    digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
    if os.path.exists(stamp):
        with open(stamp) as file:
            if file.read() == digest:
                return
    print("installing {}".format(", ".join(wanted)), flush=True)
    command = [python_of(environment), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call(command + wanted)
    with open(stamp, "w") as file:
        file.write(digest)


def main(arguments: "list[str]") -> int:
    """Prepare `.venv-demo`, or for `test` `.venv` with the test requirements, or another environment."""
    use = arguments[0] if arguments else "demo"
    tools = [] if use in ("docs", "workflows", "packages", *INTEGRATIONS) else ["cargo", "cc"]
    sentence = missing(tools + (["cargo-clippy", "cargo-fmt"] if use == "test" else []))
    if sentence is None and use == "vendor":
        sentence = missing_wheels()
    if sentence is not None:
        print(sentence, file=sys.stderr)
        return 1
    environment = OTHER_ENVIRONMENTS.get(use, ENVIRONMENT)
    create(environment)
    if use != "demo":
        try:
            install(environment, requirements(use))
        except subprocess.CalledProcessError:
            print(
                "pip could not install the requirements of {}; see its message above.".format(use),
                file=sys.stderr,
            )
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
