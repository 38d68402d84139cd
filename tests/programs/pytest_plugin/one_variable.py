import os
import sys


def test_leak():
    os.environ["LEFT"] = "1"


def test_after():
    assert os.environ.get("LEFT") == os.environ.get("EXPECTED")


def test_interlock_is_imported():
    assert ("interlock" in sys.modules) == ("IMPORTED" in os.environ)
