"""Make the virtual environment `.venv`, or say in one sentence what is missing.

The Makefile runs this file with whatever `PYTHON` names, so it keeps to syntax that every Python 3 reads:
an interpreter that is too old must get as far as saying so (quoted annotations, no f-strings).
"""

import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENVIRONMENT = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(ENVIRONMENT, "bin", "python")
STAMP = os.path.join(ENVIRONMENT, ".test-requirements")

MISSING_PYTHON = (
    "interlock needs CPython 3.11 or newer and {0} is {1}: "
    "install one and name it, as in `make PYTHON=python3.13 ...`."
)
MISSING_VENV = "{0} has no venv module: install it (Debian and Ubuntu: the package python3-venv)."
MISSING_TOOL = {
    "cargo": "cargo was not found: install Rust 1.90 or newer (https://rustup.rs) and put it on PATH.",
    "cc": "cc was not found: install a C compiler, with which Rust links "
    "(Debian and Ubuntu: the package gcc; macOS: xcode-select --install).",
    "cargo-clippy": "cargo clippy was not found: install it with `rustup component add clippy`.",
    "cargo-fmt": "cargo fmt was not found: install it with `rustup component add rustfmt`.",
}


def missing(tools: "list[str]") -> "str | None":
    """Return one sentence about the first thing that is not there, or None."""
    if sys.version_info < (3, 11):
        return MISSING_PYTHON.format(sys.executable, ".".join(str(part) for part in sys.version_info[:3]))
    try:
        import ensurepip  # noqa: F401 (Debian ships venv without it, and then venv fails half way)
        import venv  # noqa: F401
    except ImportError:
        return MISSING_VENV.format(sys.executable)
    for tool in tools:
        if shutil.which(tool) is None:
            return MISSING_TOOL[tool]
    return None


def is_current() -> bool:
    """Return whether `.venv` is there, starts, and is of this very Python."""
    if not os.path.exists(PYTHON):
        return False
    asked = subprocess.Popen([PYTHON, "-c", "import sys; print(sys.version)"], stdout=subprocess.PIPE)
    return asked.communicate()[0].decode().strip() == sys.version.strip()


def create() -> None:
    """Create `.venv` unless it is current."""
    if is_current():
        return
    import venv

    print("creating .venv with Python {}.{}.{}".format(*sys.version_info[:3]), flush=True)
    venv.EnvBuilder(with_pip=True, clear=True).create(ENVIRONMENT)


def requirements() -> "list[str]":
    """Return what building and testing need, as pyproject.toml lists it."""
    import tomllib

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)
    wanted = project["build-system"]["requires"] + project["project"]["optional-dependencies"]["test"]
    return [str(requirement) for requirement in wanted]


def install(wanted: "list[str]") -> None:
    """Install `wanted` into `.venv`, without asking the network when that is done already."""
    digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
    if os.path.exists(STAMP):
        with open(STAMP) as file:
            if file.read() == digest:
                return
    print("installing {}".format(", ".join(wanted)), flush=True)
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call(command + wanted)
    with open(STAMP, "w") as file:
        file.write(digest)


def main(arguments: "list[str]") -> int:
    """Prepare for `demo` (an environment) or for `test` (and everything that the tests need)."""
    testing = arguments == ["test"]
    sentence = missing(["cargo", "cc"] + (["cargo-clippy", "cargo-fmt"] if testing else []))
    if sentence is not None:
        print(sentence, file=sys.stderr)
        return 1
    create()
    if testing:
        try:
            install(requirements())
        except subprocess.CalledProcessError:
            print("pip could not install what the tests need; see its message above.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
