"""The precedence of the names of a precision (docs/pytorch_issues.md)."""

from __future__ import annotations

import itertools
from typing import Any

import interlock
import pytest
from interlock import backends

from tests.unit.state.load_model import load

pytestmark = pytest.mark.usefixtures("restored")

# The model describes PyTorch 2.13. Version 2.15 has a further value, of one node.
model = load("precision")
model.VALUES = (*model.VALUES, "bfx9")
_supports = model.supports
model.supports = lambda node, value: node == "cuda.matmul" if value == "bfx9" else _supports(node, value)
PRECISIONS, ON_CUDA, BOTH = ("none", "ieee", "tf32", "bf16"), ("none", "ieee", "tf32"), (True, False)
CUDA = [("cudnn.fp32_precision", ON_CUDA)]
MKLDNN = [("mkldnn.fp32_precision", PRECISIONS)]
# The nodes and older aliases that affect the precision of an operation.
CHAINS: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "cuda.matmul": [
        *CUDA,
        ("cuda.matmul.fp32_precision", (*ON_CUDA, "bfx9")),
        ("cuda.matmul.allow_tf32", (True, False)),
    ],
    "cudnn.conv": [*CUDA, ("cudnn.conv.fp32_precision", ON_CUDA), ("cudnn.allow_tf32", BOTH)],
    "cudnn.rnn": [*CUDA, ("cudnn.rnn.fp32_precision", ON_CUDA), ("cudnn.allow_tf32", BOTH)],
    "mkldnn.matmul": [*MKLDNN, ("mkldnn.matmul.fp32_precision", PRECISIONS)],
    "mkldnn.conv": [*MKLDNN, ("mkldnn.conv.fp32_precision", PRECISIONS)],
    "mkldnn.rnn": [*MKLDNN, ("mkldnn.rnn.fp32_precision", PRECISIONS)],
}
READ = sorted({name for chain in CHAINS.values() for name, _ in chain} | {"fp32_precision"})


def owner_and_attribute(top: Any, name: str) -> tuple[Any, str]:
    *path, attribute = name.split(".")
    for part in path:
        top = getattr(top, part)
    return top, attribute


OURS = {name: owner_and_attribute(backends, name) for name in READ}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())
def test_aliases_match_the_model_after_up_to_three_writes(
    chain: list[tuple[str, tuple[Any, ...]]],
) -> None:
    writes = [
        *((name, value) for name, values in [("fp32_precision", PRECISIONS), *chain] for value in values),
        *((None, precision) for precision in model.MATMUL_PRECISION),
    ]
    for order in itertools.chain.from_iterable(itertools.product(writes, repeat=n) for n in range(4)):
        backends.reset()
        package = model.Package()
        theirs = {name: owner_and_attribute(package.backends, name) for name in READ}
        for name, value in order:
            if name is None:
                interlock.set_float32_matmul_precision(value)
                package.set_float32_matmul_precision(value)
            else:
                setattr(*OURS[name], value)
                setattr(*theirs[name], value)
        want = {name: getattr(*place) for name, place in theirs.items()}
        assert {name: getattr(*place) for name, place in OURS.items()} == want, order
        assert interlock.get_float32_matmul_precision() == package.get_float32_matmul_precision(), order


def test_explain_returns_the_effective_value_and_its_source() -> None:
    explain = backends.explain
    assert explain("cudnn.conv.fp32_precision")[1:3] == ("tf32", "default")
    backends.fp32_precision = "ieee"
    assert explain("cudnn.conv.fp32_precision")[1:3] == ("ieee", "process")
    with backends.flags(fp32_precision="bf16"):
        assert explain("cudnn.conv.fp32_precision")[1:3] == ("none", "scope")
        assert explain("mkldnn.conv.fp32_precision")[1:3] == ("bf16", "scope")
