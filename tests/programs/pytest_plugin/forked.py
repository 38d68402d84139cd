import os

import interlock


def test_leak():
    os.environ["LEFT"] = "1"


def test_scope():
    interlock.no_grad().__enter__()


def test_clean():
    assert "LEFT" not in os.environ
