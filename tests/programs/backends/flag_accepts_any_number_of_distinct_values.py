import json
import sys

from interlock import backends

(default, value) = map(json.loads, sys.argv[1:])

flag = backends.register("mylib.flag", eval(default), doc="x")
values = [eval(value) for n in range(70_000)]
flag.value = values[0]
first = backends.snapshot()
for assigned in values:
    flag.value = assigned
    assert flag.value == assigned
with flag.override(values[1]):
    assert flag.value == values[1]
assert backends.register("mylib.other", values[-1], doc="x").value == values[-1]
backends.restore(first)
assert flag.value == values[0]
