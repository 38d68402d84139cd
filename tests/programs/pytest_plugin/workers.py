import os

import pytest


@pytest.mark.parametrize("number", range(6))
def test_leak(number):
    assert "LEFT" not in os.environ
    if number % 2:
        os.environ["LEFT"] = "1"
