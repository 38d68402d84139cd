"""The extension that the first argument names."""

import importlib
import sys

extension = importlib.import_module(sys.argv[1])
