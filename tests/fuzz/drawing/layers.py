"""The draws of products of matrices, attention, convolutions and recurrent layers, and of their flags.

The operands are new tensors of any layout; the steps that create them precede the drawn step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.fuzz.drawing.state import Drawing
from tests.fuzz.programs import HALVES, PRODUCTS, Step


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


def product_flags(drawing: Drawing) -> dict[str, Any]:
    """Return flags for a product."""
    return drawing.random.choice(SETTINGS).flags


def product(drawing: Drawing, number: int) -> Step:
    """Return a product of new tensors of any layout, after the steps that create them."""
    name = drawing.random.choice(tuple(PRODUCTS))
    halves = HALVES * 3 if drawing.has_halves else ()
    dtype = drawing.random.choice(("float32", "float32", "float32", "float64", "int64", *halves))
    rows, columns = drawing.random.randrange(1, 9), drawing.random.randrange(1, 9)
    depth = drawing.random.choice((0, 1, 2, 3, 7, 16, 24))
    batch = [drawing.random.choice((0, 1, 2))] if name == "bmm" else []
    left = [*batch, rows, depth]
    right = [*batch, depth, columns] if name != "linear" else [columns, depth]
    if name in ("matmul", "linear") and drawing.random.random() < 0.4:
        left = drawing.random.choice(([depth], [2, rows, depth], [1, 2, rows, depth]))
    if name == "matmul" and drawing.random.random() < 0.4:
        right = drawing.random.choice(([depth], [2, depth, columns], [2, 1, depth, columns]))
    count = len(drawing.tensors)
    one, count = drawing.operand(left, dtype, count)
    other, count = drawing.operand(right, dtype, count)
    arguments: list[Any] = [{"t": one}, {"t": other}]
    if name == "addmm" or (name == "linear" and drawing.random.random() < 0.7):
        shape = (
            drawing.random.choice(([rows, columns], [1, columns], [columns]))
            if name == "addmm"
            else [columns]
        )
        added, count = drawing.operand(shape, dtype, count)
        arguments.insert(0 if name == "addmm" else 2, {"t": added})
    if name == "addmm":
        factors = (1, 2, -1, 0, 0.5) if dtype != "int64" else (1, 2, -1, 0)
        arguments += [drawing.random.choice(factors), drawing.random.choice(factors)]
    drawing.queued.append(Step(name, arguments, drawing.random.random() < 0.08, product_flags(drawing)))
    return drawing.queued.pop(0)


def attention(drawing: Drawing, number: int) -> Step:
    """Return an attention of new tensors of any layout, after the steps that create them."""
    choice = drawing.random.choice
    dtype = choice(("float16", "bfloat16") if drawing.has_halves else ("float32", "float32", "float64"))
    batch = choice(([1], [2], [2], []))
    shared, repeats = choice(((1, 1), (2, 1), (2, 2), (1, 3)))
    length, keys, size = drawing.random.randrange(1, 6), drawing.random.randrange(1, 6), choice((1, 2, 4))
    value_size = size if drawing.random.random() < 0.8 else choice((1, 3))
    heads = [*batch, shared * repeats]
    shapes = ([*heads, length, size], [*batch, shared, keys, size], [*batch, shared, keys, value_size])
    numbers, count = [], len(drawing.tensors)
    for shape in shapes:
        one, count = drawing.operand(shape, dtype, count, special=False)
        numbers.append({"t": one})
    mask: Any = None
    way = drawing.random.random()
    if way < 0.4:
        sizes = choice(([length, keys], [1, keys], [*[1 for _ in heads], length, keys], [*heads, length, 1]))
        one, count = drawing.operand(sizes, choice(("bool", dtype)), count, special=False)
        mask = {"t": one}
    is_causal = way > 0.7
    # PyTorch's kernel of the CPU masks before it scales: with a negative scale the result is NaN.
    scale = choice((None, None, 0.5) if is_causal else (None, None, 0.5, -0.3))
    options = [mask, is_causal, scale, repeats > 1]
    drawing.queued.append(
        Step("attention", [*numbers, *options], drawing.random.random() < 0.08, choice(SWITCHES))
    )
    return drawing.queued.pop(0)


def convolution(drawing: Drawing, number: int) -> Step:
    """Return a convolution of new tensors of any layout, after the steps that create them."""
    choice = drawing.random.choice
    dtype = choice(HALVES if drawing.has_halves else ("float32", "float32", "float64"))
    groups, channels, filters = choice(((1, 1, 2), (1, 2, 1), (2, 2, 4), (2, 4, 2), (3, 3, 3)))
    batch = choice(([], [1], [2], [0]))
    # Whether a product with infinities is skipped at a border depends on the algorithm.
    image = [*batch, channels, choice((3, 4, 5)), choice((3, 4))]
    x, count = drawing.operand(image, dtype, len(drawing.tensors), special=False)
    height, width = choice((1, 2, 3)), choice((1, 2, 3))
    weight, count = drawing.operand([filters, channels // groups, height, width], dtype, count, special=False)
    bias: Any = None
    if drawing.random.random() < 0.5:
        one, count = drawing.operand([filters], dtype, count, special=False)
        bias = {"t": one}
    stride: Any = choice((1, 1, 2, [2, 1]))
    padding: Any = choice((0, 0, 1, [1, 0], "valid", *(("same",) if stride == 1 else ())))
    options = [stride, padding, choice((1, 1, 2)), groups]
    flags = choice(({}, {"cudnn.enabled": False}, {"cudnn.deterministic": True}, {"cudnn.benchmark": True}))
    exact = {**flags, "cudnn.conv.fp32_precision": "ieee"}
    drawing.queued.append(Step("convolution", [{"t": x}, {"t": weight}, bias, *options], flags=exact))
    return drawing.queued.pop(0)


def lstm(drawing: Drawing, number: int) -> Step:
    """Return recurrent layers of new tensors of any layout, after the steps that create them."""
    choice = drawing.random.choice
    dtype = choice(HALVES if drawing.has_halves else ("float32", "float32", "float64"))
    steps, batch, features, size = choice((1, 3)), choice((1, 2)), choice((1, 3)), choice((1, 2))
    layers, batch_first, has_biases = choice((1, 2)), choice((False, True)), choice((False, True))
    shapes = [[batch, steps, features] if batch_first else [steps, batch, features]]
    shapes += [[layers, batch, size]] * 2
    for layer in range(layers):
        shapes += [[4 * size, features if layer == 0 else size], [4 * size, size]]
        shapes += [[4 * size]] * 2 if has_biases else []
    numbers, count = [], len(drawing.tensors)
    for shape in shapes:
        one, count = drawing.operand(shape, dtype, count, special=False)
        numbers.append({"t": one})
    exact = {"cudnn.rnn.fp32_precision": "ieee"}
    arguments: list[Any] = [*numbers[:3], numbers[3:], layers, batch_first]
    drawing.queued.append(Step("lstm", arguments, flags=exact))
    return drawing.queued.pop(0)
