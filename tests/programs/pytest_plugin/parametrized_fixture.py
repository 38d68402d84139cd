import os

import pytest


@pytest.fixture(scope="session", params=["a", "b"], autouse=True)
def each(request):
    os.environ["EACH"] = request.param
    yield request.param
    del os.environ["EACH"]


def test_one(each):
    assert os.environ["EACH"] == each


def test_two(each):
    assert os.environ["EACH"] == each
