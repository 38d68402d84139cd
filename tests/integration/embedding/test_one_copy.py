"""A process has one copy of the state: imports that would create a second one are refused."""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
from interlock import _core

from tests.helpers import cargo
from tests.helpers.subprocess import eval_program, run_command, run_program, run_python

LIBRARY = _core.LIBRARY
LIBPYTHON = Path(
    str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("LDLIBRARY") or "libpython")
)


def refusal(other: object, this: str, cure: str) -> str:
    """Return the message of an import of interlock in a process that has another copy."""
    return (
        "interlock keeps its state once per process, and this process has two copies of it: "
        f"{other} (version {_core.__version__}) and {this} (version {_core.__version__}); {cure}"
    )


def warning(other: str, this: object, cure: str) -> str:
    """Return the line that a copy prints before its first lock in a process that has another copy."""
    return (
        "interlock: this process has two copies of the state, and flags and modes of one have no effect in "
        f"the other: {other} (version {_core.__version__}) and {this} (version {_core.__version__}); {cure}\n"
    )


def without_the_crate(library: Path) -> str:
    return f"build {library} with interlock-capi instead of the crate interlock"


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    """Return the file of an extension module that links the crate."""
    return Path(shutil.copy(cargo.built("second_copy"), tmp_path / "second_copy.so"))


def run_with(extension: Path, code: str) -> tuple[int, str, str]:
    return run_python(f"import sys; sys.path.insert(0, {str(extension.parent)!r})\n{code}")


def test_library_is_the_file_of_the_extension_module() -> None:
    assert _core.__file__ == _core.LIBRARY


def test_import_of_a_second_copy_of_the_extension_is_refused(tmp_path: Path) -> None:
    program = "embedding.interpreters.import_of_a_second_copy_of_the_extension_is_refused"
    message, name, path, copy = eval_program(program, str(tmp_path))
    cure = "remove one of the files, or import interlock from one folder only"
    assert (message, name, path) == (refusal(LIBRARY, copy, cure), "interlock._core", copy)


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_ENABLE_SHARED") or not LIBPYTHON.exists(),
    reason="this Python has no shared library that a program could load",
)
def test_import_in_a_program_with_an_unregistered_copy_is_refused() -> None:
    host = cargo.built("second_copy", "unregistered_host")
    folders = {"PYTHONHOME": sys.base_prefix, "PYTHONPATH": sysconfig.get_path("platlib")}
    done = run_command([str(host), str(LIBPYTHON), "import interlock"], env=folders)
    cure = "register the program's copy with pyo3::append_to_inittab!(_core) before Python is initialized"
    assert done.code == 1
    assert f"ImportError: {refusal(host, LIBRARY, cure)}\n" in done.stderr


def test_import_after_an_extension_that_links_the_crate_is_refused(extension: Path) -> None:
    use = "import second_copy\nassert not second_copy.disable_cudnn()\n"
    code, _, stderr = run_with(extension, use + "import interlock")
    assert code == 1
    error = f"ImportError: {refusal(extension, LIBRARY, without_the_crate(extension))}\n"
    assert stderr.endswith(error)
    assert stderr.count("two copies") == 1


def test_extension_that_links_the_crate_prints_one_line_if_loaded_later(extension: Path) -> None:
    code = "import interlock, second_copy\nfor _ in range(2): assert not second_copy.disable_cudnn()\n"
    done = run_with(extension, code + "assert interlock.backends.cudnn.enabled")
    assert done == (
        0,
        "",
        warning(LIBRARY, extension, without_the_crate(extension)),
    )


def test_extension_that_links_the_crate_may_be_the_only_copy(extension: Path) -> None:
    assert run_with(extension, "import second_copy\nassert not second_copy.disable_cudnn()") == (0, "", "")


def test_copy_that_is_marked_as_separate_is_not_reported() -> None:
    library = str(cargo.built("fake_cuda"))
    for code in ("{load}; import interlock", "import interlock; {load}"):
        load = f"import ctypes; assert ctypes.CDLL({library!r}).cuInit(0) == 0"
        assert run_python(code.format(load=load)) == (0, "", ""), code


def test_python_files_of_another_version_than_the_extension_are_refused(tmp_path: Path) -> None:
    package = tmp_path / "interlock"
    shutil.copytree(Path(str(_core.__file__)).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    version = package / "_version.py"
    version.write_text(re.sub('(?m)^VERSION = ".*"$', 'VERSION = "9.8.7"', version.read_text()))
    done = run_python(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport interlock")
    (library,) = package.glob("_core.*.so")
    assert done.code == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: interlock's Python files and its extension module must have one version: "
        f"{package / '__init__.py'} has 9.8.7, {library} has {_core.__version__}; "
        "reinstall interlock, in the version of the program if it embeds Python"
    )


REFUSAL = (
    "interlock keeps its state once per process and can't be imported in a sub-interpreter; "
    "import it in the main interpreter\n"
)
SCRIPT = """
try:
    import interlock
except ImportError as error:
    print(error, flush=True)
"""


@pytest.mark.parametrize("isolated", [False, True])
def test_import_in_a_sub_interpreter_is_refused(isolated: bool) -> None:
    # Isolated interpreters have their own GIL since 3.12.
    done = run_program("embedding.interpreters.run_in_a_sub_interpreter", isolated, SCRIPT)
    assert (done.code, done.stdout) == (0, 2 * REFUSAL), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 14), reason="concurrent.interpreters came with Python 3.14")
def test_import_in_concurrent_interpreters_is_refused() -> None:
    done = run_program("embedding.interpreters.run_in_a_concurrent_interpreter", SCRIPT)
    assert (done.code, done.stdout) == (0, REFUSAL), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 14), reason="InterpreterPoolExecutor came with Python 3.14")
def test_import_in_an_interpreter_pool_is_refused() -> None:
    done = run_program("embedding.interpreters.import_in_an_interpreter_pool_is_refused")
    assert (done.code, done.stdout) == (0, REFUSAL), done.stderr


def test_reimport_keeps_the_state() -> None:
    done = run_program("embedding.interpreters.reimport_keeps_the_state")
    assert (done.code, done.stdout) == (0, "False False\n"), done.stderr
