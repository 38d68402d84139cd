"""A Rust program that embeds Python shares flags and modes with the script that it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 600  # Includes the time to compile it.

LIBRARY = Path(
    str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("LDLIBRARY") or "libpython")
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sysconfig.get_config_var("Py_ENABLE_SHARED") or not LIBRARY.exists(),
        reason="this Python has no shared library that a program could be linked with",
    ),
]


def run_host(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build and run the program with the interpreter that runs this test."""
    environment = dict(os.environ, PYO3_PYTHON=sys.executable, VIRTUAL_ENV=sys.prefix)
    command = ["cargo", "run", "--quiet", "--manifest-path", str(ROOT / "Cargo.toml"), "-p", "embed_host"]
    return subprocess.run(
        [*command, "--", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def test_host_runs_the_quick_start_and_sees_its_flag_and_mode() -> None:
    done = run_host("examples/quickstart.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "accuracy 9" in done.stdout
    _, from_rust = done.stdout.split("seen from Rust")
    assert "the script assigned: true" in from_rust
    assert "after Python turned them off: false" in from_rust
    assert "gradients on another thread: true" in from_rust


def test_installed_package_binds_to_the_library_of_the_host(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import interlock._core as core\nprint(core.__spec__.origin)\n")
    done = run_host(str(script))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("built-in\n")


def test_script_uses_the_example_driver_chosen_by_the_host() -> None:
    done = run_host("--example-driver", "examples/driver/devices.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    from_script, _ = done.stdout.split("\nseen from Rust")
    assert from_script.splitlines() == [
        "accelerator: example with 2 devices",
        "properties: example device, 256 MiB",
        "received: [7, 7, 7, 7] after an event that has completed: True",
        "tensor: example:0 [0.0, 2.0, 4.0, 6.0]",
        "unsupported: Event.elapsed_time is not supported on example:1",
    ]


def test_failing_script_fails_the_host(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise LookupError('of the script')\n")
    done = run_host(str(script))
    assert done.returncode == 1
    assert "of the script" in done.stderr
