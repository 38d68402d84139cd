"""Run code and print the value of its name `result`."""

from library_search_setup import *

(code,) = map(json.loads, sys.argv[1:])

exec(code)

print("\n" + json.dumps(globals()["result"]))
