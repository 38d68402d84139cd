from interlock.backends import libraries
from vendor_setup import *

(packages,) = map(json.loads, sys.argv[1:])

newest = libraries.find("nvrtc")
only_here(packages)
loaded = libraries.load("nvrtc")
result = [newest.path, loaded.source, loaded.path, loaded.version]

print("\n" + json.dumps(result))
