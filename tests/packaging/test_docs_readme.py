"""README.md and docs/roadmap.md have the figures, names and reports of the package, tests and benchmarks."""

from __future__ import annotations

import pydoc
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import interlock
import pytest
from interlock.nn import functional

from benchmarks import native, run, startup
from benchmarks.report import Row
from tests.packaging.test_docs_pytorch_issues import ISSUES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROADMAP = (ROOT / "docs" / "roadmap.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "tensor_operations.md").read_text(encoding="utf-8")
STATUS = dict(re.findall(r"^\| (`?\w+`?) \| (.+) \|$", README, re.MULTILINE))


def test_version_and_status_are_those_of_the_package() -> None:
    version = interlock.__version__.rpartition(".")[0]
    assert f"Version {version}, alpha." in README
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    assert "Development Status :: 3 - Alpha" in classifiers


def test_reports_of_pytorch_have_tests() -> None:
    reports = set(re.findall(r"\[#\d+\]\(https://github\.com/pytorch/pytorch/issues/\d+\)", README))
    assert len(reports) >= 3
    assert reports <= {report for _, listed, _ in ISSUES for report in listed.split(", ")}


def test_dtypes_and_number_of_operations_are_those_of_the_runtime() -> None:
    dtypes = STATUS["tensors"].partition(";")[0].split(", ")
    assert {*dtypes} == {
        name
        for name, value in vars(interlock).items()
        if isinstance(value, interlock.dtype) and str(value) == f"interlock.{name}"
    }
    (rounded,) = re.findall(r"about (\d+) \[operations\]", STATUS["tensors"])
    # In-place functions and operators are forms of an operation.
    names = set(re.findall(r"^\| `(?:x\.)?([a-z]\w*?)_?\(", OPERATIONS, re.MULTILINE))
    assert abs(len(names) - int(rounded)) < 25


def test_functions_of_the_page_of_operations_exist() -> None:
    module = "interlock"
    for line in OPERATIONS.splitlines():
        if line.startswith("## "):
            module = line.partition("`")[2].rstrip("`") or "interlock"
        forms = re.findall(r"`([\w.]+)[(`]", line.split(" | ")[0]) if line.startswith("| ") else ()
        for form in forms:
            named = form.startswith(("x.", "interlock."))
            path = re.sub(r"^x\.", "interlock.Tensor.", form) if named else f"{module}.{form}"
            assert pydoc.locate(path) is not None, line


def targets(monkeypatch: pytest.MonkeyPatch) -> dict[str, Row]:
    """Return the rows of the benchmarks, without measuring."""
    times: dict[str, float] = defaultdict(lambda: 1.0)
    monkeypatch.setattr(native, "in_a_program", lambda: times)
    monkeypatch.setattr(native, "in_a_cdylib", lambda: times)
    monkeypatch.setattr(run, "extension", lambda: "")
    monkeypatch.setattr(run, "in_turns", lambda *_: ([times], []))
    monkeypatch.setattr(startup, "of", lambda *_: startup.Startup(1.0, 1.0, 1.0, 1.0))
    rows = [*run.rust_rows(), *run.python_rows(None), *run.startup_rows(None)]
    return {row.what: row for row in rows}


def test_row_of_times_has_the_targets_of_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = re.findall(r"^\| time .* \| 1 \| (.+) \|$", README, re.MULTILINE)
    read, mode, load = re.findall(r"\d+", row)
    rows = targets(monkeypatch)
    assert rows["backends.cudnn.enabled, from Python"].pytorch.least == int(read)
    assert rows["with no_grad(): pass"].pytorch.least == int(mode)
    assert rows["import with six namespaces"].pytorch.least == int(load)
    (more,) = re.findall(r"at most ([\d.]+) ns more than a load", README)
    assert rows["flag read, Rust, no scope alive"].more == float(more)


def test_roadmap_separates_names_that_exist_from_missing_ones() -> None:
    names = set(re.findall(r"`(\w+)`", ROADMAP)) - {"ArgumentError"}
    missing = {
        name
        for text in re.findall(r"\((`.+?`)\)", ROADMAP, re.DOTALL)
        for name in re.findall(r"`(\w+)`", text)
    }
    assert len(missing) >= 8
    for name in names:
        exists = hasattr(interlock, name) or hasattr(functional, name)
        assert exists == (name not in missing), name


def test_directions_of_lstm_that_the_roadmap_calls_missing_are_refused() -> None:
    x, state = interlock.ones(1, 1, 1), interlock.zeros(2, 1, 1)
    weights = [interlock.ones(4, 1)] * 4
    with pytest.raises(interlock.errors.ArgumentError, match="bidirectional"):
        interlock.lstm(x, (state, state), weights, False, 1, 0.0, False, True, False)
