import pytest
from interlock import accelerator, errors
from interlock.accelerator import memory

MIB = 1 << 20


@pytest.mark.interlock_devices(devices=4, memory=256 * MIB)
def test_four_large(interlock_devices):
    assert interlock_devices.names == tuple(f"host:{index}" for index in range(4))
    for name in interlock_devices.names:
        memory.Buffer(200 * MIB, device=name).fill_(1)
    accelerator.synchronize(3)


@pytest.mark.interlock_devices(devices=1, memory=32 * MIB)
class TestSmall:
    def test_only_one_of_a_class(self, interlock_devices):
        assert interlock_devices.names == ("host:0",)
        with pytest.raises(errors.OutOfMemoryError):
            memory.Buffer(40 * MIB)
        memory.Buffer(20 * MIB)

    @pytest.mark.interlock_devices(devices=3)
    def test_nearest_marker(self, interlock_devices):
        assert len(interlock_devices.names) == 3
        memory.Buffer(40 * MIB)


def test_default(interlock_devices):
    assert interlock_devices.names == ("host:0", "host:1")
    with pytest.raises(errors.OutOfMemoryError):
        memory.Buffer(80 * MIB)
    memory.Buffer(40 * MIB)
