"""The draws of views and of indices."""

from __future__ import annotations

from typing import Any

import interlock

from tests.fuzz.drawing.state import Drawing
from tests.fuzz.programs import Step


def view(drawing: Drawing, number: int) -> Step:
    """Return a view, of any kind."""
    tensor = drawing.tensors[number]
    rank, shape = tensor.ndim, list(tensor.shape)
    this = {"t": number}
    name = drawing.random.choice(
        (
            "t",
            "T",
            "transpose",
            "permute",
            "reshape",
            "view",
            "flatten",
            "unsqueeze",
            "squeeze",
            "expand",
            "select",
        )
        + ("getitem",) * 6
        + ("detach",)
    )
    if name in ("t", "T") and rank > 2:
        name = "transpose"
    if name == "transpose":
        return Step(name, [this, drawing.dim(number), drawing.dim(number)])
    if name == "permute":
        dims = list(range(rank))
        drawing.random.shuffle(dims)
        return Step(name, [this, dims])
    if name in ("reshape", "view"):
        return Step(name, [this, shape_of(drawing, int(tensor.numel()))])
    if name == "unsqueeze":
        return Step(name, [this, drawing.random.randrange(-rank - 1, rank + 1)])
    if name == "squeeze":
        return Step(name, [this] if drawing.random.random() < 0.5 else [this, drawing.dim(number)])
    if name == "expand":
        sizes = [
            drawing.random.choice((size, -1)) if size != 1 else drawing.random.choice((1, 2, 3))
            for size in shape
        ]
        return Step(name, [this, [2, *sizes] if drawing.random.random() < 0.3 else sizes])
    if name == "select":
        return Step(name, [this, drawing.dim(number), drawing.random.choice((0, -1, 0, 1))])
    if name == "getitem":
        return Step(name, [this, index_of(drawing, number)])
    return Step(name, [this])


def shape_of(drawing: Drawing, count: int) -> list[int]:
    """Return a shape for a number of elements; one size may be -1."""
    if count == 0:
        return drawing.random.choice(([0], [0, 2], [3, 0], [-1]))
    sizes, rest = [], count
    for factor in (2, 3, 2):
        if rest % factor == 0 and drawing.random.random() < 0.6:
            sizes.append(factor)
            rest //= factor
    sizes.append(rest)
    drawing.random.shuffle(sizes)
    if drawing.random.random() < 0.25:
        sizes[drawing.random.randrange(len(sizes))] = -1
    return sizes


def index_of(drawing: Drawing, number: int) -> Any:
    """Return an index: integers, slices, None, an ellipsis, lists, masks and tensors."""
    tensor = drawing.tensors[number]
    shape = list(tensor.shape)
    masks = [
        index
        for index, other in enumerate(drawing.tensors)
        if other is not None and other.dtype is interlock.bool and list(other.shape) == shape[: other.ndim]
    ]
    if masks and drawing.random.random() < 0.4:
        return {"t": drawing.random.choice(masks)}
    parts: list[Any] = []
    for size in shape[: drawing.random.randrange(len(shape) + 1)]:
        way = drawing.random.randrange(7)
        if way == 0 and size:
            parts.append(drawing.random.randrange(-size, size))
        elif way == 1:
            parts.append({"slice": [drawing.random.choice((None, 0, 1, -1)), None, None]})
        elif way == 2:
            parts.append({"slice": [None, drawing.random.choice((1, 2, -1)), drawing.random.choice((1, 2))]})
        elif way == 3 and size:
            parts.append(
                [drawing.random.randrange(-size, size) for _ in range(drawing.random.randrange(1, 4))]
            )
        else:
            parts.append({"slice": [None, None, None]})
    if drawing.random.random() < 0.2:
        parts.insert(drawing.random.randrange(len(parts) + 1), None)
    if drawing.random.random() < 0.15 and len(parts) < len(shape):
        parts.append({"ellipsis": 0})
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], list) else {"tuple": parts}
