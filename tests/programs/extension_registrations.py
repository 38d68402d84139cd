"""A module of C that registers functions through the table."""

import interlock
import registrations_of_c as native
from interlock import backends
from interlock.backends import cudnn

# Numbers of the header.
BOOL, GRAD, ALREADY_REGISTERED = 1, 1, 1


def flags():
    """Each field of a change of flags is as the header says."""
    registration, code, _ = native.register("flags", True)
    assert (code, registration != 0) == (0, True)
    cudnn.benchmark = True
    with backends.override({"cudnn.enabled": False}):
        cudnn.enabled = True
    del cudnn.benchmark
    # Data, kind, has a layer, is cudnn.benchmark or no flag, level, old and new value, kinds of the values.
    written, entered, inside, exited, unset, end = native.take_log().split(";")
    assert (written, unset, end) == ("1:1/0/1/3/0>1/0", "1:1/0/1/1/1>0/0", "")
    assert (entered, inside, exited) == (f"1:2/1/1/0/0>0/{BOOL}", "1:1/1/0/4/0>1/0", "1:3/1/1/0/0>0/0")
    assert native.free(registration) == 1
    cudnn.benchmark = True
    assert native.take_log() == ""
    print("done")


def modes():
    """The modes that are set are reported as two bytes each."""
    registration, _, _ = native.register("modes", True)
    with interlock.no_grad(), interlock.enable_grad():
        pass
    off, on = f"{GRAD}/0", f"{GRAD}/1"
    assert native.take_log() == f"2:0/0>{off};2:{off}>{on};2:{on}>{off};2:{off}>0/0;"
    assert native.free(registration) == 2
    with interlock.no_grad():
        assert native.take_log() == ""
    print("done")


def carried():
    """A captured state has the value of the thread."""
    registration, _, _ = native.register("carried", True)
    native.set_level(3)
    state = interlock.capture()
    native.set_level(0)
    with interlock.Executor(1) as pool:
        assert pool.submit(state.run, native.get_level).result() == 3
        assert pool.submit(native.get_level).result() == 0
    assert native.get_level() == 0
    _, code, text = native.register("carried", True)
    assert code == ALREADY_REGISTERED
    assert text == 'register_carried: name "level" is registered already'
    # The data of the call that failed.
    assert native.free(0) == 4
    native.free(registration)
    assert state.run(native.get_level) == 3
    # From Python 3.14, the threads of the pool have contexts, which have values.
    del state, pool
    assert native.free(0) == 8
    assert native.count_values() > 2
    print("done")


def wrong_arguments():
    """A missing function is an error, and the data is released."""
    named = {
        "flags": "flags_on_change: hook",
        "modes": "modes_on_change: hook",
        "carried": "carried_register: carried.save",
    }
    for what, argument in named.items():
        registration, code, text = native.register(what, False)
        assert (registration, code) == (0, ALREADY_REGISTERED)
        assert text == f"{argument} must be a function, got null"
    assert native.free(0) == 1 + 2 + 4
    print("done")
