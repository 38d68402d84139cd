"""Shared setup of programs with verbose scopes; the first argument is the module of the scope."""

import importlib
import json
import sys

module, *arguments = map(json.loads, sys.argv[1:])
m = importlib.import_module(f"interlock.backends.{module}")
