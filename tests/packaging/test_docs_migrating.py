"""docs/migrating.md names what interlock has, and what it does not have."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "migrating.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(interlock\.[\w.]+)`", PAGE)))
MISSING = re.findall(
    r"^\| (`.*?`) \|", PAGE.split("What interlock does not have")[1].split("\n\n")[1], re.MULTILINE
)
# Each name of torch that users of `torch.cuda` look for.
WANTED = (
    "cuda.Event", "cuda.stream", "cuda.set_device", "cuda.max_memory_allocated", "cuda.Stream",
    "cuda.default_stream", "cuda.Stream.cuda_stream", "cuda.Stream.record_event", "cuda.Stream.wait_stream",
)  # fmt: skip


def find(name: str) -> object:
    """Return the object of a dotted name; None if there is none."""
    value: object = importlib.import_module("interlock")
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name: str) -> None:
    assert find(name.removeprefix("interlock.")) is not None


def test_names_listed_as_missing_are_missing() -> None:
    names = [name.removeprefix("torch.") for name in re.findall(r"`([\w.]+)[`(]", " ".join(MISSING))]
    assert {"cuda", "Tensor.cuda", "Tensor.get_device"} <= {*names}
    assert [name for name in names if find(name) is not None] == []
    paragraph = PAGE.split("Programs may miss")[1].split(": tensors can be pickled")[0]
    operations = re.findall(r"`([\w.]+)`", paragraph)
    assert len(operations) >= 20
    prefixes = ("", "Tensor.", "nn.functional.")
    assert [prefix + name for name in operations for prefix in prefixes if find(prefix + name)] == []


@pytest.mark.parametrize("name", WANTED)
def test_page_has_a_row_for_each_common_name_of_torch_cuda(name: str) -> None:
    assert re.search(rf"^\| .*`(with )?torch\.{re.escape(name)}\b.*\|$", PAGE, re.MULTILINE)


def test_names_are_found_in_the_page() -> None:
    assert len(NAMES) >= 40
