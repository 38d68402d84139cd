import os
from unittest import mock

import pytest

os.environ["PRESENT"] = "old"


def test_set():
    os.environ["A"] = "1"


def test_removed():
    del os.environ["PRESENT"]


def test_changed():
    os.environ.update(PRESENT="new")


def test_raising_monkeypatch():
    pytest.MonkeyPatch().setenv("B", "1")


def test_bytes():
    os.environb[b"C"] = b"1"


def test_replaced(monkeypatch):
    monkeypatch.setenv("D", "1")
    with mock.patch.dict(os.environ, {"E": "1"}, clear=True):
        os.environ["F"] = "1"


def test_clean():
    assert os.environ["PRESENT"] == "old"
    assert not {"A", "B", "C", "D", "E", "F"} & os.environ.keys()
