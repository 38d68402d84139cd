"""Scopes set slots of this thread, restore them, and refuse either all values or none."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from interlock import backends
from interlock.errors import FlagTypeError

from tests.unit.backends.flag_setters import MODULES as NAMED, module_named, own_flags
from tests.unit.backends.flag_specs import BY_NAME, read_all

pytestmark = pytest.mark.usefixtures("restored")

MODULES = {
    module: {
        flag.attribute: (flag.other, next(wrong for wrong in reversed(flag.wrong) if wrong is not None))
        for flag in own_flags(module)
    }
    for module in NAMED
}
"""Return a valid and an invalid value for each argument of `flags`."""
DEFAULTS = {
    "": "fp32_precision='none'",
    "cudnn": "enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, "
    "fp32_precision='none', depthwise_kernel='auto'",
    "mkldnn": "enabled=False, deterministic=False, allow_tf32=True, fp32_precision='none'",
    "miopen": "immediate=False",
    "nnpack": "enabled=False",
    "opt_einsum": "enabled=None, strategy=None",
}
EACH = pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "generic")


def reads(module: str) -> dict[str, object]:
    return {name: getattr(module_named(module), name) for name in MODULES[module]}


@EACH
def test_flags_has_the_signature_of_pytorch(module: str) -> None:
    parameters = inspect.signature(module_named(module).flags).parameters.values()
    assert ", ".join(f"{each.name}={each.default!r}" for each in parameters) == DEFAULTS[module]


@EACH
def test_scope_sets_every_flag_of_its_module_and_restores_it(module: str) -> None:
    before, process = read_all(), backends.snapshot()
    wanted = {name: good for name, (good, _) in MODULES[module].items()}
    with module_named(module).flags(**wanted):
        assert reads(module) == wanted
        assert backends.snapshot() == process, "the process's values are unchanged"
    assert (read_all(), backends.snapshot()) == (before, process)


def test_flags_sets_omitted_arguments_to_signature_defaults() -> None:
    backends.cudnn.benchmark = True
    backends.cudnn.benchmark_limit = 3
    with backends.cudnn.flags(deterministic=True):
        assert reads("cudnn") == {
            **{"enabled": False, "benchmark": False, "benchmark_limit": 10, "deterministic": True},
            **{"allow_tf32": True, "fp32_precision": "none", "depthwise_kernel": "auto"},
        }
    assert (backends.cudnn.benchmark, backends.cudnn.benchmark_limit) == (True, 3)


@EACH
def test_arguments_of_flags_may_be_positional(module: str) -> None:
    wanted = {name: good for name, (good, _) in MODULES[module].items()}
    with module_named(module).flags(*wanted.values()):
        assert reads(module) == wanted


@EACH
def test_flags_changes_nothing_if_one_argument_is_wrong(module: str) -> None:
    before, process = read_all(), backends.snapshot()
    for wrong in MODULES[module]:
        given = {name: bad if name == wrong else good for name, (good, bad) in MODULES[module].items()}
        with pytest.raises(RuntimeError, match=wrong), module_named(module).flags(**given):
            raise AssertionError("the scope was entered")
        assert (read_all(), backends.snapshot()) == (before, process)


def test_flags_with_ieee_overrides_the_default_of_allow_tf32() -> None:
    with backends.cudnn.flags(enabled=True, fp32_precision="ieee"):
        assert (backends.cudnn.conv.fp32_precision, backends.cudnn.allow_tf32) == ("ieee", False)
    assert (backends.cudnn.conv.fp32_precision, backends.cudnn.allow_tf32) == ("tf32", True)


def test_generic_scope_reaches_the_nodes_below_it() -> None:
    with backends.flags(fp32_precision="bf16"):
        assert backends.mkldnn.matmul.fp32_precision == "bf16"
        assert backends.cudnn.conv.fp32_precision == "none", "not supported there, so the search stops"
    assert backends.mkldnn.matmul.fp32_precision == "none"


def test_exception_exits_the_scope_and_propagates() -> None:
    with pytest.raises(KeyError), backends.cudnn.flags(enabled=False):
        raise KeyError
    assert backends.cudnn.enabled is True


def test_scopes_nest_and_can_be_reentered() -> None:
    outer, inner = backends.cudnn.flags(enabled=False), backends.cudnn.flags(enabled=True)
    with outer, inner:
        assert backends.cudnn.enabled is True
        with outer:
            assert backends.cudnn.enabled is False
            with outer:
                assert backends.cudnn.enabled is False
        assert backends.cudnn.enabled is True
    assert backends.cudnn.enabled is True


def test_scopes_exited_out_of_order_are_restored() -> None:
    first, second = backends.cudnn.flags(benchmark=True), backends.cudnn.flags(benchmark=False)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert backends.cudnn.benchmark is False
    second.__exit__(None, None, None)
    assert (backends.cudnn.benchmark, backends.cudnn.enabled) == (False, True)


def test_exit_without_enter_does_nothing() -> None:
    before = read_all()
    assert not backends.cudnn.flags(enabled=False).__exit__(None, None, None)
    assert read_all() == before


class ChangingLimit:
    """An object whose `__index__` changes later."""

    value = 3

    def __index__(self) -> int:
        return self.value


def test_flags_reads_the_number_of_an_argument_in_each_call() -> None:
    limit: Any = ChangingLimit()
    with backends.cudnn.flags(benchmark_limit=limit):
        assert backends.cudnn.benchmark_limit == 3
    limit.value = 5
    with backends.cudnn.flags(benchmark_limit=limit):
        assert backends.cudnn.benchmark_limit == 5


def test_flags_returns_independent_scopes_for_equal_arguments() -> None:
    outer, inner = backends.cudnn.flags(enabled=False), backends.cudnn.flags(enabled=False)
    with outer:
        with inner:
            backends.cudnn.enabled = True
            assert backends.cudnn.enabled
        assert not backends.cudnn.enabled
    assert backends.cudnn.enabled


def test_flags_checks_its_arguments_after_a_call_that_was_right() -> None:
    with backends.cudnn.flags(enabled=False):
        pass
    with pytest.raises(FlagTypeError):
        backends.cudnn.flags(enabled=cast("bool", 0))


def test_override_accepts_flags_of_several_modules() -> None:
    names = ("cudnn.enabled", "mkldnn.deterministic", "cuda.matmul.allow_fp16_accumulation", "fp32_precision")
    with backends.override(**{name: BY_NAME[name].other for name in names}):
        assert [BY_NAME[name].get() for name in names] == [BY_NAME[name].other for name in names]
    assert [BY_NAME[name].get() for name in names] == [BY_NAME[name].default for name in names]


def test_override_suggests_a_name_for_an_unknown_flag() -> None:
    with (
        pytest.raises((AttributeError, LookupError, ValueError), match=r"cudnn\.benchmark\b"),
        backends.override(**{"cudnn.benchmrak": True}),
    ):
        raise AssertionError("the scope was entered")


def test_deleting_inside_a_scope_unsets_only_there() -> None:
    backends.cudnn.benchmark = True
    with backends.override(**{"cudnn.benchmark": True}):
        del backends.cudnn.benchmark
        assert backends.cudnn.benchmark is False
    assert backends.cudnn.benchmark is True


def test_set_flags_writes_each_flag_at_its_owning_scope() -> None:
    with backends.override(**{"cudnn.enabled": False}):
        backends.cudnn.set_flags(_enabled=True, _benchmark=True)
        assert (backends.cudnn.enabled, backends.cudnn.benchmark) == (True, True)
        backends.cudnn.set_flags(_enabled=False)
    assert (backends.cudnn.enabled, backends.cudnn.benchmark) == (True, True)


SCOPES: dict[str, Callable[[], Any]] = {
    "flags": lambda: backends.cudnn.flags(enabled=False),
    "override": lambda: backends.override(**{"cudnn.enabled": False}),
}
BOTH = pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES.keys())


@BOTH
def test_decorated_function_runs_in_the_scope_each_time(scope: Callable[[], Any]) -> None:
    @scope()
    def called(depth: int) -> list[bool]:
        """What it says."""
        return [backends.cudnn.enabled, *(called(depth - 1) if depth else [])]

    assert backends.cudnn.enabled is True
    assert called(2) == [False, False, False] == called(2)
    assert backends.cudnn.enabled is True
    assert (called.__name__, called.__doc__) == ("called", "What it says.")


@BOTH
def test_decorated_generator_is_in_the_scope_only_while_it_runs(scope: Callable[[], Any]) -> None:
    @scope()
    def generator() -> Iterator[bool]:
        yield backends.cudnn.enabled
        yield backends.cudnn.enabled

    assert inspect.isgeneratorfunction(generator)
    assert [(inside, backends.cudnn.enabled) for inside in generator()] == [(False, True), (False, True)]


@BOTH
def test_decorated_method_keeps_its_object(scope: Callable[[], Any]) -> None:
    class Owner:
        @scope()
        def method(self) -> tuple[object, bool]:
            return self, backends.cudnn.enabled

    owner = Owner()
    assert owner.method() == (owner, False)


def test_repr_of_a_scope_shows_its_flags() -> None:
    scope = backends.override({"cudnn.enabled": False, "cudnn.conv.fp32_precision": "ieee"})
    assert repr(scope) == "FlagScope(cudnn.enabled=False, cudnn.conv.fp32_precision=ieee)"
    assert "cudnn.rnn.fp32_precision=None" in repr(backends.cudnn.flags())
