import json
import os
import subprocess
import sys

from config_setup import *

if sys.argv[1:]:
    print(config_state())
    raise SystemExit
env = os.environb | {b"PYTORCH_ALLOC_CONF": b"backend:\xff"}
command = [sys.executable, __file__, "-"]
result = subprocess.run(command, env=env, capture_output=True, text=True).stdout

print("\n" + json.dumps(result))
