from interlock import backends
from interlock.backends import libraries
from vendor_setup import *

modules = [backends.cudnn, backends.cusparselt, backends.mkl, backends.mkldnn, backends.openmp]
available = [module.is_available() for module in modules]
found = [libraries.find(name).name for name in libraries.NAMES]
runtimes = backends.openmp.runtimes()
result = [available, found == list(libraries.NAMES), runtimes, vendors()]

print("\n" + json.dumps(result))
