import json
import sys
import time

from interlock.backends.xeon import run_cpu

(tmp_path, tmp_path_2) = map(json.loads, sys.argv[1:])

time.strftime = lambda form: "now"
arguments = ["--ninstances", "1", "--log-path", tmp_path]
for word in ("first", "second", "third"):
    run_cpu.main([*arguments, tmp_path_2, word])
