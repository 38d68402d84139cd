import functools

import numpy
from interlock import backends, settings


@functools.cache
def flag():
    return backends.register("mine.lazy", 3, doc="In a test.")


def test_flag():
    assert flag().value == 3


def test_setting():
    settings.register(settings.Setting("mine.setting", get=int))


def test_disable():
    assert numpy
    settings.disable()


def test_clean():
    assert "mine.lazy" not in [each.name for each in backends.describe()]
    assert "mine.setting" not in settings.names()
    assert "numpy.errstate.divide" in settings.names()
