"""Each entry of docs/differences.json has an example, whose result is the one that the page shows.

`make compare` runs the examples with PyTorch.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import compare, examples
from tests.conformance.examples import DIFFERENCES, EXAMPLES

KEYS = {"names", "pytorch", "interlock", "reason", "examples"}
# How the result of PyTorch is stated.
OTHER_RESULTS = {"pytorch", "pytorch_cuda", "not_compared"}


@functools.cache
def mismatches() -> dict[str, str]:
    return examples.mismatches("interlock", "interlock")


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference["names"][0])
def test_difference_has_both_behaviours_a_reason_and_an_example(difference: dict[str, Any]) -> None:
    assert set(difference) == KEYS
    assert all(difference.values())
    for example in difference["examples"]:
        (other,) = example.keys() & OTHER_RESULTS
        assert example.keys() == {"steps", "interlock", other}
        assert all(example.values())
        assert example["interlock"] != example[other]


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_has_the_result_that_the_page_shows(name: str) -> None:
    assert mismatches().get(name) is None


def test_page_shows_every_example() -> None:
    page = (Path(__file__).parents[2] / "docs" / "differences.md").read_text()
    blocks = re.findall(r"^```python\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)
    shown = ["\n".join(example["steps"]).replace("T.", "interlock.") for example in EXAMPLES.values()]
    assert [ast.unparse(ast.parse(block)) for block in blocks] == [
        ast.unparse(ast.parse(text)) for text in shown
    ]


def test_wrong_result_of_an_example_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["x = T.tensor([1.0])", "x + 1"]
    wrong = {"raise": "raises RuntimeError", "value": "tensor([1.])"}
    planted = {name: {"steps": steps, "interlock": result} for name, result in wrong.items()}
    planted["step"] = {"steps": ["unknown", "1"], "interlock": "1"}
    planted["right"] = {"steps": steps, "interlock": "tensor([2.])"}
    planted["end"] = {"steps": ["import os; os.abort()", "1"], "interlock": "ends the process"}
    monkeypatch.setattr(examples, "EXAMPLES", planted)
    assert examples.mismatches("interlock", "interlock").keys() == {"raise", "value", "step"}


def test_make_compare_finds_names_that_differ_and_names_that_no_list_has() -> None:
    api = Path(__file__).parent / "api"
    differences = json.loads((api / "intentional_differences.json").read_text())
    found = compare.names(sys.executable, "interlock")
    assert {entry["name"] for entry in differences} <= found.keys()
    assert found["backends.explain"] == "is in no list"
    assert "backends.cudnn.enabled" not in found
