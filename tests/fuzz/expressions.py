"""Expressions by hand of the differential fuzzer: operations with different arguments; `table.py` has others.

An expression names the package `T`, its functions `F = T.nn.functional` and `QF` for quantized tensors, the
`device` of new tensors, and the tensors `x`, `y` and `z`, the last two of which mostly broadcast with `x`.
The text in braces is replaced by a literal:

| text | literal |
| --- | --- |
| `{dim}`, `{dims}` | a dimension of `x`; one or several dimensions or None |
| `{flag}` | a bool |
| `{count}`, `{size}` | a small integer; the size of a dimension, mostly of `x` |
| `{number}`, `{factor}` | any number; a finite number |
| `{along}` | a dimension of `x` and a tensor of indices with the dimensions of `x` |
| `{rows}` | a dimension of `x` and a vector of indices of it |
| `{flat}`, `{first}` | a vector of indices of the elements of `x`; of its first dimension |
| `{shape}`, `{wide}` | the shape of `x`; a shape to which it can be broadcast |
| `{target}` | class indices for the loss of `x` |
| `{reduction}` | a reduction of a loss |
| `{dtype}` | a dtype |
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

DTYPES = ("float32", "float64", "int64", "int32", "uint8", "int8", "bool")
NUMBERS = ("2", "0", "1", "-1", "3", "0.5", "-2.0", "True", "1.5", "0.0", "float('inf')", "float('nan')")
FACTORS = ("2", "0", "1", "-1", "3", "0.5", "-2.0", "1.5", "0.25")

# A matrix of numbers from -1 to 1, and a symmetric one whose smallest eigenvalue is at least 1. Some
# functions of PyTorch accept matrices of 16-bit floats if they are empty.
WIDE = "(x if x.dtype in (T.float32, T.float64) else x.float())"
MATRIX = f"{WIDE}.tanh().masked_fill(x.isnan(), 0.5)"
SYMMETRIC = f"({MATRIX} @ {MATRIX}.mT + T.eye(x.shape[-2], dtype={WIDE}.dtype, device=device))"
VALUES = f"{SYMMETRIC}.detach()"
"""Without gradients: those of equal eigenvalues and singular values are not determined."""

# PyTorch quantizes infinities differently in vectors and in the last elements.
FINITE = "x.detach().float().clamp(-1e6, 1e6)"
# A quantized input, and a weight with as many columns.
INPUT = f"T.quantize_per_tensor({FINITE}.reshape(-1, x.shape[-1]), 0.01, 120, T.quint8)"
WEIGHT = INPUT.replace("x.detach", "y.detach").replace("120, T.quint8", "0, T.qint8")

# The classes are those of `tolerances.py`. Expressions of "in place" write into `x`.
EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "expression function": (
        "T.pow({number}, x)",
        "x.cumprod({dim})",
        "F.gelu(x, approximate='tanh')",
        "F.softplus(x, 2, 1.5)",
        "F.elu(x, {factor})",
        "T.logspace(0, {factor}, {count}, device=device)",
        "T.sqrt(x.abs())",
        "{factor} ** x",
        "x ** y",
    ),
    # PyTorch stores the results by columns.
    "expression matrix": (
        f"T.linalg.cholesky({SYMMETRIC}, upper={{flag}}).contiguous()",
        f"T.linalg.cholesky_ex({SYMMETRIC}).L.contiguous()",
        f"T.linalg.cholesky_ex({SYMMETRIC}).info",
        f"T.cholesky_inverse(T.linalg.cholesky({SYMMETRIC})).contiguous()",
        f"T.cholesky_solve({MATRIX}, T.linalg.cholesky({SYMMETRIC})).contiguous()",
        f"T.linalg.lu_factor({SYMMETRIC})[0].contiguous()",
        f"T.linalg.lu_factor_ex({SYMMETRIC})[1]",
        f"T.linalg.lu({MATRIX})[0].contiguous()",
        f"(T.linalg.lu({SYMMETRIC})[1] @ T.linalg.lu({SYMMETRIC}).U).contiguous()",
        f"T.linalg.lu_solve(*T.linalg.lu_factor({SYMMETRIC}), {MATRIX}, adjoint={{flag}}).contiguous()",
        f"T.linalg.inv({SYMMETRIC}).contiguous()",
        f"T.linalg.inv_ex({SYMMETRIC}).inverse.contiguous()",
        f"T.linalg.solve({SYMMETRIC}, {MATRIX}).contiguous()",
        f"T.linalg.solve({SYMMETRIC}, {MATRIX}.mT, left=False).contiguous()",
        f"T.linalg.solve_ex({SYMMETRIC}, {MATRIX}).result.contiguous()",
        f"T.linalg.solve_triangular({SYMMETRIC}, {MATRIX}, upper={{flag}}).contiguous()",
        f"T.linalg.solve_triangular({SYMMETRIC}, {MATRIX}.mT, upper={{flag}}, left=False).contiguous()",
        f"T.linalg.det({SYMMETRIC})",
        f"T.linalg.slogdet({SYMMETRIC}).logabsdet",
        f"T.linalg.qr({SYMMETRIC}).Q.contiguous()",
        f"T.linalg.qr({SYMMETRIC}, 'complete')[1].contiguous()",
        f"T.linalg.eigvalsh({VALUES})",
        f"(lambda L, V: (V * L.unsqueeze(-2)) @ V.mT)(*T.linalg.eigh({VALUES})).contiguous()",
        f"T.linalg.svdvals({MATRIX}.detach())",
        f"(lambda U, S, V: (U * S.unsqueeze(-2)) @ V)(*T.linalg.svd({MATRIX}.detach(), False)).contiguous()",
    ),
    "expression product": ("x.prod({dim}, {flag})",),
    "expression rounded": (
        "F.leaky_relu(x, {factor})",
        "x // y",
        "x // {factor}",
        "x % y",
        "T.fmod(x, {factor})",
        "T.div(x, y, rounding_mode='floor')",
        "x.div(y, rounding_mode='trunc')",
        "T.lerp(x, y, {factor})",
        "x.addcmul(y, z, value={factor})",
        "x.round(decimals={count})",
        "T.add(x, y, alpha={count})",
        "T.linspace({factor}, {factor}, {count}, device=device)",
        "T.remainder(x, {factor})",
        "{factor} // x",
        "{factor} % x",
        "x + y",
        "x - {factor}",
        "x * y",
        "x / {factor}",
        "{factor} / x",
        "T.subtract(x, y, alpha={factor})",
    ),
    "expression exact": (
        "x.nan_to_num().signbit()",
        "x.nan_to_num()",
        "x.nan_to_num({factor})",
        "~x",
        "x & y",
        "x | y",
        "x ^ y",
        "x & {count}",
        "T.ge(x, {number})",
        "T.where(x > 0, y, z)",
        "T.where(x.bool(), y, {number})",
        "x.where(y != 0, {number})",
        "x.clamp({factor}, {factor})",
        "x.clamp(min={factor})",
        "x.clamp(max=y)",
        "x.clamp(-200, 300)",
        "x.clamp(-200, {factor})",
        "x.clamp_min(300)",
        "x.masked_fill(y > 0, {number})",
        "x.any({dim}, {flag})",
        "x.all({dim}, {flag})",
        "list(x.max({dim}, {flag}))",
        "list(T.min(x, {dim}))",
        "list(x.sort({dim}, {flag}))[0]",
        "list(T.sort(x, dim={dim}, stable=True))",
        "T.argsort(x, dim={dim}, stable=True)",
        "list(x.topk({count}, {dim}))[0]",
        "T.isclose(x, y, equal_nan={flag})",
        "x.split({count}, {dim})",
        "x.split([1, 2], {dim})",
        "T.chunk(x, {count}, {dim})",
        "x.narrow({dim}, {count}, {count})",
        "x.unbind({dim})",
        "x.flip({dim})",
        "T.flip(x, (0, {dim}))",
        "x.roll({count}, {dim})",
        "x.roll({count})",
        "x.repeat({count}, *{shape})",
        "x.repeat(2, {count})",
        "T.tril(x, {count})",
        "x.triu(-{count})",
        "x.diagonal({count}, {dim}, {dim})",
        "x.movedim({dim}, {dim})",
        "x.swapaxes({dim}, {dim})",
        "x.mT",
        "x.view_as(y)",
        "x.reshape_as(y)",
        "x.expand_as(y)",
        "x.broadcast_to({wide})",
        "x.flatten({dim}, -1)",
        "x.unflatten({dim}, (1, -1))",
        "x.squeeze({dim})",
        "x.squeeze(({dim}, {dim}))",
        "T.atleast_2d(x)",
        "x.gather({along})",
        "x.scatter({along}, {number})",
        "x.index_select({rows})",
        "x.index_fill({rows}, {number})",
        "T.take(x, {flat})",
        "x.masked_select(y > 0)",
        "x.nonzero()",
        "x.detach()",
        "x.data",
        "x.view(T.int32)",
        "x.view(T.uint8)",
        "x.view(dtype=T.int64)",
        "x.clone(memory_format=T.contiguous_format)",
        "x.to(T.float64, memory_format=T.contiguous_format)",
        "T.zeros_like(x, memory_format=T.contiguous_format)",
        "T.eye({count}, {count}, device=device)",
        "T.full_like(x, {number})",
        "x.new_zeros({shape})",
        "x.new_full({shape}, {number})",
        "F.embedding(y.nan_to_num(0, 0, 0).abs().clamp(max=99).long() % max(x.shape[0], 1), x)",
        "F.dropout(x, 0.0)",
        "F.dropout(x, 0.5, False)",
        "x.mH",
        "x.H",
        "T.atleast_1d(x)",
        "T.atleast_3d(x)",
        "list(x.aminmax())",
        "list(T.aminmax(x, dim={dim}, keepdim={flag}))",
        "T.bernoulli((x > 0).double())",
        "x.bitwise_xor({count})",
        "{count} ^ x",
        "x << y",
        "{count} >> x",
        "T.bitwise_left_shift(x, {count})",
        "(x if x.numel() else x.float()).median()",
        "list(T.median(x.detach(), {dim}, {flag}))[0]",
        "F.pad(x, ({count}, {count}))",
        "F.pad(x, (1, -1, -{count}, 2), value={number})",
        "T.zeros(2, dtype=T.result_type(x, y), device=device)",
        "T.zeros(2, dtype=T.result_type(x, {number}), device=device)",
        "T.zeros(2, dtype=T.promote_types(x.dtype, y.dtype), device=device)",
        "T.zeros(2, dtype=T.get_default_dtype(), device=device)",
        "T.tensor([T.can_cast(x.dtype, {dtype}), x.is_cuda, x.layout is T.strided], device=device)",
        "{count} | x",
        "True & x",
        "T.broadcast_tensors(x, y)",
        "x.clamp_max({factor})",
        "T.clamp_min(x, {factor})",
        "T.copysign(x, y.nan_to_num())",
        "x.copysign({factor})",
        "T.tensor([T.equal(x, y), T.allclose(x, y, equal_nan=True)], device=device)",
        "T.tensor([T.is_tensor(x), x.is_floating_point(), x.is_signed()], device=device)",
        "T.tensor([x.is_inference(), x.is_contiguous()], device=device)",
        "T.tensor([x.dim(), x.ndim, x.numel(), x.nelement(), *x.shape, *x.size()], device=device)",
        "T.tensor([x.element_size(), x.itemsize, x.nbytes, x.storage_offset()], device=device)",
        "T.tensor([x.is_leaf, x.requires_grad, x.retains_grad], device=device)",
        "T.tensor(x.item(), device=device)",
        "T.tensor(x.detach().cpu().tolist(), device=device)",
        f"T.quantize_per_tensor({FINITE}, 0.1, {{count}}, T.quint8).int_repr().contiguous()",
        f"T.quantize_per_tensor({FINITE}, 0.25, -5, T.qint8).dequantize().contiguous()",
        f"T.quantize_per_tensor({FINITE}, 1.5, 7, T.qint32).int_repr().contiguous()",
        f"QF.linear({INPUT}, {WEIGHT}, None, 0.02, 100).int_repr().contiguous()",
        "x.new_tensor([1, 2])",
        "x.new_tensor([1.5])",
        "T.empty_like(x).zero_()",
        "T.empty({shape}, dtype=x.dtype, device=device).fill_(1)",
        "T.empty_strided((2, 2), (1, 2), dtype=x.dtype, device=device).fill_(1)",
        "x.new_empty({shape}).fill_(1)",
        "x.new_ones({shape})",
        "T.ones({shape}, device=device)",
        "T.zeros_like(x, dtype={dtype})",
        "T.from_numpy(x.detach().cpu().double().numpy()).to(x.device).clone()",
        "T.from_dlpack(x.detach().cpu()).to(x.device).clone()",
        "x.cpu().to(x.device) * 1",
        "T.hstack((x, y))",
        "T.vstack([x, y])",
        "(lambda d, i: x.index_copy(d, i, y.index_select(d, i)))({rows})",
        "x.masked_scatter(y > 0, z)",
        "T.moveaxis(x, {dim}, {dim})",
        "T.swapdims(x, {dim}, {dim})",
        "F.one_hot(x.nan_to_num().clamp(0, 3).long(), 4)",
        "T.positive(x)",
        "+x",
        "-x",
        "abs(x)",
        "x.repeat_interleave({count}, {dim})",
        "T.repeat_interleave(x, {count})",
        "T.signbit(x.nan_to_num())",
        "T.repeat_interleave(x, T.tensor([1, 0, 2], device=device)[: x.shape[0]], 0)",
        "T.split_with_sizes(x, [1, 1], {dim})",
        "T.take_along_dim(x, *({along})[::-1])",
        "x.take_along_dim(T.argsort(x.flatten(), stable=True))",
        "x.tensor_split({count}, {dim})",
        "T.tensor_split(x, [1, 2], {dim})",
        "T.tile(x, (2, {count}))",
        "x.nan_to_num().clamp(0, 100).byte()",
        "x.nan_to_num().clamp(-9, 9).char()",
        "x.nan_to_num().clamp(-9, 9).short()",
        "x.nan_to_num().clamp(-9, 9).int()",
        "x.nan_to_num().clamp(0, 100).to({dtype})",
        "x.nan_to_num().clamp(0, 100).type_as(y)",
        "(x.register_hook(lambda gradient: gradient * 2), x * 1)[1]",
        "x.clone().detach_()",
        "x.take_along_dim(T.argmax(x, {dim}, keepdim=True), {dim})",
        "T.tensor([float(x), int(x > 0), bool(x)], dtype=T.float64, device=device)",
        "T.tensor(len(x), device=device)",
        "[each * 1 for each in x]",
        "x.select({dim}, 0)",
        "x.transpose({dim}, {dim})",
        "x.unsqueeze({dim})",
        "x[..., ::2]",
        "x[y > 0]",
        "x[None, ..., None]",
        "x[range(2)]",
        "x[..., (0, -1)]",
        "x[(0,), ((0,), (1,))]",
        "x[[range(1), (0,)]]",
        "T.zeros(0, device=device)",
        "x.put({flat}, y.flatten()[:1])",
    ),
    "expression sum": (
        "x.cumsum({dim})",
        "x.logsumexp({dim}, {flag})",
        "x.norm(1, {dim}, {flag})",
        "T.norm(x, {count}, {dim})",
        "x.sum({dims}, {flag})",
        "x.nansum({dims}, {flag})",
        "x.mean({dims})",
        "x.amax({dims})",
        "F.mse_loss(x, y.detach(), reduction={reduction})",
        "F.l1_loss(x, y.detach(), reduction={reduction})",
        "F.binary_cross_entropy_with_logits(x, (y > 0).to(x.dtype), reduction={reduction})",
        "F.cross_entropy(x, x.detach().softmax(-1), reduction={reduction}, label_smoothing=0.1)",
        "x.scatter_add({along}, y)",
        "x.index_put(({first},), y, True)",
        "x.put({flat}, y.flatten()[:1], True)",
        "T.mv(x, y.flatten()[: x.shape[-1]])",
        "T.einsum('i...,j...->ij...', x, y)",
        "T.einsum('...i,...i->...', x, y)",
        "T.einsum('ij,ij->ji', x, y)",
        "T.addmv(z.flatten()[:1], x.reshape(1, -1), y.flatten())",
        "T.baddbmm(z.flatten()[:1], x.reshape(1, 1, -1), y.reshape(1, -1, 1))",
        "F.binary_cross_entropy(x.sigmoid(), (y > 0).to(x.dtype), reduction={reduction})",
        "F.nll_loss(x, {target}, reduction={reduction})",
        "F.cross_entropy(x, {target}, ignore_index=1, label_smoothing=0.1, reduction={reduction})",
        "F.softmin(x, {dim})",
        "F.nll_loss(x, {target}, x.detach().abs().sum(0), reduction={reduction})",
        "(lambda d, i: x.index_add(d, i, y.index_select(d, i), alpha={factor}))({rows})",
        "x @ y",
        "x.matmul(y.mT)",
        "F.softmax(x, {dim})",
        "F.log_softmax(x, {dim})",
    ),
    "expression square": (
        "x.var({dim}, {flag})",
        "T.var(x, {dims}, correction={count})",
        "x.std({dim})",
        "x.std({dims}, correction=0)",
        "F.layer_norm(x, x.shape[-1:])",
        "F.layer_norm(x, x.shape[1:])",
        "list(T.var_mean(x, {dim}, keepdim={flag}))",
        "list(T.std_mean(x))",
    ),
    "expression in place": (
        "x.clamp_({factor}, {factor})",
        "x.clamp_(min={factor})",
        "x.masked_fill_(y > 0, {number})",
        "x.index_fill_({rows}, {number})",
        "x.scatter_({along}, {number})",
        "x.scatter_add_({along}, y.clone())",
        "x.remainder_({factor})",
        "x.pow_({factor})",
        "x.floor_divide_({factor})",
        "x.lerp_(y.clone(), {factor})",
        "T.add(x.detach(), y.detach(), out=z.detach())",
        "T.sin(x.detach(), out=y.detach())",
        "T.matmul(x.detach(), y.detach(), out=z.detach())",
        "x.nan_to_num_()",
        "x.bitwise_right_shift_({count})",
        "x.__ilshift__(y.clone())",
        "F.elu(x, 0.5, True)",
        "F.leaky_relu(x, 0.25, True)",
        "x.copysign_(y.nan_to_num())",
        "x.addcdiv_(y.clone(), z.clone(), value={factor})",
        "x.clamp_max_({factor})",
        "x.clamp_min_({factor})",
        "(lambda d, i: x.index_add_(d, i, y.clone().index_select(d, i)))({rows})",
        "(lambda d, i: x.index_copy_(d, i, y.clone().index_select(d, i)))({rows})",
        "x.index_put_(({first},), T.tensor({factor}, dtype=x.dtype, device=device), {flag})",
        "x.masked_scatter_(y > 0, z.clone())",
        "(lambda index: x.put_(index, y.clone().take(index)))({flat})",
        "x.__iand__(y.clone())",
        "x.__imod__({factor})",
        "x.__ifloordiv__({factor})",
        "x.__ipow__({factor})",
        "T.mul(x.detach(), {factor}, out=y.detach())",
        "T.exp(x.detach(), out=z.detach())",
        "T.maximum(x.detach(), y.detach(), out=z.detach())",
        "T.clamp_(x, -1, {factor})",
        "T.clamp_max_(x, {factor})",
        "T.fill_(x, {factor})",
        "T.nan_to_num_(x)",
        "T.index_put_(x, ({first},), T.tensor({factor}, dtype=x.dtype, device=device), {flag})",
        "x.detach().neg_()",
        # Copies: PyTorch leaves a tensor of memory that NumPy shares with a shape that exceeds it.
        "(lambda w: [w, w[:1], w.t(), w.resize_({count}, {count}).zero_()])(x.detach().clone())",
        "(lambda w: [w, w.resize_({count}, 2).resize_({shape})])(x.detach().clone())",
        "(lambda w: [w, T.mul(x.detach(), {factor}, out=w[1:2])])(T.cat([y.detach()]))",
        "x.detach().resize_as_(y).fill_(1)",
        "T.resize_as_(x.detach().contiguous(), x[:1])",
        "T.sub(x.detach(), y.detach(), out=z.detach().resize_(0))",
    ),
}
SUMS = "expression sum"
SQUARES = "expression square"
WRITES = "expression in place"


def with_literals(random: random.Random, source: str, shape: list[int]) -> str:
    """Return an expression with literals for a tensor `x` of this shape."""
    return re.sub(r"\{(\w+)\}", lambda found: literal(random, found[1], shape), source)


def literal(random: random.Random, kind: str, shape: list[int]) -> str:
    """Return a literal for a text in braces."""
    dim = dimension(random, shape)
    if kind in ("along", "rows"):
        return f"{dim}, T.tensor({indices(random, kind, shape, dim)}, dtype=T.int64, device=device)"
    if kind in ("first", "flat"):
        count = int(np.prod(shape[:1] if kind == "first" else shape))
        if not count:
            return "T.tensor([], dtype=T.int64, device=device)"
        numbers = [random.randrange(-count, count) for _ in range(random.randrange(4))]
        return f"T.tensor({numbers}, dtype=T.int64, device=device)"
    if kind == "target":
        target = indices(random, kind, [*shape[:1], *shape[2:]], 0, shape[1] if len(shape) > 1 else 1)
        return f"T.tensor({target}, dtype=T.int64, device=device)"
    literals: dict[str, Any] = {
        "dim": dim,
        "dims": random.choice((None, dim, (dim,), tuple(range(len(shape))))),
        "flag": random.random() < 0.5,
        "count": random.choice((0, 1, 1, 2, 2, 3)),
        "number": random.choice(NUMBERS),
        "factor": random.choice(FACTORS),
        "shape": tuple(shape),
        "wide": tuple([2, *shape] if random.random() < 0.5 else [each if each != 1 else 3 for each in shape]),
        "reduction": repr(random.choice(("none", "mean", "sum"))),
        "dtype": f"T.{random.choice(DTYPES)}",
    }
    return str(literals[kind])


def dimension(random: random.Random, shape: list[int]) -> int:
    """Return a dimension of a shape, rarely one that it lacks."""
    if not shape or random.random() < 0.04:
        return random.choice((0, -1, 1, 5))
    return random.randrange(-len(shape), len(shape))


def indices(random: random.Random, kind: str, shape: list[int], dim: int, size: int | None = None) -> Any:
    """Return indices of a dimension: a list for "rows", else a nested list with about the shape.

    `size` is the size of the dimension, by default that of the shape.
    """
    if size is None:
        size = shape[dim] if -len(shape) <= dim < len(shape) else 1

    def index() -> int:
        return 9 if random.random() < 0.01 else random.randrange(max(size, 1))

    if kind == "rows":
        return [index() for _ in range(random.randrange(4) if size else 0)]

    def nested(sizes: list[int]) -> Any:
        return index() if not sizes else [nested(sizes[1:]) for _ in range(sizes[0])]

    if kind == "target":
        return nested(shape)
    return nested([random.randrange(each + 1) if random.random() < 0.3 else each for each in shape])
