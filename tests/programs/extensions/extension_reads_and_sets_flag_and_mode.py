"""A flag and a mode have one value for Python and for the extension, however they are set."""

import interlock
from interlock import backends
from loaded import extension


def seen():
    state = (backends.cudnn.benchmark, interlock.is_grad_enabled())
    assert extension.state() == state, (extension.state(), state)
    return state


assert seen() == (False, True)
backends.cudnn.benchmark = True
assert seen() == (True, True)
with interlock.no_grad(), backends.override(**{"cudnn.benchmark": False}):
    assert seen() == (False, False)
    # The extension's guards are scopes like any other.
    assert extension.call_with(True, True, seen) == (True, True)
    assert seen() == (False, False)
assert seen() == (True, True)

assert extension.call_with(False, False, seen) == (False, False)
try:
    extension.call_with(False, False, lambda: 1 / 0)
except ZeroDivisionError:
    pass
else:
    raise AssertionError("the exception was lost")
assert seen() == (True, True)


def writes():
    backends.cudnn.benchmark = True
    interlock.set_grad_enabled(True)
    return seen()


assert extension.call_with(False, False, writes) == (True, True)
assert seen() == (True, True)
with backends.frozen():
    assert extension.call_with(False, False, seen) == (False, False)
print("ok")
