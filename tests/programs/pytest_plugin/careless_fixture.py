import os

import pytest


@pytest.fixture(scope="module")
def careless():
    os.environ["LEFT"] = "1"


def test_a(careless):
    pass
