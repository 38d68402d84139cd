import ctypes
import json

from driver_selection_setup import *

libc = ctypes.CDLL(None)
result = [query()]
libc.setenv(b"INTERLOCK_ACCELERATOR", b"host:2", 1)
result.append(query())
os.putenv("INTERLOCK_ACCELERATOR", "host:3")
result.append(query())
libc.unsetenv(b"INTERLOCK_ACCELERATOR")
result.append(query())

print("\n" + json.dumps(result))
