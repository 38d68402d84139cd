import pytest
from interlock import accelerator
from interlock.accelerator import memory

MIB = 1 << 20


@pytest.fixture(scope="module")
def limited():
    memory.set_limit(32 * MIB, 1)
    yield
    memory.set_limit(None, 1)


def test_first_use():
    # The devices are fixed here.
    accelerator.use("host", devices=2, memory=64 * MIB)
    memory.set_limit(16 * MIB)


@pytest.mark.usefixtures("limited")
def test_limits():
    memory.set_limit(8 * MIB, 1)
    memory.set_cache_limit(4 * MIB)


@pytest.mark.usefixtures("limited")
def test_limit_that_is_reset():
    assert [memory.get_limit(index) for index in range(2)] == [None, 32 * MIB]
    assert memory.get_cache_limit() is None
    before = memory.set_limit("50%")
    memory.set_limit(before)
