import unittest

import numpy
import pytest


class TestOwnLoop(unittest.IsolatedAsyncioTestCase):
    @pytest.fixture(autouse=True)
    def _settings(self, interlock_settings):
        self.settings = interlock_settings

    async def test_division(self):
        self.settings.override({"numpy.errstate.divide": "raise"})
        with pytest.raises(FloatingPointError):
            numpy.float64(1) / numpy.float64(0)


def test_after():
    assert numpy.geterr()["divide"] == "warn"
