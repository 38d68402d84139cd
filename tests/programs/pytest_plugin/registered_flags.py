from interlock import backends

removed = []
vars(backends)["unregister"] = removed.append


def test_register():
    import late

    backends.register("mine.flag", 1, doc="In a test.")


def test_after():
    assert removed == ["mine.flag"]
