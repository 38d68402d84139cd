from interlock import accelerator, testing
from interlock.accelerator import memory

FAULTS = testing.FaultInjector()
accelerator.use("host", faults=FAULTS)
LEFT = []


def test_config():
    memory.set_config("max_split_size_mb:64")


def test_config_that_is_put_back():
    before = memory.get_config()
    memory.set_config("max_split_size_mb:64")
    memory.set_config(before)


def test_history():
    LEFT.append(memory.history())


def test_recorded():
    memory.record_memory_history(max_entries=10)


def test_pause():
    memory.Buffer(8)
    LEFT.append(FAULTS.pause_copies())
    FAULTS.pause_copies()


def test_nothing_is_left():
    assert memory.get_config().max_split_size_mb is None
    assert not any(paused.is_active for paused in LEFT[1:])
    with memory.history():
        pass
    with FAULTS.pause_copies() as paused:
        assert paused.is_active
