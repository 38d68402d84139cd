"""Train a two-layer classifier of handwritten digits, and show the active flags.

`--device host` trains on the host driver, which runs the queued operations on CPU threads.

The data: 1,797 images of 8x8 pixels (UCI optical recognition of handwritten digits), see data/README.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import random
from pathlib import Path

import interlock
from interlock import Tensor, accelerator, backends

DIGITS = Path(__file__).parent / "data" / "digits.csv.gz"
PIXELS, HIDDEN, CLASSES = 64, 64, 10
BRIGHTEST = 16.0
EPOCHS, BATCH, LEARNING_RATE = 30, 32, 0.2
FLAGS_SHOWN = (
    "fp32_precision",
    "mkldnn.matmul.fp32_precision",
    "mkldnn.deterministic",
    "cudnn.deterministic",
    "cudnn.benchmark",
    "cudnn.benchmark_limit",
)


def load_digits() -> tuple[list[list[float]], list[int]]:
    """Return the images, 64 brightnesses from 0 to 1 each, and their labels."""
    with gzip.open(DIGITS, "rt", newline="") as file:
        rows = [[float(number) for number in row] for row in csv.reader(file)]
    random.Random(0).shuffle(rows)
    return [[pixel / BRIGHTEST for pixel in row[:PIXELS]] for row in rows], [int(row[PIXELS]) for row in rows]


class Classifier:
    """Two linear layers with a ReLU between them."""

    def __init__(self, dtype: interlock.dtype = interlock.float32) -> None:
        spread = math.sqrt(2.0 / PIXELS)
        weights = interlock.randn(PIXELS, HIDDEN) * spread, interlock.randn(HIDDEN, CLASSES) * spread
        self.parameters = [
            weights[0].to(dtype).requires_grad_(),
            interlock.zeros(HIDDEN, dtype=dtype, requires_grad=True),
            weights[1].to(dtype).requires_grad_(),
            interlock.zeros(CLASSES, dtype=dtype, requires_grad=True),
        ]

    def __call__(self, images: Tensor) -> Tensor:
        """Return the scores of the ten classes, one row for each image."""
        weight, bias, output_weight, output_bias = self.parameters
        return interlock.relu(images @ weight + bias) @ output_weight + output_bias

    @interlock.no_grad()
    def step(self) -> None:
        """Apply one step of gradient descent to all parameters."""
        for parameter in self.parameters:
            assert parameter.grad is not None
            parameter.sub_(parameter.grad, alpha=LEARNING_RATE)
            parameter.grad = None


def train_epoch(model: Classifier, images: Tensor, labels: Tensor) -> float:
    """Train with stochastic gradient descent in batches, and return the mean loss."""
    total = 0.0
    for start in range(0, len(images), BATCH):
        scores = model(images[start : start + BATCH])
        loss = interlock.cross_entropy(scores, labels[start : start + BATCH])
        loss.backward()
        model.step()
        total += loss.item() * len(scores)
    return total / len(images)


def train(model: Classifier, images: Tensor, labels: Tensor, epochs: int) -> None:
    """Train, and print some of the losses."""
    for epoch in range(1, epochs + 1):
        loss = train_epoch(model, images, labels)
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d}  loss {loss:.4f}")


@interlock.inference_mode()
def accuracy(model: Classifier, images: Tensor, labels: Tensor) -> float:
    """Return the fraction of images whose highest score is that of their label."""
    right = (model(images).argmax(dim=1) == labels).sum().item()
    return right / len(labels)


def show_flags() -> None:
    """Print the values of some flags and the levels that determine them."""
    print(f"\n{'flag':<30} {'value':<8} from")
    for name in FLAGS_SHOWN:
        flag = backends.explain(name)
        print(f"{name:<30} {flag.value!s:<8} {flag.level}")


def main() -> None:
    """Train on four fifths of the digits and test on the rest."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, host, or a device of the accelerator")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help=f"{EPOCHS} by default")
    arguments = parser.parse_args()
    device = interlock.device(arguments.device)
    # INTERLOCK_ACCELERATOR may have selected the driver already, with more devices.
    if device.type == "host" and accelerator.current_accelerator() != interlock.device("host"):
        accelerator.use("host")
    # Tensors are created on this device from now on.
    interlock.set_default_device(device)
    interlock.manual_seed(0)
    pixels, digits = load_digits()
    count = len(pixels) * 4 // 5
    images, labels = interlock.tensor(pixels), interlock.tensor(digits)
    model = Classifier()
    # An assignment affects the whole process, a scope only this context.
    backends.mkldnn.deterministic = True
    with backends.override({"fp32_precision": "ieee", "cudnn.deterministic": True}):
        train(model, images[:count], labels[:count], arguments.epochs)
        show_flags()
    print(f"\naccuracy {accuracy(model, images[count:], labels[count:]):.1%}".replace("%", " %"))


if __name__ == "__main__":
    main()
