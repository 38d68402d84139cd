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
from interlock._launcher import (
    args,
    discovery,
    messages,
    plan as _plan,
    render,
    supervisor,
    topology as _topology,
)

__all__ = ["main"]


def main(
    arguments: Sequence[str] | None = None, *, root: Path | None = None, grace: float = supervisor.GRACE
) -> int:
    """Run the launcher and return the exit status.

    An invalid command line ends the process with status 2, as in argparse.

    Args:
        arguments: The command line; None means `sys.argv`.
        root: The folder that contains `proc` and `sys`, for tests; None means `/`.
        grace: Seconds between the first signal to the instances and SIGKILL.

    """
    options = args.parse(arguments)
    environment = dict(os.environ)
    try:
        topology = _topology.read(root or Path("/"), _affinity() if root is None else None)
    except _topology.TopologyError as error:
        messages.log(str(error))
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
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        width = _console.width(is_terminal=is_terminal)
        text = render.as_json(plan) if options.json else render.as_text(plan, width)
        return messages.show(text)
    for warning in plan.warnings:
        messages.log(warning)
    return supervisor.run(plan, environment, grace=grace)


def _affinity() -> set[int] | None:
    # macOS lacks this function; there, reading the topology raises `TopologyError`.
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
