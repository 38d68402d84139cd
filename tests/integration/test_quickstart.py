"""The quick start trains one network on every device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.helpers.subprocess import run_command

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart.py"


def printed(*arguments: str) -> list[str]:
    done = run_command([sys.executable, "-W", "error", str(EXAMPLE), *arguments])
    assert done.code == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("device", ["host", "host:0"])
def test_quickstart_prints_equal_results_on_every_device(device: str) -> None:
    lines = printed("--device", device)
    assert lines == printed()
    assert any(line.startswith("accuracy 9") for line in lines)


@pytest.mark.parametrize(
    ("device", "kernels"),
    [
        (
            "cpu",
            "native | cublas: needs a device, got cpu | cublaslt: needs a device, got cpu"
            " | mkldnn: backends.mkldnn.numerics is 'hardware', not 'model'",
        ),
        (
            "host:0",
            "cublas (model) | cublaslt: behind cublas"
            " | mkldnn: backends.mkldnn.numerics is 'hardware', not 'model'",
        ),
    ],
)
def test_quickstart_with_dispatch_lines_prints_one_for_each_product(device: str, kernels: str) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLE), "--device", device, "--epochs", "1"]
    # Large products of the CPU would run on a library that this machine may have.
    env = dict.fromkeys(("INTERLOCK_ONEDNN_PATH", "INTERLOCK_MKL_PATH"), "/absent") | {
        "INTERLOCK_DISPATCH": "1"
    }
    done = run_command(command, env=env)
    assert done.code == 0
    prefix = f"interlock: matmul {device} float32 "
    lines = done.stderr.splitlines()
    assert all(line.startswith(prefix) for line in lines)
    assert {line.partition(" -> ")[2].partition(" | onednn: ")[0] for line in lines} == {kernels}
    # The products of a step: two forward and three backward, as the images have no gradient.
    step = ["32x64 @ 64x64", "32x64 @ 64x10", "32x10 @ 10x64", "64x32 @ 32x10", "64x32 @ 32x64"]
    products = [line.removeprefix(prefix).partition(" -> ")[0] for line in lines]
    assert products[:10] == step * 2
    # 45 batches of the training images; then the test images.
    assert len(products) == 45 * 5 + 2
    assert products[-2:] == ["360x64 @ 64x64", "360x64 @ 64x10"]


def test_device_that_does_not_exist_is_named() -> None:
    done = run_command([sys.executable, str(EXAMPLE), "--device", "nowhere"])
    assert done.code == 1
    assert "nowhere" in done.stderr
