"""Every public operation is drawn by the differential fuzzer, or is listed with the reason."""

from __future__ import annotations

import ast
import random
import re

import interlock
import interlock.nn.functional
import pytest

from tests.fuzz.expressions import EXPRESSIONS, with_literals
from tests.fuzz.harness import ROOT
from tests.fuzz.programs import OPERATIONS, Step, run_step

RANDOM = "random numbers differ from PyTorch's"
PROPERTY = "a property of memory or history; strides are compared after each step"
NOT_DRAWN = {
    **dict.fromkeys(("rand", "rand_like", "randint", "randint_like", "randn", "randn_like"), RANDOM),
    **dict.fromkeys(("randperm", "bernoulli_", "uniform_", "normal_", "multinomial", "manual_seed"), RANDOM),
    **dict.fromkeys(("initial_seed", "get_rng_state", "set_rng_state"), RANDOM),
    **dict.fromkeys(("is_pinned", "pin_memory", "record_stream", "data_ptr", "stride"), PROPERTY),
    **dict.fromkeys(("grad_fn", "output_nr", "increment_version"), PROPERTY),
    **dict.fromkeys(
        (
            "queue_callback",
            "set_override_stale_capture_stream",
            "set_warn_on_accumulate_grad_stream_mismatch",
        ),
        "steers a backward pass and computes nothing",
    ),
    "register_post_accumulate_grad_hook": "the order of hooks has tests of its own",
    "set_printoptions": "sets how tensors are printed; the texts are compared in tests of their own",
    "multi_head_attention": "an internal function of interlock.nn, composed of drawn ones",
    "conv2d": "the step convolution",
    "scaled_dot_product_attention": "the step attention",
}


def public_operations() -> set[str]:
    """The names of functions and methods that the stub defines; aliases are assignments there."""
    stub = ast.parse((ROOT / "stubs/interlock/_core/tensor.pyi").read_text())
    classes = [each for each in stub.body if isinstance(each, ast.ClassDef) and each.name == "Tensor"]
    bodies = [stub.body, *(each.body for each in classes)]
    names = {each.name for body in bodies for each in body if isinstance(each, ast.FunctionDef)}
    return {name for name in names if not name.startswith("_")} | set(interlock.nn.functional.__all__)


def drawn_operations() -> set[str]:
    sources = [source for sources in EXPRESSIONS.values() for source in sources]
    return {name for source in sources for name in re.findall(r"(?:\b[TFxyz]|\))\.(\w+)", source)} | set(
        OPERATIONS
    )


def test_every_public_operation_is_drawn_or_has_a_reason() -> None:
    assert public_operations() - drawn_operations() - set(NOT_DRAWN) == set()


def test_operations_that_are_not_drawn_exist_and_are_not_drawn() -> None:
    assert set(NOT_DRAWN) - public_operations() == set()
    assert set(NOT_DRAWN) & drawn_operations() == set()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_expression_succeeds_for_some_operands(name: str) -> None:
    """An expression that always raises would compare nothing."""
    generator = random.Random(1)
    rows = (("float32", [[2, 3], [3], [], [3, 3], [2, 2]]), ("int64", [[2, 3], [3]]))
    kinds = [(dtype, shape) for dtype, shapes in rows for shape in shapes]
    failing = set(EXPRESSIONS[name])
    for _ in range(60):
        for source in sorted(failing):
            dtype, shape = generator.choice(kinds)
            options = {"dtype": getattr(interlock, dtype), "requires_grad": dtype == "float32"}
            tensors = [interlock.ones(shape, **options).clone() for _ in range(3)]
            text = with_literals(generator, source, shape)
            try:
                run_step(interlock, Step(name, [text, "cpu", *({"t": each} for each in range(3))]), tensors)
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue
            failing.discard(source)
    assert failing == set()
