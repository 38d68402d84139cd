"""Errors for names that are no flag: they name the flags of a namespace, or suggest a similar name."""

from __future__ import annotations

import pytest
from interlock import backends, errors


def test_find_accepts_the_prefix_backends() -> None:
    assert backends.explain("backends.cudnn.enabled") == backends.explain("cudnn.enabled")
    with backends.override({"backends.cudnn.enabled": False}):
        assert not backends.cudnn.enabled


@pytest.mark.parametrize("name", ["cudnn", "backends.cudnn"])
def test_override_names_the_flags_of_a_namespace(name: str) -> None:
    before = backends.snapshot()
    message = r"^backends\.cudnn is a namespace, not a flag; its flags: .*enabled, .*benchmark"
    with pytest.raises(errors.UnknownFlagError, match=message):
        backends.override({name: True})
    with pytest.raises(errors.UnknownFlagError, match=message):
        backends.explain(name)
    assert backends.snapshot() == before


def test_read_of_an_unknown_flag_suggests_one() -> None:
    message = r'backends\.cudnn\.conv has no flag "enabled"; did you mean'
    with pytest.raises(errors.UnknownFlagError, match=message):
        _ = backends.cudnn.conv.enabled  # type: ignore[attr-defined]
    with pytest.raises(errors.UnknownFlagError, match=r'did you mean "fp32_precision"'):
        _ = backends.cuda.matmul.fp32_precison  # type: ignore[attr-defined]
    assert not hasattr(backends.cudnn.conv, "enabled")
    assert getattr(backends.cudnn.conv, "__wrapped__", None) is None
