import interlock
import threadpoolctl
from interlock.backends import libraries
from vendor_setup import *

for name in ("mkl", "onednn"):
    libraries.load(name)

result = []
for number in (1, 3):
    interlock.set_num_threads(number)
    result.append({pool["prefix"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()})

print("\n" + json.dumps(result))
