"""The names of the nodes of operations, and of the nodes that follow: those that PyTorch 2.15 has."""

from __future__ import annotations

from typing import Any

import interlock
import pytest
from interlock import nn
from interlock.autograd.graph import Node

LEAF = "AccumulateGrad"
CASES: list[tuple[str, list[Any]]] = [
    ("x @ square", ["Mm", LEAF, LEAF]),
    ("square @ y", ["Mv", LEAF, LEAF]),
    ("y @ y", ["Dot", LEAF, LEAF]),
    ("T.bmm(batch, batch)", ["Bmm", LEAF, LEAF]),
    ("T.addmm(y, x, square)", ["Addmm", LEAF, LEAF, LEAF]),
    ("T.addmm(y, x, square, beta=0)", ["Addmm", LEAF, LEAF, LEAF]),
    ("T.addmm(y, x, square, alpha=0)", ["Addmm", LEAF, LEAF, LEAF]),
    ("T.addmm(y, x, square, beta=2, alpha=3)", ["Addmm", LEAF, LEAF, LEAF]),
    ("T.addmv(y, square, y, beta=2, alpha=3)", ["Addmv", LEAF, LEAF, LEAF]),
    ("T.baddbmm(y, batch, batch, beta=2, alpha=3)", ["Baddbmm", LEAF, LEAF, LEAF]),
    ("F.linear(x, square, y)", ["Addmm", LEAF, LEAF, ["T", LEAF]]),
    ("F.linear(x, square)", ["Mm", LEAF, ["T", LEAF]]),
    ("x.index_add(0, rows, square, alpha=2)", ["IndexAdd", LEAF, LEAF]),
    ("x.clone().index_add_(0, rows, square, alpha=2)", ["IndexAdd", ["Clone", LEAF], LEAF]),
    ("x.index_copy(0, rows, square)", ["IndexCopy", LEAF, LEAF]),
    ("x.index_fill(0, rows, y[0])", ["IndexFill1", LEAF, ["Select", LEAF]]),
    ("x.put(rows, y)", ["Put", LEAF, LEAF]),
    ("x[rows]", ["Index", LEAF]),
    ("x[:, rows]", ["Index", LEAF]),
    ("x.masked_fill(x > 1, y[0])", ["MaskedFill1", LEAF, ["Select", LEAF]]),
    ("x.clone().fill_(2.0)", ["Fill2", ["Clone", LEAF]]),
    ("x.clone().fill_(y[0])", ["Fill3", ["Clone", LEAF], ["Select", LEAF]]),
    ("T.where(x > 1, x, y)", ["Where", LEAF, LEAF]),
    ("2 - x", ["Rsub1", LEAF]),
    ("x.t()", ["T", LEAF]),
    ("x.transpose(0, 1)", ["Transpose", LEAF]),
    ("x.sum()", ["Sum", LEAF]),
    ("x.sum(1)", ["Sum1", LEAF]),
    ("x.mean(1)", ["Mean1", LEAF]),
    ("x.prod(1)", ["Prod1", LEAF]),
    ("x.squeeze()", ["Squeeze", LEAF]),
    ("x.squeeze(1)", ["Squeeze1", LEAF]),
    ("x.squeeze((0, 1))", ["Squeeze2", LEAF]),
]


def graph(node: Node | None) -> Any:
    """Return the name of a node without "Backward0", in a list with its next nodes if there are any."""
    assert node is not None
    head, _, number = node.name().partition("Backward")
    name = head + number.removeprefix("0")
    following = [graph(each) for each, _ in node.next_functions]
    return [name, *following] if following else name


@pytest.mark.parametrize(("expression", "nodes"), CASES)
def test_nodes_have_the_names_and_the_edges_of_pytorch(expression: str, nodes: list[Any]) -> None:
    leaf = {"requires_grad": True}
    names = {
        "T": interlock,
        "F": nn.functional,
        "x": interlock.ones(2, 3, **leaf),
        "y": interlock.ones(3, **leaf),
        "square": interlock.ones(3, 3, **leaf),
        "batch": interlock.ones(2, 3, 3, **leaf),
        "rows": interlock.tensor([1, 0, 1]),
    }
    assert graph(eval(expression, names).grad_fn) == nodes
