import ctypes
import json

from driver_selection_setup import *

libc = ctypes.CDLL(None)
result = [ask()]
libc.setenv(b"INTERLOCK_ACCELERATOR", b"host:2", 1)
result.append(ask())
os.putenv("INTERLOCK_ACCELERATOR", "host:3")
result.append(ask())
libc.unsetenv(b"INTERLOCK_ACCELERATOR")
result.append(ask())

print("\n" + json.dumps(result))
