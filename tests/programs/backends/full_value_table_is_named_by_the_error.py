import json
import sys

from interlock import backends, errors

(default, value) = map(json.loads, sys.argv[1:])

flag = backends.register("mylib.flag", eval(default), doc="x")
last = None
try:
    for n in range(70_000):
        flag.value = eval(value)
        last = flag.value
except errors.FlagValueError as error:
    print(error)
assert flag.value == last
try:
    backends.register("mylib.other", eval(value), doc="x")
except errors.FlagRegistrationError as error:
    print(error)
