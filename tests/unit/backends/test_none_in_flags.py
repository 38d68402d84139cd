"""None as an argument of `flags` and `set_flags` of every module."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from interlock import backends, errors
from interlock.backends import cudnn, mkldnn, nnpack

from tests.unit.backends.flag_setters import MODULES, module_named, own_flags
from tests.unit.backends.flag_specs import read_all

pytestmark = pytest.mark.usefixtures("restored")

LEAVE = [module for module in MODULES if module != "nnpack"]
"""The modules for which None keeps a flag unchanged; NNPACK's functions refuse it, as in PyTorch."""
EACH = [(module, flag.name.rpartition(".")[2]) for module in LEAVE for flag in own_flags(module)]


def assign_everything(module: str) -> None:
    """Assign a value other than the default to every flag of the module, aliases first."""
    for flag in sorted(own_flags(module), key=lambda flag: not flag.is_view):
        flag.set(flag.other)


@pytest.mark.parametrize("module", LEAVE)
def test_flags_of_none_sets_nothing(module: str) -> None:
    assign_everything(module)
    before = read_all()
    scope = module_named(module).flags(*(None for _ in own_flags(module)))
    for made in (scope, pickle.loads(pickle.dumps(scope))):
        with made:
            assert read_all() == before
    assert read_all() == before


@pytest.mark.parametrize(("module", "argument"), EACH)
def test_flags_ignores_arguments_that_are_none(module: str, argument: str) -> None:
    flag = next(flag for flag in own_flags(module) if flag.name.rpartition(".")[2] == argument)
    flag.set(flag.other)
    others = [other for other in own_flags(module) if other is not flag and "32" not in other.name]
    arguments: dict[str, Any] = {other.attribute: other.default for other in others}
    if "32" in flag.name:  # these are aliases of one another
        arguments |= dict.fromkeys(("allow_tf32", "fp32_precision") if module else ("fp32_precision",))
    with module_named(module).flags(**arguments | {argument: None}):
        assert flag.get() == flag.other
        assert [other.get() for other in others] == [other.default for other in others]


@pytest.mark.parametrize("module", LEAVE)
def test_set_flags_of_none_writes_nothing(module: str) -> None:
    assign_everything(module)
    before, epoch = read_all(), backends.epoch()
    module_named(module).set_flags(*(None for _ in own_flags(module)))
    assert (read_all(), backends.epoch()) == (before, epoch)


def test_flags_with_none_and_a_value_sets_the_value_only() -> None:
    cudnn.allow_tf32 = True
    with cudnn.flags(enabled=None, allow_tf32=False):
        assert (cudnn.enabled, cudnn.allow_tf32) == (True, False)
    mkldnn.deterministic = True
    with mkldnn.flags(enabled=False, deterministic=None, allow_tf32=None):
        assert (mkldnn.enabled, mkldnn.deterministic, mkldnn.allow_tf32) == (False, True, None)


def test_flags_of_nnpack_refuses_none() -> None:
    wrong: Any = None
    for function in (nnpack.flags, nnpack.set_flags):
        with pytest.raises(errors.FlagTypeError, match=r"nnpack\.enabled must be a bool, got None"):
            function(wrong)
    assert nnpack.enabled
