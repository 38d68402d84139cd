"""Unknown names are refused with a suggestion; `dir()` and `vars()` list flags."""

from __future__ import annotations

import re
import sys
import types
from typing import Any

import pytest
from interlock import backends

from tests.helpers.subprocess import run_program
from tests.unit.backends.flag_specs import FLAGS

pytestmark = pytest.mark.usefixtures("restored")

OWNERS = {flag.name.rpartition(".")[0]: flag.owner for flag in FLAGS} | {"cuda": backends.cuda}
EACH = pytest.mark.parametrize("owner", OWNERS.values(), ids=[name or "backends" for name in OWNERS])


@EACH
def test_name_without_a_suggestion_is_refused_too(owner: Any) -> None:
    with pytest.raises(AttributeError, match="zzzyzx"):
        owner.zzzyzx = True
    with pytest.raises(AttributeError, match="zzzyzx"):
        owner.zzzyzx = None  # the result of `sys.modules.get` for a missing module
    with pytest.raises(AttributeError, match="zzzyzx"):
        owner.zzzyzx  # noqa: B018
    with pytest.raises(AttributeError, match="zzzyzx"):
        del owner.zzzyzx
    assert "zzzyzx" not in dir(owner)


@pytest.mark.parametrize(
    ("path", "typo", "near"),
    [
        ("cudnn", "benchmrak", "benchmark"),
        ("", "fp32_prec", "fp32_precision"),
        ("mkldnn", "enable", "enabled"),
        ("cuda.matmul", "allow_tf23", "allow_tf32"),
        ("cudnn.conv", "fp32_precison", "fp32_precision"),
    ],
)
def test_misspelt_name_suggests_the_right_name(path: str, typo: str, near: str) -> None:
    owner: Any = backends
    for part in path.split(".") if path else ():
        owner = getattr(owner, part)
    with pytest.raises(AttributeError) as caught:
        setattr(owner, typo, True)
    assert re.search(rf"(?<!\w){typo}(?!\w)", str(caught.value))
    assert re.search(rf"(?<!\w){near}(?!\w)", str(caught.value))


MODULES = {"backends": backends, "cudnn": backends.cudnn, "mkldnn": backends.mkldnn, "cuda": backends.cuda}


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES.keys())
def test_private_name_may_be_set_and_deleted(module: Any) -> None:
    module._note = 3
    assert module._note == 3
    del module._note
    assert not hasattr(module, "_note")


def test_existing_function_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    original = backends.flags_frozen
    monkeypatch.setattr(backends, "flags_frozen", lambda: "replaced")
    assert backends.flags_frozen() == "replaced"
    monkeypatch.undo()
    assert backends.flags_frozen is original


@pytest.mark.parametrize(
    ("owner", "name", "cure"),
    [
        (backends, "mkldnn", "assign one of its flags: enabled, "),
        (backends, "mha", "assign one of its flags: fastpath"),
        (backends, "cudnn", "assign one of its flags: enabled, "),
        (backends, "openmp", "only: Runtime, is_available, runtimes"),
        (backends.cudnn, "conv", "assign one of its flags: fp32_precision"),
        (backends.cuda, "matmul", "assign one of its flags: "),
        (backends.cuda, "cufft_plan_cache", "max_size"),
        (backends.cuda, "enable_flash_sdp", "call it: backends.cuda.enable_flash_sdp(...)"),
        (backends, "flags_frozen", "call it: backends.flags_frozen(...)"),
    ],
)
def test_namespace_or_function_is_not_assigned_or_deleted(owner: Any, name: str, cure: str) -> None:
    original = getattr(owner, name)
    for value in (False, "ieee", None):
        with pytest.raises(AttributeError, match=f"{name} is .* cannot be assigned; .*{re.escape(cure)}"):
            setattr(owner, name, value)
    with pytest.raises(AttributeError, match=f"{name} is .* cannot be deleted"):
        delattr(owner, name)
    assert getattr(owner, name) is original
    setattr(owner, name, original)
    assert getattr(owner, name) is original


def test_reimported_module_replaces_the_previous_one() -> None:
    done = run_program("backends.flags.reimported_module_replaces_the_previous_one")
    assert (done.code, done.stdout) == (0, "False\n"), done.stderr


def test_only_the_import_system_may_set_a_submodule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = types.ModuleType("interlock.backends.plugged_in")
    with pytest.raises(AttributeError):
        backends.plugged_in = module
    monkeypatch.setitem(sys.modules, "interlock.backends.plugged_in", module)
    with pytest.raises(AttributeError):
        backends.plugged_in = types.ModuleType("interlock.backends.plugged_in")
    backends.plugged_in = module
    assert backends.plugged_in is module
    del backends.plugged_in
    assert not hasattr(backends, "plugged_in")


def test_modules_are_still_modules() -> None:
    for name in ("interlock.backends", "interlock.backends.cudnn", "interlock.backends.mkldnn"):
        module = sys.modules[name]
        assert isinstance(module, types.ModuleType)
        assert module.__name__ == name
        assert module.__spec__ is not None
        assert isinstance(vars(module), dict)


def test_setattr_with_a_computed_name_assigns_the_flag() -> None:
    name = "".join(["bench", "mark"])
    setattr(backends.cudnn, name, True)
    assert backends.cudnn.benchmark is True
    delattr(backends.cudnn, name)
    assert backends.cudnn.benchmark is False


def test_flag_of_another_owner_is_refused() -> None:
    backends.cudnn.benchmark = True
    owners: list[Any] = [backends.cudnn.conv, backends.mkldnn, backends]
    for owner in owners:
        with pytest.raises(AttributeError, match=r"benchmark"):
            owner.benchmark = True


def test_subclass_of_a_flag_class_assigns_and_refuses_alike() -> None:
    class Subclass(type(backends.cudnn)):  # type: ignore[misc]
        mine = 0

    module = Subclass(backends.cudnn, "subclass")
    module.benchmark = True
    module.mine = 3
    assert (backends.cudnn.benchmark, module.mine) == (True, 3)
    with pytest.raises(AttributeError, match="benchmark"):
        module.benchmrak = True


def test_assignment_calls_the_replaced_descriptor_of_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []
    replaced = property(lambda module: given, lambda module, value: given.append(value))
    monkeypatch.setattr(type(backends.cudnn), "benchmark", replaced)
    backends.cudnn.benchmark = True
    assert given == [True]
    monkeypatch.undo()
    assert backends.cudnn.benchmark is False
