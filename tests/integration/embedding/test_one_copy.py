"""A process has one copy of the state: what would bring a second one is refused."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.subprocess import run_python


def test_a_second_copy_of_the_extension_module_is_refused() -> None:
    done = run_python(
        """
        import importlib.util, pathlib, shutil, tempfile
        import interlock._core

        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(interlock._core.__file__, folder)
            spec = importlib.util.spec_from_file_location("elsewhere._core", copy)
            try:
                spec.loader.exec_module(importlib.util.module_from_spec(spec))
            except ImportError as error:
                print(error)
        """
    )
    assert done.code == 0, done.stderr
    assert "second copy of interlock" in done.stdout


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
def test_import_in_a_sub_interpreter_is_refused_with_our_own_sentence(isolated: bool) -> None:
    # Isolated interpreters have a GIL of their own since 3.12.
    done = run_python(
        f"""
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters

            made = interpreters.create(isolated={isolated})
        else:
            made = interpreters.create("isolated" if {isolated} else "legacy")
        interpreters.run_string(made, {SCRIPT!r})
        interpreters.run_string(made, {SCRIPT!r})
        interpreters.destroy(made)
        """
    )
    assert (done.code, done.stdout) == (0, 2 * REFUSAL), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 14), reason="concurrent.interpreters came with Python 3.14")
def test_import_in_concurrent_interpreters_is_refused_with_our_own_sentence() -> None:
    done = run_python(
        f"""
        from concurrent import interpreters
        import interlock

        made = interpreters.create()
        made.exec({SCRIPT!r})
        made.close()
        with interlock.no_grad():
            assert not interlock.is_grad_enabled()
        """
    )
    assert (done.code, done.stdout) == (0, REFUSAL), done.stderr


@pytest.mark.skipif(sys.version_info < (3, 14), reason="InterpreterPoolExecutor came with Python 3.14")
def test_import_in_an_interpreter_pool_is_refused_with_our_own_sentence() -> None:
    done = run_python(
        """
        import importlib
        from concurrent.futures import InterpreterPoolExecutor

        if __name__ == "__main__":
            with InterpreterPoolExecutor(1) as pool:
                error = pool.submit(importlib.import_module, "interlock").exception()
            assert isinstance(error, ImportError), error
            print(error)
        """
    )
    assert (done.code, done.stdout) == (0, REFUSAL), done.stderr


def test_importing_again_gives_the_same_state() -> None:
    done = run_python(
        """
        import sys
        import interlock

        interlock.backends.cudnn.enabled = False
        for name in [name for name in sys.modules if name.split(".")[0] == "interlock"]:
            if not name.startswith("interlock._core"):
                del sys.modules[name]
        import interlock as again

        print(again is interlock, again.backends.cudnn.enabled)
        """
    )
    assert (done.code, done.stdout) == (0, "False False\n"), done.stderr
