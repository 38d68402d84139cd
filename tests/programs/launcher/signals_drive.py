"""Start a launcher and send it signals.

Each signal is sent after a number of lines of its program in a named pipe, and a number of lines of the
launcher on standard error. The pipe ends when the last process closes it. The program gets the path of the
pipe and `arguments`.
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
lines, reported = [], []
with open(pipe) as said:
    for number, count, count_reported in signals:
        lines += [said.readline().strip() for _ in range(count)]
        reported += [launcher.stderr.readline().strip() for _ in range(count_reported)]
        launcher.send_signal(number)
    lines += said.read().split()
reported += launcher.stderr.read().splitlines()
result = [launcher.wait(), lines, reported]

print("\n" + json.dumps(result))
