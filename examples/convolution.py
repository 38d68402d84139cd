"""Train a convolutional classifier of handwritten digits, and show which kernel served each layer.

`--device host` trains on the host driver, whose devices compute as cuDNN and cuBLAS do. `--compare` shows how
the flags of cuDNN change the digits of the scores there.
"""

from __future__ import annotations

import argparse
import math
import random

import interlock
from interlock import Tensor, accelerator, backends, dispatch
from interlock.backends import cudnn
from interlock.nn.functional import conv2d, linear
from quickstart import BATCH, CLASSES, load_digits

SIDE = 8
FILTERS = 16
EPOCHS, LEARNING_RATE, MOMENTUM = 16, 0.05, 0.9


class Network:
    """Three convolutions and a linear layer. Strides take the place of pooling."""

    def __init__(self) -> None:
        # Filters, input channels of a group, rows, columns. The second layer has a group for each channel.
        shapes = ((FILTERS, 1, 3, 3), (2 * FILTERS, 1, 3, 3), (2 * FILTERS, 2 * FILTERS, 3, 3))
        weights = [interlock.randn(*shape) * math.sqrt(2.0 / (shape[1] * 9)) for shape in shapes]
        features = 2 * FILTERS * (SIDE // 4) ** 2
        weights.append(interlock.randn(CLASSES, features) / features**0.5)
        self.weights = [weight.requires_grad_() for weight in weights]
        self.biases = [interlock.zeros(len(weight), requires_grad=True) for weight in weights]
        self.parameters = [*self.weights, *self.biases]
        self.velocities = [interlock.zeros_like(parameter) for parameter in self.parameters]

    def __call__(self, images: Tensor) -> Tensor:
        """Return the scores of the ten classes, one row for each image."""
        first, depthwise, third, last = zip(self.weights, self.biases, strict=True)
        x = conv2d(images.reshape(-1, 1, SIDE, SIDE), *first, padding="same").relu()
        x = conv2d(x, *depthwise, stride=2, padding=1, groups=FILTERS).relu()
        x = conv2d(x, *third, stride=2, padding=1).relu()
        return linear(x.reshape(len(images), -1), *last)

    @interlock.no_grad()
    def step(self, learning_rate: float) -> None:
        """Apply one step of gradient descent with momentum to all parameters."""
        for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
            assert parameter.grad is not None
            velocity.mul_(MOMENTUM).add_(parameter.grad)
            parameter.sub_(velocity, alpha=learning_rate)
            parameter.grad = None


def train(network: Network, images: Tensor, labels: Tensor, epochs: int) -> None:
    """Train with batches in a new order in each epoch, and with a learning rate that falls to 0."""
    order = list(range(len(images)))
    for epoch in range(1, epochs + 1):
        random.Random(epoch).shuffle(order)
        total, rate = 0.0, LEARNING_RATE * (1 - (epoch - 1) / epochs)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            loss = interlock.cross_entropy(network(images[batch]), labels[batch])
            loss.backward()
            network.step(rate)
            total += loss.item() * len(batch)
        print(f"epoch {epoch:2}: loss {total / len(order):.4f}")


def show_kernels(network: Network, images: Tensor) -> None:
    """Print the kernel of each layer, forwards and backwards."""
    with dispatch.record() as calls:
        network(images).sum().backward()
    for call in calls:
        arithmetic = "" if call.inputs == "float32" else f", inputs {call.inputs}"
        print(f"{call.operation} {call.arguments} -> {call.kernel}{arithmetic}")


@interlock.no_grad()
def compare(network: Network, images: Tensor) -> None:
    """Print scores of an image under flags of cuDNN, and how far they are from those without rounding."""
    names = ("cudnn.enabled", "cudnn.allow_tf32")
    with backends.override({"cudnn.allow_tf32": False, "cudnn.deterministic": True}):
        exact = network(images)
    for enabled, allow_tf32 in ((True, True), (True, False), (False, True)):
        with cudnn.flags(enabled=enabled, allow_tf32=allow_tf32):
            scores = network(images)
        away = (scores - exact).abs().max().item()
        shown = " ".join(f"{score:.6f}" for score in scores[0].tolist()[:4])
        flags = ", ".join(f"{name} {value}" for name, value in zip(names, (enabled, allow_tf32), strict=True))
        print(f"{flags}: {shown}, at most {away:.1e} away")


@interlock.no_grad()
def accuracy(network: Network, images: Tensor, labels: Tensor) -> float:
    """Return the share of the images whose highest score belongs to their label."""
    return (network(images).argmax(1) == labels).double().mean().item()


def main() -> None:
    """Train, test, and show the kernels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--device", default="cpu", help='"cpu", "host" or "cuda", with an index such as "host:0"'
    )
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over the training images")
    parser.add_argument("--compare", action="store_true", help="show scores under flags of cuDNN")
    options = parser.parse_args()
    if options.device != "cpu":
        accelerator.use(options.device.partition(":")[0])
    # Equal numbers on every device: parameters are drawn on the CPU.
    interlock.manual_seed(0)
    pixels, digits = load_digits()
    count = len(pixels) * 4 // 5
    with interlock.device(options.device):
        images, labels = interlock.tensor(pixels), interlock.tensor(digits)
        network = Network()
        train(network, images[:count], labels[:count], options.epochs)
        print(f"accuracy {accuracy(network, images[count:], labels[count:]):.1%}")
        show_kernels(network, images[:BATCH])
        if options.compare:
            compare(network, images[count:])


if __name__ == "__main__":
    main()
