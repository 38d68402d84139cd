"""Start a launcher and send it signals.

Each is sent after a number of lines that its program wrote into a named pipe, and a number of lines that the
launcher wrote to standard error. The pipe ends with the last process that has it open. The program gets the
path of the pipe and `arguments`.
"""

import json
import subprocess
import sys

(grace, program, pipe, signals, arguments) = map(json.loads, sys.argv[1:])

code = """
import sys
from interlock.backends.xeon import run_cpu
sys.exit(run_cpu.main(["--ninstances", "1", *sys.argv[2:]], grace=float(sys.argv[1])))
"""
launcher = subprocess.Popen(
    [sys.executable, "-P", "-c", code, grace, program, pipe, *arguments],
    start_new_session=True,
    stderr=subprocess.PIPE,
    text=True,
)
lines, told = [], []
with open(pipe) as said:
    for number, count, count_told in signals:
        lines += [said.readline().strip() for _ in range(count)]
        told += [launcher.stderr.readline().strip() for _ in range(count_told)]
        launcher.send_signal(number)
    lines += said.read().split()
told += launcher.stderr.read().splitlines()
result = [launcher.wait(), lines, told]

print("\n" + json.dumps(result))
