"""Errors of the table are the exceptions that interlock raises for the same mistake in Python."""

import interlock
from interlock import accelerator, backends
from loaded import extension


def error_of(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return type(error), str(error)
    raise AssertionError("nothing was raised")


with backends.frozen():
    kind, text = error_of(extension.set_level, 3)
    assert kind is interlock.errors.FlagsFrozenError
    assert text.startswith(f"{extension.__name__}.level cannot be set: flags were frozen at "), text
accelerator.use("none")
kind, text = error_of(extension.count, 3)
assert (kind, text) == error_of(accelerator.current_stream)
assert kind is interlock.errors.NoAcceleratorError
print("ok")
