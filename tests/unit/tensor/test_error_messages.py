"""The errors of tensors: the expression, the exception and its whole message."""

from __future__ import annotations

import copy
import math
import operator
from typing import Any

import interlock
import numpy as np
import pytest
from interlock.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    GraphFreedError,
    ShapeError,
    UnsupportedError,
)

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


CASES: list[tuple[str, type[Exception], str]] = [
    # parts and dimensions
    (
        "ones(3).split([1, 1])",
        ArgumentError,
        "split: split_sizes must add up to 3, the size of dimension 0, got (1, 1)",
    ),
    ("ones(3).chunk(0)", ArgumentError, "chunk: chunks must be positive, got 0"),
    ("ones(3).narrow(0, 4, 0)", IndexError, "narrow: start must be from -3 to 3, got 4"),
    (
        "ones(3).narrow(0, 2, 2)",
        ArgumentError,
        "narrow: length must be at most 1 from start 2 of size 3, got 2",
    ),
    ("tensor(1).unbind()", IndexError, "unbind: input must have a dimension, got shape ()"),
    (
        "(leaf(2) * 1).split(1)[0].add_(1)",
        RuntimeError,
        "this view is one of several that split(), chunk(), unbind() or iteration returned, and its history"
        " does not record in-place changes of it or of its base; use narrow() or clone() it",
    ),
    ("ones(2, 3).swapaxes(0, 2)", IndexError, "swapaxes: dim must be from -2 to 1, got 2"),
    ("ones(2, 3).moveaxis(0, 2)", IndexError, "moveaxis: dim must be from -2 to 1, got 2"),
    (
        "ones(2, 3).view_as(ones(5))",
        ShapeError,
        "view_as: shape must have as many elements as (2, 3), got (5,)",
    ),
    ("ones(2, 3).flip(0, 0)", ArgumentError, "flip: dims must name each dimension once, got (0, 0)"),
    (
        "ones(2, 3).repeat(2)",
        ArgumentError,
        "repeat: repeats must have a number for each of 2 dimensions, got (2,)",
    ),
    ("ones(3).tril()", ShapeError, "tril: input must have at least 2 dimensions, got shape (3,)"),
    ("ones(3).mT", ShapeError, "mT: the tensor must have at least 2 dimensions, got shape (3,)"),
    (
        "ones(3).dot(ones(2))",
        ShapeError,
        "dot: operands must be vectors of one size for shapes (3,) and (2,)",
    ),
    # random numbers
    ("randint(3, 3, (2,))", ArgumentError, "randint: high must be greater than low, 3, got 3"),
    ("full((1,), 2.0).bernoulli()", ArgumentError, "bernoulli: each probability must be from 0 to 1, got 2"),
    ("zeros(2).bernoulli(-1)", ArgumentError, "bernoulli: p must be from 0 to 1, got -1.0"),
    (
        "zeros(2).multinomial(1)",
        ArgumentError,
        "multinomial: the weights of each row must not all be 0, got 0",
    ),
    ("zeros(2).uniform_(2, 1)", ArgumentError, "uniform_: to must not be less than from_, 2.0, got 1.0"),
    (
        "ones(2, dtype=int64).new_full((2,), float('nan'))",
        ArgumentError,
        "new_full: fill_value must be a number that int64 can hold, got nan",
    ),
    # creation
    (
        "full((2,), 65505.0, dtype=float16)",
        ArgumentError,
        "full: fill_value must be a number that float16 can hold, got 65505.0",
    ),
    (
        "from_dlpack([1.0])",
        TypeError,
        "from_dlpack: ext_tensor must be an object with __dlpack__ and __dlpack_device__,"
        " or a DLPack capsule, got list",
    ),
    (
        "from_dlpack(np.ones(2, 'u4'))",
        TypeError,
        "from_dlpack: the dtype must be float16, bfloat16, float32, float64, int64, int32, int16, int8, uint8"
        " or bool, got DLPack type code 1, 32 bits, 1 lanes",
    ),
    (
        "ones(2, requires_grad=True).__dlpack__()",
        BufferError,
        "__dlpack__: the tensor must not require grad; detach() it first",
    ),
    (
        "memoryview(ones(2, dtype=bfloat16))",
        BufferError,
        "__buffer__: the dtype must have a format in the buffer protocol, got bfloat16;"
        " use float() or numpy()",
    ),
    (
        "tensor(None)",
        DTypeError,
        "tensor: data must be a number, an array, a tensor or a nested sequence of them, got None",
    ),
    (
        "tensor([1, None])",
        DTypeError,
        "tensor: data must be a number, an array, a tensor or a nested sequence of them, got None",
    ),
    (
        'tensor("a")',
        DTypeError,
        "tensor: data must be a number, an array, a tensor or a nested sequence of them, got str",
    ),
    (
        "tensor({1: 2})",
        DTypeError,
        "tensor: data must be a number, an array, a tensor or a nested sequence of them, got dict",
    ),
    (
        "tensor([[1, 2], [3]])",
        ValueError,
        "tensor: data must be sequences of length 2 at depth 1, got length 1",
    ),
    (
        "tensor([[1, 2], 3])",
        ValueError,
        "tensor: data must be sequences of length 2 at depth 1, got a number",
    ),
    ("tensor([1, [2]])", ValueError, "tensor: data must be numbers at depth 1, got a sequence"),
    (
        "tensor(2**70)",
        ArgumentError,
        "tensor: data must be ints that int64 can hold, got 1180591620717411303424",
    ),
    (
        "tensor(2**63, dtype=int64)",
        ArgumentError,
        "tensor: data must be ints that int64 can hold, got 9223372036854775808",
    ),
    ("tensor(inf, dtype=int64)", ArgumentError, "tensor: data must be a number that int64 can hold, got inf"),
    (
        'tensor([1.0], dtype="float32")',
        TypeError,
        "tensor: dtype must be interlock.float16, bfloat16, float32, float64, int64, int32, int16, int8,"
        " uint8, bool or None, got str",
    ),
    ("tensor([1], requires_grad=True)", DTypeError, "requires_grad: dtype must be floating point, got int64"),
    (
        'as_tensor(["a"])',
        DTypeError,
        "as_tensor: data must be a number, an array, a tensor or a nested sequence of them, got str",
    ),
    ("zeros((2, 3), float32)", TypeError, "dtype is keyword-only: zeros((2, 3), dtype=interlock.float32)"),
    ("zeros(2, 3, float32)", TypeError, "dtype is keyword-only: zeros((2, 3), dtype=interlock.float32)"),
    ('zeros("a")', TypeError, "zeros: size must be an int, got str"),
    ("zeros(2, -1)", ArgumentError, "zeros: size must not be negative, got -1"),
    (
        "zeros(2**62, 2**62)",
        ShapeError,
        "shape (4611686018427387904, 4611686018427387904) has more elements than can be addressed",
    ),
    ("zeros([1] * 65)", ShapeError, "a tensor can have at most 64 dimensions, got 65"),
    ('ones(2, requires_grad="yes")', TypeError, "ones: requires_grad must be a bool, got str"),
    ("ones(2, pin_memory=1)", TypeError, "ones: pin_memory must be a bool, got int"),
    (
        "ones(2, dtype=int)",
        TypeError,
        "ones: dtype must be interlock.float16, bfloat16, float32, float64, int64, int32, int16, int8, uint8"
        ", bool or None, got type",
    ),
    ("ones_like([1])", TypeError, "ones_like: input must be a Tensor, got list"),
    (
        "full((2,), 1e300, dtype=float32)",
        ArgumentError,
        "full: fill_value must be a number that float32 can hold, got 1e300",
    ),
    (
        "full((2,), None)",
        TypeError,
        "full: fill_value must be a number or a Tensor with one element, got None",
    ),
    (
        "full((2,), 2**63)",
        ArgumentError,
        "full: fill_value must be an int that int64 can hold, got 9223372036854775808",
    ),
    ("arange(0, 5, 0)", ArgumentError, "arange: step must not be 0 or nan, got 0"),
    ("arange(0, 5, -1)", ArgumentError, "arange: step must be positive to reach 5 from 0, got -1"),
    ("arange(0, inf)", ArgumentError, "arange: end must be finite, got inf"),
    ('arange("a")', TypeError, "arange: start must be a number, a Tensor with one element or None, got str"),
    ("rand(2, dtype=int64)", DTypeError, "rand: dtype must be floating point, got int64"),
    ('manual_seed("a")', TypeError, "manual_seed: seed must be an int, got str"),
    (
        "manual_seed(2**70)",
        ArgumentError,
        "manual_seed: seed must be from -2**63 to 2**64 - 1, got 1180591620717411303424",
    ),
    ("from_numpy([1.0])", TypeError, "from_numpy: ndarray must be a numpy.ndarray, got list"),
    (
        'from_numpy(np.zeros(2, "u4"))',
        TypeError,
        "from_numpy: the dtype of the array must be float16, bfloat16, float32, float64, int64, int32, "
        "int16, int8, uint8 or bool in this machine's byte order, got uint32",
    ),
    (
        "from_numpy(np.ones(3)[::-1])",
        ValueError,
        "from_numpy: the strides of the array must be non-negative multiples of 8 bytes, got -8; "
        "copy() the array",
    ),
    # arithmetic
    ("ones(2, 3) + ones(4)", ShapeError, "add: shapes (2, 3) and (4,) cannot be broadcast"),
    ("ones(2, 3) == ones(4)", ShapeError, "eq: shapes (2, 3) and (4,) cannot be broadcast"),
    (
        "ones(2) + 2**63",
        ArgumentError,
        "add: other must be an int that int64 can hold, got 9223372036854775808",
    ),
    (
        "tensor([True]) - tensor([True])",
        DTypeError,
        "sub: both operands must be numeric, got bool; compare bools with !=",
    ),
    ("-tensor([True])", DTypeError, "neg: input must be numeric, got bool; use logical_not()"),
    (
        "tensor([True]) ** tensor([True])",
        DTypeError,
        "pow: the base must be numeric, got bool; long() converts it",
    ),
    (
        "tensor([2]) ** -1",
        ArgumentError,
        "pow: exponent must not be negative if the base is int64 (float() converts it), got -1",
    ),
    (
        "tensor([1]).add(1, alpha=0.5)",
        DTypeError,
        "add: alpha must be an int for operands of dtype int64, got 0.5",
    ),
    (
        "tensor([1.0]).add(1, alpha=True)",
        DTypeError,
        "add: alpha must be an int or a float for operands of dtype float32, got True",
    ),
    (
        'ones(2).add(1, alpha="a")',
        TypeError,
        "add: alpha must be a number, a Tensor with one element or None, got str",
    ),
    (
        "ones(2).add(1, alpha=ones(2))",
        ShapeError,
        "add: alpha must be a number or a Tensor with one element, got shape (2,)",
    ),
    ('ones(2).add("a")', TypeError, "add: other must be a Tensor or a number, got str"),
    ("ones(2).pow(None)", TypeError, "pow: exponent must be a Tensor or a number, got None"),
    (
        "ones(2, 3) @ ones(2, 3)",
        ShapeError,
        "matmul: inner dimensions differ (3 and 2) for shapes (2, 3) and (2, 3)",
    ),
    (
        "ones(2, 2, 3) @ ones(3, 3, 2)",
        ShapeError,
        "matmul: batch dimensions (2,) and (3,) cannot be broadcast for shapes (2, 2, 3) and (3, 3, 2)",
    ),
    ("ones(()) @ ones(2)", ShapeError, "matmul: an operand has no dimension for shapes () and (2,)"),
    ("ones(2, dtype=int64) @ ones(2)", DTypeError, "matmul: dtypes must match, got int64 and float32"),
    (
        "mm(ones(2, 2), ones(2, 2), out=ones(2, 2, dtype=int64))",
        DTypeError,
        "mm: out must be float32, the dtype of the result, got int64",
    ),
    (
        "where(ones(2) > 0, 1.0, 2.0, out=ones(2, dtype=float64))",
        DTypeError,
        "where: out must be float32, the dtype of the result, got float64",
    ),
    (
        "tensor([True]) @ tensor([True])",
        DTypeError,
        "matmul: both operands must be numeric, got bool; long() converts them",
    ),
    (
        "ones(2).mm(ones(2, 2))",
        ShapeError,
        "mm: an operand is not a matrix (matmul() accepts others) for shapes (2,) and (2, 2)",
    ),
    ("matmul(ones(2), 1)", TypeError, "matmul: other must be a Tensor, got int"),
    ("exp(1)", TypeError, "exp: input must be a Tensor, got int"),
    ("relu(tensor([True]))", DTypeError, "relu: input must be numeric, got bool; long() converts it"),
    # in place
    (
        "ones(2).add_(ones(2, 3))",
        ShapeError,
        "add_: other must be broadcastable to shape (2,), got shape (2, 3)",
    ),
    ("ones(2).add_(ones(3))", ShapeError, "add_: other must be broadcastable to shape (2,), got shape (3,)"),
    (
        "ones(2, dtype=int64).div_(2)",
        DTypeError,
        "div_: the result must be castable to int64, the dtype of the tensor, got float32",
    ),
    (
        "add(ones(2), 1, out=ones(2, dtype=int64))",
        DTypeError,
        "add: the result must be castable to int64, the dtype of out, got float32",
    ),
    # objects of other types
    ("functional.sigmoid([1.0])", TypeError, "sigmoid: input must be a Tensor, got list"),
    ("functional.tanh(1.0)", TypeError, "tanh: input must be a Tensor, got float"),
    ("functional.softmax([1.0])", TypeError, "softmax: input must be a Tensor, got list"),
    ("functional.softmin([1.0], 0)", TypeError, "softmin: input must be a Tensor, got list"),
    ("functional.log_softmax([1.0])", TypeError, "log_softmax: input must be a Tensor, got list"),
    (
        'ones(2).allclose(ones(2), rtol="a")',
        TypeError,
        "allclose: rtol must be a number or a Tensor with one element, got str",
    ),
    (
        'isclose(ones(2), ones(2), atol="a")',
        TypeError,
        "isclose: atol must be a number or a Tensor with one element, got str",
    ),
    ("tril(ones(2, 2), ones(2))", TypeError, "tril: diagonal must be an int, got Tensor"),
    ("full(ones(2, 2), 1)", TypeError, "full: size must be an int, got Tensor"),
    ("tril(ones(2, 2), np.ones(2))", TypeError, "tril: diagonal must be an int, got ndarray"),
    ("hstack(np.float32(2))", TypeError, "hstack: tensors must be a sequence of Tensors, got float32"),
    # positions
    (
        "functional.embedding(tensor([5]), ones(3, 2))",
        IndexError,
        "embedding: input must contain positions of range(3), got 5",
    ),
    (
        "functional.embedding(ones(2), ones(3, 2))",
        DTypeError,
        "embedding: input must be int64 or int32, got float32; long() converts it",
    ),
    (
        "functional.one_hot(tensor([5]), 3)",
        RuntimeError,
        "one_hot: input must contain classes of range(3), got 5",
    ),
    (
        "conv2d(ones(1, 1, 3, 3), ones(1, 1, 2, 2), padding=2**63 - 1)",
        ArgumentError,
        "conv2d: padding must be at most 2305843009213693951, got (9223372036854775807, 9223372036854775807)",
    ),
    ('ones(2).add_("a")', TypeError, "add_: other must be a Tensor or a number, got str"),
    (
        "operator.iadd(ones(2), None)",
        TypeError,
        "unsupported operand type(s) for +=: 'interlock.Tensor' and 'NoneType'",
    ),
    ("ones(2).copy_(1)", TypeError, "copy_: src must be a Tensor, got int"),
    ("ones(2).copy_(ones(3))", ShapeError, "copy_: src must be broadcastable to shape (2,), got shape (3,)"),
    (
        "ones(2).fill_(ones(2))",
        ShapeError,
        "fill_: value must be a number or a tensor of shape (), got shape (2,)",
    ),
    ('ones(2).fill_("a")', TypeError, "fill_: value must be a Tensor or a number, got str"),
    (
        "ones(2, dtype=int64).fill_(nan)",
        ArgumentError,
        "fill_: value must be a number that int64 can hold, got nan",
    ),
    (
        "ones(1).expand(2).add_(1)",
        RuntimeError,
        "add_: several elements of the target share one memory location; clone() it before changing "
        "it in place",
    ),
    (
        "leaf(2).add_(1)",
        RuntimeError,
        "add_: a leaf tensor that requires grad cannot be changed in place while gradients are "
        "recorded; use no_grad()",
    ),
    (
        "leaf(2)[0].add_(1)",
        RuntimeError,
        "add_: a view of a leaf tensor that requires grad cannot be changed in place while gradients "
        "are recorded; use no_grad()",
    ),
    (
        "inference().add_(1)",
        RuntimeError,
        "an inference tensor cannot be changed in place outside of inference_mode(); clone() returns "
        "a normal tensor",
    ),
    (
        "inference()._version",
        RuntimeError,
        "an inference tensor has no version counter; clone() returns a normal tensor",
    ),
    (
        "inference().requires_grad_()",
        RuntimeError,
        "an inference tensor cannot require grad outside of inference_mode(); clone() returns a "
        "normal tensor",
    ),
    (
        "(inference() * leaf(2))",
        RuntimeError,
        "an inference tensor cannot be saved for backward outside of inference_mode(); clone() "
        "returns a normal tensor",
    ),
    (
        "untracked_view().add_(1)",
        RuntimeError,
        "this view was created in no_grad mode, so its history since an in-place change is not known;"
        " create the view and change it in the same mode",
    ),
    # reductions and losses
    ("ones(2, 3).sum(2)", IndexError, "sum: dim must be from -2 to 1, got 2"),
    ("ones(()).sum(1)", IndexError, "sum: dim must be -1 or 0, got 1"),
    ('ones(2, 3).sum("a")', TypeError, "sum: dim must be an int or None, got str"),
    ("ones(2, 3).sum((0, -2))", ArgumentError, "sum: dim must name each dimension once, got (0, -2)"),
    ("ones(2, 3).sum(keepdim=1)", TypeError, "sum: keepdim must be a bool, got int"),
    (
        "ones(2, 3, dtype=int64).mean()",
        DTypeError,
        "mean: input must be floating point, got int64; float() converts it",
    ),
    ("zeros(0).max()", ShapeError, "max: input must have no reduced dimension of size 0, got shape (0,)"),
    (
        "zeros(0, 3).argmin(0)",
        IndexError,
        "argmin: input must have no reduced dimension of size 0, got shape (0, 3)",
    ),
    ("ones(2).max(keepdim=True)", TypeError, "max: keepdim needs a dim; amax() and amin() take both"),
    (
        "ones(2).var(unbiased=True, correction=1)",
        TypeError,
        "var: unbiased and correction must not both be given",
    ),
    ("ones(2).norm('nuc')", ArgumentError, "norm: p must be a number or 'fro', got 'nuc'"),
    ("ones(2).topk(3)", ArgumentError, "topk: k must be from 0 to 2, the size of the dimension, got 3"),
    ("ones(2).isclose(ones(2), rtol=-1)", ArgumentError, "isclose: rtol must be at least 0, got -1"),
    (
        "ones(2).allclose(ones(2).double())",
        DTypeError,
        "allclose: dtypes must match, got float32 and float64",
    ),
    ("tensor([1]).std()", DTypeError, "std: input must be floating point, got int64; float() converts it"),
    ("ones(2).cumsum(1)", IndexError, "cumsum: dim must be -1 or 0, got 1"),
    ("ones(2).sort(1)", IndexError, "sort: dim must be -1 or 0, got 1"),
    ("tensor([True]).argmax()", DTypeError, "argmax: input must be numeric, got bool; long() converts it"),
    (
        "ones(2, dtype=int64).softmax(0)",
        DTypeError,
        "softmax: input must be floating point, got int64; float() converts it",
    ),
    ("ones(2).log_softmax(1)", IndexError, "log_softmax: dim must be -1 or 0, got 1"),
    (
        "cross_entropy(ones(2, 3), ones(2))",
        DTypeError,
        "cross_entropy: target must be int64 or uint8 class indices, got float32",
    ),
    (
        "cross_entropy(ones(2, 3), tensor([0, 1, 2]))",
        ShapeError,
        "cross_entropy: target must be of shape (2,) for an input of shape (2, 3), got shape (3,)",
    ),
    (
        "cross_entropy(ones(3), tensor([0, 1]))",
        ShapeError,
        "cross_entropy: target must be of shape () for an input of shape (3,), got shape (2,)",
    ),
    (
        "cross_entropy(ones(2, 3, dtype=int64), tensor([0, 1]))",
        DTypeError,
        "cross_entropy: input must be floating point, got int64; float() converts it",
    ),
    (
        "cross_entropy(ones(2, 3), tensor([0, 3]))",
        IndexError,
        "cross_entropy: target must contain class indices of range(3), got 3",
    ),
    ("cross_entropy(ones(2, 3), [0, 1])", TypeError, "cross_entropy: target must be a Tensor, got list"),
    (
        'cross_entropy(ones(2, 3), tensor([0, 1]), reduction="median")',
        ValueError,
        "cross_entropy: reduction must be 'none', 'mean' or 'sum', got 'median'",
    ),
    (
        "cross_entropy(ones(2, 3), tensor([0, 1]), reduction=None)",
        TypeError,
        "cross_entropy: reduction must be a str, got None",
    ),
    # views and joins
    ("ones(2, 3).view(4)", ShapeError, "view: shape must have as many elements as (2, 3), got (4,)"),
    ("ones(2, 3).view(-1, -1)", ShapeError, "view: shape must contain -1 at most once, got (-1, -1)"),
    (
        "ones(2, 3).view(-2, 3)",
        ShapeError,
        "view: shape must not be negative, except for one -1, got (-2, 3)",
    ),
    (
        "ones(0).view(-1, 0)",
        ShapeError,
        "view: shape must not contain 0 beside -1, which could be any size, got (-1, 0)",
    ),
    (
        "ones(2, 3).t().view(6)",
        ShapeError,
        "view: shape (6,) needs a copy of the tensor of shape (3, 2) with strides (1, 3); use reshape()",
    ),
    ("ones(2, 3).reshape(4)", ShapeError, "reshape: shape must have as many elements as (2, 3), got (4,)"),
    ('ones(2, 3).reshape("a")', TypeError, "reshape: shape must be an int, got str"),
    (
        "ones(2, 3).permute(0, 0)",
        ArgumentError,
        "permute: dims must name each of the 2 dimensions once, got (0, 0)",
    ),
    (
        "ones(2, 3).permute(0)",
        ArgumentError,
        "permute: dims must name each of the 2 dimensions once, got (0,)",
    ),
    ("ones(2, 3).transpose(0, 2)", IndexError, "transpose: dim must be from -2 to 1, got 2"),
    (
        "ones(2, 2, 2).t()",
        ShapeError,
        "t: input must have at most 2 dimensions (transpose() exchanges any two), got shape (2, 2, 2)",
    ),
    ("ones(2, 3).unsqueeze(4)", IndexError, "unsqueeze: dim must be from -3 to 2, got 4"),
    (
        "ones(2, 3).expand(4, 3)",
        ShapeError,
        "expand: sizes must keep the sizes of shape (2, 3) except where they are 1, got (4, 3)",
    ),
    ("ones(2, 3).select(0, 2)", IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    ("ones(2, 3).argmax(5)", IndexError, "argmax: dim must be from -2 to 1, got 5"),
    ("ones(2, 3).argmin(5)", IndexError, "argmin: dim must be from -2 to 1, got 5"),
    (
        "ones(2, 3).mm(ones(2, 3))",
        ShapeError,
        "mm: inner dimensions differ (3 and 2) for shapes (2, 3) and (2, 3)",
    ),
    (
        "ones(2, 3).mm(ones(3, 2, dtype=int64))",
        DTypeError,
        "mm: dtypes must match, got float32 and int64",
    ),
    ("ones(2, 3).size(2)", IndexError, "size: dim must be from -2 to 1, got 2"),
    ("ones(2, 3).stride(2)", IndexError, "stride: dim must be from -2 to 1, got 2"),
    (
        "ones(6).as_strided((3, 3), (3, 1), 1)",
        ShapeError,
        "as_strided: size must be within the 6 elements of the storage with strides (3, 1) from "
        "offset 1, got (3, 3)",
    ),
    (
        "ones(6).as_strided((2,), (1, 1))",
        ArgumentError,
        "as_strided: stride must have one number for each size of (2,), got (1, 1)",
    ),
    ("ones(6).as_strided((2,), (-1,))", ArgumentError, "as_strided: stride must not be negative, got -1"),
    (
        "leaf(6)[2:].as_strided((2,), (1,), 0)",
        ArgumentError,
        "as_strided: storage_offset must be at least 2, that of the tensor, which requires grad, got 0",
    ),
    ('ones(2).to("float32")', DeviceError, 'to: "float32" is a dtype: use to(interlock.float32)'),
    (
        'ones(2).to(int64, "cpu", True, True, True)',
        TypeError,
        "to: arguments must be a dtype, a device, both or a tensor, then non_blocking and copy, got 5"
        " arguments",
    ),
    ("ones(2).to(int64, copy=1)", TypeError, "to: copy must be a bool, got int"),
    ("stack([])", ArgumentError, "stack: tensors must contain at least one tensor, got none"),
    ("stack([ones(2), ones(3)])", ShapeError, "stack: sizes differ for shapes (2,) and (3,)"),
    ("stack([ones(2)], dim=2)", IndexError, "stack: dim must be from -2 to 1, got 2"),
    ("stack([1])", TypeError, "stack: each item of tensors must be a Tensor, got int"),
    ("stack(1)", TypeError, "stack: tensors must be a sequence of Tensors, got int"),
    ("cat([])", ArgumentError, "cat: tensors must contain at least one tensor, got none"),
    (
        "cat([ones(2, 3), ones(3, 2)])",
        ShapeError,
        "cat: sizes outside of dimension 0 differ for shapes (2, 3) and (3, 2)",
    ),
    (
        "cat([ones(2), ones(())])",
        ShapeError,
        "cat: each tensor must have a dimension (stack() adds one), got shape ()",
    ),
    ('cat([ones(2)], dim="a")', TypeError, "cat: dim must be an int, got str"),
    # views as another dtype
    (
        "ones(3, 3).view(float64)",
        ArgumentError,
        "view: size(-1) must be a multiple of 2 to view float32 as float64, got 3",
    ),
    (
        "ones(6)[1:5].view(float64)",
        ArgumentError,
        "view: storage_offset() must be a multiple of 2 to view float32 as float64, got 1",
    ),
    (
        "ones(3, 3)[:, :2].view(float64)",
        ArgumentError,
        "view: each stride but the last must be a multiple of 2 to view float32 as float64, got 3",
    ),
    (
        "ones(4, 2).t().view(int16)",
        ArgumentError,
        "view: stride(-1) must be 1 to view float32 as int16, of another size, got 2",
    ),
    (
        "ones(()).view(int16)",
        ShapeError,
        "view: input must have a dimension to be viewed as int16, of another size than float32, got shape ()",
    ),
    (
        "ones(2).view(2, dtype=int32)",
        TypeError,
        "view: dtype must be passed alone, without sizes, got int32",
    ),
    # memory formats
    (
        "ones(2).clone(memory_format=channels_last)",
        UnsupportedError,
        "clone: memory_format must be interlock.contiguous_format or interlock.preserve_format, got"
        " interlock.channels_last, which is not implemented",
    ),
    (
        "ones(2).to(memory_format=3)",
        TypeError,
        "to: memory_format must be interlock.contiguous_format, interlock.preserve_format or None, got int",
    ),
    (
        "ones(2).contiguous(memory_format=preserve_format)",
        ArgumentError,
        "contiguous: memory_format must be interlock.contiguous_format, got interlock.preserve_format",
    ),
    # generators
    ("rand(2, generator=3)", TypeError, "rand: generator must be a Generator or None, got int"),
    (
        "Generator().set_state(zeros(16))",
        TypeError,
        "Generator.set_state: new_state must be a tensor of dtype uint8, got one of float32",
    ),
    (
        "Generator().set_state(zeros(3, dtype=uint8))",
        ArgumentError,
        "Generator.set_state: new_state must have 16 elements, got 3",
    ),
    ("Generator().manual_seed('a')", TypeError, "Generator.manual_seed: seed must be an int, got str"),
    (
        "manual_seed(2**64)",
        ArgumentError,
        "manual_seed: seed must be from -2**63 to 2**64 - 1, got 18446744073709551616",
    ),
    # options of printing
    (
        "set_printoptions(precision=1001)",
        ArgumentError,
        "set_printoptions: precision must be at most 1000, got 1001",
    ),
    (
        "set_printoptions(threshold=-1.0)",
        ArgumentError,
        "set_printoptions: threshold must not be negative, got -1.0",
    ),
    ("set_printoptions(edgeitems=1.5)", TypeError, "set_printoptions: edgeitems must be an int, got float"),
    (
        "set_printoptions(profile='long')",
        ArgumentError,
        'set_printoptions: profile must be "default", "short" or "full", got \'long\'',
    ),
    # indices
    ("ones(3)[5]", IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
    ("ones(3)[-4]", IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
    ("ones(2, 3)[0, 5]", IndexError, "index 5 is out of bounds for dimension 1 with size 3"),
    ("ones(2, 3)[..., 5]", IndexError, "index 5 is out of bounds for dimension 1 with size 3"),
    ("ones(2, 3)[:, tensor([0, 5])]", IndexError, "index 5 is out of bounds for dimension 1 with size 3"),
    ("ones(2, 3)[0, 0, 0]", IndexError, "an index must have at most 2 items for 2 dimensions, got 3"),
    ("ones(())[0]", IndexError, "a 0-d tensor cannot be indexed; item() returns its element"),
    ("ones(2)[..., ...]", IndexError, "an index must contain ... at most once, got it 2 times"),
    ("ones(3)[::-1]", ArgumentError, "__getitem__: step must be positive, got -1"),
    (
        'ones(3)["a"]',
        IndexError,
        "an index must consist of ints, slices, None, ..., lists, tuples, ranges and int64, int32 or bool"
        " tensors, got str",
    ),
    (
        "ones(3)[1.5]",
        IndexError,
        "an index must consist of ints, slices, None, ..., lists, tuples, ranges and int64, int32 or bool"
        " tensors, got float",
    ),
    (
        'ones(3)[("a",), :]',
        DTypeError,
        "index: data must be a number, an array, a tensor or a nested sequence of them, got str",
    ),
    ("ones(3)[1.5:]", TypeError, "slice: start must be an int, got float"),
    (
        "ones(3)[2**70]",
        ArgumentError,
        "an index must be an int that int64 can hold, got 1180591620717411303424",
    ),
    ("ones(3)[ones(3)]", IndexError, "tensors in an index must be int64, int32 or bool, got float32"),
    (
        "ones(3)[tensor([True])]",
        IndexError,
        "a mask in an index must be of shape (3,), as the dimensions that it indexes, got shape (1,)",
    ),
    (
        "ones(3, 3)[tensor([0, 1]), tensor([0, 1, 2])]",
        IndexError,
        "tensors in an index must be broadcastable, got shapes (2,) and (3,)",
    ),
    (
        'ones(3)[["a"]]',
        DTypeError,
        "index: data must be a number, an array, a tensor or a nested sequence of them, got str",
    ),
    ('ones(3).__setitem__(0, "a")', TypeError, "__setitem__: value must be a Tensor or a number, got str"),
    (
        "ones(3).__setitem__(0, 2**70)",
        ArgumentError,
        "__setitem__: value must be an int that int64 can hold, got 1180591620717411303424",
    ),
    (
        "ones(3, dtype=int64).__setitem__(0, nan)",
        ArgumentError,
        "__setitem__: value must be a number that int64 can hold, got nan",
    ),
    (
        "ones(3, dtype=int64).__setitem__([0], ones(1))",
        DTypeError,
        "__setitem__: value must be of dtype int64 where tensors or lists are indices, got float32",
    ),
    ("ones(3).__setitem__(5, 1)", IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
    (
        "ones(3).__setitem__(slice(0, 2), ones(3))",
        ShapeError,
        "__setitem__: value must be broadcastable to shape (2,), got shape (3,)",
    ),
    (
        "ones(3).__setitem__([0, 1], ones(3))",
        ShapeError,
        "__setitem__: value must be broadcastable to shape (2,), got shape (3,)",
    ),
    (
        "leaf(3).__setitem__(0, 1)",
        RuntimeError,
        "__setitem__: a view of a leaf tensor that requires grad cannot be changed in place while gradients "
        "are recorded; use no_grad()",
    ),
    (
        "ones(1).expand(2).__setitem__([0, 1], ones(2))",
        RuntimeError,
        "__setitem__: several elements of the target share one memory location; clone() it before changing "
        "it in place",
    ),
    # elements
    ("ones(2).item()", ShapeError, "item: the tensor must have exactly one element, got shape (2,)"),
    ("bool(ones(2))", ShapeError, "bool: the tensor must have exactly one element, got shape (2,)"),
    ("float(ones(2))", ShapeError, "float: the tensor must have exactly one element, got shape (2,)"),
    ("int(tensor(nan))", ValueError, "int: the element must be finite, got nan"),
    ("int(tensor(inf))", OverflowError, "int: the element must be finite, got inf"),
    (
        "range(ones(1)[0])",
        TypeError,
        "__index__: the tensor must be an integer tensor with one element, got float32 of shape ()",
    ),
    (
        'f"{ones(2):.2f}"',
        TypeError,
        "__format__: format_spec must be empty for a tensor with dimensions, got '.2f'; item() "
        "returns a number",
    ),
    ("len(ones(()))", TypeError, "len() of a 0-d tensor"),
    ("iter(ones(()))", TypeError, "cannot iterate over a 0-d tensor"),
    ("memoryview(leaf(2))", BufferError, "__buffer__: the tensor must not require grad; detach() it first"),
    (
        "leaf(2).numpy()",
        RuntimeError,
        "numpy: the tensor must not require grad, because NumPy records no operations; use detach().numpy()",
    ),
    ("ones(2).numpy(force=1)", TypeError, "numpy: force must be a bool, got int"),
    # gradients
    (
        "ones(2).backward()",
        RuntimeError,
        "backward: the tensor does not require grad and has no grad_fn, so there is nothing to differentiate",
    ),
    (
        "(leaf(2) * 2).backward()",
        RuntimeError,
        "backward: a gradient must be passed for an output of shape (2,); without one the output must"
        " have one element",
    ),
    (
        "(leaf(2) * 2).backward(ones(3))",
        ShapeError,
        "backward: the gradient must be of shape (2,), as the output, got shape (3,)",
    ),
    (
        "(leaf(2) * 2).backward([1])",
        TypeError,
        "backward: gradient must be a Tensor, None or a sequence of them, got int",
    ),
    (
        "backward_twice()",
        GraphFreedError,
        "MulBackward0: graph already freed: pass retain_graph=True to the first backward()",
    ),
    (
        "backward_after_a_change()",
        RuntimeError,
        "MulBackward0: a saved tensor of shape (2,) was changed in place: it was saved at version 0 "
        "and is now at version 1",
    ),
    (
        "backward(leaf(1) * 2, [])",
        ArgumentError,
        "backward: grad_tensors must have one gradient for each output, 1, got 0",
    ),
    (
        "backward(leaf(1) * 2, inputs=[])",
        ArgumentError,
        "backward: inputs must contain at least one tensor, got none",
    ),
    ("leaf(1).sum().backward(retain_graph=1)", TypeError, "backward: retain_graph must be a bool, got int"),
    (
        "grad(1, ones(1))",
        TypeError,
        "grad: outputs must be a Tensor, a GradientEdge or a sequence of them, got int",
    ),
    ("grad(leaf(1) * 2, [])", ArgumentError, "grad: inputs must contain at least one tensor, got none"),
    (
        "grad(leaf(1) * 2, leaf(1))",
        RuntimeError,
        "grad: the outputs do not depend on input 0; allow_unused=True returns None for it",
    ),
    (
        "grad(leaf(1) * 2, leaf(1), allow_unused=False, materialize_grads=True)",
        ValueError,
        "grad: allow_unused must be True or None if materialize_grads is True, got False",
    ),
    (
        "ones(2, dtype=int64).requires_grad_()",
        DTypeError,
        "requires_grad_: dtype must be floating point, got int64",
    ),
    ("ones(2).__format__(1)", TypeError, "__format__: format_spec must be a str, got int"),
    ("ones(2).__deepcopy__(1)", TypeError, "__deepcopy__: memo must be a dict, got int"),
    (
        "ones(2).__dlpack__(max_version=1)",
        TypeError,
        "__dlpack__: max_version must be a tuple of two ints or None, got int",
    ),
    (
        "ones(2).__dlpack__(dl_device=(1, 'x'))",
        TypeError,
        "__dlpack__: dl_device must be a tuple of two ints or None, got (1, 'x')",
    ),
    ("ones(2)._set_version(1.5)", TypeError, "_set_version: version must be an int, got float"),
    (
        "ones(2)._set_version(-1)",
        ArgumentError,
        "_set_version: version must be from 0 to 2**32 - 1, got -1",
    ),
    ('ones(2).requires_grad_("yes")', TypeError, "requires_grad_: requires_grad must be a bool, got str"),
    ('setattr(ones(2), "requires_grad", "yes")', TypeError, "Tensor: requires_grad must be a bool, got str"),
    (
        "(leaf(2) * 2).requires_grad_(False)",
        RuntimeError,
        "requires_grad must be True for the result of a recorded operation, got False; detach() "
        "returns a leaf",
    ),
    ('setattr(ones(2), "grad", 1)', TypeError, "Tensor.grad must be a Tensor or None, got int"),
    (
        'setattr(ones(2), "grad", ones(3))',
        ShapeError,
        "Tensor.grad: the gradient must be of shape (2,), got shape (3,)",
    ),
    (
        'setattr(ones(2), "grad", ones(2, dtype=float64))',
        DTypeError,
        "Tensor.grad: the gradient must be of dtype float32, got float64",
    ),
    (
        "copy.deepcopy(leaf(2) * 2)",
        RuntimeError,
        "deepcopy: the tensor must be a leaf, got the result of an operation; detach() it first",
    ),
    (
        "ones(2).retain_grad()",
        RuntimeError,
        "retain_grad: the tensor does not require grad and has no grad_fn, so there is nothing to "
        "differentiate",
    ),
    (
        "own_gradient()",
        ArgumentError,
        "Tensor.grad: the gradient must be another tensor, such as a detach() or clone(), got the "
        "tensor itself",
    ),
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
    "nan": math.nan,
    "np": np,
    "operator": operator,
    "own_gradient": own_gradient,
    "untracked_view": untracked_view,
}


@pytest.mark.parametrize(("source", "exception", "message"), CASES, ids=[case[0] for case in CASES])
def test_error_message(source: str, exception: type[Exception], message: str) -> None:
    with pytest.raises(exception) as caught:
        eval(source, NAMES)
    assert (type(caught.value), str(caught.value)) == (exception, message)


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
    ('ones(2, device="gpu")', "DeviceError", 'unknown device "gpu"; available here: cpu, host'),
    ('ones(2).to("gpu")', "DeviceError", 'unknown device "gpu"; available here: cpu, host'),
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
