"""The interface to the co-process with PyTorch, `tests/fuzz/torch_side.py`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

from tests.fuzz.harness import ROOT
from tests.fuzz.programs import Step


class PyTorch:
    """The co-process with PyTorch."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        """Start the process, without the sanitizer that may run in this one."""
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PYTHON") and name != "LD_PRELOAD"
        }
        return subprocess.Popen(
            [self.python, "-m", "tests.fuzz.torch_side"],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def judge(
        self, steps: list[Step], results: list[dict[str, Any]], finals: list[Any]
    ) -> tuple[int, list[tuple[int, str]]]:
        """Return the number of equal steps and the differing steps; neither if PyTorch crashes."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([steps, results, finals]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            agreed, differences = json.loads(line)
            return agreed, [(number, text) for number, text in differences]
        status = self.process.wait(30)
        if status != -signal.SIGSEGV:
            raise RuntimeError(f"the process with PyTorch has ended with status {status}")
        self.process = self.start()
        return 0, []

    def end(self) -> None:
        """Stop the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)
