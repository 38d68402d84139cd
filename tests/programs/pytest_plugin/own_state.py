import interlock
from interlock import backends


def test_flag():
    backends.cudnn.benchmark = True


def test_mode():
    interlock.set_grad_enabled(False)


def test_defaults():
    interlock.state.set_process_defaults(device_index=1)


def test_threads():
    interlock.set_num_threads(interlock.get_num_threads() + 1)


def test_scope():
    interlock.no_grad().__enter__()


def test_scope_of_flags():
    backends.override({"cudnn.enabled": False}).__enter__()


def test_scope_that_changes_nothing():
    interlock.enable_grad().__enter__()


def test_clean():
    assert not backends.cudnn.benchmark
    assert backends.cudnn.enabled
    assert interlock.is_grad_enabled()
    assert set(interlock.state.process_defaults().values()) == {None}
    assert interlock.state.end_open_scopes() == 0
    assert all(entry.level != "process" for entry in backends.snapshot())
