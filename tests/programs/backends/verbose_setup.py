"""What programs of verbose scopes share; the first argument is the module that has the scope."""

import importlib
import json
import sys

module, *arguments = map(json.loads, sys.argv[1:])
m = importlib.import_module(f"interlock.backends.{module}")
