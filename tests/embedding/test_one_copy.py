"""A process has one copy of the state: what would bring a second one is refused."""

from __future__ import annotations

from tests import child


def test_a_second_copy_of_the_extension_module_is_refused() -> None:
    done = child.run(
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


def test_a_sub_interpreter_is_refused_with_our_own_sentence() -> None:
    done = child.run(
        """
        import importlib

        for name in ("_interpreters", "_xxsubinterpreters"):
            try:
                interpreters = importlib.import_module(name)
                break
            except ImportError:
                continue
        # One that shares the lock of the main interpreter: others CPython refuses by itself.
        is_new = name == "_interpreters"
        made = interpreters.create("legacy") if is_new else interpreters.create(isolated=False)
        script = "try:\\n    import interlock\\nexcept ImportError as error:\\n    print(error, flush=True)"
        interpreters.run_string(made, script)
        """
    )
    assert done.code == 0, done.stderr
    assert "can't be imported in a sub-interpreter" in done.stdout


def test_importing_again_gives_the_same_state() -> None:
    done = child.run(
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
