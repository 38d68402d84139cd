import interlock
import pytest
from interlock import backends


@pytest.fixture(scope="module")
def scopes():
    with (
        interlock.no_grad(),
        backends.override({"cudnn.benchmark": True}),
        interlock.autograd.set_detect_anomaly(True),
    ):
        yield


def test_mode(scopes):
    interlock.set_grad_enabled(True)


def test_flag(scopes):
    assert not interlock.is_grad_enabled()
    backends.cudnn.benchmark = False


def test_left_open(scopes):
    assert backends.cudnn.benchmark
    interlock.enable_grad().__enter__()
    interlock.set_grad_enabled(False)


def test_kept(scopes):
    assert not interlock.is_grad_enabled()
    assert backends.cudnn.benchmark
    assert interlock.is_anomaly_enabled()
