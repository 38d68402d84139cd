"""The example of convolutions trains on every device and names the kernels of its layers."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.helpers.subprocess import run_command

EXAMPLE = Path(__file__).parents[2] / "examples" / "convolution.py"


def printed(*arguments: str) -> list[str]:
    done = run_command([sys.executable, "-W", "error", str(EXAMPLE), *arguments], seconds=600)
    assert done.code == 0, done.stderr
    return done.stdout.splitlines()


def kernels(lines: list[str]) -> list[str]:
    """Return the kernels of the convolutions, first those of the forward pass."""
    return [line.partition(" -> ")[2] for line in lines if line.startswith("conv2d")]


@pytest.mark.slow
def test_convolution_on_the_cpu_names_the_kernel_of_each_layer() -> None:
    lines = printed("--epochs", "1")
    assert kernels(lines) == ["native"] * 8
    assert float(lines[1].removeprefix("accuracy ").removesuffix("%")) > 50


@pytest.mark.slow
def test_convolution_on_a_device_shows_what_the_flags_of_cudnn_change() -> None:
    lines = printed("--epochs", "1", "--device", "host:0", "--compare")
    tf32 = "cudnn, inputs tf32"
    assert kernels(lines)[:3] == [tf32, "native", tf32]
    assert all("tf32" in kernel or kernel == "native" for kernel in kernels(lines))
    away = [float(re.findall("at most (.*) away", line)[0]) for line in lines[-3:]]
    assert away[0] > 1e-4
    assert away[1] == 0.0
    assert away[2] < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "host:0"])
def test_convolution_reads_more_than_97_percent_of_the_digits(device: str) -> None:
    lines = printed("--device", device)
    (accuracy,) = [line for line in lines if line.startswith("accuracy ")]
    assert float(accuracy.removeprefix("accuracy ").removesuffix("%")) > 97
