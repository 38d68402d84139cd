"""Scopes can be copied and pickled; modules of flags are pickled by name, so functions can use them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from interlock import backends

from tests.unit.backends.flag_specs import FLAGS, Flag, ids, read_all

pytestmark = pytest.mark.usefixtures("restored")

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}
EACH_WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def assert_same(made: Any, original: Any) -> None:
    before = read_all()
    assert (type(made), repr(made)) == (type(original), repr(original))
    with original:
        inside = read_all()
        made.__exit__(None, None, None)
        assert read_all() == inside, "the copy was not entered"
    with made:
        assert read_all() == inside
    assert read_all() == before


@EACH_WAY
@pytest.mark.parametrize(
    "make",
    [
        backends.flags,
        backends.cudnn.flags,
        lambda: backends.cudnn.flags(allow_tf32=False, fp32_precision="ieee"),
        backends.mkldnn.flags,
        backends.override,
    ],
)
def test_copy_of_a_scope_sets_the_same_flags(way: Callable[[Any], Any], make: Callable[[], Any]) -> None:
    # Values that would be visible if the scope set too few flags.
    backends.fp32_precision = "tf32"
    backends.cudnn.conv.fp32_precision = "none"
    backends.mkldnn.deterministic = True
    assert_same(way(make()), make())


@pytest.mark.parametrize("flag", FLAGS, ids=ids)
def test_every_value_of_every_flag_can_be_pickled(flag: Flag) -> None:
    for value in flag.legal:
        original = backends.override({flag.name: value})
        assert_same(copy.copy(original), original)


def test_override_refuses_none_for_a_precision_node() -> None:
    with pytest.raises(RuntimeError, match=r"cudnn\.conv\.fp32_precision"):
        backends.override({"cudnn.conv.fp32_precision": None})


@EACH_WAY
def test_copy_of_a_freeze_is_independent(way: Callable[[Any], Any]) -> None:
    original = backends.frozen()
    with original:
        made = way(original)
        made.__exit__(None, None, None)
        assert backends.flags_frozen() is True
    with made:
        assert backends.flags_frozen() is True
    assert backends.flags_frozen() is False


@EACH_WAY
@pytest.mark.parametrize(
    "module", [backends, backends.cuda, backends.cudnn, backends.mkldnn], ids=lambda module: module.__name__
)
def test_copy_of_a_module_is_the_module(way: Callable[[Any], Any], module: Any) -> None:
    assert way(module) is module


@EACH_WAY
@pytest.mark.parametrize(
    "owner",
    [backends.cudnn.conv, backends.cuda.matmul, backends.mkldnn.rnn],
    ids=lambda owner: type(owner).__name__,
)
def test_copy_of_an_owner_of_flags_shows_the_same_flags(way: Callable[[Any], Any], owner: Any) -> None:
    made = way(owner)
    owner.fp32_precision = "ieee"
    assert made.fp32_precision == "ieee"
