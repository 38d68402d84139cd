"""The example that trains on workers has the same bits with and without a killed one."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.cluster_python import run_with_clusters

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "data_parallel.py"
PAGE = ROOT / "docs" / "processes.md"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: Ray's sockets are in it."""
    path = Path(tempfile.mkdtemp(prefix="il"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "workers"),
    [
        ([], 2),
        pytest.param(
            ["--ray"],
            1,
            marks=pytest.mark.skipif(
                "config.getoption('--clusters') == 'fake'", reason="needs --clusters=PYTHON"
            ),
        ),
    ],
    ids=["dask", "ray"],
)
def test_killed_worker_does_not_change_the_bits(options: list[str], workers: int, folder: Path) -> None:
    done = run_with_clusters(folder, str(EXAMPLE), *options)
    assert done.code == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "(raylet)" not in line]
    killed, header, *rows, accuracy, bits = lines
    assert [row.split()[-4:] for row in rows] == [["True", "False", "ieee", "1"]] * workers
    found = re.fullmatch(r"bits without a killed worker (\w{16}), with one (\w{16})", bits)
    assert found is not None
    assert found[1] == found[2]
    # The bits of a build for another CPU may differ from those of the page.
    shown = PAGE.read_text(encoding="utf-8").partition("$ python examples/data_parallel.py\n")[2].splitlines()
    assert (killed, header.split()) == (shown[0], shown[1].split())
    assert re.fullmatch(r"accuracy [89]\d\.\d %", accuracy)
