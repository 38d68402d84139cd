import interlock
from vendor_setup import *

result = [vendors()]
from interlock import accelerator, autograd, backends
from interlock.backends import cudnn, cusparselt, libraries, mkl, mkldnn, openmp

result.append(vendors())

print("\n" + json.dumps(result))
