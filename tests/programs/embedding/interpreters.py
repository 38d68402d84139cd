"""A second import, a second copy of the extension and sub-interpreters."""

import json
import sys

import interlock
import interlock._core


def import_in_an_interpreter_pool_is_refused():
    import importlib
    from concurrent.futures import InterpreterPoolExecutor

    with InterpreterPoolExecutor(1) as pool:
        error = pool.submit(importlib.import_module, "interlock").exception()
    assert isinstance(error, ImportError), error
    print(error)


def import_of_a_second_copy_of_the_extension_is_refused(folder):
    import importlib.util
    import shutil

    copy = shutil.copy(interlock._core.__file__, folder)
    spec = importlib.util.spec_from_file_location("elsewhere._core", copy)
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except ImportError as error:
        refused = [str(error), error.name, error.path, copy]
    # The first copy still works, and may be imported again.
    interlock.backends.cudnn.enabled = False
    del sys.modules["interlock._core"]
    importlib.import_module("interlock._core")
    assert not interlock.backends.cudnn.enabled
    print(json.dumps(refused))


def reimport_keeps_the_state():
    interlock.backends.cudnn.enabled = False
    for name in [name for name in sys.modules if name.split(".")[0] == "interlock"]:
        if not name.startswith("interlock._core"):
            del sys.modules[name]
    import interlock as again

    print(again is interlock, again.backends.cudnn.enabled)


def run_in_a_concurrent_interpreter(script):
    from concurrent import interpreters

    made = interpreters.create()
    made.exec(script)
    made.close()
    with interlock.no_grad():
        assert not interlock.is_grad_enabled()


def run_in_a_sub_interpreter(is_isolated, script):
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters

        made = interpreters.create(isolated=is_isolated)
    else:
        made = interpreters.create("isolated" if is_isolated else "legacy")
    interpreters.run_string(made, script)
    interpreters.run_string(made, script)
    interpreters.destroy(made)
