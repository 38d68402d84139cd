"""Every context manager as a decorator of every kind of function applies inside and never outside."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import interlock
import pytest
from interlock import backends

from tests.unit.autograd.callable_kinds import USES, Use
from tests.unit.autograd.mode_cases import HIDDEN, all_modes, public_modes
from tests.unit.backends.flag_specs import read_all


class Manager(NamedTuple):
    """A decorator, a function that reads its effect, an outer scope, and the form without parentheses."""

    make: Callable[[], Any]
    look: Callable[[], Any]
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    bare: Any = None


MANAGERS = {
    "no_grad": Manager(interlock.no_grad, public_modes, bare=interlock.no_grad),
    "enable_grad": Manager(
        interlock.enable_grad, public_modes, interlock.no_grad, bare=interlock.enable_grad
    ),
    "set_grad_enabled": Manager(lambda: interlock.set_grad_enabled(False), public_modes),
    "inference_mode": Manager(interlock.inference_mode, all_modes, bare=interlock.inference_mode),
    "inference_mode(False)": Manager(
        lambda: interlock.inference_mode(False), all_modes, interlock.inference_mode
    ),
    **{
        kind.__name__: Manager(lambda kind=kind, on=on: kind(on), all_modes)
        for kind, on in zip(HIDDEN, (False, True, False), strict=True)
    },
    "cudnn.flags": Manager(lambda: backends.cudnn.flags(enabled=False, benchmark=True), read_all),
    "mkldnn.flags": Manager(lambda: backends.mkldnn.flags(fp32_precision="ieee"), read_all),
    "backends.flags": Manager(lambda: backends.flags("ieee"), read_all),
    "override": Manager(lambda: backends.override({"cudnn.deterministic": True}), read_all),
    "frozen": Manager(backends.frozen, backends.flags_frozen),
}
DECORATORS = {
    name: (manager, lambda manager=manager: manager.make()) for name, manager in MANAGERS.items()
} | {
    f"{name} without parentheses": (manager, lambda manager=manager: manager.bare)
    for name, manager in MANAGERS.items()
    if manager.bare is not None
}


@pytest.mark.product
@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
@pytest.mark.parametrize(("manager", "decorator"), DECORATORS.values(), ids=DECORATORS.keys())
def test_decorator_applies_only_while_the_function_runs(
    manager: Manager, decorator: Callable[[], Any], use: Use
) -> None:
    with manager.around():
        without = manager.look()
        with manager.make():
            held = manager.look()
        assert held != without
        inside: list[object] = []
        outside: list[object] = []
        use(decorator(), lambda: inside.append(manager.look()), lambda: outside.append(manager.look()))
        assert manager.look() == without
    assert inside, "the body ran"
    assert [seen for seen in inside if seen != held] == []
    assert [seen for seen in outside if seen != without] == []
