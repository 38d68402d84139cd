import json
import os
import signal
import sys

from interlock.backends.xeon import run_cpu

(tmp_path, tmp_path_2, tmp_path_3) = map(json.loads, sys.argv[1:])

arguments = ["--use-logical-core", "--ninstances", "2", tmp_path]
code = run_cpu.main([*arguments, tmp_path_2])
# The launcher is its new parent, so this process can wait for it.
left = int(open(tmp_path_3).read())
result = [code, os.waitpid(left, os.WNOHANG)]
os.kill(left, signal.SIGKILL)

print("\n" + json.dumps(result))
