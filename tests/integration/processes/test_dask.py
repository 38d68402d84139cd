"""Workers of a Dask cluster hold the flags of the process that starts them, also workers that start later."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.subprocess import run_python

CLUSTER = """
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

    if __name__ == "__main__":
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
"""
SEEN = """\
[(False, 'tf32')]
[(True, 'ieee')]
(False, False)
[(True, 'ieee'), (True, 'ieee')]
[(False, 'ieee'), (False, 'ieee')]
"""


def test_a_plugin_gives_the_flags_to_every_worker_of_a_cluster(tmp_path: Path) -> None:
    folders = {"DASK_CONFIG": str(tmp_path), "DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
    done = run_python(CLUSTER, env=folders)
    assert (done.code, done.stdout) == (0, SEEN), done.stderr
