import json
import sys

from libraries_affected_setup import *

(library,) = map(json.loads, sys.argv[1:])

before = effect()
loaded = ctypes.CDLL(library)
result = [before != effect(), effect()]

print("\n" + json.dumps(result))
