"""The flag that the extension registers is a flag like any other."""

import interlock
from interlock import backends
from loaded import extension

name = f"{extension.__name__}.level"
assert extension.level() == -1
assert backends.explain(name).level == "default"
extension.set_level(4)
assert extension.level() == backends.explain(name).value == 4
with backends.override(**{name: 7}):
    assert extension.level() == 7
    # A write in a scope ends with the scope.
    extension.set_level(2)
    assert extension.level() == 2
assert extension.level() == 4
snapshot = backends.snapshot()
backends.reset()
assert extension.level() == -1
backends.restore(snapshot)
assert extension.level() == 4
for wrong in (-2, 10):
    try:
        extension.set_level(wrong)
    except interlock.errors.FlagValueError as error:
        assert str(error) == f"{name} must be an int from -1 to 9, got {wrong}", error
    else:
        raise AssertionError(wrong)
assert extension.level() == 4
print("ok")
