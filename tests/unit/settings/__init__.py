"""Tests of the settings of other libraries, which are Python."""

import pytest

pytestmark = pytest.mark.any_build
