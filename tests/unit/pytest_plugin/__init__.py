"""Tests of the pytest plugin, which is Python."""

import pytest

pytestmark = pytest.mark.any_build
