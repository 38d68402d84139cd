"""Tests of the launcher, which is Python and does not use the extension."""

import pytest

pytestmark = pytest.mark.any_build
