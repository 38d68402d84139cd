"""The pages name each flag that decides the float32 precision of an operation, and its parent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import interlock
import pytest
from interlock import backends
from interlock.nn.functional import conv2d

DOCS = Path(__file__).parents[3] / "docs"
NODES = [entry.name for entry in backends.snapshot() if entry.name.endswith("fp32_precision")]


def tables() -> dict[str, set[str]]:
    """Return the flags in the tables of matrix products and of convolutions."""
    section = (DOCS / "precision.md").read_text().partition("## Which flags affect which device")[2]
    products, convolutions, *_ = re.findall(r"(?:^\|.*\n)+", section, re.M)

    def flags(table: str) -> set[str]:
        return {flag for row in table.splitlines() for flag in re.findall(r"`([\w.]+)", row.split("|")[1])}

    return {"matmul": flags(products), "conv2d": flags(convolutions)}


@pytest.mark.parametrize("operation", ["matmul", "conv2d"])
def test_tables_have_each_precision_that_an_operation_obeys(operation: str) -> None:
    obeyed = [
        node
        for node in NODES
        if operation in str(backends.describe(node).affects).partition("obeyed by ")[2].split(", ")
    ]
    assert len(obeyed) == 5
    assert tables()[operation].issuperset(obeyed)


def test_tree_of_precisions_has_the_parent_of_each_node() -> None:
    text = (DOCS / "flags_and_scopes.md").read_text()
    [tree] = re.findall(r"^- `fp32_precision`\n(?: *- .*\n)+", text, re.M)
    path: list[str] = []
    parents: dict[str, str | None] = {}
    for indent, node in re.findall(r"( *)- `(.*)`", tree):
        del path[len(indent) // 2 :]
        parents[node] = path[-1] if path else None
        path.append(node)
    assert parents.keys() == set(NODES)
    for node, parent in parents.items():
        if parent is not None:
            values: Any = {"fp32_precision": "ieee", parent: "tf32"}
            with backends.override(values):
                explained = backends.explain(node)
            assert (explained.value, explained.inherited_from) == ("tf32", parent)


@pytest.mark.parametrize("node", ["fp32_precision", "cudnn.fp32_precision"])
def test_flag_of_a_table_changes_results_on_a_device(devices: tuple[str, ...], node: str) -> None:
    x = interlock.full((1, 16, 16, 16), 1.0001234, device=devices[0])
    weight = interlock.full((16, 16, 3, 3), 1.0001234, device=devices[0])
    results = {}
    for precision in ("ieee", "tf32"):
        values: Any = {node: precision}
        with backends.override(values):
            results[precision] = (
                (x[0, 0] @ x[0, 0]).cpu()[0, 0].item(),
                conv2d(x, weight).cpu()[0, 0, 0, 0].item(),
            )
    product, convolution = zip(*results.values(), strict=True)
    assert (product[1], convolution[1]) == (16, 16 * 9)
    assert product[0] > 16
    assert convolution[0] > 16 * 9


@pytest.mark.parametrize("node", ["fp32_precision", "mkldnn.fp32_precision"])
def test_flag_of_a_table_changes_results_of_the_model_of_the_cpu(node: str) -> None:
    x = interlock.full((1, 16, 16, 16), 1.0001234)
    weight = interlock.full((16, 16, 3, 3), 1.0001234)
    values: Any = {"mkldnn.numerics": "model", node: "bf16"}
    with backends.override(values):
        results = (x[0, 0] @ x[0, 0])[0, 0].item(), conv2d(x, weight)[0, 0, 0, 0].item()
    assert results == (16, 16 * 9)
