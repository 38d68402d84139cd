"""Compare what tests/conformance and docs/differences.json state about PyTorch with an installed PyTorch.

`BENCH_PYTHON` is an interpreter with opt_einsum and the version of PyTorch from which the cases and names
were recorded. The exit status is 1 if one of them differs, or if PyTorch has a public name that no list has.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conformance import examples
from tests.conformance.api.compare import mismatch
from tests.conformance.conform import same
from tests.conformance.test_conformance import CASES, FILES, NEWER
from tests.helpers.subprocess import run_command

HERE = Path(__file__).parent
RECORD = str(HERE / "api" / "record.py")
NAMES = HERE / "api" / "names.json"
# A module that interlock has in part, and one whose only class is a name of `accelerator`.
PARTS = {"autograd", "accelerator.graphs"}
# Names that modules of PyTorch leave behind: a loop variable, and a condition of type checkers.
LEFT_OVER = {"m", "TYPE_CHECKING"}
# A list of the installed packages, so nothing can be recorded.
OF_MACHINE = {"backends.python_native.available_dsls"}


def output_of(*command: str) -> str:
    """Return the output of a command."""
    done = run_command(command)
    if done.code != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def cases(python: str) -> dict[str, str]:
    """Return the recorded cases that differ."""
    got = examples.outcomes([python, "-P"], "torch", *(HERE / name for name in FILES))
    recorded = {name: case["outcomes"] for name, case in CASES.items()} | NEWER
    return {
        name: f"recorded {wanted}\n got {got[name]}"
        for name, wanted in recorded.items()
        if len(got[name]) != len(wanted) or not all(map(same, got[name], wanted))
    }


def names(python: str, package: str = "torch") -> dict[str, str]:
    """Return the recorded names that differ, and the public names of the package that no list contains."""
    recorded = json.loads(NAMES.read_text())["names"]
    got = json.loads(output_of(python, "-P", RECORD, package, str(NAMES)))["names"]
    found = {name: mismatch(facts, got[name]) for name, facts in recorded.items()}
    absent = json.loads((HERE / "api" / "not_planned.json").read_text())
    public = json.loads(output_of(python, "-P", RECORD, "--public", package, str(NAMES)))
    for name in public:
        module, _, leaf = name.rpartition(".")
        if (
            not {name, module} & (PARTS | OF_MACHINE)
            and leaf not in LEFT_OVER
            and name not in recorded
            and name not in absent
        ):
            found[name] = "is in no list"
    return {name: text for name, text in found.items() if text is not None}


def report(what: str, found: Mapping[str, str]) -> bool:
    """Print the differences of one kind, and return whether there are any."""
    print(f"{what}: {len(found)} differ")
    for name, text in found.items():
        print(f"  {name}: {text}")
    return bool(found)


def main() -> int:
    """Compare everything, and return the exit status."""
    python = os.environ.get("BENCH_PYTHON")
    if not python:
        print("BENCH_PYTHON must be the path of a Python with PyTorch and opt_einsum", file=sys.stderr)
        return 2
    probe = "import opt_einsum, torch; print(torch.__version__, torch.cuda.is_available())"
    version, has_gpu = output_of(python, "-P", "-c", probe).split()
    recorded: dict[str, Any] = json.loads(NAMES.read_text())
    print(f"PyTorch {version}; recorded: {recorded['version']}")
    failed = [report("recorded cases", cases(python)), report("names", names(python))]
    failed.append(report("examples", examples.mismatches("pytorch", "torch", python)))
    if has_gpu == "True":
        failed.append(report("examples with a GPU", examples.mismatches("pytorch_cuda", "torch", python)))
    else:
        print("examples with a GPU: not compared, because PyTorch finds none")
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
