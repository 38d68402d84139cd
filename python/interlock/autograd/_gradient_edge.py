"""Edges of the autograd graph.

Annotations are evaluated at import, for the reason that `interlock.accelerator._properties` states.
"""

from typing import NamedTuple

from interlock._core.tensor import Node


class GradientEdge(NamedTuple):
    """The place in the autograd graph where the gradient of a tensor is computed; see `get_gradient_edge`.

    `autograd.grad` and `autograd.backward` accept it instead of the tensor. It keeps the graph alive, but not
    the elements of the tensor.
    """

    node: Node
    """The node that receives the gradient: the `grad_fn` of the tensor, or `AccumulateGrad` for a leaf."""
    output_nr: int
    """The position of the tensor among the results of the node."""
    ownership_token: Node | None = None
    """A node that keeps the graph of an `autograd.Function` alive, whose own node does not; else None."""
