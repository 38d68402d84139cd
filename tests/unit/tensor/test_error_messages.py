"""The errors of tensors: the expression, the exception and its whole message."""

from __future__ import annotations

import copy
import math
import operator
from pathlib import Path
from typing import Any

import interlock
import numpy as np
import pytest

from tests.helpers.recorded import Recorded
from tests.helpers.subprocess import eval_program

pytestmark = pytest.mark.any_build


def inference() -> interlock.Tensor:
    with interlock.inference_mode():
        return interlock.ones(2)


def leaf(*size: int) -> interlock.Tensor:
    return interlock.ones(*size, requires_grad=True)


def untracked_view() -> interlock.Tensor:
    base = leaf(2) * 1
    with interlock.no_grad():
        return base[0]


def untracked_view_of_a_changed_base() -> interlock.Tensor:
    base = leaf(2) * 1
    with interlock.no_grad():
        view = base[0]
    base.add_(1)
    return view


def backward_twice() -> None:
    y = (leaf(2) * leaf(2)).sum()
    y.backward()
    y.backward()


def backward_after_a_change() -> None:
    x = leaf(2) * 1
    y = (x * x).sum()
    x.add_(1)
    y.backward()


def own_gradient() -> None:
    x = interlock.ones(2)
    x.grad = x


SOURCES = [
    # parts and dimensions
    "ones(3).split([1, 1])",
    "ones(3).chunk(0)",
    "ones(3).narrow(0, 4, 0)",
    "ones(3).narrow(0, 2, 2)",
    "tensor(1).unbind()",
    "(leaf(2) * 1).split(1)[0].add_(1)",
    "(leaf(2, 2) * 1).unbind()[0].__setitem__(0, 1)",
    "untracked_view_of_a_changed_base() * 2",
    "untracked_view_of_a_changed_base().grad_fn",
    "untracked_view_of_a_changed_base().is_leaf",
    "ones(1).expand(2**62, 4)",
    "ones(2).repeat(2**63 - 1)",
    "ones([1] * 64).unsqueeze(0)",
    "ones(2).as_strided([1] * 65, [1] * 65)",
    "ones(2, 3).swapaxes(0, 2)",
    "ones(2, 3).moveaxis(0, 2)",
    "ones(2, 3).view_as(ones(5))",
    "ones(2, 3).flip(0, 0)",
    "ones(2, 3).flip(2)",
    "ones(2, 3).roll(1, 2)",
    "ones(2, 3).permute(0, 2)",
    "ones(2, 3).flatten(2)",
    "ones(2, 3).diagonal(0, 0, 2)",
    "ones(2, 3).squeeze((0, 0))",
    "ones(2, 3).expand_as(ones(5))",
    "ones(2, 3).repeat(2)",
    "ones(3).tril()",
    "ones(3).mT",
    "ones(3).dot(ones(2))",
    # random numbers
    "randint(3, 3, (2,))",
    "full((1,), 2.0).bernoulli()",
    "zeros(2).bernoulli(-1)",
    "zeros(2).multinomial(1)",
    "zeros(2).uniform_(2, 1)",
    "ones(2, dtype=int64).new_full((2,), float('nan'))",
    # creation
    "full((2,), 1e39, dtype=float32)",
    "from_dlpack([1.0])",
    "from_dlpack(np.ones(2, 'u4'))",
    "ones(2, requires_grad=True).__dlpack__()",
    "memoryview(ones(2, dtype=bfloat16))",
    "tensor(None)",
    "tensor([1, None])",
    'tensor("a")',
    "tensor({1: 2})",
    "tensor([[1, 2], [3]])",
    "tensor([[1, 2], 3])",
    "tensor([1, [2]])",
    "tensor(2**70)",
    "tensor(2**63, dtype=int64)",
    "tensor(inf, dtype=int64)",
    'tensor([1.0], dtype="float32")',
    "tensor([1], requires_grad=True)",
    'as_tensor(["a"])',
    "zeros((2, 3), float32)",
    "zeros(2, 3, float32)",
    'zeros("a")',
    "zeros(2, -1)",
    "zeros(2**62, 2**62)",
    "zeros([1] * 65)",
    'ones(2, requires_grad="yes")',
    "ones(2, pin_memory=1)",
    "ones(2, dtype=complex)",
    "ones_like([1])",
    "full((2,), 1e300, dtype=float32)",
    "full((2,), None)",
    "full((2,), 2**63)",
    "arange(0, 5, 0)",
    "arange(0, 5, -1)",
    "arange(0, inf)",
    'arange("a")',
    "rand(2, dtype=int64)",
    'manual_seed("a")',
    "manual_seed(2**70)",
    "from_numpy([1.0])",
    'from_numpy(np.zeros(2, "u4"))',
    "from_numpy(np.ones(3)[::-1])",
    # arithmetic
    "ones(2, 3) + ones(4)",
    "ones(2, 3) == ones(4)",
    "ones(2) + 2**63",
    "tensor([True]) - tensor([True])",
    "-tensor([True])",
    "tensor([True]) ** tensor([True])",
    "tensor([2]) ** -1",
    "tensor([1]).add(1, alpha=0.5)",
    "tensor([1.0]).add(1, alpha=True)",
    'ones(2).add(1, alpha="a")',
    "ones(2).add(1, alpha=ones(2))",
    'ones(2).add("a")',
    "ones(2).pow(None)",
    "ones(2, 3) @ ones(2, 3)",
    "ones(2, 2, 3) @ ones(3, 3, 2)",
    "ones(()) @ ones(2)",
    "ones(2, dtype=int64) @ ones(2)",
    "mm(ones(2, 2), ones(2, 2), out=ones(2, 2, dtype=int64))",
    "where(ones(2) > 0, 1.0, 2.0, out=ones(2, dtype=float64))",
    "tensor([True]) @ tensor([True])",
    "ones(2).mm(ones(2, 2))",
    "matmul(ones(2), 1)",
    "exp(1)",
    "relu(tensor([True]))",
    # linear algebra
    "linalg.inv(zeros(2, 2))",
    "linalg.inv(ones(2, 2, 2))",
    "linalg.solve(zeros(1, 1), ones(1))",
    "linalg.solve(ones(2, 2), ones(3))",
    "linalg.cholesky(-ones(1, 1))",
    "linalg.cholesky(ones(2, 3))",
    "linalg.svdvals(full((1, 1), nan))",
    "linalg.det(ones(2, 2).half())",
    "linalg.qr(ones(2))",
    "linalg.qr(ones(2, 2), 'R')",
    "linalg.lu(ones(2, 2), pivot=False)",
    "linalg.lu_solve(ones(1, 1), tensor([2]).int(), ones(1, 1))",
    "linalg.solve_triangular(ones(1, 1), ones(1, 1))",
    "cholesky_solve(ones(2, 1), ones(3, 3))",
    # in place
    "ones(2).add_(ones(2, 3))",
    "ones(2).add_(ones(3))",
    "ones(2, dtype=int64).div_(2)",
    "add(ones(2), 1, out=ones(2, dtype=int64))",
    # objects of other types
    "functional.sigmoid([1.0])",
    "functional.tanh(1.0)",
    "functional.softmax([1.0])",
    "functional.softmin([1.0], 0)",
    "functional.log_softmax([1.0])",
    'ones(2).allclose(ones(2), rtol="a")',
    'isclose(ones(2), ones(2), atol="a")',
    "tril(ones(2, 2), ones(2))",
    "full(ones(2, 2), 1)",
    "tril(ones(2, 2), np.ones(2))",
    "hstack(np.float32(2))",
    # positions
    "functional.embedding(tensor([5]), ones(3, 2))",
    "functional.embedding(ones(2), ones(3, 2))",
    "functional.one_hot(tensor([5]), 3)",
    "conv2d(ones(1, 1, 3, 3), ones(1, 1, 2, 2), padding=2**63 - 1)",
    'ones(2).add_("a")',
    "operator.iadd(ones(2), None)",
    "ones(2).copy_(1)",
    "ones(2).copy_(ones(3))",
    "ones(2).fill_(ones(2))",
    'ones(2).fill_("a")',
    "ones(2, dtype=int64).fill_(nan)",
    "ones(1).expand(2).add_(1)",
    "leaf(2).add_(1)",
    "leaf(2)[0].add_(1)",
    "inference().add_(1)",
    "inference()._version",
    "inference().requires_grad_()",
    "(inference() * leaf(2))",
    "untracked_view().add_(1)",
    # reductions and losses
    "ones(2, 3).sum(2)",
    "ones(()).sum(1)",
    'ones(2, 3).sum("a")',
    "ones(2, 3).sum((0, -2))",
    "ones(2, 3).sum(keepdim=1)",
    "ones(2, 3, dtype=int64).mean()",
    "zeros(0).max()",
    "zeros(0, 3).argmin(0)",
    "ones(2).max(keepdim=True)",
    "ones(2).var(unbiased=True, correction=1)",
    "ones(2).norm('nuc')",
    "ones(2).topk(3)",
    "ones(2).isclose(ones(2), rtol=-1)",
    "ones(2).allclose(ones(2).double())",
    "tensor([1]).std()",
    "ones(2).cumsum(1)",
    "ones(2).sort(1)",
    "tensor([True]).argmax()",
    "ones(2, dtype=int64).softmax(0)",
    "ones(2).log_softmax(1)",
    "cross_entropy(ones(2, 3), ones(2))",
    "cross_entropy(ones(2, 3), tensor([0, 1, 2]))",
    "cross_entropy(ones(3), tensor([0, 1]))",
    "cross_entropy(ones(2, 3, dtype=int64), tensor([0, 1]))",
    "cross_entropy(ones(2, 3), tensor([0, 3]))",
    "cross_entropy(ones(2, 3), [0, 1])",
    'cross_entropy(ones(2, 3), tensor([0, 1]), reduction="median")',
    "cross_entropy(ones(2, 3), tensor([0, 1]), reduction=None)",
    # views and joins
    "ones(2, 3).view(4)",
    "ones(2, 3).view(-1, -1)",
    "ones(2, 3).view(-2, 3)",
    "ones(0).view(-1, 0)",
    "ones(2, 3).t().view(6)",
    "ones(2, 3).reshape(4)",
    'ones(2, 3).reshape("a")',
    "ones(2, 3).permute(0, 0)",
    "ones(2, 3).permute(0)",
    "ones(2, 3).transpose(0, 2)",
    "ones(2, 2, 2).t()",
    "ones(2, 3).unsqueeze(4)",
    "ones(2, 3).expand(4, 3)",
    "ones(2, 3).select(0, 2)",
    "ones(2, 3).argmax(5)",
    "ones(2, 3).argmin(5)",
    "ones(2, 3).mm(ones(2, 3))",
    "ones(2, 3).mm(ones(3, 2, dtype=int64))",
    "ones(2, 3).size(2)",
    "ones(2, 3).stride(2)",
    "ones(6).as_strided((3, 3), (3, 1), 1)",
    "ones(6).as_strided((2,), (1, 1))",
    "ones(6).as_strided((2,), (-1,))",
    "leaf(6)[2:].as_strided((2,), (1,), 0)",
    'ones(2).to("float32")',
    'ones(2).to(int64, "cpu", True, True, True)',
    "ones(2).to(int64, copy=1)",
    "stack([])",
    "stack([ones(2), ones(3)])",
    "stack([ones(2)], dim=2)",
    "stack([1])",
    "stack(1)",
    "cat([])",
    "cat([ones(2, 3), ones(3, 2)])",
    "cat([ones(2), ones(())])",
    'cat([ones(2)], dim="a")',
    # views as another dtype
    "ones(3, 3).view(float64)",
    "ones(6)[1:5].view(float64)",
    "ones(3, 3)[:, :2].view(float64)",
    "ones(4, 2).t().view(int16)",
    "ones(()).view(int16)",
    "ones(2).view(2, dtype=int32)",
    # memory formats
    "ones(2).clone(memory_format=channels_last)",
    "ones(2).to(memory_format=3)",
    "ones(2).contiguous(memory_format=preserve_format)",
    # generators
    "rand(2, generator=3)",
    "Generator().set_state(zeros(16))",
    "Generator().set_state(zeros(3, dtype=uint8))",
    "Generator().manual_seed('a')",
    "manual_seed(2**64)",
    # options of printing
    "set_printoptions(precision=1001)",
    "set_printoptions(threshold=-1.0)",
    "set_printoptions(edgeitems=1.5)",
    "set_printoptions(profile='long')",
    # indices
    'ones(3)[("a",), :]',
    "ones(3)[5]",
    "ones(3)[-4]",
    "ones(2, 3)[0, 5]",
    "ones(2, 3)[..., 5]",
    "ones(2, 3)[:, tensor([0, 5])]",
    "ones(2, 3)[0, 0, 0]",
    "ones(())[0]",
    "ones(2)[..., ...]",
    "ones(3)[::-1]",
    'ones(3)["a"]',
    "ones(3)[1.5]",
    "ones(3)[1.5:]",
    "ones(3)[2**70]",
    "ones(3)[ones(3)]",
    "ones(3)[tensor([True])]",
    "ones(3, 3)[tensor([0, 1]), tensor([0, 1, 2])]",
    'ones(3)[["a"]]',
    'ones(3).__setitem__(0, "a")',
    "ones(3).__setitem__(0, 2**70)",
    "ones(3, dtype=int64).__setitem__(0, nan)",
    "ones(3, dtype=int64).__setitem__([0], ones(1))",
    "ones(3).__setitem__(5, 1)",
    "ones(3).__setitem__('a', 1)",
    "ones(3).__setitem__((0, 0), 1)",
    "ones(3).__setitem__(tensor([True]), 1)",
    "ones(()).__setitem__(0, 1)",
    "ones(3).index_put((tensor([True]),), ones(1))",
    "ones(3).index_put_((tensor([5]),), ones(1))",
    "ones(3).__setitem__(slice(0, 2), ones(3))",
    "ones(3).__setitem__([0, 1], ones(3))",
    "leaf(3).__setitem__(0, 1)",
    "ones(1).expand(2).__setitem__([0, 1], ones(2))",
    # elements
    "ones(2).item()",
    "bool(ones(2))",
    "float(ones(2))",
    "int(tensor(nan))",
    "int(tensor(inf))",
    "range(ones(1)[0])",
    'f"{ones(2):.2f}"',
    "len(ones(()))",
    "iter(ones(()))",
    "memoryview(leaf(2))",
    "leaf(2).numpy()",
    "ones(2).numpy(force=1)",
    # gradients
    "ones(2).backward()",
    "(leaf(2) * 2).backward()",
    "(leaf(2) * 2).backward(ones(3))",
    "(leaf(2) * 2).backward([1])",
    "backward_twice()",
    "backward_after_a_change()",
    "backward(leaf(1) * 2, [])",
    "backward(leaf(1) * 2, inputs=[])",
    "leaf(1).sum().backward(retain_graph=1)",
    "grad(1, ones(1))",
    "grad(leaf(1) * 2, [])",
    "grad(leaf(1) * 2, leaf(1))",
    "grad(leaf(1) * 2, leaf(1), allow_unused=False, materialize_grads=True)",
    "ones(2, dtype=int64).requires_grad_()",
    "ones(2).__format__(1)",
    "ones(2).__deepcopy__(1)",
    "ones(2).__dlpack__(max_version=1)",
    "ones(2).__dlpack__(dl_device=(1, 'x'))",
    "ones(2)._set_version(1.5)",
    "ones(2)._set_version(-1)",
    "inference()._set_version(1)",
    'setattr(leaf(2) * 2, "requires_grad", False)',
    'ones(2).requires_grad_("yes")',
    'setattr(ones(2), "requires_grad", "yes")',
    "(leaf(2) * 2).requires_grad_(False)",
    'setattr(ones(2), "grad", 1)',
    'setattr(ones(2), "grad", ones(3))',
    'setattr(ones(2), "grad", ones(2, dtype=float64))',
    "copy.deepcopy(leaf(2) * 2)",
    "ones(2).retain_grad()",
    "own_gradient()",
]

NAMES: dict[str, Any] = {
    **vars(interlock),
    **vars(interlock.autograd),
    "backward_after_a_change": backward_after_a_change,
    "backward_twice": backward_twice,
    "bool": bool,
    "copy": copy,
    "float": float,
    "functional": interlock.nn.functional,
    "inf": math.inf,
    "inference": inference,
    "int": int,
    "leaf": leaf,
    "linalg": interlock.linalg,
    "nan": math.nan,
    "np": np,
    "operator": operator,
    "own_gradient": own_gradient,
    "untracked_view": untracked_view,
    "untracked_view_of_a_changed_base": untracked_view_of_a_changed_base,
}


def error_of(source: str) -> str:
    """Return the class and the text of the error that an expression raises."""
    try:
        eval(source, NAMES)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def test_error_messages_are_the_recorded_ones(recorded: Recorded) -> None:
    found = {source: error_of(source) for source in SOURCES}
    assert len(found) == len(SOURCES)
    recorded(Path(__file__).with_name("error_messages.json"), found)


DEVICE_CASES = [
    (
        'ones(2, device="cuda")',
        "DeviceError",
        'ones: device "cuda" is not available: this process uses the driver "host" (host:0, host:1)',
    ),
    (
        'tensor([1], device="host:2")',
        "DeviceError",
        'tensor: device "host:2" is not available: this process uses the driver "host" (host:0, host:1)',
    ),
    (
        'ones(2).to("cuda:1")',
        "DeviceError",
        'to: device "cuda:1" is not available: this process uses the driver "host" (host:0, host:1)',
    ),
    ('ones(2, device="gpu")', "DeviceError", 'ones: unknown device "gpu"; available here: cpu, host'),
    ('ones(2).to("gpu")', "DeviceError", 'to: unknown device "gpu"; available here: cpu, host'),
    (
        'ones(2, device="host", pin_memory=True)',
        "ArgumentError",
        "ones: device must be the CPU if pin_memory is True, got host",
    ),
    (
        'ones(2, device="host").pin_memory()',
        "RuntimeError",
        "pin_memory: the tensor must be on the CPU, got host:0; call cpu() first",
    ),
    (
        'ones(2, device="host").numpy()',
        "TypeError",
        "numpy: the tensor must be on the CPU, got host:0; call cpu() first",
    ),
    (
        'ones(2, device="host") + ones(2)',
        "RuntimeError",
        "add: tensors must be on one device, got host:0 and cpu; only 0-d CPU tensors may be on another",
    ),
]


def test_error_message_of_devices() -> None:
    reported = eval_program(
        "tensor.values.report_errors",
        [source for source, *_ in DEVICE_CASES],
        env={"INTERLOCK_ACCELERATOR": "host:2"},
    )
    assert reported == [[exception, message] for _, exception, message in DEVICE_CASES]


def test_error_message_without_a_driver(no_driver: dict[str, str]) -> None:
    sources = ['ones(2, device="cuda")', "ones(2, pin_memory=True)", 'tensor([1], device="cuda")']
    reported = eval_program("tensor.values.report_errors", sources, env=no_driver)
    assert [exception for exception, _ in reported] == ["NoAcceleratorError"] * 3
    functions, reasons = zip(*(message.split(": ", 1) for _, message in reported), strict=True)
    assert functions == ("ones", "ones", "tensor")
    assert all(reason.endswith('. To run without a GPU: accelerator.use("host")') for reason in reasons)
