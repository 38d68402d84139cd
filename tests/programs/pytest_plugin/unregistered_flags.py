import os

from interlock import backends

backends.register("mine.assigned", 3, doc="Assigned at import.").value = 4
backends.register("mine.default", 3, doc="Never assigned.")
backends.register("mine.late", 3, doc="Assigned in a test.")


def test_assigned():
    os.environ["LEFT"] = "1"
    backends.unregister("mine.assigned")


def test_default():
    assert backends.Flag("mine.assigned").value == 4
    backends.unregister("mine.default")


def test_late():
    backends.Flag("mine.late").value = 5


def test_clean():
    assert "LEFT" not in os.environ
    assert [backends.Flag(f"mine.{name}").value for name in ("assigned", "default", "late")] == [4, 3, 3]
