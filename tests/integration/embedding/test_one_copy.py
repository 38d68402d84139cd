"""A process has one copy of the state: imports that would create a second one are refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import interlock
import interlock._core
import pytest

from tests.helpers.subprocess import run_command, run_program, run_python


ROOT = Path(__file__).resolve().parents[3]
TWO_COPIES = "interlock keeps its state once per process, and this process has two copies of it: "
OF_AN_EXTENSION = "an extension module must depend on the crate interlock-capi"
OF_A_HOST = "a program that embeds Python must register its copy with append_to_inittab!(_core)"
LIBPYTHON = Path(str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("LDLIBRARY")))


@pytest.fixture(scope="module")
def second_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package with the second copies; return the folder of the extension module and the host."""
    # Compiled like the Rust tests, so that the dependencies are the same.
    command = ["cargo", "build", "--quiet", "--package", "second_copy"]
    environment = os.environ | {"PYO3_PYTHON": sys.executable}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
    folder = tmp_path_factory.mktemp("second_copy")
    library = target / ("libsecond_copy.dylib" if sys.platform == "darwin" else "libsecond_copy.so")
    shutil.copy(library, folder / "second_copy.so")
    shutil.copy(target / "forgetful_host", folder)
    return folder


def core_file() -> str:
    """Return the file of the installed extension module."""
    return str(interlock._core.__file__)


def test_second_file_of_the_extension_is_refused() -> None:
    done = run_program("embedding/second_file_of_the_extension_is_refused.py")
    assert (done.code, done.stderr) == (0, "")
    copy, message = done.stdout.splitlines()
    assert message.startswith(TWO_COPIES)
    assert f"{core_file()} (version {interlock.__version__})" in message
    assert f"{copy} (version {interlock.__version__})" in message
    assert message.endswith(
        "interlock is installed twice: uninstall one of them, or remove its folder from sys.path"
    )


def test_import_after_an_extension_that_links_interlock_is_refused(second_copy: Path) -> None:
    code = "import second_copy; second_copy.write_flag(); import interlock"
    done = run_python(code, env={"PYTHONPATH": str(second_copy)})
    assert done.code == 1
    message = done.stderr.splitlines()[-1]
    assert message.startswith(f"ImportError: {TWO_COPIES}{second_copy / 'second_copy.so'} (version ")
    assert f"{core_file()} (version " in message
    assert OF_AN_EXTENSION in message


def test_extension_that_links_interlock_is_reported_after_the_import(second_copy: Path) -> None:
    code = "import interlock, second_copy; second_copy.write_flag(); second_copy.write_flag(); print('ok')"
    done = run_python(code, env={"PYTHONPATH": str(second_copy)})
    # Where nothing can be raised, one line is printed.
    assert (done.code, done.stdout) == (0, "ok\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"interlock: {TWO_COPIES}")
    assert all(str(file) in line for file in (core_file(), second_copy / "second_copy.so"))
    assert OF_AN_EXTENSION in line


@pytest.mark.skipif(not LIBPYTHON.exists(), reason="this Python has no shared library")
def test_host_that_did_not_register_its_copy_is_refused(second_copy: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import interlock\n")
    host = second_copy / "forgetful_host"
    places = {"PYTHONHOME": sys.base_prefix, "PYTHONPATH": sysconfig.get_path("platlib")}
    done = run_command([str(host), str(LIBPYTHON), str(script)], env=places)
    assert done.code == 1
    message = done.stderr.splitlines()[-1]
    assert message.startswith(f"ImportError: {TWO_COPIES}{host} (version ")
    assert f"{core_file()} (version " in message
    assert OF_A_HOST in message


def test_python_layer_of_another_version_is_refused(tmp_path: Path) -> None:
    package = Path(interlock.__file__).parent
    copy = tmp_path / "interlock"
    shutil.copytree(package, copy)
    (copy / "_version.py").write_text('VERSION = "99.0"\n')
    done = run_python("import interlock", env={"PYTHONPATH": str(tmp_path)})
    assert done.code == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: the Python package {copy} is interlock 99.0, but its extension module in "
        f"{copy / Path(core_file()).name} is interlock {interlock.__version__}; install interlock "
        f"{interlock.__version__}, or build the extension module from interlock 99.0"
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
    done = run_program("embedding/run_in_a_sub_interpreter.py", isolated, SCRIPT)
    assert (done.code, done.stdout) == (0, 2 * REFUSAL), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 14), reason="concurrent.interpreters came with Python 3.14")
def test_import_in_concurrent_interpreters_is_refused() -> None:
    done = run_program("embedding/run_in_a_concurrent_interpreter.py", SCRIPT)
    assert (done.code, done.stdout) == (0, REFUSAL), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 14), reason="InterpreterPoolExecutor came with Python 3.14")
def test_import_in_an_interpreter_pool_is_refused() -> None:
    done = run_program("embedding/import_in_an_interpreter_pool_is_refused.py")
    assert (done.code, done.stdout) == (0, REFUSAL), done.stderr


def test_reimport_keeps_the_state() -> None:
    done = run_program("embedding/reimport_keeps_the_state.py")
    assert (done.code, done.stdout) == (0, "False False\n"), done.stderr
