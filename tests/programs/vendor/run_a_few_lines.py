"""Run code and print the value of its name `result`."""

from vendor_setup import *

(code,) = map(json.loads, sys.argv[1:])

exec(code)

print("\n" + json.dumps(globals()["result"]))
