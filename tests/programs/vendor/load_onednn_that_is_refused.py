from interlock import backends
from interlock.backends import libraries
from vendor_setup import *

result = [
    [refused(libraries.load, "onednn"), refused(backends.mkldnn.verbose(1).__enter__)],
    [file for file in vendors() if "libdnnl" in file],
]

print("\n" + json.dumps(result))
