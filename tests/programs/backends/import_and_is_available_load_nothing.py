import json
import sys

from interlock import backends

before = open("/proc/self/maps").read() if sys.platform == "linux" else ""
for module in (backends.cudnn, backends.cusparselt, backends.mkl, backends.mkldnn):
    module.is_available()
after = open("/proc/self/maps").read() if sys.platform == "linux" else ""
names = ("libcudnn", "libcusparseLt", "libmkl", "libdnnl", "libcublas")
result = [name for name in names if name in before or name in after]

print("\n" + json.dumps(result))
