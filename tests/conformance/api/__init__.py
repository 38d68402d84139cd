"""The names and signatures of PyTorch, beside those of the package."""

import pytest

pytestmark = pytest.mark.any_build
