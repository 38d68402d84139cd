"""Fixtures of the tests of states that processes receive."""

from __future__ import annotations

import pytest
from interlock.integrations import _received


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the state that the test installs."""
    monkeypatch.setattr(_received, "_reception", _received._Reception())
