import pytest
from interlock import errors
from interlock.accelerator import memory


def test_copy_fails(interlock_devices):
    interlock_devices.fail_next_copy("injected")
    with pytest.raises(errors.AcceleratorError, match="injected"):
        memory.copy_(memory.Buffer(4), bytes(4))


def test_variable(interlock_settings):
    interlock_settings.override({"environ.OMP_NUM_THREADS": "1"})
    assert [each.name for each in interlock_settings.changes()] == ["environ.OMP_NUM_THREADS"]
