import os

import pytest


@pytest.fixture(scope="module")
def inner():
    os.environ["LEFT"] = "inner"


@pytest.fixture(scope="module")
def outer(inner):
    os.environ["LEFT"] = "outer"


def test_one(outer):
    pass
