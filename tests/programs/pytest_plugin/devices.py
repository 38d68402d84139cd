import pytest
from interlock import accelerator, errors
from interlock.accelerator import memory


def test_faults_that_occur(interlock_devices):
    interlock_devices.fail_next_copy("injected")
    with pytest.raises(errors.AcceleratorError, match="injected"):
        memory.copy_(memory.Buffer(8), bytes(8))
    memory.empty_cache()
    interlock_devices.fail_allocation(1, times=2)
    with pytest.raises(errors.OutOfMemoryError):
        memory.Buffer(11 << 20)


def test_fault_that_does_not_occur(interlock_devices):
    interlock_devices.fail_next_copy("first")
    interlock_devices.fail_next_copy("second")
    interlock_devices.fail_next_launch("launch")
    interlock_devices.fail_next_fill("fill")
    with pytest.raises(errors.AcceleratorError, match="first"):
        memory.copy_(memory.Buffer(8), bytes(8))


def test_allocation_that_does_not_fail(interlock_devices):
    interlock_devices.fail_allocation(5)
    interlock_devices.fail_pinned_allocation(1)


def test_unexpected_error(interlock_devices):
    interlock_devices.fail_next_fill("late")
    memory.Buffer(8).fill_(0)


def test_paused(interlock_devices):
    interlock_devices.pause_copies()
    memory.copy_(bytearray(8), memory.Buffer(8), non_blocking=True)
    memory.set_limit(1 << 20)


def test_clean(interlock_devices):
    assert interlock_devices.names == ("host:0", "host:1")
    for device in interlock_devices.names:
        buffer = memory.Buffer(40 << 20, device=device).fill_(1)
        result = bytearray(8)
        memory.copy_(result, buffer[:8])
        assert result == b"\1" * 8
        stream = accelerator.current_stream(device)
        accelerator.launch(stream, print)
        stream.synchronize()
    assert interlock_devices.live_objects()["commands"] == 0
