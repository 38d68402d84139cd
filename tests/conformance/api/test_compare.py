"""The comparison of names, and the recorder of the compared facts, detect differences."""

from __future__ import annotations

import copy
import enum
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conformance.api.compare import mismatch
from tests.conformance.api.record import facts_of

FIRST = {"name": "mode", "kind": "positional_or_keyword"}
SECOND = {"name": "warn_only", "kind": "keyword_only", "default": "False"}
FUNCTION: dict[str, Any] = {"kind": "function", "parameters": [FIRST, SECOND]}

CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "kind": lambda facts: facts.update(kind="class"),
    "order": lambda facts: facts["parameters"].reverse(),
    "name of a parameter": lambda facts: facts["parameters"][0].update(name="enabled"),
    "kind of a parameter": lambda facts: facts["parameters"][0].update(kind="positional_only"),
    "default": lambda facts: facts["parameters"][1].update(default="0"),
    "removed default": lambda facts: facts["parameters"][1].pop("default"),
    "added default": lambda facts: facts["parameters"][0].update(default="None"),
    "removed parameter": lambda facts: facts["parameters"].pop(),
    "added parameter": lambda facts: facts["parameters"].append({**SECOND, "name": "more"}),
    "removed signature": lambda facts: facts.update(parameters=None),
    "removed name": lambda facts: facts.update(error="AttributeError"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_compare_reports_a_changed_fact(change: str) -> None:
    changed = copy.deepcopy(FUNCTION)
    assert mismatch(FUNCTION, changed) is None
    CHANGES[change](changed)
    assert mismatch(FUNCTION, changed) is not None


def test_compare_reports_a_value_of_another_type() -> None:
    want = {"kind": "value", "value": "1"}
    assert mismatch(want, dict(want)) is None
    assert mismatch(want, {"kind": "value", "value": "True"}) is not None
    assert mismatch(want, {"kind": "object"}) is not None


def test_compare_checks_only_the_kind_if_pytorch_has_no_signature() -> None:
    want = {"kind": "function", "parameters": None}
    assert mismatch(want, FUNCTION) is None
    assert mismatch(want, {"kind": "class", "parameters": []}) is not None


class Level(enum.Enum):
    MATH = 0


class Answering:
    """A property that has a value on the class, too, like some of PyTorch."""

    def __get__(self, instance: object, owner: type) -> str:
        return "answer"


class Sample:
    level = Level.MATH
    answering = Answering()

    @property
    def size(self) -> int:
        return 0

    def method(self, one: int, *, two: Level = Level.MATH) -> None: ...

    @classmethod
    def of_class(cls, one: int) -> None: ...

    @staticmethod
    def of_none(one: int, /, *rest: int) -> None: ...


ONE = {"name": "one", "kind": "positional_or_keyword"}
SAMPLES: dict[str, dict[str, Any]] = {
    "Sample": {"kind": "class", "parameters": []},
    "Sample.level": {"kind": "value", "value": "MATH = 0"},
    "Sample.answering": {"kind": "property"},
    "Sample.size": {"kind": "property"},
    "Sample.method": {
        "kind": "method",
        "parameters": [ONE, {"name": "two", "kind": "keyword_only", "default": "MATH = 0"}],
    },
    "Sample.of_class": {"kind": "method", "parameters": [ONE]},
    "Sample.of_none": {
        "kind": "method",
        "parameters": [
            {"name": "one", "kind": "positional_only"},
            {"name": "rest", "kind": "var_positional"},
        ],
    },
    "Sample.missing": {"error": "AttributeError"},
    "missing": {"error": "ModuleNotFoundError"},
    "Level.MATH": {"kind": "value", "value": "MATH = 0"},
    "Level.name": {"kind": "property"},
    "made": {"kind": "object"},
    "made.level": {"kind": "value", "value": "MATH = 0"},
    "bound": {"kind": "function", "parameters": [ONE]},
    "names": {"kind": "value", "value": "{'a', 'b'}"},
    "native": {"kind": "function", "parameters": [{"name": "obj", "kind": "positional_only"}]},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_record_describes_what_a_caller_can_observe(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("sample_package")
    held = {"Sample": Sample, "Level": Level, "made": Sample(), "bound": Sample.of_class, "names": {"b", "a"}}
    for key, value in {**held, "native": len}.items():
        setattr(package, key, value)
    monkeypatch.setitem(sys.modules, "sample_package", package)
    assert facts_of("sample_package", name) == SAMPLES[name]


def test_recorded_names_include_every_compared_name() -> None:
    recorded = json.loads((Path(__file__).parent / "names.json").read_text())
    assert recorded["package"] == "torch"
    assert recorded["version"].startswith("2.15.")
    assert not [name for name, facts in recorded["names"].items() if "error" in facts]
