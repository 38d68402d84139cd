"""A Rust program that embeds Python shares flags and modes with the script that it runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helpers import cargo
from tests.helpers.subprocess import run_command
from tests.helpers.torch_python import FAKE

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


def run_host(
    *arguments: str, folder: Path = ROOT, env: Mapping[str, str] | None = None, package: str = "embed_host"
) -> subprocess.CompletedProcess[str]:
    """Build and run the program with the interpreter that runs this test."""
    environment = dict(os.environ, PYO3_PYTHON=sys.executable, VIRTUAL_ENV=sys.prefix, **(env or {}))
    # With these of `tools/steps.py` PyO3 would not link libpython.
    for variable in ("PYO3_CONFIG_FILE", "PYO3_BUILD_EXTENSION_MODULE"):
        environment.pop(variable, None)
    command = ["cargo", "run", "--quiet", "--manifest-path", str(ROOT / "Cargo.toml"), "-p", package]
    # The crates that the wheel of the working tree has compiled.
    command += ["--features", "interlock-python/shared-with-tests"]
    return subprocess.run(
        [*command, "--", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def test_program_of_the_page_prints_what_the_page_shows() -> None:
    page = ROOT / "docs" / "embedding.md"
    assert page.name == "embedding.md"
    ((command, printed),) = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", page.read_text(), re.S | re.M)
    assert command == "cargo run -p rust_host -- ENVIRONMENT"
    done = run_host(sys.prefix, package="rust_host")
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_folder_that_is_no_virtual_environment_is_refused(tmp_path: Path) -> None:
    done = run_host(str(tmp_path), package="rust_host")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path} is not a virtual environment" in done.stderr


def test_environment_of_another_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    (tmp_path / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (tmp_path / "lib" / "python3.1" / "site-packages").mkdir(parents=True)
    done = run_host(str(tmp_path), package="rust_host")
    assert (done.returncode, done.stdout) == (1, "")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    reason = f"the program is linked with Python {version} and {tmp_path.resolve()} has another one"
    assert reason in done.stderr
    assert f"PYO3_PYTHON={tmp_path.resolve()}/bin/python" in done.stderr


def test_host_and_the_processes_that_it_starts_use_the_virtual_environment(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import subprocess, sys\n"
        "code = 'import sys, interlock; print(sys.prefix)'\n"
        "print(sys.prefix, flush=True)\n"
        "subprocess.run([sys.executable, '-c', code], check=True, timeout=60)\n"
    )
    # A variable of the shell has no effect, but on the interpreter that a build runs: so it is built first.
    for variables in ({}, {"PYTHONHOME": "/nowhere"}):
        done = run_host(str(script), env=variables)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[:2] == [sys.prefix, sys.prefix]


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this Python is not in a virtual environment")
def test_attempts_of_the_page_to_find_an_environment_have_its_results() -> None:
    host = str(cargo.built("second_copy", "unregistered_host"))
    show = "import sys; print(sys.prefix, sys.base_prefix, sys.executable)"
    folder = Path(sys.prefix) / "bin"

    def shown(env: Mapping[str, str]) -> list[str]:
        done = run_command([host, str(LIBRARY), show], env=env)
        assert done.code == 0, done.stderr
        return done.stdout.split()

    by_path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    assert shown(by_path) == [sys.prefix, sys.base_prefix, str(folder / "python3")]
    prefix, _, executable = shown({"PYTHONHOME": sys.base_prefix, "PATH": "/usr/bin:/bin"})
    assert (prefix, Path(executable).parent == folder) == (sys.base_prefix, False)
    assert shown({"PATH": "/nowhere"})[0] != sys.prefix
    of_environment = run_command([host, str(LIBRARY), show], env={"PYTHONHOME": sys.prefix})
    assert of_environment.code != 0
    assert "encodings" in of_environment.stderr


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
    script.write_text("import interlock._core as core\nprint(core.__spec__.origin, core.LIBRARY)\n")
    done = run_host(str(script))
    assert done.returncode == 0, done.stderr
    origin, library = done.stdout.splitlines()[0].split(maxsplit=1)
    assert (origin, Path(library).name) == ("built-in", "embed_host")


def test_script_on_the_example_driver_prints_what_the_page_shows() -> None:
    page = (ROOT / "docs" / "driver.md").read_text()
    ((arguments, captured),) = re.findall(
        r"^```console\n\$ cargo run -p embed_host -- (.*?)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE
    )
    done = run_host(*arguments.split())
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout == captured


def test_captured_state_is_active_after_the_end_of_the_interpreter() -> None:
    done = run_host("--end-interpreter", "tests/programs/embedding/carried_value.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "the interpreter has ended: true" in done.stdout
    assert "gradients in the captured state, without Python: false" in done.stdout


@pytest.mark.parametrize(
    ("assignment", "choice"),
    [
        ("", "convolution float32 -> native | miopen: backends.miopen.immediate is False"),
        ("backends.miopen.immediate = True", "convolution float32 -> miopen | native: behind miopen"),
    ],
    ids=["default", "assigned"],
)
def test_kernel_of_the_host_obeys_a_flag_of_the_script(assignment: str, choice: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    explained = 'print(backends.explain("miopen.immediate").affects)'
    script.write_text(f"from interlock import backends\n{explained}\n{assignment}\n")
    done = run_host("--example-kernel", str(script))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("convolutions on ROCm: obeyed by convolution\n")
    assert f"the choice of a kernel: {choice}\n" in done.stdout


def test_torch_follows_the_mode_and_the_flag_of_the_host() -> None:
    script = "tests/programs/embedding/followed_torch.py"
    done = run_host("--call", "show", script, env={"PYTHONPATH": str(FAKE)})
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[:2]
    # A mode and a flag of PyTorch: in the script, and while Rust sets those of interlock.
    assert [json.loads(first), json.loads(second)] == [[True, False], [False, True]]


def test_failing_script_fails_the_host(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise LookupError('of the script')\n")
    done = run_host(str(script))
    assert done.returncode == 1
    assert "of the script" in done.stderr


def test_kernel_that_the_host_registers_serves_overrideable() -> None:
    done = run_host("--attention-kernel", "tests/programs/embedding/registered_attention.py")
    assert done.returncode == 0, done.stderr
    printed, _ = done.stdout.split("\nseen from Rust")
    assert json.loads(printed) == {
        "by default": "math",
        "overrideable": "one_query",
        "same results": True,
        "overrideable for three queries": None,
        "first of the priority": ["one_query", "math", "flash", "efficient", "cudnn"],
    }
