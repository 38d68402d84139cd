"""The tests run in environments that have fewer packages than that of `make test`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ABSENT = ("hypothesis", "numpy", "opt_einsum", "threadpoolctl", "xdist")


def test_fixtures_of_all_tests_need_pytest_only() -> None:
    """`make test-gpu` and `make test-vendor` run in such an environment."""
    hide = f"import sys; sys.modules.update(dict.fromkeys({ABSENT}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{hide}; import tests.conftest"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
