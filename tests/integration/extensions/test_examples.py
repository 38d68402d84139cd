"""Each example extension, in an environment of its own, shares interlock's state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.extensions import ROOT, build, environment_with
from tests.helpers.subprocess import Result, program, run_command

EXTENSIONS = [
    pytest.param("extension_c", id="C"),
    pytest.param("extension_pybind11", id="pybind11", marks=pytest.mark.slow),
    pytest.param("extension_pyo3", id="PyO3", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=EXTENSIONS)
def extension(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return the name of an extension and the interpreter of its environment."""
    folder = tmp_path_factory.mktemp(request.param)
    wheel = build(ROOT / "examples" / request.param, folder)
    return request.param, environment_with([wheel], folder / "environment")


def run(extension: tuple[str, Path], function: str, **variables: str) -> Result:
    """Run a program with the name of the extension."""
    name, python = extension
    return run_command([str(python), *program(f"extensions.{function}", name)], env=variables)


@pytest.mark.parametrize(
    "function",
    [
        "extension_reads_and_sets_flag_and_mode",
        "extension_has_a_flag_of_its_own",
        "extension_raises_the_exceptions_of_interlock",
        "extension_registers_a_kernel",
        "extension_works_on_the_current_stream",
        "extension_works_on_threads",
        "extension_works_in_a_forked_child",
    ],
)
def test_extension_shares_the_state(extension: tuple[str, Path], function: str) -> None:
    done = run(extension, function)
    assert (done.code, done.stderr, done.stdout) == (0, "", "ok\n")


def test_variable_of_the_environment_sets_the_flag_of_the_extension(extension: tuple[str, Path]) -> None:
    variable = f"{extension[0].upper()}_LEVEL"
    read = f"import {extension[0]} as extension; print(extension.level())"
    done = run_command([str(extension[1]), "-c", read], env={variable: "3"})
    assert (done.code, done.stdout, done.stderr) == (0, "3\n", "")
    done = run_command([str(extension[1]), "-c", read], env={variable: "many"})
    assert (done.code, done.stdout) == (0, "-1\n")
    assert f"{variable} is ignored" in done.stderr


def test_extension_reports_why_interlock_cannot_be_imported(
    extension: tuple[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "interlock.py").write_text('raise OSError("the volume is not mounted")\n')
    name, python = extension
    done = run_command([str(python), "-c", f"import {name}"], env={"PYTHONPATH": str(tmp_path)})
    raised = "ImportError" if name == "extension_pyo3" else "OSError"
    assert (done.code, done.stdout) == (1, "")
    assert f"{raised}: the volume is not mounted" in done.stderr.splitlines()


@pytest.mark.parametrize("driver", ["none", "host:2"])
def test_threads_of_the_extension_work_while_the_interpreter_ends(
    extension: tuple[str, Path], driver: str
) -> None:
    for _ in range(10):
        done = run(extension, "extension_works_while_the_interpreter_ends", INTERLOCK_ACCELERATOR=driver)
        assert (done.code, done.stderr, done.stdout) == (0, "", "ok\n")
