from interlock import backends

freeze = backends.frozen()


def test_freeze():
    backends.cudnn.benchmark = True
    freeze.__enter__()
