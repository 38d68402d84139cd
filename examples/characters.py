"""Train a small transformer on the characters of a licence, and let it continue a text.

The network is the decoder of Vaswani et al., "Attention Is All You Need" (2017), with the normalization
before each layer. The optimizer is AdamW of Loshchilov and Hutter, "Decoupled Weight Decay Regularization"
(2019), written with in-place operations. `--device host` trains on the host driver, which runs the queued
operations on CPU threads.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import interlock
from interlock import Tensor, accelerator, backends
from interlock.nn import functional

TEXT = Path(__file__).parents[1] / "LICENSE-APACHE"
LENGTH, BATCH = 32, 16
SIZE, HEADS, BLOCKS = 64, 4, 2
STEPS, WARMUP, LEARNING_RATE = 400, 20, 1e-2
BETAS, EPSILON, WEIGHT_DECAY = (0.9, 0.99), 1e-8, 0.01
SAMPLED, TEMPERATURE = 200, 0.8
BOUND = 1.8
"""The loss of the last steps, in nats a character, is below this bound. Chance has a loss of 4.3."""


class Characters:
    """A text as numbers of its characters."""

    def __init__(self, text: str) -> None:
        self.alphabet = sorted(set(text))
        numbers = {character: number for number, character in enumerate(self.alphabet)}
        self.tokens = interlock.tensor([numbers[character] for character in text])

    def batch(self) -> tuple[Tensor, Tensor]:
        """Return random excerpts, and the characters that follow each of their characters."""
        starts = interlock.randint(0, len(self.tokens) - LENGTH, (BATCH, 1))
        positions = starts + interlock.arange(LENGTH)
        return self.tokens[positions], self.tokens[positions + 1]

    def text(self, tokens: list[int]) -> str:
        """Return the characters of numbers."""
        return "".join(self.alphabet[token] for token in tokens)


class Linear:
    """A linear layer."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight = (interlock.randn(outputs, inputs) * inputs**-0.5).requires_grad_()
        self.bias = interlock.zeros(outputs, requires_grad=True)
        self.parameters = [self.weight, self.bias]

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs, of shape [..., outputs]."""
        return functional.linear(x, self.weight, self.bias)


class Norm:
    """A layer normalization."""

    def __init__(self) -> None:
        self.weight = interlock.ones(SIZE, requires_grad=True)
        self.bias = interlock.zeros(SIZE, requires_grad=True)
        self.parameters = [self.weight, self.bias]

    def __call__(self, x: Tensor) -> Tensor:
        """Return the normalized rows."""
        return functional.layer_norm(x, (SIZE,), self.weight, self.bias)


class Block:
    """Causal attention of several heads and a network of two layers. Both are added to their input."""

    def __init__(self) -> None:
        self.norms = Norm(), Norm()
        self.projection, self.output = Linear(SIZE, 3 * SIZE), Linear(SIZE, SIZE)
        self.inner, self.outer = Linear(SIZE, 4 * SIZE), Linear(4 * SIZE, SIZE)
        layers = (*self.norms, self.projection, self.output, self.inner, self.outer)
        self.parameters = [parameter for layer in layers for parameter in layer.parameters]

    def attention(self, x: Tensor) -> Tensor:
        """Return the attention of each position to itself and those before it."""
        batch, length, _ = x.shape
        queries, keys, values = (
            part.reshape(batch, length, HEADS, SIZE // HEADS).transpose(1, 2)
            for part in self.projection(x).chunk(3, -1)
        )
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        joined = mixed.transpose(1, 2)
        return self.output(joined.reshape(batch, length, SIZE))

    def __call__(self, x: Tensor) -> Tensor:
        """Return the result, of shape [batch, length, SIZE]."""
        x = x + self.attention(self.norms[0](x))
        return x + self.outer(functional.gelu(self.inner(self.norms[1](x))))


class Transformer:
    """Predicts the next character at each position."""

    def __init__(self, characters: int) -> None:
        self.tokens = (interlock.randn(characters, SIZE) * 0.1).requires_grad_()
        self.positions = (interlock.randn(LENGTH, SIZE) * 0.1).requires_grad_()
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.norm, self.scores = Norm(), Linear(SIZE, characters)
        layers: tuple[Block | Norm | Linear, ...] = (*self.blocks, self.norm, self.scores)
        self.parameters = [self.tokens, self.positions]
        self.parameters += [parameter for layer in layers for parameter in layer.parameters]

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the scores of all characters, of shape [batch, length, characters]."""
        x = functional.embedding(tokens, self.tokens) + self.positions[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x))

    @interlock.inference_mode()
    def sample(self, tokens: list[int], count: int) -> list[int]:
        """Return tokens and the `count` tokens that the network continues them with."""
        tokens = list(tokens)
        for _ in range(count):
            scores = self(interlock.tensor([tokens[-LENGTH:]]))[0, -1]
            chosen = functional.softmax(scores / TEMPERATURE, dim=0).multinomial(1)
            tokens.append(int(chosen.item()))
        return tokens


class AdamW:
    """Adaptive moments with a decay of the weights of matrices."""

    def __init__(self, parameters: list[Tensor]) -> None:
        self.parameters = parameters
        self.moments = [(interlock.zeros_like(each), interlock.zeros_like(each)) for each in parameters]
        self.steps = 0

    @interlock.no_grad()
    def step(self, learning_rate: float) -> None:
        """Change all parameters by their gradients, and clear these."""
        self.steps += 1
        first_beta, second_beta = BETAS
        scale = math.sqrt(1 - second_beta**self.steps) / (1 - first_beta**self.steps)
        for parameter, (mean, square) in zip(self.parameters, self.moments, strict=True):
            gradient = parameter.grad
            assert gradient is not None
            mean.mul_(first_beta).add_(gradient, alpha=1 - first_beta)
            square.mul_(second_beta).add_(gradient * gradient, alpha=1 - second_beta)
            if parameter.ndim > 1:
                parameter.mul_(1 - learning_rate * WEIGHT_DECAY)
            parameter.sub_(mean / (square.sqrt() + EPSILON), alpha=learning_rate * scale)
            parameter.grad = None


def learning_rate(step: int, steps: int) -> float:
    """Return the rate of a step: it grows linearly during `WARMUP`, and then falls along a cosine."""
    if step < WARMUP:
        return LEARNING_RATE * (step + 1) / WARMUP
    return LEARNING_RATE * (0.55 + 0.45 * math.cos(math.pi * (step - WARMUP) / max(steps - WARMUP, 1)))


def train(model: Transformer, text: Characters, steps: int) -> float:
    """Train, print some of the losses, and return the mean loss of the last tenth of the steps."""
    optimizer = AdamW(model.parameters)
    last: list[float] = []
    for step in range(steps):
        tokens, following = text.batch()
        loss = functional.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
        loss.backward()
        optimizer.step(learning_rate(step, steps))
        if step >= steps - max(steps // 10, 1):
            last.append(loss.item())
        if step % max(steps // 10, 1) == 0:
            print(f"step {step:3d}  loss {loss.item():.4f}")
    return sum(last) / len(last)


def main() -> None:
    """Train on the characters of a licence, check the loss and print a sample."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, host, or a device of the accelerator")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"{STEPS} by default")
    parser.add_argument("--bound", type=float, default=BOUND, help=f"largest final loss, {BOUND} by default")
    arguments = parser.parse_args()
    device = interlock.device(arguments.device)
    # INTERLOCK_ACCELERATOR may have selected the driver already, with more devices.
    if device.type == "host" and accelerator.current_accelerator() != interlock.device("host"):
        accelerator.use("host")
    # Tensors are created on this device from now on.
    interlock.set_default_device(device)
    interlock.manual_seed(0)
    text = Characters(TEXT.read_text(encoding="utf-8"))
    model = Transformer(len(text.alphabet))
    # Rounded inputs of products would make the results of devices differ.
    with backends.override({"fp32_precision": "ieee"}):
        loss = train(model, text, arguments.steps)
        print(f"final loss {loss:.4f}")
        assert loss < arguments.bound, f"the final loss must be below {arguments.bound}, got {loss:.4f}"
        print(text.text(model.sample(text.tokens[:LENGTH].tolist(), SAMPLED)))


if __name__ == "__main__":
    main()
