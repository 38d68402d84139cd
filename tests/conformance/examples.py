"""The examples of docs/differences.json, for interlock and for PyTorch.

An example has `steps` like a recorded case, in which `T` is the package. Its other keys are the results of
the last step: `interlock`, and one of `pytorch`, `pytorch_cuda` (with a GPU, which is `host` in the steps)
and `not_compared` (a reason). A result is the repr of the value, `raises` with the name of an exception, or
`ends the process`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conformance.conform import same
from tests.helpers.subprocess import run_command

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "differences.json"
DIFFERENCES: list[dict[str, Any]] = json.loads(PAGE.read_text())
EXAMPLES: dict[str, dict[str, Any]] = {
    f"{difference['names'][0]} {row}.{number}": example
    for row, difference in enumerate(DIFFERENCES)
    for number, example in enumerate(difference.get("examples", ()))
}
# The outcome of a case that ends its process.
CRASH = {"error": ["Crash"]}
SECONDS = 900.0
# Runs a file as if the package was not installed: two flags of PyTorch depend on it.
WITHOUT_OPT_EINSUM = (
    "-c",
    "import runpy, sys; sys.modules['opt_einsum'] = None; del sys.argv[0]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')",
)


def outcome_of(result: str) -> dict[str, Any]:
    """Return the outcome in a recorded case for a result."""
    if result == "ends the process":
        return CRASH
    if result.startswith("raises "):
        return {"error": [result.removeprefix("raises ")]}
    return {"value": result}


def outcomes(python: Sequence[str], package: str, *files: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the outcomes of the cases in files, each run in a process of its own, which one process forks.

    Args:
        python: The interpreter that has the package, and options.
        package: The package.
        files: The files with cases.

    """
    command = [*python, str(HERE / "driver.py"), package, *map(str, files)]
    done = run_command(command, env={"INTERLOCK_ACCELERATOR": "host:2"}, seconds=SECONDS)
    assert done.code == 0, done.stderr
    return {line["id"]: line["outcomes"] for line in map(json.loads, done.stdout.splitlines())}


def mismatches(results: str, package: str, python: str = sys.executable) -> dict[str, str]:
    """Run the examples that have a key, and return a text for each whose result is another.

    Args:
        results: The key: `interlock`, `pytorch` or `pytorch_cuda`.
        package: The package, which is `T` in the steps.
        python: The interpreter that has the package.

    """
    wanted = {name: example for name, example in EXAMPLES.items() if results in example}
    cases = [{"id": name, "steps": steps_for(results, example["steps"])} for name, example in wanted.items()]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.json"
        file.write_text(json.dumps(cases))
        got = outcomes([python, "-P", *WITHOUT_OPT_EINSUM], package, file)
    return {
        name: f"want {example[results]}\n got {got[name]}"
        for name, example in wanted.items()
        if not is_expected(got[name], outcome_of(example[results]), len(example["steps"]))
    }


def is_expected(got: list[dict[str, Any]], want: dict[str, Any], steps: int) -> bool:
    """Return whether the last step has the wanted outcome, and no step before it has raised an exception."""
    if want == CRASH:
        return got[0].get("error") == want["error"]
    return len(got) == steps and not any("error" in step for step in got[:-1]) and same(got[-1], want)


def steps_for(results: str, steps: list[str]) -> list[str]:
    """Return the steps of an example with the name of the device."""
    return [step.replace('"host', '"cuda') for step in steps] if results == "pytorch_cuda" else steps
