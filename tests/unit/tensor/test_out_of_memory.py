"""Operations whose memory depends on data, in processes with a limited address space."""

from __future__ import annotations

import sys

import pytest

from tests.helpers import sanitizer
from tests.helpers.subprocess import Result, run_program

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS limits memory on Linux"),
    pytest.mark.skipif(sanitizer.IS_PRELOADED, reason="AddressSanitizer needs unlimited address space"),
]

# Bytes that an operation may add to those of the process: less than any operation below needs.
ROOM = 24 << 20

# Operations that raise OutOfMemoryError because their elements exceed the memory.
OPERATIONS = {
    "zeros": "zeros(2**40)",
    "full": "full((2**40,), 1.0)",
    "arange": "arange(2**40)",
    "rand": "interlock.rand(2**40)",
    "randn": "interlock.randn(2**40)",
    "zeros_like": "interlock.zeros_like(huge)",
    "clone": "huge.clone()",
    "contiguous": "huge.contiguous()",
    "reshape": "ones(2, 1).expand(2, 2**39).reshape(-1)",
    "cast": "huge.double()",
    "add": "huge + huge",
    "add a number": "huge + 1",
    "reflected": "1 - huge",
    "compare": "huge > 0",
    "exp": "huge.exp()",
    "neg": "-huge",
    "pow": "huge ** huge",
    "integer pow": "huge.long() ** 2",
    "logical_not": "huge.logical_not()",
    "in place": "zeros(1).expand(2**40) + as_tensor(1.0)",
    "sum over nothing": "huge.unsqueeze(1).sum(1)",
    "integer sum": "truths.unsqueeze(1).sum(1)",
    "mean": "huge.unsqueeze(1).mean(1)",
    "amax": "huge.unsqueeze(1).amax(1)",
    "argmax": "huge.unsqueeze(1).argmax(1)",
    "argmax of all": "huge.argmax()",
    "softmax": "huge.softmax(0)",
    "log_softmax": "huge.unsqueeze(0).log_softmax(0)",
    "cross_entropy": "interlock.cross_entropy(one.expand(2**40, 1), zeros(1).long().expand(2**40))",
    "nll_loss": "interlock.nn.functional.nll_loss(huge.unsqueeze(1), zeros(1).long().expand(2**40))",
    "probabilities": "interlock.nn.functional.cross_entropy(huge.unsqueeze(1), huge.unsqueeze(1))",
    "binary_cross_entropy": "interlock.nn.functional.binary_cross_entropy(huge, huge)",
    "logits": "interlock.nn.functional.binary_cross_entropy_with_logits(huge, huge)",
    "mse_loss": "interlock.nn.functional.mse_loss(huge, huge)",
    "gelu": "interlock.nn.functional.gelu(huge)",
    "dropout": "interlock.nn.functional.dropout(huge)",
    "layer_norm": "interlock.nn.functional.layer_norm(huge.unsqueeze(1), (1,))",
    "matmul of expanded batches": "ones(1, 1, 1).expand(2**40, 1, 1).matmul(one)",
    "matmul of two batches": "ones(1, 1, 1).expand(2**40, 1, 1).matmul(ones(1, 1, 1).expand(2**40, 1, 1))",
    "matmul of rows": "one.expand(2**40, 1) @ one",
    "integer matmul": "zeros(1, 1).long().expand(2**40, 1) @ zeros(1, 1).long()",
    "matmul of a vector": "one.expand(2**40, 1) @ ones(1)",
    "mask": "huge[truths]",
    "mask of a small tensor": "truths[truths]",
    "mask as a target": "ones(1).expand(2**40).__setitem__(truths, 1.0)",
    "positions": "ones(3)[zeros(1).long().expand(2**40)]",
    "two positions": "ones(3, 3)[zeros(1).long().expand(2**40), 0 * zeros(1).long()]",
    "broadcast positions": "ones(3, 3)[zero.expand(2**20, 1), zero.expand(1, 2**20)]",
    "positions as a target": "ones(3).__setitem__(zeros(1).long().expand(2**40), 1.0)",
    "tolist": "huge.tolist()",
    "bool of many": "interlock.tensor(huge)",
    "cat": "cat([huge, huge])",
    "cat along another dimension": "cat([huge.unsqueeze(1), huge.unsqueeze(1)], 1)",
    "stack": "stack([huge, huge])",
    "cat of endlessly many": "cat(endless(one))",
    "repr": "repr(ones(1).expand([2] * 40))",
    "format": "format(ones(1).expand([2] * 40))",
    "pickle": "pickle.dumps(zeros(15 << 18))",
    "tensor of a list": "tensor([[1.0] * 4096] * 65536)",
    "tensor of an endless list": "tensor([Endless()])",
    "sizes": "zeros(Endless())",
    "dims": "ones(2).sum(Endless())",
    "read-only array": "as_tensor(np.broadcast_to(np.ones(1), (2**40,)))",
    "backward": "(lambda x: (x.expand(2**28) * 2).sum().backward())(ones(1, requires_grad=True))",
    "out of an integer power": "full((1,), 2).expand(2**40) ** full((1,), 2).expand(2**40)",
}
# They read or write millions of elements before they fail.
SLOW = ("format", "repr", "tensor of an endless list", "tensor of a list")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in OPERATIONS]
)
def test_operation_without_room_raises_out_of_memory_error(name: str) -> None:
    assert run_program(
        "tensor.memory.operation_without_room_raises_out_of_memory_error", ROOM, OPERATIONS[name]
    ) == Result(0, "", "")


# Python objects: the interpreter raises MemoryError for them.
OBJECTS = {
    "tolist of rows": "zeros(1).expand(2**19, 1).tolist()",
    "tolist of lists without elements": "zeros(1, 0).expand(2**40, 0).tolist()",
    "list": "list(huge)",
}


@pytest.mark.parametrize("name", OBJECTS)
def test_python_objects_without_room_raise_memory_error(name: str) -> None:
    assert run_program(
        "tensor.memory.python_objects_without_room_raise_memory_error", ROOM, OBJECTS[name]
    ) == Result(0, "", "")


def test_iteration_creates_rows_lazily() -> None:
    assert run_program("tensor.memory.iteration_creates_rows_lazily", ROOM) == Result(0, "", "")


# Preparations, and an operation whose number of objects or arguments depends on data.
COUNTED = {
    "cat": ("parts = [ones(1)] * 60_000", "cat(parts)"),
    "cat of a new list": ("", "cat([ones(1)] * 60_000)"),
    "cat with a gradient": ("parts = [ones(1, requires_grad=True)] * 50_000", "cat(parts)"),
    "stack": ("parts = [ones(1)] * 50_000", "stack(parts)"),
    "stack with a gradient": ("parts = [ones(1, requires_grad=True)] * 50_000", "stack(parts)"),
    "sizes of zeros": ("sizes = [1] * 2_000_000", "zeros(sizes)"),
    "sizes of full": ("sizes = [1] * 2_000_000", "full(sizes, 1.0)"),
    "sizes of expand": ("sizes = [1] * 2_000_000", "ones(1).expand(sizes)"),
    "sizes of view": ("sizes = [1] * 2_000_000", "ones(1).view(sizes)"),
    "sizes of as_strided": ("sizes = [1] * 2_000_000", "ones(1).as_strided(sizes, sizes)"),
    "sizes of a pickled tensor": (
        "sizes = (1,) * 2_000_000; from interlock._core.tensor import _rebuild",
        "_rebuild(bytes(4), interlock.float32, sizes, False)",
    ),
    "dims of permute": ("dims = [0] * 2_000_000", "ones(1).permute(dims)"),
    "dims of sum": ("dims = [0] * 2_000_000", "ones(1).sum(dims)"),
    "dims of amax": ("dims = [0] * 2_000_000", "ones(1).amax(dims)"),
    "index": ("index = (None,) * 500_000; one = ones(1)", "one[index]"),
    "backward to one leaf": (
        "x = ones(1, requires_grad=True); y = stack([x] * 30_000).sum()",
        "y.backward()",
    ),
    "backward to many nodes": (
        "x = ones(1, requires_grad=True); y = stack([x * 1 for _ in range(8_000)]).sum()",
        "y.backward(); del y",
    ),
    "grad through many nodes": (
        "x = ones(1, requires_grad=True); y = cat([x * 1 for _ in range(8_000)]).sum()",
        "interlock.autograd.grad(y, [x]); del y",
    ),
    "many outputs": (
        "x = ones(1, requires_grad=True); outputs = [x.sum()] * 200_000",
        "interlock.autograd.backward(outputs)",
    ),
    "many inputs": (
        "inputs = [ones(1, requires_grad=True)] * 200_000; y = inputs[0] * 1",
        "interlock.autograd.grad(y, inputs)",
    ),
    "next_functions": (
        "node = cat([ones(1, requires_grad=True)] * 100_000).grad_fn",
        "node.next_functions",
    ),
    "dropping a wide graph": (
        "x = ones(1, requires_grad=True); y = cat([x * 1 for _ in range(20_000)])",
        "del y",
    ),
    "dropping a deep graph": (
        "y = x = ones(1, requires_grad=True)\nfor _ in range(20_000): y = (x * 1) + y",
        "del y",
    ),
    "many results": ("x = ones(1)", "kept = [x + 1 for _ in range(40_000)]"),
    "many views": ("x = ones(1)", "kept = [x[:] for _ in range(40_000)]"),
    "many detached tensors": ("x = ones(1)", "kept = [x.detach() for _ in range(60_000)]"),
    "matmul": ("x = ones(600, 600)", "x @ x"),
    "matmul of float64": ("x = ones(300, 700).double()", "x @ x.t()"),
}

MEBIBYTES = (0, 1, 2, 4, 8, 12, 20, 30)
# Without `--full`: no memory for some operations, and a part of the needed memory for others.
SOME_MEBIBYTES = (0, 2, 12)


@pytest.mark.parametrize("name", COUNTED)
def test_operation_on_many_objects_never_ends_the_process_without_room(name: str, full: bool) -> None:
    prepare, operation = COUNTED[name]
    assert run_program(
        "tensor.memory.operation_on_many_objects_without_memory",
        prepare,
        operation,
        MEBIBYTES if full else SOME_MEBIBYTES,
    ) == Result(0, "", "")
