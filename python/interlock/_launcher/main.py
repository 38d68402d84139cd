"""Runs the launcher."""

from __future__ import annotations

import dataclasses
import os
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from interlock import _console
from interlock._launcher import args, discovery, plan as _plan, render, supervisor, topology as _topology

__all__ = ["main"]


def main(
    arguments: Sequence[str] | None = None, *, root: Path | None = None, grace: float = supervisor.GRACE
) -> int:
    """Run the command line and return the exit code.

    With a `root`, the topology is read from the files below it. `grace` is the number of seconds in which
    instances have to end. An error of the command line ends the process with 2, as argparse does.
    """
    options = args.parse(arguments)
    environment = dict(os.environ)
    try:
        topology = _topology.read(root or Path("/"), _affinity() if root is None else None)
    except _topology.TopologyError as error:
        render.log(str(error))
        return 1
    discovered = discovery.discover(
        environment,
        root=root or Path("/"),
        prefix=Path(sys.prefix),
        multiarch=sysconfig.get_config_var("MULTIARCH"),
        memory_nodes=() if options.disable_numactl else topology.memory_nodes,
    )
    stamp = time.strftime("%Y%m%d%H%M%S")
    try:
        plan = _plan.make(topology, options, environment, discovered, python=sys.executable, stamp=stamp)
    except _plan.PlanError as error:
        args.fail(str(error))
    if options.dry_run:
        problems = [each.message for each in supervisor.preflight(plan, environment)]
        plan = dataclasses.replace(plan, warnings=(*plan.warnings, *problems))
        text = render.as_json(plan) if options.json else render.as_text(plan, _console.width())
        return render.show(text)
    for warning in plan.warnings:
        render.log(warning)
    return supervisor.run(plan, environment, grace=grace)


def _affinity() -> set[int] | None:
    # macOS, where this ends with a clear error a little later, has no such function.
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
