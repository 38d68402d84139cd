"""Differential fuzz: random tensor programs, compared with NumPy and, with BENCH_PYTHON, with PyTorch.

Each step is compared with NumPy, applied to the elements of its operands. After a program, a co-process
runs it on PyTorch and compares each step: error or not, dtype, shape, strides, `requires_grad`, `is_leaf`
and elements, first and second gradients among them. `tolerances.py` has the tolerances. An action is one
step.

A tenth of the programs has other integers, and a third float16 and bfloat16 tensors, and no gradients.

Products of matrices run under random precision flags. If their record says that a kernel rounded the inputs,
the result is compared with NumPy's product of rounded inputs instead of PyTorch's. Attention runs under
random switches of its kernels.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from typing import Any, NamedTuple

import interlock
import interlock.nn.functional
import numpy as np
from interlock import accelerator, backends, dispatch

from tests.fuzz import numpy_side
from tests.fuzz.actions import Actions
from tests.fuzz.harness import ROOT
from tests.fuzz.expressions import SQUARES, SUMS, drawn
from tests.fuzz.programs import (
    DTYPES,
    HALVES,
    IN_PLACE,
    INTEGERS,
    PRODUCTS,
    REDUCTIONS,
    UNARY,
    Step,
    decoded,
    dtype_of,
    history_of,
    result_of,
    run_step,
    values_of,
)
from tests.fuzz.tolerances import difference

MEMORY = 256 << 20
MOST_STEPS = 16
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
ARITHMETIC = ("add", "sub", "mul", "div", "pow")
SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e30, 1e-30)
SHAPES: tuple[list[int], ...] = (
    [],
    [1],
    [3],
    [2, 3],
    [3, 2],
    [3, 3],
    [1, 3],
    [2, 1, 3],
    [0],
    [0, 3],
    [2, 0],
    [4],
    [2, 2],
)


class Setting(NamedTuple):
    """Flags, and the precisions to which products round float32 inputs under them."""

    flags: dict[str, Any]
    on_devices: str
    on_cpu: str


MODEL = {"mkldnn.numerics": "model"}
SETTINGS = (
    Setting({}, "float32", "float32"),
    Setting(MODEL, "float32", "float32"),
    Setting({"cuda.matmul.fp32_precision": "tf32"}, "tf32", "float32"),
    Setting({"cuda.matmul.allow_tf32": True, "cuda.blas_library": "cublaslt"}, "tf32", "float32"),
    Setting({"cuda.matmul.fp32_precision": "ieee", "fp32_precision": "tf32", **MODEL}, "float32", "tf32"),
    Setting({"fp32_precision": "tf32"}, "tf32", "float32"),
    Setting({"fp32_precision": "bf16", **MODEL}, "float32", "bf16"),
    Setting({"mkldnn.fp32_precision": "bf16", **MODEL}, "float32", "bf16"),
    Setting(
        {"mkldnn.matmul.fp32_precision": "tf32", "mkldnn.fp32_precision": "bf16", **MODEL}, "float32", "tf32"
    ),
    Setting({"mkldnn.matmul.fp32_precision": "bf16", "mkldnn.enabled": False, **MODEL}, "float32", "float32"),
)


# Switches of attention that leave a kernel for every call.
SWITCHES: tuple[dict[str, Any], ...] = (
    {},
    {"cuda.flash_sdp": False},
    {"cuda.mem_efficient_sdp": False},
    {"cuda.flash_sdp": False, "cuda.mem_efficient_sdp": False, "cuda.cudnn_sdp": False},
    {
        "cuda.sdp_priority": (
            "math",
            "overrideable",
            "cudnn_attention",
            "efficient_attention",
            "flash_attention",
        )
    },
)


class PyTorch:
    """The co-process with PyTorch."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        """Start the process."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.Popen(
            [self.python, "-m", "tests.fuzz.torch_side"],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def judge(self, program: Program) -> tuple[int, list[tuple[int, str]]]:
        """Return the number of equal steps and the differing steps; neither if PyTorch crashes."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([program.steps, program.results, program.finals()]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            agreed, differences = json.loads(line)
            return agreed, [(number, text) for number, text in differences]
        status = self.process.wait(30)
        if status != -signal.SIGSEGV:
            raise RuntimeError(f"the process with PyTorch has ended with status {status}")
        self.process = self.start()
        return 0, []

    def end(self) -> None:
        """Stop the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


class Program:
    """A program that is extended step by step, depending on its tensors."""

    def __init__(self, actions: Actions) -> None:
        self.actions = actions
        self.random = actions.random
        self.device = self.random.choice(("cpu", "cpu", "host:0", "host:1"))
        others = self.random.choices(((), (*HALVES, *HALVES), INTEGERS), (55, 35, 10))[0]
        self.dtypes = (*DTYPES, *others) if others else DTYPES
        self.steps: list[Step] = []
        self.results: list[dict[str, Any]] = []
        self.tensors: list[Any] = []
        self.queued: list[Step] = []
        """Steps that follow a drawn one."""

    @property
    def has_halves(self) -> bool:
        """Whether the program may have tensors of halves. It records no gradients then."""
        return "float16" in self.dtypes

    def text(self, end: int) -> str:
        """Return the relevant steps for a report."""
        return f"on {self.device}: " + "; ".join(
            f"t{self.firsts[number]} = {step}" for number, step in enumerate(self.steps[: end + 1])
        )

    @property
    def firsts(self) -> list[int]:
        """The number of the first tensor of each step."""
        found, number = [], 0
        for result in self.results:
            found.append(number)
            number += len(result["made"])
        return [*found, number]

    def finals(self) -> list[Any]:
        """Return all tensors after the last step."""
        return [result_of(tensor) for tensor in self.tensors]

    # Drawing steps

    def choose(self, *, floating: bool = False) -> int | None:
        """Return the number of a tensor."""
        numbers = [
            number
            for number, tensor in enumerate(self.tensors)
            if tensor is not None and (not floating or tensor.dtype.is_floating_point)
        ]
        if not numbers:
            return None
        # Later tensors have a longer history.
        return self.random.choice(numbers[-5:] if self.random.random() < 0.6 else numbers)

    def leaf(self) -> Step:
        """Return a step that creates a tensor from data."""
        return self.filled(
            self.random.choice(SHAPES), self.random.choice((*self.dtypes, "float32", "float64"))
        )

    def filled(self, shape: list[int], dtype: str, *, special: bool = True) -> Step:
        """Return a step that creates a tensor of a shape and a dtype, of special numbers if `special`."""
        floating = dtype not in ("int64", "bool", *INTEGERS)
        special = special and floating and self.random.random() < 0.25

        def element() -> Any:
            if dtype == "bool":
                return self.random.random() < 0.5
            if dtype == "uint8":
                return self.random.choice((0, 1, 2, 3, 250, self.random.randrange(256)))
            if dtype in ("int64", *INTEGERS):
                return self.random.choice((0, 1, 2, -1, 3, 7, -5, self.random.randrange(-9, 10)))
            if special and self.random.random() < 0.4:
                return self.random.choice(SPECIAL)
            return round(self.random.uniform(-3, 3), 3)

        def nested(sizes: list[int]) -> Any:
            return element() if not sizes else [nested(sizes[1:]) for _ in range(sizes[0])]

        requires_grad = floating and not self.has_halves and self.random.random() < 0.6
        if 0 in shape:
            return Step("zeros", [shape, {"dtype": dtype}, self.device])
        return Step("leaf", [nested(shape), {"dtype": dtype}, requires_grad, self.device])

    def number(self) -> Any:
        """Return a number as an operand."""
        numbers = (2, 0, 1, -1, 3, 0.5, -2.0, True, 1.5, 0.0, 1e300, float("inf"), float("nan"))
        # Numbers that halves round.
        return self.random.choice((*numbers, 0.3, 0.3, -1.1) if self.has_halves else numbers)

    def like(self, number: int) -> int:
        """Return another tensor, mostly one that broadcasts."""
        shape = list(self.tensors[number].shape)
        fitting = [
            index
            for index, tensor in enumerate(self.tensors)
            if tensor is not None and broadcasts(shape, list(tensor.shape))
        ]
        if fitting and self.random.random() < 0.9:
            return self.random.choice(fitting)
        other = self.choose()
        return number if other is None else other

    def next_step(self) -> Step:
        """Return a step that mostly succeeds."""
        if self.queued:
            return self.queued.pop(0)
        number = self.choose()
        if number is None or self.random.random() < 0.12:
            return self.random.choice((self.leaf, self.leaf, self.leaf, self.creation))()
        step = self.random.choices(
            (
                self.unary,
                self.binary,
                self.view,
                self.reduction,
                self.in_place,
                self.copy,
                self.joining,
                self.history,
                self.product,
                self.attention,
                self.expression,
                self.convolution,
                self.lstm,
            ),
            (14, 22, 18, 14, 12, 6, 6, 0 if self.has_halves else 6, 16, 8, 60, 4, 2),
        )[0](number)
        return step._replace(no_grad=self.random.random() < (0.3 if step.name in IN_PLACE else 0.08))

    def expression(self, number: int) -> Step:
        """Return an operation of the table of expressions."""
        name, source = drawn(self.random, list(self.tensors[number].shape))
        operands = [number, self.like(number), self.like(number)]
        return Step(name, [source, self.device, *({"t": each} for each in operands)])

    def convolution(self, number: int) -> Step:
        """Return a convolution of new tensors of any layout, after the steps that create them."""
        choice = self.random.choice
        dtype = choice(HALVES if self.has_halves else ("float32", "float32", "float64"))
        groups, channels, filters = choice(((1, 1, 2), (1, 2, 1), (2, 2, 4), (2, 4, 2), (3, 3, 3)))
        batch = choice(([], [1], [2], [0]))
        # Whether a product with infinities is skipped at a border depends on the algorithm.
        image = [*batch, channels, choice((3, 4, 5)), choice((3, 4))]
        x, count = self.operand(image, dtype, self.firsts[-1], special=False)
        height, width = choice((1, 2, 3)), choice((1, 2, 3))
        weight, count = self.operand(
            [filters, channels // groups, height, width], dtype, count, special=False
        )
        bias: Any = None
        if self.random.random() < 0.5:
            one, count = self.operand([filters], dtype, count, special=False)
            bias = {"t": one}
        stride: Any = choice((1, 1, 2, [2, 1]))
        padding: Any = choice((0, 0, 1, [1, 0], "valid", *(("same",) if stride == 1 else ())))
        options = [stride, padding, choice((1, 1, 2)), groups]
        flags = choice(({}, {"cudnn.enabled": False}, {"cudnn.deterministic": True}, {"cudnn.benchmark": True}))
        exact = {**flags, "cudnn.conv.fp32_precision": "ieee"}
        self.queued.append(Step("convolution", [{"t": x}, {"t": weight}, bias, *options], flags=exact))
        return self.queued.pop(0)

    def lstm(self, number: int) -> Step:
        """Return recurrent layers of new tensors of any layout, after the steps that create them."""
        choice = self.random.choice
        dtype = choice(HALVES if self.has_halves else ("float32", "float32", "float64"))
        steps, batch, features, size = choice((1, 3)), choice((1, 2)), choice((1, 3)), choice((1, 2))
        layers, batch_first, has_biases = choice((1, 2)), choice((False, True)), choice((False, True))
        shapes = [[batch, steps, features] if batch_first else [steps, batch, features]]
        shapes += [[layers, batch, size]] * 2
        for layer in range(layers):
            shapes += [[4 * size, features if layer == 0 else size], [4 * size, size]]
            shapes += [[4 * size]] * 2 if has_biases else []
        numbers, count = [], self.firsts[-1]
        for shape in shapes:
            one, count = self.operand(shape, dtype, count, special=False)
            numbers.append({"t": one})
        exact = {"cudnn.rnn.fp32_precision": "ieee"}
        arguments: list[Any] = [*numbers[:3], numbers[3:], layers, batch_first]
        self.queued.append(Step("lstm", arguments, flags=exact))
        return self.queued.pop(0)

    def creation(self) -> Step:
        """Return a step that creates a tensor without data."""
        way = self.random.randrange(4)
        number = self.choose()
        if way == 0 or number is None:
            return Step("full", [self.random.choice(SHAPES), self.number(), self.device])
        if way == 1:
            return Step(
                "arange", [0, self.random.choice((0, 1, 5)), self.random.choice((1, 2, 0.5)), self.device]
            )
        return Step(self.random.choice(("zeros_like", "ones_like")), [{"t": number}])

    def unary(self, number: int) -> Step:
        """Return an elementary function."""
        if self.tensors[number].dtype is interlock.bool:
            return Step("logical_not", [{"t": number}])
        return Step(self.random.choice(UNARY), [{"t": number}])

    def binary(self, number: int) -> Step:
        """Return arithmetic, a comparison or a product of matrices."""
        way = self.random.random()
        tensor = self.tensors[number]
        if way < 0.15:
            return Step("matmul", [{"t": number}, {"t": self.product_of(number)}], flags=self.flags())
        if way < 0.3:
            return Step(
                self.random.choice(("radd", "rsub", "rmul", "rdiv", "rpow")), [{"t": number}, self.number()]
            )
        other: Any = {"t": self.like(number)} if way < 0.8 else self.number()
        if way < 0.35:
            alpha = self.random.choice((1, 2, -1, 0.5) if tensor.dtype.is_floating_point else (1, 2, -1))
            if dtype_of(tensor) in HALVES:
                alpha = self.random.choice((alpha, 0.3))
            return Step(self.random.choice(("add alpha", "sub alpha")), [{"t": number}, other, alpha])
        if way < 0.45 or tensor.dtype is interlock.bool:
            return Step(self.random.choice(COMPARISONS), [{"t": number}, other])
        return Step(self.random.choice(ARITHMETIC), [{"t": number}, other])

    def product_of(self, number: int) -> int:
        """Return a tensor for the right side of a matrix product."""
        tensor = self.tensors[number]
        fitting = [
            index
            for index, other in enumerate(self.tensors)
            if other is not None
            and other.ndim
            and tensor.ndim
            and tensor.shape[-1] == other.shape[max(other.ndim - 2, 0)]
            and tensor.dtype is other.dtype
        ]
        return self.random.choice(fitting) if fitting else self.like(number)

    def flags(self) -> dict[str, Any]:
        """Return flags for a product."""
        return self.random.choice(SETTINGS).flags

    def product(self, number: int) -> Step:
        """Return a product of new tensors of any layout, after the steps that create them."""
        name = self.random.choice(tuple(PRODUCTS))
        halves = HALVES * 3 if self.has_halves else ()
        dtype = self.random.choice(("float32", "float32", "float32", "float64", "int64", *halves))
        rows, columns = self.random.randrange(1, 9), self.random.randrange(1, 9)
        depth = self.random.choice((0, 1, 2, 3, 7, 16, 24))
        batch = [self.random.choice((0, 1, 2))] if name == "bmm" else []
        left = [*batch, rows, depth]
        right = [*batch, depth, columns] if name != "linear" else [columns, depth]
        if name in ("matmul", "linear") and self.random.random() < 0.4:
            left = self.random.choice(([depth], [2, rows, depth], [1, 2, rows, depth]))
        if name == "matmul" and self.random.random() < 0.4:
            right = self.random.choice(([depth], [2, depth, columns], [2, 1, depth, columns]))
        count = self.firsts[-1]
        one, count = self.operand(left, dtype, count)
        other, count = self.operand(right, dtype, count)
        arguments: list[Any] = [{"t": one}, {"t": other}]
        if name == "addmm" or (name == "linear" and self.random.random() < 0.7):
            shape = (
                self.random.choice(([rows, columns], [1, columns], [columns]))
                if name == "addmm"
                else [columns]
            )
            added, count = self.operand(shape, dtype, count)
            arguments.insert(0 if name == "addmm" else 2, {"t": added})
        if name == "addmm":
            factors = (1, 2, -1, 0, 0.5) if dtype != "int64" else (1, 2, -1, 0)
            arguments += [self.random.choice(factors), self.random.choice(factors)]
        self.queued.append(Step(name, arguments, self.random.random() < 0.08, self.flags()))
        return self.queued.pop(0)

    def attention(self, number: int) -> Step:
        """Return an attention of new tensors of any layout, after the steps that create them."""
        choice = self.random.choice
        dtype = choice(("float16", "bfloat16") if self.has_halves else ("float32", "float32", "float64"))
        batch = choice(([1], [2], [2], []))
        shared, repeats = choice(((1, 1), (2, 1), (2, 2), (1, 3)))
        length, keys, size = self.random.randrange(1, 6), self.random.randrange(1, 6), choice((1, 2, 4))
        value_size = size if self.random.random() < 0.8 else choice((1, 3))
        heads = [*batch, shared * repeats]
        shapes = ([*heads, length, size], [*batch, shared, keys, size], [*batch, shared, keys, value_size])
        numbers, count = [], self.firsts[-1]
        for shape in shapes:
            one, count = self.operand(shape, dtype, count, special=False)
            numbers.append({"t": one})
        mask: Any = None
        way = self.random.random()
        if way < 0.4:
            sizes = choice(
                ([length, keys], [1, keys], [*[1 for _ in heads], length, keys], [*heads, length, 1])
            )
            one, count = self.operand(sizes, choice(("bool", dtype)), count, special=False)
            mask = {"t": one}
        is_causal = way > 0.7
        # PyTorch's kernel of the CPU masks before it scales: with a negative scale the result is NaN.
        scale = choice((None, None, 0.5) if is_causal else (None, None, 0.5, -0.3))
        options = [mask, is_causal, scale, repeats > 1]
        self.queued.append(
            Step("attention", [*numbers, *options], self.random.random() < 0.08, choice(SWITCHES))
        )
        return self.queued.pop(0)

    def operand(self, shape: list[int], dtype: str, count: int, *, special: bool = True) -> tuple[int, int]:
        """Queue the steps of a tensor of any layout. Return its number and the number of the next tensor.

        Its elements may be infinite or NaN if `special`.
        """
        layout = self.random.choice(("contiguous", "transposed", "every second", "expanded"))
        last = len(shape) - 1
        stored = list(shape)
        views: list[tuple[str, list[Any]]] = []
        if layout == "transposed" and last:
            stored[-1], stored[-2] = stored[-2], stored[-1]
            views.append(("transpose", [-1, -2]))
        elif layout == "every second":
            stored[last] *= 2
            every = [{"slice": [None, None, None]}] * last
            views.append(("getitem", [{"tuple": [*every, {"slice": [None, None, 2]}]}]))
        elif layout == "expanded":
            stored[self.random.randrange(len(shape))] = 1
            views.append(("expand", [shape]))
        self.queued.append(self.filled(stored, dtype, special=special))
        for number, (name, arguments) in enumerate(views, count):
            self.queued.append(Step(name, [{"t": number}, *arguments]))
        return count + len(views), count + len(views) + 1

    def dim(self, number: int) -> int:
        """Return a dimension of a tensor; rarely an invalid one."""
        rank = self.tensors[number].ndim
        if not rank or self.random.random() < 0.04:
            return self.random.choice((0, -1, 5))
        return self.random.randrange(-rank, rank)

    def view(self, number: int) -> Step:
        """Return a view, of any kind."""
        tensor = self.tensors[number]
        rank, shape = tensor.ndim, list(tensor.shape)
        this = {"t": number}
        name = self.random.choice(
            (
                "t",
                "T",
                "transpose",
                "permute",
                "reshape",
                "view",
                "flatten",
                "unsqueeze",
                "squeeze",
                "expand",
                "select",
            )
            + ("getitem",) * 6
            + ("detach",)
        )
        if name in ("t", "T") and rank > 2:
            name = "transpose"
        if name == "transpose":
            return Step(name, [this, self.dim(number), self.dim(number)])
        if name == "permute":
            dims = list(range(rank))
            self.random.shuffle(dims)
            return Step(name, [this, dims])
        if name in ("reshape", "view"):
            return Step(name, [this, self.sizes(int(tensor.numel()))])
        if name == "unsqueeze":
            return Step(name, [this, self.random.randrange(-rank - 1, rank + 1)])
        if name == "squeeze":
            return Step(name, [this] if self.random.random() < 0.5 else [this, self.dim(number)])
        if name == "expand":
            sizes = [
                self.random.choice((size, -1)) if size != 1 else self.random.choice((1, 2, 3))
                for size in shape
            ]
            return Step(name, [this, [2, *sizes] if self.random.random() < 0.3 else sizes])
        if name == "select":
            return Step(name, [this, self.dim(number), self.random.choice((0, -1, 0, 1))])
        if name == "getitem":
            return Step(name, [this, self.key(number)])
        return Step(name, [this])

    def sizes(self, count: int) -> list[int]:
        """Return a shape for a number of elements; one size may be -1."""
        if count == 0:
            return self.random.choice(([0], [0, 2], [3, 0], [-1]))
        sizes, rest = [], count
        for factor in (2, 3, 2):
            if rest % factor == 0 and self.random.random() < 0.6:
                sizes.append(factor)
                rest //= factor
        sizes.append(rest)
        self.random.shuffle(sizes)
        if self.random.random() < 0.25:
            sizes[self.random.randrange(len(sizes))] = -1
        return sizes

    def key(self, number: int) -> Any:
        """Return an index: integers, slices, None, an ellipsis, lists, masks and tensors."""
        tensor = self.tensors[number]
        shape = list(tensor.shape)
        masks = [
            index
            for index, other in enumerate(self.tensors)
            if other is not None
            and other.dtype is interlock.bool
            and list(other.shape) == shape[: other.ndim]
        ]
        if masks and self.random.random() < 0.4:
            return {"t": self.random.choice(masks)}
        parts: list[Any] = []
        for size in shape[: self.random.randrange(len(shape) + 1)]:
            way = self.random.randrange(7)
            if way == 0 and size:
                parts.append(self.random.randrange(-size, size))
            elif way == 1:
                parts.append({"slice": [self.random.choice((None, 0, 1, -1)), None, None]})
            elif way == 2:
                parts.append({"slice": [None, self.random.choice((1, 2, -1)), self.random.choice((1, 2))]})
            elif way == 3 and size:
                parts.append([self.random.randrange(-size, size) for _ in range(self.random.randrange(1, 4))])
            else:
                parts.append({"slice": [None, None, None]})
        if self.random.random() < 0.2:
            parts.insert(self.random.randrange(len(parts) + 1), None)
        if self.random.random() < 0.15 and len(parts) < len(shape):
            parts.append({"ellipsis": 0})
        return parts[0] if len(parts) == 1 and not isinstance(parts[0], list) else {"tuple": parts}

    def reduction(self, number: int) -> Step:
        """Return a reduction, a softmax or a loss."""
        tensor = self.tensors[number]
        this = {"t": number}
        way = self.random.random()
        if way < 0.2:
            return Step(self.random.choice(("softmax", "log_softmax")), [this, self.dim(number)])
        if way < 0.3:
            return Step(self.random.choice(("max", "min")), [this])
        if way < 0.4:
            return self.loss(number)
        name = self.random.choice(REDUCTIONS)
        dim: Any = self.random.choice((None, self.dim(number), self.dim(number)))
        if name in ("sum", "mean", "amax", "amin") and tensor.ndim > 1 and self.random.random() < 0.3:
            dim = self.random.choice(([0, 1], [-1], [0, -1], []))
        arguments: list[Any] = [this, dim, self.random.random() < 0.4]
        if name in ("sum", "mean") and self.random.random() < 0.2:
            arguments.append({"dtype": self.random.choice(("float32", "float64", "int64"))})
        return Step(name, arguments)

    def loss(self, number: int) -> Step:
        """Return the cross entropy with the class indices of another tensor."""
        tensor = self.tensors[number]
        targets = [
            index
            for index, other in enumerate(self.tensors)
            if other is not None and other.dtype is interlock.int64 and other.ndim == max(tensor.ndim - 1, 0)
        ]
        target = self.random.choice(targets) if targets else self.like(number)
        return Step(
            "cross_entropy", [{"t": number}, {"t": target}, self.random.choice(("mean", "sum", "none"))]
        )

    def in_place(self, number: int) -> Step:
        """Return an operation that writes into a tensor."""
        name = self.random.choice(IN_PLACE)
        this = {"t": number}
        if name == "zero_":
            return Step(name, [this])
        other: Any = {"t": self.like(number)} if self.random.random() < 0.6 else self.number()
        if name == "copy_":
            return Step(name, [this, {"t": self.like(number)}])
        if name == "setitem":
            return Step(name, [this, self.key(number), other])
        return Step(name, [this, other])

    def copy(self, number: int) -> Step:
        """Return a copy, possibly of another dtype."""
        halves = ("half", "bfloat16") if self.has_halves else ()
        name = self.random.choice(("clone", "contiguous", "float", "double", "long", "bool", "to", *halves))
        if name == "to":
            return Step(name, [{"t": number}, {"dtype": self.random.choice(self.dtypes)}])
        return Step(name, [{"t": number}])

    def joining(self, number: int) -> Step:
        """Return a step that joins tensors."""
        count = self.random.randrange(1, 4)
        numbers = [number, *(self.like(number) for _ in range(count - 1))]
        tensors = [{"t": each} for each in numbers]
        return Step(self.random.choice(("cat", "stack")), [tensors, self.dim(number)])

    def history(self, number: int) -> Step:
        """Return a step of autograd."""
        this = {"t": number}
        way = self.random.randrange(6)
        floating = self.choose(floating=True)
        if way == 0 and floating is not None:
            return Step("requires_grad_", [{"t": floating}])
        if way == 1:
            return Step("retain_grad", [this])
        if way == 2:
            return Step("backward", [this, self.random.random() < 0.7])
        if way == 3:
            return Step("grad", [this])
        return self.gradients()

    def gradients(self) -> Step:
        """Return first or second gradients of a tensor by the leaves."""
        output = self.choose(floating=True)
        leaves = [
            index
            for index, tensor in enumerate(self.tensors)
            if tensor is not None
            and history_of(tensor, "requires_grad") is True
            and (history_of(tensor, "is_leaf") is True or self.random.random() < 0.2)
        ]
        if output is None or not leaves:
            return self.leaf()
        inputs = [
            {"t": each} for each in self.random.sample(leaves, min(len(leaves), self.random.randrange(1, 4)))
        ]
        if self.random.random() < 0.5:
            return Step("second", [{"t": output}, inputs])
        return Step("gradients", [{"t": output}, inputs, self.random.random() < 0.4])

    # Running steps

    def do(self, step: Step) -> str | None:
        """Run a step on interlock and return the difference from NumPy's result, if any."""
        wrong = self.actions.fault()
        operands = [self.array(argument) for argument in step.arguments]
        scale = self.scale(step)
        self.steps.append(step)
        calls = dispatch.record()
        try:
            with backends.override(**(step.flags or {})), calls:
                made = run_step(interlock, step, self.tensors)
        except Exception as error:
            # A part of the expression that was queued before may fail, too.
            self.discard_errors()
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            self.results.append({"error": text, "made": [None], "scale": scale})
            self.tensors.append(None)
            return "planted" if wrong else None
        try:
            results = [result_of(tensor) for tensor in made]
        except interlock.AcceleratorError as error:
            # An operation on a device fails there, and the first read of its result raises. So does the read of
            # another tensor that it has written.
            self.discard_errors()
            self.results.append(
                {"error": f"{type(error).__name__}: {error}".splitlines()[0], "made": [None], "scale": scale}
            )
            self.tensors.append(None)
            return "planted" if wrong else None
        except Exception as error:
            self.results.append({"error": "", "made": [None] * len(made), "scale": scale})
            self.tensors += [None] * len(made)
            return f"the result can't be read: {type(error).__name__}: {error}"
        inputs = self.inputs(step, calls)
        self.results.append({"error": "", "made": results, "scale": scale, "inputs": inputs})
        self.tensors += made
        if wrong:
            return "planted"
        if step.name not in PRODUCTS:
            return self.compared_with_numpy(step, operands, made, scale)
        self.actions.add(f"products, inputs {inputs}")
        expected = self.expected_inputs(step)
        if [call.inputs for call in calls] != [expected]:
            return f"recorded {list(calls)} instead of inputs {expected}"
        if inputs != "float32":
            for place in PRODUCTS[step.name]:
                operands[place] = numpy_side.rounded(operands[place], inputs)
        return self.compared_with_numpy(step, operands, made, scale)

    def discard_errors(self) -> None:
        """Wait for the device and discard the errors of its work."""
        if self.device != "cpu":
            with contextlib.suppress(interlock.AcceleratorError):
                accelerator.synchronize(self.device)

    def inputs(self, step: Step, calls: dispatch.Recording) -> str:
        """Return the precision to which a recorded product has rounded its inputs, "float32" without one."""
        return (calls[0].inputs if step.name in PRODUCTS and len(calls) else None) or "float32"

    def expected_inputs(self, step: Step) -> str | None:
        """Return the precision that the flags of a product request, None for other inputs than float32."""
        tensor = self.tensors[step.arguments[PRODUCTS[step.name][0]]["t"]]
        if tensor.dtype is not interlock.float32:
            return None
        setting = next(setting for setting in SETTINGS if setting.flags == step.flags)
        return setting.on_cpu if tensor.device.type == "cpu" else setting.on_devices

    def array(self, argument: Any) -> Any:
        """Return an argument for NumPy."""
        if isinstance(argument, list):
            return [self.array(each) for each in argument]
        if isinstance(argument, dict):
            if "t" in argument:
                tensor = self.tensors[argument["t"]]
                return None if tensor is None else values_of(tensor)
            if "tuple" in argument:
                return tuple(self.array(each) for each in argument["tuple"])
            if "dtype" in argument:
                return argument["dtype"]
        return decoded(interlock, argument, self.tensors)

    def scale(self, step: Step) -> float:
        """Return the largest finite element of the operands; for sums and products times their number."""
        if step.name in PRODUCTS:
            return self.scale_of_product(step)
        largest, count = 0.0, 1
        for argument in step.arguments:
            each = self.tensors[argument["t"]] if isinstance(argument, dict) and "t" in argument else None
            if each is None or not each.numel():
                continue
            array = np.abs(values_of(each).astype("float64"))
            finite = array[np.isfinite(array)]
            own = float(finite.max()) if finite.size else 0.0
            largest, count = max(largest, own), max(count, array.size)
        if step.name in ("sum", "mean", "cross_entropy"):
            return largest * count
        if step.name in (SUMS, SQUARES, "convolution"):
            # Of products of two elements.
            return max(largest, largest**2) * count
        if step.name in ("softmax",):
            return 1.0
        if step.name in ("sin", "cos", "log_softmax"):
            return max(largest, 1.0)
        return largest if step.name not in ("pow", "rpow", "exp") else 0.0

    def scale_of_product(self, step: Step) -> float:
        """Return the largest possible sum of a product of matrices, and of the addend."""
        values = [self.array(each) for each in step.arguments if isinstance(each, dict)]
        if any(each is None for each in values):
            return 0.0
        arrays = [np.abs(each.astype("float64")) for each in values]
        largest = [float(np.max(array, initial=0.0, where=np.isfinite(array))) for array in arrays]
        numbers = [abs(number) for number in step.arguments if not isinstance(number, dict)]
        one, other = PRODUCTS[step.name]
        depth = arrays[one].shape[-1] if arrays[one].ndim else 1
        factor = float(max([1, *numbers]))
        product = largest[one] * largest[other] * float(max(depth, 1)) * factor
        return product + sum(largest) * factor if len(arrays) > 2 else product

    def compared_with_numpy(
        self, step: Step, operands: list[Any], made: list[Any], scale: float
    ) -> str | None:
        """Return the difference of a result from NumPy's."""
        if len(made) != 1 or made[0] is None or self.dtypes[-1] in INTEGERS or (step.name == "getitem" and mixes(step.arguments[1])):
            return None
        if step.name.endswith("alpha") and made[0].dtype is interlock.bool:
            # NumPy computes in integers, and the conversion of a negative one is True.
            return None
        got = values_of(made[0])
        if step.name in COMPARISONS and dtype_of(self.tensors[step.arguments[0]["t"]]) in HALVES:
            # A comparison with halves rounds the number; NumPy's does not.
            dtype = dtype_of(self.tensors[step.arguments[0]["t"]])
            operands = [numpy_side.stored(each, dtype) if type(each) is float else each for each in operands]
        try:
            want = numpy_side.answer(step, operands)
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            # NumPy accepts less, such as no negative powers of integers; PyTorch is the reference.
            return None
        if want is None:
            return None
        want = np.asarray(want)
        if got.dtype.kind == "i" and any(
            isinstance(each, np.ndarray) and each.dtype.kind == "f" for each in operands
        ):
            # The conversion of numbers out of the range of integers is undefined.
            return None
        if list(want.shape) != list(got.shape):
            return f"NumPy: shape {list(got.shape)} instead of {list(want.shape)}"
        with np.errstate(all="ignore"):
            narrowed = want.dtype.kind == "f" and got.dtype.kind == "f" and want.dtype != got.dtype
            dtype = dtype_of(made[0])
            want = numpy_side.stored(want, dtype) if dtype in HALVES else want.astype(got.dtype)
            reported = difference(step.name, got.reshape(-1), want.reshape(-1), scale, dtype)
        if reported and narrowed and got.dtype == np.float32:
            # NumPy computes mixed dtypes in float64, where interlock and PyTorch compute in float32.
            return None
        return f"NumPy: {reported}" if reported else None


def mixes(key: Any) -> bool:
    """Return whether an index has integers beside lists, which NumPy broadcasts and PyTorch selects first."""
    parts = key["tuple"] if isinstance(key, dict) and "tuple" in key else [key]
    return any(isinstance(part, int) for part in parts) and any(isinstance(part, list) for part in parts)


def broadcasts(one: list[int], other: list[int]) -> bool:
    """Return whether two shapes broadcast."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(size == another or 1 in (size, another) for size, another in pairs)


def run(actions: Actions) -> None:
    """Run `actions.count` steps."""
    accelerator.use("host", devices=2, memory=MEMORY)
    python = os.environ.get("BENCH_PYTHON")
    torch = PyTorch(python) if python else None
    program, length = Program(actions), 0
    for number in actions:
        if not length:
            program, length = Program(actions), actions.random.randrange(3, MOST_STEPS)
        step = program.next_step()
        actions.doing(f"{program.text(len(program.steps))}; {step}")
        reported = program.do(step)
        if reported:
            actions.wrong(f"{step.name}: {reported}; {program.text(len(program.steps))}")
            length = 0
            continue
        length -= 1
        if not length or number == actions.count:
            judge(actions, torch, program)
            length = 0
    if torch is not None:
        torch.end()


def judge(actions: Actions, torch: PyTorch | None, program: Program) -> None:
    """Compare a finished program with PyTorch."""
    actions.add("errors", sum(bool(result["error"]) for result in program.results))
    if torch is None:
        return
    agreed, differences = torch.judge(program)
    actions.add("agree with PyTorch", agreed)
    for number, text in differences:
        actions.wrong(f"{program.steps[number].name}: PyTorch: {text}; {program.text(number)}")
