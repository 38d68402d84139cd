import os

import interlock
import pytest


@pytest.fixture(scope="module")
def inner():
    os.environ["INNER"] = "1"
    yield
    del os.environ["INNER"]


@pytest.fixture(scope="module")
def outer(request):
    request.getfixturevalue("inner")
    os.environ["OUTER"] = "1"
    with interlock.no_grad():
        yield
    del os.environ["OUTER"]


def test_request(request):
    os.environ["MINE"] = "1"
    request.getfixturevalue("outer")
    os.environ["OTHER"] = "1"


def test_still_there():
    assert {"INNER", "OUTER"} <= os.environ.keys()
    assert not {"MINE", "OTHER"} & os.environ.keys()
    assert not interlock.is_grad_enabled()
