"""Run a function of a module of this folder: FILE FUNCTION ARGUMENT..., each argument as JSON.

The module becomes the main module, which processes of `multiprocessing` import by its path. A result other
than None is printed as JSON in the last line.
"""

import json
import sys
from importlib.machinery import SourceFileLoader

__file__, _name, *_arguments = sys.argv[1:]
exec(SourceFileLoader("__main__", __file__).get_code("__main__"))
_result = globals()[_name](*map(json.loads, _arguments))
if _result is not None:
    print("\n" + json.dumps(_result))
