"""The example of an operation of one's own prints what its page shows."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 600  # Includes the time to compile it.
PAGE = ROOT / "docs" / "dispatch.md"

pytestmark = pytest.mark.slow


def test_operation_of_ones_own_prints_what_the_page_shows() -> None:
    assert PAGE.name == "dispatch.md"
    ((command, printed),) = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
    cargo, run, *rest = shlex.split(command)
    done = subprocess.run(
        [cargo, run, "--quiet", *rest],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
