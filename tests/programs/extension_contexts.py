"""The table in contexts, through the extension module of `tests/integration/extensions/test_contexts.py`."""

import contextvars
import sys

import contexts_of_c as table
import interlock
from interlock import accelerator, backends, no_grad

UNSUPPORTED = 13
OK = 0


def with_scopes():
    """Return a context in which scopes set the mode, the device and a flag."""
    context = contextvars.Context()
    for scope in (no_grad(), accelerator.device_index(1), backends.override({"cudnn.enabled": False})):
        context.run(scope.__enter__)
    return context


def state():
    return (
        interlock.is_grad_enabled(),
        accelerator.current_device_index(),
        backends.cudnn.enabled,
    )


def check(actual, expected):
    assert actual == expected, (actual, expected)


def reads():
    accelerator.use("host", devices=2)
    context = with_scopes()
    interlock.is_grad_enabled()
    check(context.run(table.read, True), (False, 1))
    check(table.read(True), (True, 0))
    context.run(table.read, True)
    # Without a look, a read is of the context that the thread has seen, unless a watcher follows switches.
    check(table.read(False)[0], sys.version_info >= (3, 14))
    print("done")


def writes_with_the_gil():
    accelerator.use("host", devices=2)
    has_gil, in_guard = True, True
    context = with_scopes()
    copy = context.copy()
    # The innermost scope.
    for what in ("mode", "flag"):
        check(context.run(table.write, what, 1, has_gil, not in_guard)[0], OK)
    check(context.run(state), (True, 1, True))
    check(copy.run(state), (False, 1, False))
    # The innermost guard.
    check(copy.run(table.write, "mode", 1, has_gil, in_guard), (OK, "", True))
    check(copy.run(state), (False, 1, False))
    # The base of the context.
    empty = contextvars.Context()
    check(empty.run(table.write, "mode", 0, has_gil, not in_guard)[0], OK)
    check(empty.run(state), (False, 0, True))
    check(contextvars.Context().run(state), (True, 0, True))
    print("done")


def writes_without_the_gil():
    accelerator.use("host", devices=2)
    has_gil, in_guard = True, True
    context = with_scopes()
    # A scope of Python code.
    for what in ("mode", "flag"):
        code, text, _ = context.run(table.write, what, 1, not has_gil, not in_guard)
        assert code == UNSUPPORTED, (what, code, text)
        assert "a scope of the interpreter sets it, and this thread is not attached" in text, text
    check(context.run(state), (False, 1, False))
    # The innermost guard.
    check(context.run(table.write, "mode", 1, not has_gil, in_guard), (OK, "", True))
    check(context.run(state), (False, 1, False))
    # The base of the thread, below every context. The thread has seen the context in which it runs.
    empty = contextvars.Context()
    check(empty.run(state), (True, 0, True))
    check(empty.run(table.write, "mode", 0, not has_gil, not in_guard)[0], OK)
    check(contextvars.Context().run(state), (False, 0, True))
    with interlock.enable_grad():
        check(state(), (True, 0, True))
    check(empty.run(table.write, "mode", 1, has_gil, not in_guard)[0], OK)
    check(empty.run(state), (True, 0, True))
    check(state(), (False, 0, True))
    print("done")
