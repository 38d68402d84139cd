"""A test that fails by an injected fault, and one whose faults occur or may occur."""

from interlock.accelerator import memory


def test_fails(interlock_devices):
    interlock_devices.inject("copy", number=2, error="bus error")
    for _ in range(2):
        memory.copy_(memory.Buffer(8), bytes(8))


def test_passes(interlock_devices):
    assert interlock_devices.injected() == interlock_devices.pending() == []
    interlock_devices.inject("fill", never=True)
    memory.Buffer(8).fill_(0)
    interlock_devices.inject("launch", delay=1.0, times=None, probability=0.5)
