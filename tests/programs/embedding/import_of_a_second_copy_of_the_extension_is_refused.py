import importlib.util
import json
import shutil
import sys

import interlock._core

(folder,) = map(json.loads, sys.argv[1:])

copy = shutil.copy(interlock._core.__file__, folder)
spec = importlib.util.spec_from_file_location("elsewhere._core", copy)
try:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
except ImportError as error:
    print(json.dumps([str(error), error.name, error.path, copy]))
# The first copy still works.
interlock.backends.cudnn.enabled = False
