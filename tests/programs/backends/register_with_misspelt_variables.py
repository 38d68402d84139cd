import json
import sys
import warnings

from interlock import backends

(use,) = map(json.loads, sys.argv[1:])

warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    level_b = backends.register("mylib.level_b", 1, doc="x")
    level_a = backends.register("mylib.level_a", 1, doc="x")
    verbose = backends.register("mylib.verbose", False, doc="x")
    with verbose.override(True), backends.override({verbose: True}):
        verbose.value, backends.snapshot()
    backends.register("other.verbose", False, doc="x")
    assert not caught, "the library may not have registered all its flags yet"
    exec(use)
print(*[warning.message for warning in caught], sep="\n")
