"""Reviewed plans: for each machine of `topologies` a file in `plans`.

`python -m tests.unit.launcher.golden`, from the root of the repository, rewrites them. Review its diff: no
other test checks that a plan is right.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from interlock._launcher import args, plan as _plan, render
from interlock._launcher.discovery import Discovered

from tests.unit.launcher import machines

FOLDER = Path(__file__).parent / "plans"

# Command lines with leading variable assignments.
EVERYWHERE = (
    "train.py",
    "--multi-instance train.py",
    "--latency-mode train.py",
    "--ninstances 2 train.py --epochs 3",
    "--ncores-per-instance 3 --skip-cross-node-cores train.py",
    "--use-logical-core --ninstances 2 train.py",
    "--ninstances 2 --rank 1 train.py",
    "LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 train.py",
)
ONLY = {
    "one_socket": (
        "--enable-jemalloc --log-path logs --log-file-prefix serve train.py",
        "--enable-tcmalloc --disable-iomp -m package.train",
        "--use-default-allocator --no-python ./serve --port 80",
        "OMP_NUM_THREADS=1 KMP_BLOCKTIME=0 LD_PRELOAD=/gone/a.so:/usr/lib/libtcmalloc.so.4 train.py",
        "--core-list 3,0-2 --ncores-per-instance 2 train.py",
        "LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 --ninstances 2 --rank 0 train.py",
        "LOCAL_RANK=1 LOCAL_WORLD_SIZE=5 train.py",
    ),
    "two_sockets": (
        "--throughput-mode --disable-numactl train.py",
        "--throughput-mode --disable-taskset train.py",
        "--node-id 1 train.py",
        "--node-id 2 train.py",
        "--ncores-per-instance 3 train.py",
        "--ncores-per-instance 3 --rank 1 train.py",
        "--ncores-per-instance 9 train.py",
        "--ninstances 3 --ncores-per-instance 3 train.py",
        "--ncores-per-instance 3 4 1 train.py",
        "--ncores-per-instance 3 4 --rank 1 train.py",
        "--ncores-per-instance 3 4 2 train.py",
        "--ncores-per-instance 3 4 --skip-cross-node-cores train.py",
        "--ncores-per-instance 3 5 --skip-cross-node-cores train.py",
        "--ncores-per-instance 1 1 1 --skip-cross-node-cores train.py",
        "--ninstances 1 --skip-cross-node-cores train.py",
        "--ninstances 2 --skip-cross-node-cores train.py",
        "--ninstances 3 --skip-cross-node-cores train.py",
    ),
    "two_sockets_hyper_threads": (
        "--use-logical-core train.py",
        "--use-logical-core --multi-instance train.py",
        "--use-logical-core --node-id 1 --ncores-per-instance 4 train.py",
        "--core-list 0-3,8-11 --ncores-per-instance 8 train.py",
        "--core-list 0-3,8-11 --ninstances 2 train.py",
    ),
    "snc4": ("--throughput-mode train.py", "LOCAL_RANK=3 LOCAL_WORLD_SIZE=4 --multi-instance train.py"),
    "offline_cores": ("--core-list 0,1 --ncores-per-instance 1 train.py", "--use-logical-core train.py"),
    "cpuset_of_three_odd_cores": (
        "--throughput-mode train.py",
        "--core-list 1,2 --ncores-per-instance 1 train.py",
        "--ncores-per-instance 1 train.py",
        "--ncores-per-instance 2 --skip-cross-node-cores train.py",
    ),
    "cpuset_of_hyper_threads": ("--use-logical-core --multi-instance train.py",),
    "uneven_nodes": (
        "--throughput-mode train.py",
        "--ncores-per-instance 2 train.py",
        "--latency-mode --skip-cross-node-cores train.py",
        "--ninstances 2 --skip-cross-node-cores train.py",
    ),
    "node_with_memory_only": ("--throughput-mode train.py", "--node-id 2 train.py"),
    "node_without_memory": ("--throughput-mode train.py",),
    "cpu_quota": (
        "--throughput-mode train.py",
        "--ninstances 4 --ncores-per-instance 2 train.py",
        "--ncores-per-instance 5 train.py",
        "--ncores-per-instance 1 2 train.py",
        "--core-list 0-7 --ncores-per-instance 4 train.py",
        "--core-list 0-7 --ninstances 3 train.py",
        "LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 --ncores-per-instance 2 train.py",
    ),
}


def found(environment: dict[str, str]) -> Discovered:
    """The libraries installed on every machine of the tests."""
    names = ("iomp5", "tcmalloc", "jemalloc")
    missing = tuple(path for path in environment.get("LD_PRELOAD", "").split(":") if "gone" in path)
    return Discovered(
        libraries={name: f"/opt/lib/lib{name}.so" for name in names},
        numactl="/usr/bin/numactl",
        missing_preloads=missing,
    )


def lines(machine: str) -> tuple[str, ...]:
    return (*EVERYWHERE, *ONLY.get(machine, ()))


def document(machine: str, line: str) -> dict[str, Any]:
    """Return the plan, or the error, of a command line on a machine."""
    words = shlex.split(line)
    environment: dict[str, str] = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    options = args.parse(words)
    topology = machines.topology(machine)
    try:
        plan = _plan.make(
            topology, options, environment, found(environment), python="python", stamp="20300102030405"
        )
    except _plan.PlanError as error:
        return {"error": str(error)}
    return render.as_document(plan)


def text(machine: str) -> str:
    """Return the text of a machine's file, with one line for each instance and each note."""
    parts = [f" {json.dumps(line)}: {_written(document(machine, line))}" for line in lines(machine)]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _written(plan: dict[str, Any]) -> str:
    entries: list[str] = []
    for name, value in plan.items():
        if isinstance(value, list) and value:
            inner = ",\n".join(f"   {json.dumps(each)}" for each in value)
            entries.append(f'  "{name}": [\n{inner}\n  ]')
        else:
            entries.append(f'  "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(entries) + "\n }"


if __name__ == "__main__":
    for each in machines.NAMES:
        (FOLDER / f"{each}.json").write_text(text(each))
