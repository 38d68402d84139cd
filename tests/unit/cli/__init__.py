"""Tests of `python -m interlock`, which is Python."""

import pytest

pytestmark = pytest.mark.any_build
