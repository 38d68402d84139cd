"""The state of a driver in the workers of a Dask cluster: late, restarted, killed, without interlock."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from distributed import Client, LocalCluster
from interlock import backends, settings
from interlock.errors import ArgumentError
from interlock.integrations import Portable, portable

TIMEOUT = 60


def drifts(state, client):
    """Return the differences of all workers, without their addresses."""
    return [[drift.name, drift.found, drift.reason] for drift in state.verify(client).drifts]


def wait_for(client, count, other_than=()):
    """Wait until the cluster has as many workers, none of which has one of these process ids."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        # A worker that was killed stays listed for a moment.
        with contextlib.suppress(OSError):
            found = client.run(os.getpid, on_error="ignore")
            if len(found) == count and not set(found.values()) & set(other_than):
                return found
        time.sleep(0.1)
    raise TimeoutError(f"{count} workers are expected: {client.scheduler_info()['workers'].keys()}")


@contextlib.contextmanager
def separate_worker(client, **variables):
    """Start a worker with an environment of its own, as on another machine; yield its address."""
    before = set(client.scheduler_info(n_workers=-1)["workers"])
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address]
    options = ["--nthreads", "1", "--no-dashboard", "--nanny", "--death-timeout", str(TIMEOUT)]
    environment = os.environ | variables
    environment = {name: value for name, value in environment.items() if value is not None}
    with subprocess.Popen([*command, *options], env=environment, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + TIMEOUT
            while time.monotonic() < deadline:
                new = set(client.scheduler_info(n_workers=-1)["workers"]) - before
                if new:
                    yield new.pop()
                    break
                time.sleep(0.1)
            else:
                raise TimeoutError("the worker did not start")
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT)


def unknown_parts():
    return portable().unknown


def newer(state):
    """Return a state as a later version of interlock would send it."""
    parts = json.loads(state.to_json())
    parts["flags"]["cudnn.of_the_future"] = 1
    return Portable(parts | {"version": 2, "schedule": {"kind": "cosine"}})


def outcomes(without_interlock):
    """Return the differences of the workers after each event; `without_interlock` are variables."""
    backends.cudnn.deterministic = True
    backends.cudnn.conv.fp32_precision = "ieee"
    state = portable(threads=1, environment={"NCCL_DEBUG": "INFO"})
    found = {}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        found["without a plugin"] = sorted(name for name, *_ in drifts(state, client))
        for plugin in state.dask():
            client.register_plugin(plugin)
        found["running"] = drifts(state, client)
        cluster.scale(2)
        pids = wait_for(client, 2).values()
        found["joins late"] = drifts(state, client)
        client.restart()
        pids = wait_for(client, 2, pids).values()
        found["restarts"] = drifts(state, client)
        os.kill(min(pids), signal.SIGKILL)
        wait_for(client, 2, [min(pids)])
        found["dies"] = drifts(state, client)
        found["early variables"] = sorted(set(client.run(early_variables).values()))
        with separate_worker(client, **without_interlock) as address:
            found["lacks interlock"] = drifts(state, client)
            found["lives"] = client.submit(sum, [1, 2], workers=[address], pure=False).result(TIMEOUT)
        with separate_worker(client, INTERLOCK_CUDNN_DETERMINISTIC="0", OMP_NUM_THREADS="2"):
            found["own environment"] = drifts(state, client)
        wait_for(client, 2)
        for plugin in newer(state).dask():
            client.register_plugin(plugin)
        found["another version"] = drifts(newer(state), client)
        found["unknown parts"] = list(client.run(unknown_parts).values())
        backends.cudnn.deterministic = False
        again = portable()
        for plugin in again.dask():
            client.register_plugin(plugin)
        wait_for(client, 2)
        found["a later state"] = drifts(again, client)
    return found


def setting_of_a_context():
    """Return the differences of a worker, what its tasks have, and the refusal once the extent is known."""
    state = Portable({"version": 1, "settings": {"numpy.errstate.divide": "raise"}})
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for plugin in state.dask():
            client.register_plugin(plugin)
        found = [drifts(state, client), client.submit(mode_of_divisions).result(TIMEOUT)]
    settings.enable("numpy")
    try:
        state.dask()
    except ArgumentError as error:
        return [*found, str(error)]
    return found


def mode_of_divisions():
    import numpy as np

    return np.geterr()["divide"]


def early_variables():
    with open("/proc/self/environ", "rb") as file:
        variables = dict(line.partition(b"=")[::2] for line in file.read().split(b"\0"))
    return variables.get(b"NCCL_DEBUG", b"").decode()
