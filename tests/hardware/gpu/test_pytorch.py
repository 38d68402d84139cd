"""`torch.accelerator` and `interlock.accelerator` in one process on one device."""

from __future__ import annotations

from typing import Any

import pytest
from interlock import Stream, accelerator

from tests.hardware.gpu.libraries import PyTorch

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("devices")]

SLACK = 96 << 20


@pytest.fixture
def torch() -> Any:
    found = PyTorch().torch
    if not hasattr(found, "accelerator"):
        pytest.skip(f"PyTorch {found.__version__} has no torch.accelerator")
    found.zeros(1, device="cuda")
    return found


def test_both_find_the_same_devices(torch: Any) -> None:
    assert str(accelerator.current_accelerator()) == str(torch.accelerator.current_accelerator()) == "cuda"
    assert accelerator.device_count() == torch.accelerator.device_count()
    assert accelerator.current_device_index() == torch.accelerator.current_device_index() == 0
    for index in range(accelerator.device_count()):
        theirs = torch.cuda.get_device_properties(index)
        ours = accelerator.device_properties(index)
        assert (ours.name, ours.total_memory) == (theirs.name, theirs.total_memory)
        assert ours.multi_processor_count == theirs.multi_processor_count


def test_both_report_equal_memory(torch: Any) -> None:
    ours, theirs = accelerator.get_memory_info(), torch.cuda.mem_get_info()
    assert ours[1] == theirs[1]
    assert ours[0] == pytest.approx(theirs[0], abs=SLACK)


def test_both_have_the_same_default_stream(torch: Any) -> None:
    assert accelerator.current_stream().native_handle == torch.cuda.current_stream().cuda_stream == 0


def test_stream_of_interlock_is_current_in_pytorch_by_its_handle(torch: Any) -> None:
    stream = Stream(dedicated=True)
    with torch.cuda.stream(torch.cuda.ExternalStream(stream.native_handle)):
        current = torch.accelerator.current_stream()
        if hasattr(current, "native_handle"):  # Since PyTorch 2.13.
            assert current.native_handle == stream.native_handle
        assert torch.cuda.current_stream().cuda_stream == stream.native_handle
        assert torch.ones(4, device="cuda").sum().item() == 4
    assert stream.query()


def test_current_streams_of_both_are_independent(torch: Any) -> None:
    stream = Stream(dedicated=True)
    with stream:
        assert torch.cuda.current_stream().cuda_stream == 0
        with torch.cuda.stream(torch.cuda.Stream()):
            assert accelerator.current_stream() == stream
        torch.zeros(4, device="cuda").add_(1)
    assert accelerator.current_stream().native_handle == 0
