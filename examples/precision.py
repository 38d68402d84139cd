"""Compare five precisions without a GPU: losses of a training, and errors of products.

Devices of the host driver compute as NVIDIA's libraries do, and the CPU as oneDNN does on a CPU with BF16
instructions. The program prints the numbers and draws them into two pictures.
"""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import interlock
from interlock import Tensor, accelerator, backends, dispatch
from line_chart import Axis, Chart, Line, decades, svg
from quickstart import EPOCHS, Classifier, load_digits, train_epoch

DEPTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
ROWS = 64
PICTURES = Path(__file__).parents[1] / "docs" / "images"


class Precision(NamedTuple):
    """A device, a dtype, a scope of the flags that request a precision, and the errors to expect."""

    name: str
    device: str
    dtype: interlock.dtype
    scope: AbstractContextManager[object]
    expected: tuple[float, float]
    """The largest errors of products of the first and the last depth, of another model, written in NumPy."""


PRECISIONS = (
    Precision(
        "float32",
        "host:0",
        interlock.float32,
        backends.override({"cuda.matmul.fp32_precision": "ieee"}),
        (2.0e-7, 2.2e-8),
    ),
    Precision(
        "TF32",
        "host:0",
        interlock.float32,
        backends.override({"cuda.matmul.fp32_precision": "tf32"}),
        (1.9e-4, 2.0e-5),
    ),
    Precision(
        "BF16",
        "cpu",
        interlock.float32,
        backends.override({"mkldnn.numerics": "model", "mkldnn.matmul.fp32_precision": "bf16"}),
        (1.6e-3, 1.4e-4),
    ),
    Precision(
        "float16",
        "host:0",
        interlock.float16,
        backends.override({"cuda.matmul.allow_fp16_reduced_precision_reduction": True}),
        (3.2e-4, 4.6e-5),
    ),
    Precision(
        "bfloat16",
        "host:0",
        interlock.bfloat16,
        backends.override({"cuda.matmul.allow_bf16_reduced_precision_reduction": True}),
        (2.4e-3, 2.3e-4),
    ),
)


def kernel(precision: Precision) -> str:
    """Return which kernel runs a product, and its arithmetic."""
    x = interlock.ones(ROWS, DEPTHS[-1], dtype=precision.dtype, device=precision.device)
    with precision.scope:
        call = dispatch.explain("matmul", x, x.t())
    is_float32 = precision.dtype == interlock.float32
    arithmetic = f"inputs {call.inputs}" if is_float32 else f"sums {call.sums}"
    return f"{call.kernel}{' (model)' if call.is_model else ''}, {arithmetic}"


def losses(precision: Precision, epochs: int) -> list[float]:
    """Train the classifier of digits from a fixed seed, and return the mean loss of each epoch."""
    interlock.manual_seed(0)
    pixels, digits = load_digits()
    count = len(pixels) * 4 // 5
    # The precision applies to backward() as well, because it runs in this block too.
    with interlock.device(precision.device), precision.scope:
        images = interlock.tensor(pixels[:count], dtype=precision.dtype)
        labels = interlock.tensor(digits[:count])
        model = Classifier(precision.dtype)
        return [train_epoch(model, images, labels) for _ in range(epochs)]


def error(precision: Precision, x: Tensor, y: Tensor) -> float:
    """Return the largest error of `x @ y` against float64, relative to the sum of |a| |b| of its element."""
    own = [operand.to(precision.device, precision.dtype) for operand in (x, y)]
    with precision.scope:
        product = (own[0] @ own[1]).cpu()
    exact = x.double() @ y.double()
    relative = (product.double() - exact).abs() / (x.double().abs() @ y.double().abs())
    return relative.max().item()


def errors() -> dict[str, list[float]]:
    """Return the error of each precision for each depth, the number of terms of a sum."""
    interlock.manual_seed(0)
    found: dict[str, list[float]] = {precision.name: [] for precision in PRECISIONS}
    for depth in DEPTHS:
        x, y = interlock.randn(ROWS, depth), interlock.randn(depth, ROWS)
        for precision in PRECISIONS:
            found[precision.name].append(error(precision, x, y))
    return found


def picture_of_losses(found: dict[str, list[float]]) -> str:
    """Return a picture of the losses, and of their differences from those of float32."""
    reference = found["float32"]
    epochs = range(1, len(reference) + 1)
    away = {
        name: [abs(loss - exact) / exact for loss, exact in zip(row, reference, strict=True)]
        for name, row in found.items()
        if name != "float32"
    }
    x = Axis("epoch", [1, *range(5, len(reference) + 1, 5)] if len(reference) > 4 else epochs)
    every = [loss for row in found.values() for loss in row]
    differences = [value for row in away.values() for value in row]

    def lines(rows: dict[str, list[float]]) -> list[Line]:
        points = {name: list(zip(epochs, row, strict=True)) for name, row in rows.items()}
        return [Line(name, color, points[name]) for color, name in enumerate(found) if name in rows]

    charts = (
        Chart("loss", x, Axis("", decades(every), True), lines(found)),
        Chart("difference from float32, relative", x, Axis("", decades(differences), True), lines(away)),
    )
    return svg(charts, "The losses of a training in five precisions, and their differences")


def picture_of_errors(found: dict[str, list[float]]) -> str:
    """Return a picture of the errors of products, with the expected ones as circles."""
    lines: list[Line] = []
    for color, precision in enumerate(PRECISIONS):
        points = list(zip(DEPTHS, found[precision.name], strict=True))
        expected = list(zip((DEPTHS[0], DEPTHS[-1]), precision.expected, strict=True))
        lines.append(Line(precision.name, color, points, expected))
    values = [value for line in lines for _, value in (*line.points, *line.marks)]
    x, y = Axis("depth", DEPTHS, True), Axis("circles: expected", decades(values), True)
    chart = Chart("largest error / sum of |a| |b|", x, y, lines)
    return svg([chart], "The errors of products against their depth, in five precisions")


def main() -> None:
    """Train and multiply in each precision, print the numbers and draw them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help=f"{EPOCHS} by default")
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="the folder of the pictures")
    arguments = parser.parse_args()
    accelerator.use("host")
    for precision in PRECISIONS:
        print(f"{precision.name:<8} {precision.device:<7} {kernel(precision)}")

    of_products = errors()
    print("\ndepth " + "".join(f"{name:>10}" for name in of_products))
    for row, depth in enumerate(DEPTHS):
        print(f"{depth:<6}" + "".join(f"{column[row]:>10.1e}" for column in of_products.values()))

    of_losses = {precision.name: losses(precision, arguments.epochs) for precision in PRECISIONS}
    print("\nepoch " + "".join(f"{name:>10}" for name in of_losses))
    for epoch in range(1, arguments.epochs + 1):
        if epoch == 1 or epoch % 5 == 0:
            print(f"{epoch:<6}" + "".join(f"{column[epoch - 1]:>10.5f}" for column in of_losses.values()))

    (arguments.pictures / "precision_losses.svg").write_text(picture_of_losses(of_losses))
    (arguments.pictures / "precision_errors.svg").write_text(picture_of_errors(of_products))


if __name__ == "__main__":
    main()
