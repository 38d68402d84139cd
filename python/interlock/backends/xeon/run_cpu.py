"""Run instances of a program, each on cores of its own: `python -m interlock.backends.xeon.run_cpu`."""

from __future__ import annotations

import dataclasses
import os
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from interlock import _console
from interlock.backends.xeon import _arguments, _check, _found, _launch, _plan, _report, _topology
from interlock.backends.xeon._output import say, show

__all__ = ["main"]


def main(
    arguments: Sequence[str] | None = None, *, root: Path | None = None, grace: float = _launch.GRACE
) -> int:
    """Do what the command line asks for and return the exit code.

    With a `root`, the topology is that of the files below it. `grace` is how many seconds instances have to
    end. What is wrong with the command line ends the process with 2, as argparse does.
    """
    options = _arguments.parse(arguments)
    environment = dict(os.environ)
    try:
        topology = _topology.read(root or Path("/"), _affinity() if root is None else None)
    except _topology.TopologyError as error:
        say(str(error))
        return 1
    found = _found.look(
        environment,
        root=root or Path("/"),
        prefix=Path(sys.prefix),
        multiarch=sysconfig.get_config_var("MULTIARCH"),
        memory_nodes=() if options.disable_numactl else topology.memory_nodes,
    )
    stamp = time.strftime("%Y%m%d%H%M%S")
    try:
        plan = _plan.make(topology, options, environment, found, python=sys.executable, stamp=stamp)
    except _plan.PlanError as error:
        _arguments.fail(str(error))
    if options.dry_run:
        obstacles = [each.message for each in _check.obstacles(plan, environment)]
        plan = dataclasses.replace(plan, notes=(*plan.notes, *obstacles))
        return show(_report.as_json(plan) if options.json else _report.as_text(plan, _console.width()))
    for note in plan.notes:
        say(note)
    return _launch.run(plan, environment, grace=grace)


def _affinity() -> set[int] | None:
    # macOS, where this ends with a clear error a little later, has no such function.
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


if __name__ == "__main__":
    sys.exit(main())
