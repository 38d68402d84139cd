import importlib.util
import pathlib
import shutil
import tempfile

import interlock._core

with tempfile.TemporaryDirectory() as folder:
    copy = shutil.copy(interlock._core.__file__, folder)
    spec = importlib.util.spec_from_file_location("elsewhere._core", copy)
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except ImportError as error:
        print(error)
