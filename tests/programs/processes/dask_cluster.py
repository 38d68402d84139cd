"""Flags of the workers of a Dask cluster."""

from distributed import Client, LocalCluster, WorkerPlugin
from interlock import backends


class Flags(WorkerPlugin):
    name = "interlock"

    def __init__(self, snapshot):
        self.snapshot = snapshot

    def setup(self, worker):
        self.snapshot.install()


def look():
    return backends.cudnn.deterministic, backends.cudnn.conv.fp32_precision


@backends.cudnn.flags(enabled=False)
def decorated():
    return backends.cudnn.enabled, backends.cudnn.deterministic


def seen_by_all(client, count):
    client.wait_for_workers(count)
    return sorted(client.run(look).values())


def share_flags():
    backends.cudnn.deterministic = True
    backends.cudnn.conv.fp32_precision = "ieee"
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        print(seen_by_all(client, 1))
        client.register_plugin(Flags(backends.snapshot()))
        print(seen_by_all(client, 1))
        print(client.submit(decorated).result())
        cluster.scale(2)
        print(seen_by_all(client, 2))
        backends.cudnn.deterministic = False
        client.register_plugin(Flags(backends.snapshot()))
        print(seen_by_all(client, 2))
