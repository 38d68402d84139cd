"""Tests of limits of thread pools, which are Python."""

import pytest

pytestmark = pytest.mark.any_build
