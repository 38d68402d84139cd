import json
import sys

from interlock import backends
from libraries_loaded_setup import *

(tmp_path,) = map(json.loads, sys.argv[1:])

before = is_loaded(tmp_path)
result = [before, backends.cudnn.version(), backends.cudnn.version(), is_loaded(tmp_path)]

print("\n" + json.dumps(result))
