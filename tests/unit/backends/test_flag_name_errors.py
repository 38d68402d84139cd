"""Errors for names that are no flag: they name the flags of a namespace, or suggest a similar name."""

from __future__ import annotations

import pytest
from interlock import backends, errors


@pytest.mark.parametrize("name", ["backends.cudnn.enabled", "interlock.backends.cudnn.enabled"])
def test_name_of_a_flag_may_begin_with_its_module(name: str) -> None:
    assert backends.explain(name) == backends.explain("cudnn.enabled")
    with backends.override({name: False}):
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


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("cudnn.bench", "; did you mean backends.cudnn.benchmark?"),
        ("torch.backends.cudnn.benchmark", "; did you mean backends.cudnn.benchmark?"),
        ("cudnn.nope", "there is no flag backends.cudnn.nope"),
        ("x", "there is no flag backends.x"),
    ],
)
def test_suggestion_for_a_name_is_similar_in_each_part(name: str, ending: str) -> None:
    with pytest.raises(errors.UnknownFlagError) as caught:
        backends.override({name: True})
    assert str(caught.value).endswith(ending)


def test_read_of_an_unknown_flag_suggests_one() -> None:
    message = r'backends\.cudnn\.conv has no flag "enabled"; did you mean'
    with pytest.raises(errors.UnknownFlagError, match=message):
        _ = backends.cudnn.conv.enabled  # type: ignore[attr-defined]
    with pytest.raises(errors.UnknownFlagError, match=r'did you mean "fp32_precision"'):
        _ = backends.cuda.matmul.fp32_precison  # type: ignore[attr-defined]
    with pytest.raises(
        errors.UnknownFlagError, match=r"has no attribute 'bench'; did you mean \"benchmark\""
    ):
        _ = backends.cudnn.bench  # type: ignore[attr-defined]
    with pytest.raises(errors.UnknownFlagError, match=r'did you mean "is_available"\?$'):
        _ = backends.cudnn.is_availble()  # type: ignore[attr-defined]
    with pytest.raises(errors.UnknownFlagError, match=r"'interlock\.backends' has no .* \"cudnn\"\?$"):
        _ = backends.cudn  # type: ignore[attr-defined]
    assert not hasattr(backends.cudnn.conv, "enabled")
    assert not hasattr(backends.cudnn, "nope")
    assert getattr(backends.cudnn.conv, "__wrapped__", None) is None
