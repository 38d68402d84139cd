"""The draw of the next step of a program."""

from __future__ import annotations

from tests.fuzz.drawing.layers import attention, convolution, lstm, product
from tests.fuzz.drawing.operations import (
    binary,
    copy,
    expression,
    history,
    in_place,
    joining,
    reduction,
    unary,
)
from tests.fuzz.drawing.state import Drawing
from tests.fuzz.drawing.views import view
from tests.fuzz.programs import IN_PLACE, Step


def next_step(drawing: Drawing) -> Step:
    """Return a step that mostly succeeds."""
    while drawing.queued:
        step = drawing.queued.pop(0)
        # An expression such as unbind may return nothing, and its gradients are left out.
        output = step.arguments[0]
        if step.name not in ("gradients", "second") or output["t"] < len(drawing.tensors):
            return step
    number = drawing.choose()
    if number is None or drawing.random.random() < 0.12:
        return drawing.random.choice((drawing.leaf, drawing.leaf, drawing.leaf, drawing.creation))()
    step = drawing.random.choices(
        (
            unary,
            binary,
            view,
            reduction,
            in_place,
            copy,
            joining,
            history,
            product,
            attention,
            expression,
            convolution,
            lstm,
        ),
        (14, 22, 18, 14, 12, 6, 6, 0 if drawing.has_halves else 6, 16, 8, 60, 4, 2),
    )[0](drawing, number)
    return step._replace(no_grad=drawing.random.random() < (0.3 if step.name in IN_PLACE else 0.08))
