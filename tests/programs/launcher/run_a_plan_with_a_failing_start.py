"""Run a plan of two instances; the arguments change the second so that it cannot be started."""

import dataclasses
import json
import os
import sys
from pathlib import Path

from interlock._launcher import args, plan as _plan, supervisor, topology as _topology
from interlock._launcher.discovery import Discovered

before = os.sched_getaffinity(0)
core = min(before)
topology = _topology.read(Path("/"), {core})
options = args.parse(["--no-python", sys.executable, "-c", "import signal; signal.pause()"])
plan = _plan.make(topology, options, {}, Discovered(), python="", stamp="")
(first,) = plan.instances
second = dataclasses.replace(first, index=1, **json.loads(sys.argv[1]))
plan = dataclasses.replace(plan, instances=(first, second))
code = supervisor.run(plan, dict(os.environ))
try:
    os.waitpid(-1, os.WNOHANG)
    left = True
except ChildProcessError:
    left = False
result = [code, left, os.sched_getaffinity(0) == before]

print("\n" + json.dumps(result))
