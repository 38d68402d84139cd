"""Workers of a Dask cluster have the flags of the client process, also workers that start later."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.subprocess import run_program

SEEN = """\
[(False, 'tf32')]
[(True, 'ieee')]
(False, False)
[(True, 'ieee'), (True, 'ieee')]
[(False, 'ieee'), (False, 'ieee')]
"""


def test_dask_plugin_installs_the_flags_in_every_worker(tmp_path: Path) -> None:
    folders = {"DASK_CONFIG": str(tmp_path), "DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
    done = run_program("processes.dask_cluster.share_flags", env=folders)
    assert (done.code, done.stdout) == (0, SEEN), done.stderr
