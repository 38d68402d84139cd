import pytest
from interlock.accelerator import memory


def test_leak(interlock_devices):
    memory.set_limit(1 << 20)


@pytest.mark.interlock_devices(memory=1 << 20)
def test_leak_with_a_marker(interlock_devices):
    memory.set_limit(1 << 10, 1)


def test_after(interlock_devices):
    assert [memory.get_limit(index) for index in range(2)] == [None, None]
