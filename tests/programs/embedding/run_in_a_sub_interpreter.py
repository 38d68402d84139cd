import json
import sys

(is_isolated, script) = map(json.loads, sys.argv[1:])

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
