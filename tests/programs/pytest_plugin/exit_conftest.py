import os


def pytest_unconfigure():
    assert "LEFT" not in os.environ
    print("all was put back")
