"""Tests of the stubs, which type checkers read."""

import pytest

pytestmark = pytest.mark.any_build
