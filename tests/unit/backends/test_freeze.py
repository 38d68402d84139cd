"""A freeze refuses every kind of write, and no scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import backends, errors

from tests.helpers.subprocess import eval_program
from tests.unit.backends.flag_setters import FUNCTIONS, MODULES, module_named, own_flags
from tests.unit.backends.flag_specs import BY_NAME, read_all

pytestmark = pytest.mark.usefixtures("restored")

STARTING = backends.snapshot()
OTHER_WRITERS: dict[str, Callable[[], Any]] = {
    "set_float32_matmul_precision": lambda: interlock.set_float32_matmul_precision("high"),
    **{
        f"{module or 'backends'}.set_flags": lambda module=module: module_named(module).set_flags(
            *(flag.other for flag in own_flags(module))
        )
        for module in MODULES
    },
    **{
        name: lambda function=function, names=names: function(*(BY_NAME[each].other for each in names))
        for name, (function, names) in FUNCTIONS.items()
    },
    "reset": lambda: backends.reset(),
    "restore": lambda: backends.restore(STARTING),
}


@pytest.mark.parametrize("write", OTHER_WRITERS.values(), ids=OTHER_WRITERS.keys())
def test_freeze_refuses_every_other_writer(write: Callable[[], Any]) -> None:
    backends.cudnn.deterministic = True
    before, values = backends.snapshot(), read_all()
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError):
        write()
    assert (backends.snapshot(), read_all()) == (before, values)
    write()
    assert backends.snapshot() != before


def test_scoped_freezes_are_counted() -> None:
    first, second = backends.frozen(), backends.frozen()
    assert backends.flags_frozen() is False
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert backends.flags_frozen() is True
    with pytest.raises(errors.FlagsFrozenError):
        backends.cudnn.enabled = False
    second.__exit__(None, None, None)
    assert backends.flags_frozen() is False
    backends.cudnn.enabled = False
    assert backends.cudnn.enabled is False


def test_exception_ends_a_scoped_freeze() -> None:
    with pytest.raises(KeyError), backends.frozen():
        raise KeyError
    assert backends.flags_frozen() is False


def test_freeze_applies_to_every_thread(workers) -> None:
    def write() -> None:
        backends.cudnn.benchmark = True

    with backends.frozen():
        assert workers[0].do(backends.flags_frozen) is True
        with pytest.raises(errors.FlagsFrozenError):
            workers[0].do(write)
    workers[0].do(write)
    assert backends.cudnn.benchmark is True


def test_gradient_modes_are_not_frozen() -> None:
    with backends.frozen(), interlock.no_grad():
        assert interlock.is_grad_enabled() is False
        interlock.set_grad_enabled(True)
        assert interlock.is_grad_enabled() is True


def test_disable_global_flags_is_permanent_and_names_its_caller() -> None:
    assert eval_program("backends.flags.freeze_one_way") == [True, True, True, True, False, True, True, True]
