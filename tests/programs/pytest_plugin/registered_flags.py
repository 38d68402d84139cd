from interlock import backends


def names():
    return [described.name for described in backends.describe() if described.is_registered]


def test_register():
    import late

    backends.register("mine.flag", 1, doc="In a test.")
    backends.unregister(backends.register("mine.gone", 1, doc="In a test."))


def test_after():
    assert "mine.flag" not in names()
    assert "mine.gone" not in names()
    assert "late.flag" in names()
