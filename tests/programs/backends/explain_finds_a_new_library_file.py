import json
import sys

from libraries_affected_setup import *

(hidden, library) = map(json.loads, sys.argv[1:])

result = [effect()]
os.rename(hidden, library)
# The timeout of the test ends this loop.
while effect() != ", cuSOLVER not loaded":
    time.sleep(0.02)
os.remove(library)
while effect() != result[0]:
    time.sleep(0.02)

print("\n" + json.dumps(result))
