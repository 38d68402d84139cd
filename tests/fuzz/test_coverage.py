"""Every public operation is drawn by the differential fuzzer, or is listed with the reason."""

from __future__ import annotations

import ast
import random
import re

import interlock
import interlock.nn.functional
import pytest

from tests.fuzz.expressions import with_literals
from tests.fuzz.harness import ROOT
from tests.fuzz.programs import OPERATIONS, Step, run_step
from tests.fuzz.table import ALL, CALL, NOT_DRAWN
from tools.example_calls import ROWS


def public_operations() -> set[str]:
    """The names of functions and methods that the stub defines; aliases are assignments there."""
    stub = ast.parse((ROOT / "stubs/interlock/_core/tensor.pyi").read_text())
    classes = [each for each in stub.body if isinstance(each, ast.ClassDef) and each.name == "Tensor"]
    bodies = [stub.body, *(each.body for each in classes)]
    names = {each.name for body in bodies for each in body if isinstance(each, ast.FunctionDef)}
    return {name for name in names if not name.startswith("_")} | set(interlock.nn.functional.__all__)


def drawn_operations() -> set[str]:
    sources = [source for sources in ALL.values() for source in sources]
    return {name for source in sources for name in re.findall(CALL, source)} | set(OPERATIONS)


def names_of_the_table() -> set[str]:
    """The names of all forms of the operations, also of aliases."""
    found = set()
    for row in ROWS:
        for name in (row["name"], *row["aliases"].split()):
            forms = set(row["forms"].split()) - {"out"}
            found |= {name + "_" * form.startswith("inplace") for form in forms}
    return found


def test_every_public_operation_is_drawn_or_has_a_reason() -> None:
    assert public_operations() - drawn_operations() - set(NOT_DRAWN) == set()


def test_every_form_of_the_table_is_drawn_or_has_a_reason() -> None:
    assert names_of_the_table() - drawn_operations() - set(NOT_DRAWN) == set()


def test_operations_that_are_not_drawn_exist_and_are_not_drawn() -> None:
    assert set(NOT_DRAWN) - public_operations() == set()
    assert set(NOT_DRAWN) & drawn_operations() == set()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_every_expression_succeeds_for_some_operands(name: str) -> None:
    """An expression that always raises would compare nothing."""
    generator = random.Random(1)
    rows = (("float32", [[2, 3], [3], [], [3, 3], [2, 2]]), ("int64", [[2, 3], [3]]))
    kinds = [(dtype, shape) for dtype, shapes in rows for shape in shapes]
    failing = set(ALL[name])
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
