import os
import unittest

import interlock
import pytest


@pytest.fixture(scope="session", autouse=True)
def session():
    os.environ["SESSION"] = "1"
    yield


@pytest.fixture(scope="module")
def module(session):
    os.environ["MODULE"] = "1"
    with interlock.no_grad():
        yield
    del os.environ["MODULE"]


@pytest.fixture(scope="class", params=["a", "b"])
def of_class(request, module):
    os.environ["CLASS"] = request.param
    yield request.param
    del os.environ["CLASS"]


@pytest.fixture
def of_function(monkeypatch):
    monkeypatch.setenv("FUNCTION", "1")
    with interlock.inference_mode():
        yield


def test_alone():
    assert os.environ["SESSION"] == "1"


def setup_module():
    os.environ["SET_UP_MODULE"] = "1"


def teardown_module():
    del os.environ["SET_UP_MODULE"]


class TestWide:
    def setup_method(self):
        os.environ["METHOD"] = "1"

    def teardown_method(self):
        del os.environ["METHOD"]

    def test_one(self, of_class, of_function):
        assert (os.environ["CLASS"], os.environ["MODULE"]) == (of_class, "1")

    @pytest.mark.parametrize("value", [1, 2])
    def test_two(self, of_class, value):
        assert os.environ["CLASS"] == of_class
        assert "FUNCTION" not in os.environ
        assert not interlock.is_grad_enabled()
        assert not interlock.is_inference_mode_enabled()


class TestUnit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["UNIT"] = "1"

    @classmethod
    def tearDownClass(cls):
        del os.environ["UNIT"]

    def setUp(self):
        os.environ["SET_UP"] = "1"
        self.addCleanup(os.environ.pop, "SET_UP")

    def test_one(self):
        assert os.environ["UNIT"] == "1"

    def test_two(self):
        assert os.environ["UNIT"] == "1"
