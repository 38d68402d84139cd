import interlock
import pytest
from interlock import autograd, backends, dispatch, state
from interlock.accelerator import memory

called = []


def kernel(one, other):
    called.append("kernel")
    return NotImplemented


@pytest.fixture(scope="module")
def of_the_module():
    with backends.on_change(called.append):
        yield


@pytest.fixture(scope="module")
def careless():
    backends.on_change(print)


def test_flags():
    backends.on_change(called.append)


def test_modes():
    autograd.on_change(called.append)


def test_carried():
    state.register_carried("mine", lambda: None, called.append)


def test_memory():
    memory.on_oom(called.append)


def test_kernel():
    dispatch.register_kernel("matmul", "mine", kernel)


def test_removed(of_the_module):
    import late

    with backends.on_change(called.append), autograd.on_change(called.append):
        dispatch.register_kernel("matmul", "mine", kernel).remove()


def test_printing():
    interlock.set_printoptions(precision=2, sci_mode=True)


def test_seed():
    interlock.manual_seed(0)


def test_after(of_the_module):
    import late

    called.clear()
    state.register_carried("mine", lambda: None, called.append).remove()
    interlock.ones(2, 2) @ interlock.ones(2, 2)
    with interlock.no_grad():
        pass
    assert called == []
    assert repr(interlock.tensor([1 / 3])) == "tensor([0.3333])"
    with backends.override({"cudnn.enabled": False}):
        assert len(called) == 1
        assert late.called


def test_last(careless):
    pass
