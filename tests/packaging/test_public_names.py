"""The exports of the public modules: `__all__` and its names."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import sys
import typing
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import interlock
import pytest
from interlock import accelerator, settings, testing, threads

PROGRAMS = ("interlock.__main__", "interlock.backends.xeon.run_cpu")
"""Modules that are run and export nothing."""


def public_modules() -> list[str]:
    """Return the dotted names of all public modules."""
    found = pkgutil.walk_packages(interlock.__path__, "interlock.")
    names = (module.name for module in found)
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    return ["interlock", *sorted(set(public) - set(PROGRAMS))]


MODULES = public_modules()


@pytest.fixture
def module(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


EACH = pytest.mark.parametrize("module", MODULES, indirect=True)


def test_public_modules_are_found() -> None:
    assert {"interlock.testing", "interlock.backends.cudnn", "interlock.autograd.grad_mode"} <= set(MODULES)


@EACH
def test_all_lists_only_public_and_existing_names(module: ModuleType) -> None:
    names = module.__all__
    assert [name for name in names if name.startswith("_") and name != "__version__"] == []
    assert [name for name in names if not hasattr(module, name)] == []
    assert len(names) == len(set(names))


@EACH
def test_public_module_has_a_docstring(module: ModuleType) -> None:
    assert module.__doc__
    assert module.__doc__.strip().partition("\n")[0].endswith(".")


@EACH
def test_public_type_names_the_module_that_exports_it(module: ModuleType) -> None:
    for name in module.__all__:
        offered = getattr(module, name)
        if isinstance(offered, type):
            home = importlib.import_module(offered.__module__)
            assert not any(part.startswith("_") for part in home.__name__.split(".")), name
            assert getattr(home, offered.__qualname__) is offered


def functions_of(offered: object) -> Iterator[Callable[..., Any]]:
    """Yield a function, or the public and special methods of a class, that are defined in Python."""
    if not isinstance(offered, type):
        offered = inspect.unwrap(offered) if callable(offered) else offered
        if isinstance(offered, FunctionType):
            yield offered
        return
    for name, member in vars(offered).items():
        member = getattr(member, "fget", None) or getattr(member, "__func__", member)
        # `typing` and `enum` generate these, in a namespace of their own.
        is_generated = name == "__new__" and (hasattr(offered, "_fields") or hasattr(offered, "__members__"))
        is_public = not name.startswith("_") or name.endswith("__")
        if isinstance(member, FunctionType) and is_public and not is_generated:
            yield member


@EACH
def test_annotations_of_public_names_can_be_evaluated(module: ModuleType) -> None:
    for name in module.__all__:
        offered = getattr(module, name)
        if isinstance(offered, type):
            typing.get_type_hints(offered)
        for function in functions_of(offered):
            typing.get_type_hints(function)


def test_annotations_of_moved_types_are_those_of_their_source() -> None:
    assert typing.get_type_hints(settings.Difference) == {"name": str, "before": Any, "after": Any}
    hints = typing.get_type_hints(threads.Pool)
    assert hints["extent"] == typing.Literal["process", "thread", "context", "start"]
    fields = {field.name: field.type for field in dataclasses.fields(settings.Explanation)}
    assert fields == typing.get_type_hints(settings.Explanation)


def test_extension_module_lists_no_private_names() -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("interlock._core.")]
    assert len(modules) >= 5
    for module in modules:
        assert [name for name in module.__all__ if name.startswith("_")] == []


def test_testing_exports_its_tools_and_the_types_of_fixtures() -> None:
    assert testing.__all__ == [
        "Fault",
        "FaultInjector",
        "HostDevices",
        "PausedCopies",
        "Race",
        "RaceAccess",
        "Races",
        "Scenario",
        "ScopedSettings",
        "detect_races",
    ]
    for name in testing.__all__:
        assert getattr(testing, name).__module__ == "interlock.testing"
        assert not hasattr(accelerator, name)
