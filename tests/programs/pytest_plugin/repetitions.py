import os

attempts = []


def test_leaks_twice():
    assert "LEFT" not in os.environ
    attempts.append(1)
    if len(attempts) < 3:
        os.environ["LEFT"] = "1"
