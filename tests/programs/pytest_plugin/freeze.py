from interlock import backends

freeze = backends.frozen()


def test_freeze():
    freeze.__enter__()
