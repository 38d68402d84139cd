"""The pages of docs/ that are generated from tables: of the core, the stubs and the recorded names."""

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import interlock
from interlock import accelerator
from interlock._core import backends

if TYPE_CHECKING:
    from interlock._core.backends import Flag

ROOT = Path(__file__).resolve().parent.parent
STUBS = ROOT / "stubs" / "interlock" / "_core"
FLAGS = backends.table()


def owner(flag: "Flag") -> str:
    """Return the module or object that contains the flag, as a dotted name without `backends`."""
    return flag["name"].rpartition(".")[0]


def leaf(flag: "Flag") -> str:
    """Return the last part of the flag's name."""
    return flag["name"].rpartition(".")[2]


def sentence(text: str) -> str:
    """Return a documentation in one line."""
    return " ".join(text.split())


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table. A bar in a cell is escaped."""
    columns = list(columns)
    yield ""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        cells = (cell.replace("|", r"\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


# Flags ------------------------------------------------------------------------------------------------------

TORCH = "https://docs.pytorch.org/docs/stable"
TF32 = f"{TORCH}/notes/cuda.html#tf32-on-ampere"
# The modules whose section of PyTorch's page has an anchor.
TORCH_MODULES = ("cuda", "cudnn", "mha", "miopen", "mkldnn", "nnpack", "opt_einsum", "quantized", "xnnpack")
# The attributes of `torch.backends` that PyTorch's page describes.
TORCH_ATTRIBUTES = (
    "cuda.matmul.allow_bf16_reduced_precision_reduction",
    "cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda.matmul.allow_tf32",
    "cudnn.allow_tf32",
    "cudnn.benchmark",
    "cudnn.benchmark_limit",
    "cudnn.deterministic",
    "cudnn.enabled",
    "miopen.immediate",
    "opt_einsum.enabled",
    "opt_einsum.strategy",
)
# The functions of `torch.backends` that set a flag.
TORCH_FUNCTIONS = {
    "cuda.blas_library": "cuda.preferred_blas_library",
    "cuda.cublas_workspace": "cuda.cublas_workspace_size",
    "cuda.cublaslt_workspace": "cuda.cublaslt_workspace_size",
    "cuda.cudnn_sdp": "cuda.enable_cudnn_sdp",
    "cuda.flash_sdp": "cuda.enable_flash_sdp",
    "cuda.fp16_bf16_reduction_math_sdp": "cuda.allow_fp16_bf16_reduction_math_sdp",
    "cuda.linalg_library": "cuda.preferred_linalg_library",
    "cuda.math_sdp": "cuda.enable_math_sdp",
    "cuda.mem_efficient_sdp": "cuda.enable_mem_efficient_sdp",
    "cuda.rocm_fa_library": "cuda.preferred_rocm_fa_library",
    "mha.fastpath": "mha.set_fastpath_enabled",
    "nnpack.enabled": "nnpack.set_flags",
}


def torch_page(name: str) -> str:
    """Return the address of PyTorch's documentation of a flag, or of its module."""
    page = f"{TORCH}/backends.html"
    if name.startswith("deterministic_algorithms"):
        return f"{TORCH}/generated/torch.use_deterministic_algorithms.html"
    if name == "deterministic_fill_uninitialized_memory":
        return f"{TORCH}/deterministic.html"
    if name.endswith("fp32_precision"):
        return f"{TORCH}/notes/mkldnn.html" if name.startswith("mkldnn") else TF32
    if name == "cuda.sdp_priority":
        return f"{TORCH}/generated/torch.nn.attention.sdpa_kernel.html"
    name = name.removesuffix("_split_k")
    name = name if name in TORCH_ATTRIBUTES else TORCH_FUNCTIONS.get(name, "")
    return f"{page}#torch.backends.{name}" if name else page


def flags() -> Iterator[str]:
    """Yield the page that lists every flag."""
    yield from """# Flags

The names are relative to `interlock.backends` and link to PyTorch's documentation. `python -m interlock
explain NAME` shows the value of a flag and what set it, and [Flags and scopes](flags_and_scopes.md)
explains how to set one.

- The variables are read once, when `interlock.backends` is imported. If several variables of a flag are
  set, the first decides. [Environment variables](environment.md) lists their formats.
- *Obeyed by* names the operations of interlock's tensors that a flag changes. "Nothing yet" means that
  the flag can be set, scoped and read, for example by a library that implements the operation, but
  changes no tensor of interlock. "Registered kernels" means that interlock has no kernel of the library;
  the flag is a gate for kernels that [a program registers](dispatch.md#register-a-kernel).
- In tests, `backends.override` and `unittest.mock.patch.object` restore a flag completely. pytest's
  `monkeypatch` assigns the old value, so the flag stays assigned.

Generated from the table of flags by `make generate`.""".splitlines()
    for module in dict.fromkeys(owner(flag).partition(".")[0] for flag in FLAGS):
        yield ""
        yield f"## `{'.'.join(filter(None, ('backends', module)))}`"
        if not module:
            yield ""
            yield "`interlock.set_float32_matmul_precision` is an older interface: `highest`, `high` and"
            yield "`medium` assign `ieee`, `tf32` and `tf32` to `cuda.matmul.fp32_precision`, and `ieee`,"
            yield "`tf32` and `bf16` to `mkldnn.matmul.fp32_precision`."
        elif module in TORCH_MODULES:
            address = f"{TORCH}/backends.html#module-torch.backends.{module}"
            yield ""
            yield f"PyTorch: [`torch.backends.{module}`]({address})"
        rows = map(flag_row, (flag for flag in FLAGS if owner(flag).partition(".")[0] == module))
        yield from table(("flag", "values", "default", "environment variable", "obeyed by"), rows)


def flag_row(flag: "Flag") -> tuple[str, ...]:
    """Return the row of a flag."""
    return (
        f"[`{flag['name']}`]({torch_page(flag['name'])})<br>{sentence(flag['doc'])} For {flag['affects']}.",
        flag["allowed"] or "read-only",
        f"`{flag['default']!r}`",
        "<br>".join(f"`{name}`" for name in flag["variables"]) or "none",
        ", ".join(f"`{name}`" for name in flag["obeyed_by"]) or obeyed_later(flag),
    )


def obeyed_later(flag: "Flag") -> str:
    """Return what may obey a flag that no operation of interlock obeys."""
    return "registered kernels" if flag["needs_registered_kernel"] else "nothing yet"


# Environment variables --------------------------------------------------------------------------------------


def environment() -> Iterator[str]:
    """Yield the page that lists every environment variable."""
    described = json.loads((ROOT / "docs" / "environment.json").read_text())
    flag_of = {flag["variables"][0]: flag for flag in FLAGS if flag["variables"]}
    # The variable of the loader has another name on macOS.
    read = {name.replace("DYLD_", "LD_") for name in backends.environment_variables()}
    paths = sorted(read - flag_of.keys() - {entry["name"] for entry in described})
    unknown = [name for name in paths if not re.fullmatch("INTERLOCK_[A-Z]+_PATH", name)]
    if unknown:
        raise SystemExit(f"docs/environment.json does not describe {', '.join(unknown)}")
    yield from """# Environment variables

Every variable that interlock reads. `python -m interlock` prints those that are set, each with the reason
if it is ignored. A variable that begins with `INTERLOCK_` and has a typo in its name issues a
`FlagEnvironmentWarning` on import, which suggests the correct name. An empty value is invalid for flags and
for `INTERLOCK_DEBUG`; other variables of interlock count as not set if they are empty.

Flags of other libraries have [variables of their own](registering.md#environment).

Generated by `make generate` from the tables of the core and `docs/environment.json`.""".splitlines()
    for group in dict.fromkeys(entry["group"] for entry in described):
        yield ""
        yield f"## {group}"
        entries = [entry for entry in described if entry["group"] == group]
        if "read" in entries[0]:
            columns = ("variable", "values", "default", "read", "invalid value")
            yield from table(columns, map(variable_row, entries))
            continue
        yield ""
        yield "They are read when `interlock.backends` is imported. The variable of interlock for the same"
        yield "flag has precedence. An invalid value issues `FlagEnvironmentWarning` and is ignored."
        yield from table(
            ("variable", "effect", "values"),
            ((f"`{entry['name']}`", entry["meaning"], entry["values"]) for entry in entries),
        )
    yield from """
## Paths of vendor libraries

The value is the path of the library, or of a folder that contains it. It is read on each
[search](libraries.md#search-order). The path is authoritative: if it is invalid, a call that needs the
library raises `LibraryPathError`, and interlock searches no other folder.
""".splitlines()
    yield from table(
        ("variable", "library"),
        ((f"`{name}`", f"`{name[len('INTERLOCK_') : -len('_PATH')].lower()}`") for name in paths),
    )
    yield from """
## Flags of interlock

They are read once, when `interlock.backends` is imported. An invalid value issues
`FlagEnvironmentWarning`, which states the accepted values, and is ignored. A value that the program
assigns, and a scope, have precedence.
""".splitlines()
    yield from table(
        ("variable", "flag", "values", "default"),
        (
            (
                f"`{name}`",
                f"[`{flag['name']}`](flags.md)",
                (flag["allowed_text"] or "").replace("'", "`"),
                f"`{flag['default']!r}`",
            )
            for name, flag in flag_of.items()
        ),
    )


def variable_row(entry: dict[str, str]) -> tuple[str, ...]:
    """Return the row of a variable that sets no flag."""
    return (
        f"`{entry['name']}`<br>{entry['meaning']}",
        entry["values"],
        entry["default"],
        entry["read"],
        entry["invalid"],
    )


# Tensor operations ------------------------------------------------------------------------------------------

FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = (*FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool")
# The text of frequent groups of dtypes.
DTYPE_GROUPS = {DTYPES: "all", DTYPES[:-1]: "all but bool", FLOATS: "floating point"}

# An example of each operation, by its name in the stub; `operands` returns the values of the names.
CREATION = {
    "tensor": "T.tensor([[1, 0]], **options)",
    "as_tensor": "T.as_tensor([[1, 0]], **options)",
    "from_dlpack": "T.from_dlpack(x.detach())",
    "from_numpy": "T.from_numpy(x.numpy())",
    "zeros": "T.zeros(2, **options)",
    "ones": "T.ones(2, **options)",
    "empty": "T.empty(2, **options)",
    "full": "T.full((2,), 1, **options)",
    "arange": "T.arange(2, **options)",
    "linspace": "T.linspace(0, 1, 2, **options)",
    "logspace": "T.logspace(0, 1, 2, **options)",
    "eye": "T.eye(2, **options)",
    "zeros_like": "T.zeros_like(x)",
    "ones_like": "T.ones_like(x)",
    "empty_like": "T.empty_like(x)",
    "full_like": "T.full_like(x, 1)",
    "new_zeros": "x.new_zeros(2)",
    "new_ones": "x.new_ones(2)",
    "new_empty": "x.new_empty(2)",
    "new_full": "x.new_full((2,), 1)",
    "new_tensor": "x.new_tensor([1, 0])",
    "empty_strided": "T.empty_strided((2,), (2,), **options)",
    "rand": "T.rand(2, **options)",
    "randn": "T.randn(2, **options)",
    "rand_like": "T.rand_like(x)",
    "randn_like": "T.randn_like(x)",
    "randint": "T.randint(2, (2,), **options)",
    "randint_like": "T.randint_like(x, 2)",
    "randperm": "T.randperm(2, **options)",
}
FUNCTIONS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "square", "reciprocal"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "sigmoid", "relu", "ceil", "floor", "round", "trunc", "frac"),
)
IN_PLACE_BINARY = (
    *("floor_divide", "remainder", "fmod", "pow", "atan2", "hypot", "copysign"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"),
    *("eq", "ne", "lt", "le", "gt", "ge", "clamp_min", "clamp_max"),
)
OPERATIONS = {
    "Arithmetic": {
        "add": "x + y",
        "sub": "x - y",
        "mul": "x * y",
        "div": "x / y",
        "pow": "x ** y",
        "floor_divide": "x // y",
        "remainder": "x % y",
        "fmod": "x.fmod(y)",
        "neg": "-x",
        "positive": "x.positive()",
        "abs": "abs(x)",
        "sign": "x.sign()",
        "copysign": "x.copysign(y)",
        "addcmul": "x.addcmul(x, y)",
        "addcdiv": "x.addcdiv(x, y)",
        "lerp": "x.lerp(y, 0.5)",
    },
    "Matrix products": {
        "matmul": "x @ y",
        "mm": "x.mm(y)",
        "bmm": "x.unsqueeze(0).bmm(y.unsqueeze(0))",
        "addmm": "x.addmm(x, y)",
        "mv": "x.mv(y[0])",
        "addmv": "x[0].addmv(x, y[0])",
        "baddbmm": "x.baddbmm(x.unsqueeze(0), y.unsqueeze(0))",
        "dot": "x[0].dot(y[0])",
        "outer": "x[0].outer(y[0])",
        "einsum": "T.einsum('ij,jk->ik', x, y)",
        "linear": "T.nn.functional.linear(x, y)",
        "conv2d": "T.conv2d(x.reshape(1, 1, 2, 2), y.reshape(1, 1, 2, 2))",
        "scaled_dot_product_attention": "T.nn.functional.scaled_dot_product_attention(x, y, y)",
        "multi_head_attention": "T.nn.MultiheadAttention(2, 1, **options)(x, x, y)[0]",
    },
    "Recurrent layers": {
        "lstm": "T.lstm(x[None], (x[None, :, :1],) * 2, (T.cat([x, y]), T.cat([x, y])[:, :1]), False, 1, 0, "
        "False, False, False)[0]",
    },
    "Comparison and logic": {
        "eq": "x == y",
        "ne": "x != y",
        "lt": "x < y",
        "le": "x <= y",
        "gt": "x > y",
        "ge": "x >= y",
        "isfinite": "x.isfinite()",
        "isinf": "x.isinf()",
        "isnan": "x.isnan()",
        "signbit": "x.signbit()",
        "logical_not": "x.logical_not()",
        "logical_and": "x.logical_and(y)",
        "logical_or": "x.logical_or(y)",
        "logical_xor": "x.logical_xor(y)",
        "bitwise_not": "~x",
        "bitwise_and": "x & y",
        "bitwise_or": "x | y",
        "bitwise_xor": "x ^ y",
    },
    "Selection and limits": {
        "where": "T.where(x > 0, x, y)",
        "clamp": "x.clamp(0, 1)",
        "clamp_min": "x.clamp_min(0)",
        "clamp_max": "x.clamp_max(y)",
        **{name: f"x.{name}(y)" for name in ("maximum", "minimum", "fmax", "fmin")},
        "nan_to_num": "x.nan_to_num()",
    },
    "Functions of each element": {name: f"x.{name}()" for name in FUNCTIONS}
    | {name: f"x.{name}(y)" for name in ("atan2", "hypot")}
    | {name: f"T.nn.functional.{name}(x)" for name in ("gelu", "silu", "softplus", "logsigmoid", "dropout")},
    "Reductions and losses": {
        "sum": "x.sum()",
        "mean": "x.mean()",
        "max": "x.max()",
        "min": "x.min()",
        "amax": "x.amax(0)",
        "amin": "x.amin(0)",
        "argmax": "x.argmax()",
        "argmin": "x.argmin()",
        "trace": "x.trace()",
        "aminmax": "x.aminmax(dim=0).min",
        "all": "x.all()",
        "any": "x.any()",
        "count_nonzero": "x.count_nonzero()",
        "prod": "x.prod()",
        "var": "x.var()",
        "std": "x.std()",
        "var_mean": "T.var_mean(x)[0]",
        "std_mean": "T.std_mean(x)[0]",
        "norm": "x.norm()",
        "logsumexp": "x.logsumexp(0)",
        "cumsum": "x.cumsum(0)",
        "cumprod": "x.cumprod(0)",
        "sort": "x.sort().values",
        "argsort": "x.argsort()",
        "topk": "x.topk(1).values",
        "equal": "x.equal(y)",
        "isclose": "x.isclose(y)",
        "allclose": "x.allclose(y)",
        "softmax": "x.softmax(0)",
        "log_softmax": "x.log_softmax(0)",
        "cross_entropy": "T.cross_entropy(x, classes)",
        "nll_loss": "T.nn.functional.nll_loss(x, classes)",
        "binary_cross_entropy": "T.nn.functional.binary_cross_entropy(x, y)",
        "binary_cross_entropy_with_logits": "T.nn.functional.binary_cross_entropy_with_logits(x, y)",
        "mse_loss": "T.nn.functional.mse_loss(x, y)",
        "l1_loss": "T.nn.functional.l1_loss(x, y, reduction='sum')",
        "layer_norm": "T.nn.functional.layer_norm(x, (2,))",
    },
    "Shape and indexing": {
        "T": "x.T",
        "mT": "x.mT",
        "mH": "x.mH",
        "H": "x.H",
        "adjoint": "x.adjoint()",
        "t": "x.t()",
        "transpose": "x.transpose(0, 1)",
        "swapaxes": "x.swapaxes(0, 1)",
        "swapdims": "x.swapdims(0, 1)",
        "permute": "x.permute(1, 0)",
        "movedim": "x.movedim(0, 1)",
        "moveaxis": "x.moveaxis(0, 1)",
        "reshape": "x.reshape(4)",
        "reshape_as": "x.reshape_as(y)",
        "view": "x.view(4)",
        "view_as": "x.view_as(y)",
        "flatten": "x.flatten()",
        "unflatten": "x.unflatten(1, (2, 1))",
        "ravel": "x.ravel()",
        "unsqueeze": "x.unsqueeze(0)",
        "squeeze": "x.squeeze()",
        "expand": "x.expand(3, 2, 2)",
        "expand_as": "x.expand_as(y)",
        "broadcast_to": "x.broadcast_to((3, 2, 2))",
        "broadcast_tensors": "T.broadcast_tensors(x, y)[0]",
        "atleast_1d": "T.atleast_1d(x)",
        "atleast_2d": "T.atleast_2d(x)",
        "atleast_3d": "T.atleast_3d(x)",
        "select": "x.select(0, 1)",
        "narrow": "x.narrow(0, 0, 1)",
        "diagonal": "x.diagonal()",
        "split": "x.split(1)[0]",
        "split_with_sizes": "x.split_with_sizes((1, 1))[0]",
        "chunk": "x.chunk(2)[0]",
        "tensor_split": "x.tensor_split(2)[0]",
        "unbind": "x.unbind()[0]",
        "as_strided": "x.as_strided((2,), (1,))",
        "__getitem__": "x[0, 1:]",
        "index_select": "x.index_select(0, classes)",
        "gather": "x.gather(1, classes.unsqueeze(1))",
        "take": "x.take(classes)",
        "take_along_dim": "x.take_along_dim(classes.unsqueeze(1), 1)",
        "masked_select": "x.masked_select(mask)",
        "nonzero": "x.nonzero()",
        "embedding": "T.nn.functional.embedding(classes, x)",
        "one_hot": "T.nn.functional.one_hot(x.long(), 3)",
        "index_add": "x.index_add(0, classes, y)",
        "index_copy": "x.index_copy(0, classes, y)",
        "index_fill": "x.index_fill(0, classes, 1)",
        "index_put": "x.index_put((classes,), y)",
        "masked_fill": "x.masked_fill(mask, 1)",
        "masked_scatter": "x.masked_scatter(mask, y)",
        "put": "x.put(classes, y[0])",
        "scatter": "x.scatter(1, classes.unsqueeze(1), y)",
        "scatter_add": "x.scatter_add(1, classes.unsqueeze(1), y)",
        "cat": "T.cat([x, y])",
        "stack": "T.stack([x, y])",
        "hstack": "T.hstack([x, y])",
        "vstack": "T.vstack([x, y])",
        "flip": "x.flip(0)",
        "roll": "x.roll(1, 0)",
        "repeat": "x.repeat(2, 1)",
        "tile": "x.tile(2)",
        "repeat_interleave": "x.repeat_interleave(2)",
        "tril": "x.tril()",
        "triu": "x.triu()",
    },
    "Random numbers": {
        "bernoulli": "x.bernoulli()",
        "multinomial": "x.multinomial(1)",
        "bernoulli_": "x.clone().bernoulli_()",
        "normal_": "x.clone().normal_()",
        "uniform_": "x.clone().uniform_()",
    },
    "In place": {
        "add_": "x.clone().add_(y)",
        "sub_": "x.clone().sub_(y)",
        "mul_": "x.clone().mul_(y)",
        "div_": "x.clone().div_(y)",
        **{
            f"{name}_": f"x.clone().{name}_()"
            for name in (*FUNCTIONS, "neg", "abs", "sign", "logical_not", "bitwise_not", "nan_to_num")
        },
        **{f"{name}_": f"x.clone().{name}_(y)" for name in IN_PLACE_BINARY},
        "addcmul_": "x.clone().addcmul_(x, y)",
        "addcdiv_": "x.clone().addcdiv_(x, y)",
        "lerp_": "x.clone().lerp_(y, 0.5)",
        "clamp_": "x.clone().clamp_(0, 1)",
        "zero_": "x.clone().zero_()",
        "fill_": "x.clone().fill_(1)",
        "copy_": "T.zeros_like(x).copy_(x)",
        "tril_": "x.clone().tril_()",
        "triu_": "x.clone().triu_()",
        "__setitem__": "(z := x.clone()).__setitem__(0, x[1]) or z",
        "index_add_": "x.clone().index_add_(0, classes, y)",
        "index_copy_": "x.clone().index_copy_(0, classes, y)",
        "index_fill_": "x.clone().index_fill_(0, classes, 1)",
        "index_put_": "x.clone().index_put_((classes,), y)",
        "masked_fill_": "x.clone().masked_fill_(mask, 1)",
        "masked_scatter_": "x.clone().masked_scatter_(mask, y)",
        "put_": "x.clone().put_(classes, y[0])",
        "scatter_": "x.clone().scatter_(1, classes.unsqueeze(1), y)",
        "scatter_add_": "x.clone().scatter_add_(1, classes.unsqueeze(1), y)",
    },
    "Conversion and copies": {
        "to": "x.float().to(T.float64)",
        "half": "x.half()",
        "bfloat16": "x.bfloat16()",
        "float": "x.double().float()",
        "double": "x.float().double()",
        "long": "x.float().long()",
        "int": "x.float().int()",
        "short": "x.float().short()",
        "char": "x.float().char()",
        "byte": "x.float().byte()",
        "bool": "x.float().bool()",
        "cpu": "x.cpu()",
        "pin_memory": "x.pin_memory()",
        "clone": "x.clone()",
        "contiguous": "x.t().contiguous()",
        "detach": "x.detach()",
        "detach_": "(x * 1).detach_()",
        "item": "x[0, 0].item()",
        "tolist": "x.tolist()",
        "numpy": "x.numpy(force=True)",
    },
}
# The operators of in-place methods.
IN_PLACE = {
    "add_": "+=",
    "sub_": "-=",
    "mul_": "*=",
    "div_": "/=",
    "floor_divide_": "//=",
    "remainder_": "%=",
    "pow_": "**=",
    "bitwise_and_": "&=",
    "bitwise_or_": "|=",
    "bitwise_xor_": "^=",
}
# Members of the stub that compute no tensor.
NOT_OPERATIONS = (
    "data",
    "backward",
    "grad",
    "is_inference",
    "is_tensor",
    "manual_seed",
    "record_stream",
    "requires_grad_",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "retain_grad",
)


def tensor_operations() -> Iterator[str]:
    """Yield the page that lists the operations of tensors."""
    signatures = stub_signatures()
    shown = {*CREATION, *(name for group in OPERATIONS.values() for name in group)}
    missing = sorted(signatures.keys() - shown - {*NOT_OPERATIONS})
    if missing:
        raise SystemExit(f"tools/pages.py has no example of the operations {', '.join(missing)}")
    accelerator.use("host")
    yield from """# Tensor operations

Every operation that creates, computes or copies tensors, with its dtypes. `make generate` runs each
operation with matrices of each dtype, with and without gradients, on the CPU and on a device of the host
driver, and writes the results here.

- **dtypes**: those for which the operation does not raise. Operands of two dtypes are promoted as in
  PyTorch.
- **gradient**: whether the operation is recorded for `backward`.
- **device**: *queued* means that the call returns before the device has run the operation; *waits* that it
  waits for the device, and so raises `GraphError` during a capture; *no work* that it returns a view or the
  tensor itself, if no copy is needed. A driver whose memory the CPU cannot access, such as `cuda`, supports
  only `empty`, `to`, `cpu` and `copy_` yet.

[Tensors](tensors.md) explains devices, streams and gradients, and [`interlock`](reference/interlock.md)
documents the arguments.

## Creation""".splitlines()
    rows = (
        (signatures.pop(name), dtypes_of(example), "no" if device_of(example) is None else "yes")
        for name, example in CREATION.items()
    )
    yield from table(("function", "dtypes", "on a device"), rows)
    for title, examples in OPERATIONS.items():
        yield ""
        yield f"## {title}"
        columns = ("operation", "dtypes", "gradient", "device")
        yield from table(columns, (operation_row(signatures[name], examples[name]) for name in examples))


def operation_row(signature: str, example: str) -> tuple[str, ...]:
    """Return the row of an operation: what its example does with each dtype and on a device."""
    is_operator = "." not in example and "[" not in example
    forms = "<br>".join(filter(None, (signature, f"`{example}`" if is_operator else "")))
    return forms, dtypes_of(example), "yes" if is_recorded(example) else "no", device_of(example) or "no"


def stub_signatures() -> dict[str, str]:
    """Return the forms of each operation: functions of interlock, and methods and operators of a tensor."""
    tree = ast.parse((STUBS / "tensor.pyi").read_text())
    (tensor,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    forms: dict[str, list[str]] = {}
    for prefix, body in (("x.", tensor.body), ("", tree.body)):
        for node in body:
            if not isinstance(node, ast.FunctionDef) or not is_operation(node):
                continue
            form = f"`{prefix}{node.name}{arguments_of(node)}`"
            if node.name in ("__getitem__", "__setitem__"):
                form = "`x[index]`" if node.name == "__getitem__" else "`x[index] = value`"
            elif node.name.startswith("__"):
                form = ""
            elif node.name in IN_PLACE:
                form += f"<br>`x {IN_PLACE[node.name]} y`"
            if form not in forms.setdefault(node.name, []):
                forms[node.name].append(form)
    return {name: "<br>".join(each) for name, each in forms.items()}


def is_operation(node: ast.FunctionDef) -> bool:
    """Return whether a definition of the stub takes or returns tensors and has a row of its own."""
    shown = {*CREATION, *(name for group in OPERATIONS.values() for name in group)}
    if node.name in shown:
        return True
    return (
        not node.name.startswith("_") and node.returns is not None and "Tensor" in ast.unparse(node.returns)
    )


def arguments_of(node: ast.FunctionDef) -> str:
    """Return the arguments of a definition without annotations; empty for a property."""
    if any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list):
        return ""
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    if arguments.vararg is not None:
        arguments.vararg.annotation = None
    arguments.args = [argument for argument in arguments.args if argument.arg != "self"]
    return f"({ast.unparse(arguments)})"


def operands(dtype: str, device: str = "cpu", requires_grad: bool = False) -> dict[str, Any]:
    """Return the names that the examples use."""
    options = {"dtype": getattr(interlock, dtype), "device": device}
    x, y = (interlock.ones(2, 2, **options).requires_grad_(requires_grad) for _ in range(2))
    classes = interlock.tensor([0, 1], device=device)
    mask = interlock.tensor([True, False], device=device)
    return {"T": interlock, "x": x, "y": y, "classes": classes, "mask": mask, "options": options}


def dtypes_of(example: str) -> str:
    """Return the dtypes for which an example does not raise."""
    found = tuple(dtype for dtype in DTYPES if succeeds(example, operands(dtype)))
    return DTYPE_GROUPS.get(found, ", ".join(found))


def is_recorded(example: str) -> bool:
    """Return whether the result of an example with operands that require grad requires grad."""
    if not succeeds(example, operands("float32", requires_grad=True)):
        return False
    result = eval(example, operands("float32", requires_grad=True))
    return bool(getattr(result, "requires_grad", False))


def device_of(example: str) -> str | None:
    """Return what an example does on a device; None if it raises there."""
    candidates = (operands(dtype, "host:0") for dtype in ("float32", "int64"))
    names = next((names for names in candidates if succeeds(example, names)), None)
    if names is None:
        return None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with interlock.no_grad(), interlock.Stream("host:0"), accelerator.Graph():
            is_queued = succeeds(example, names)
    # Capturing an example that queues nothing issues a warning about an empty graph.
    return ("no work" if caught else "queued") if is_queued else "waits"


def succeeds(example: str, names: dict[str, Any]) -> bool:
    """Return whether an example does not raise."""
    try:
        eval(example, names)
    except (interlock.errors.InterlockError, RuntimeError, TypeError):
        return False
    return True


# Comparison with PyTorch ------------------------------------------------------------------------------------

NAMES = ROOT / "tests" / "conformance" / "api"
NOT_PLANNED = """
## Not planned

- `torch.cuda`, `torch.mps`, `torch.xpu` and the namespaces of other devices: `interlock.accelerator`
  serves every driver.
- `torch.optim`, `torch.distributed` and the rest of `torch.nn` and `torch.utils`: interlock is no framework
  for training. It has the functions of `torch.nn.functional` and `torch.utils` that this page lists.
- `torch.compile`, `torch.fx`, `torch.jit` and `torch.export`: interlock has no compiler.
- The operations of `torch` that [Tensor operations](tensor_operations.md) does not list, except those of
  the [roadmap](roadmap.md).
"""


def differences() -> Iterator[str]:
    """Yield the page of intentional differences from PyTorch."""
    yield "# Differences from PyTorch"
    yield ""
    yield "Intentional differences from PyTorch. Generated by `make generate`."
    yield "[Departures from the design](../ARCHITECTURE.md#departures-from-the-design) lists further ones."
    yield ""
    yield "## Behaviour"
    yield ""
    yield "Generated from `docs/differences.json`."
    for difference in json.loads((ROOT / "docs" / "differences.json").read_text()):
        yield ""
        yield f"### {', '.join(f'`{name}`' for name in difference['names'])}"
        yield ""
        yield f"- PyTorch: {difference['pytorch']}"
        yield f"- interlock: {difference['interlock']}"
        yield f"- Reason: {difference['reason']}"
        yield f"- Test: `{difference['test']}`"
    yield ""
    yield "## Recorded cases"
    yield ""
    yield "Cases of `tests/conformance`, generated from `tests/conformance/intentional_differences.json`."
    yield ""
    entries = json.loads((ROOT / "tests" / "conformance" / "intentional_differences.json").read_text())
    if not entries:
        yield "None."
    for entry in entries:
        yield f"- `{entry['id']}` (known defect {entry['row']}): {entry['reason']}"


def compatibility() -> Iterator[str]:
    """Yield the page that compares each public name with PyTorch's."""
    recorded = json.loads((NAMES / "names.json").read_text())
    missing = set(json.loads((NAMES / "not_implemented.json").read_text()))
    entries = json.loads((NAMES / "intentional_differences.json").read_text())
    different = {entry["name"]: entry["reason"] for entry in entries}
    present = set(recorded["names"]) - missing - different.keys()
    version = recorded["version"].partition("+")[0]
    yield "# Compatibility with torch"
    yield ""
    yield f"The public names of PyTorch {version} in the namespaces that interlock implements, and whether"
    yield "interlock has them. A test compares each name. [Differences](differences.md) lists differences in"
    yield "behaviour, and [Coming from torch](migrating.md) what replaces other names. Generated by"
    yield "`make generate`."
    yield from table(
        ("", "names", "meaning"),
        (
            ("equal", str(len(present)), "the kind, the signature and the value are PyTorch's"),
            (
                "differs",
                str(len(different)),
                "the name exists, and its signature or value differs on purpose",
            ),
            ("missing", str(len(missing)), "the name does not exist yet"),
        ),
    )
    yield ""
    yield "## Differs"
    yield from table(
        ("name", "difference"), ((f"`torch.{name}`", reason) for name, reason in sorted(different.items()))
    )
    if missing:
        yield ""
        yield "## Missing"
        yield from by_module(missing)
    yield ""
    yield "## Equal"
    yield from by_module(present)
    yield from NOT_PLANNED.splitlines()


def by_module(names: set[str]) -> Iterator[str]:
    """Yield the names, in one paragraph for each module or class."""
    modules: dict[str, list[str]] = {}
    for name in sorted(names):
        modules.setdefault(name.rpartition(".")[0], []).append(name)
    for module, members in sorted(modules.items()):
        yield ""
        yield f"### `{'.'.join(filter(None, ('torch', module)))}`"
        yield ""
        yield ", ".join(f"`{name.rpartition('.')[2]}`" for name in members)
