"""Long chains of objects are dropped without recursion, which would overflow the stack."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_program

LINKS = {
    "gradients": "n = interlock.ones(2); n.grad = t; t = n",
    "views": "n = interlock.ones(2); n.grad = t; t = n.view(2)",
    "arrays": "t = interlock.from_numpy(t.numpy())",
    "operations": "t = t + leaf",
    "changes in place": "t[0] = leaf",
}


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_long_chain_is_dropped_without_recursion(link: str) -> None:
    assert eval_program("tensor.values.long_chain_is_dropped_without_recursion", link)
