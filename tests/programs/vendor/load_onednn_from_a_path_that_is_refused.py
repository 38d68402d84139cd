from interlock.backends import libraries
from vendor_setup import *

(path,) = map(json.loads, sys.argv[1:])

error, message = refused(libraries.load, "onednn", path)
result = [error, message, [file for file in vendors() if "libdnnl" in file]]
# The failure is not cached.
assert libraries.load("onednn").source == "packages"

print("\n" + json.dumps(result))
