from vendor_setup import *

(loaded_before, path) = map(json.loads, sys.argv[1:])

ctypes.CDLL(loaded_before)
from interlock.backends import libraries

loaded = libraries.load("onednn", path)
assert loaded == libraries.load("onednn", path) == libraries.find("onednn")
result = [loaded.path, loaded.source, loaded.is_loaded, loaded.version]

print("\n" + json.dumps(result))
