"""Tests of flags, whose values and errors are those of Python and of single words."""

import pytest

pytestmark = pytest.mark.any_build
