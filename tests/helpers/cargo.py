"""Libraries and programs of tests that are built with cargo."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 600  # They may have to be compiled first.


@functools.cache
def built(package: str, target: str | None = None) -> Path:
    """Return the shared library or program of a package, built if necessary."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip(f"{package} is built with cargo, which is not installed")
    manifest = str(ROOT / "Cargo.toml")
    command = [cargo, "build", "--quiet", "--manifest-path", manifest, "--package", package]
    # A sanitizer that is preloaded into Python (`make test-sanitized`) can block cargo.
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [*command, "--message-format=json"],
        env=variables,
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    files = [
        Path(file)
        for message in messages
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == (target or package)
        for file in message["filenames"]
    ]
    (found,) = [file for file in files if file.suffix in ("", ".so", ".dylib")]
    return found
