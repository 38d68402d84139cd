from vendor_setup import *

(is_hidden, names) = map(json.loads, sys.argv[1:])

if is_hidden:
    sys.modules["threadpoolctl"] = None
from interlock.backends import libraries, openmp

for name in names:
    libraries.load(name)


def files():
    return [file for file in vendors() if "omp" in file]


before = files()
runtimes = sorted(openmp.runtimes())
assert files() == before
assert all(isinstance(runtime, openmp.Runtime) for runtime in runtimes)
result = [[runtime.name, os.path.realpath(runtime.path), runtime.threads] for runtime in runtimes]

print("\n" + json.dumps(result))
