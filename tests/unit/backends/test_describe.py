"""`backends.describe`: types, variables, documentation and values of flags."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from interlock import backends, errors
from interlock._cli import collect
from interlock.backends import Description, Level, register

pytestmark = pytest.mark.usefixtures("restored")


NUMBERS = itertools.count()


class Color(enum.Enum):
    AUTO = 1
    NEVER = 2


def check(color: Color) -> bool:
    return color in Color


def test_registered_flag_is_described() -> None:
    color = register(
        "describe_test.color",
        Color.AUTO,
        doc="When output\n is coloured.",
        affects="the printer",
        variable="DESCRIBE_COLOR",
        validator=check,
    )
    color.value = Color.NEVER
    assert backends.describe(color) == Description(
        name="describe_test.color",
        type="Color",
        accepts="'AUTO' or 'NEVER'",
        validator="check",
        default=Color.AUTO,
        value=Color.NEVER,
        level=Level.PROCESS,
        set_by=None,
        effective=Color.NEVER,
        overridden_by=None,
        inherited_from=None,
        variables=("DESCRIBE_COLOR",),
        variables_read="when the flag is registered",
        affects="the printer in describe_test",
        documentation="When output is coloured.",
        is_registered=True,
    )


@pytest.mark.parametrize(
    ("default", "options", "type_", "accepts"),
    [
        ((1,), {}, "tuple[int, ...]", "a tuple or list of at most 1024 items, each an int from 0 to"),
        (None, {"type": list[Color]}, "tuple[Color, ...] | None", "each 'AUTO', 'NEVER' or None"),
        (Path("a"), {}, "Path", "a path of 1 to 65536 bytes"),
        ("a", {"choices": ("a", "b")}, 'Literal["a", "b"]', "'a' or 'b'"),
    ],
)
def test_types_of_registered_flags(default: Any, options: Any, type_: str, accepts: str) -> None:
    untyped: Any = register
    flag = untyped(f"describe_test.flag{next(NUMBERS)}", default, doc="A flag.", **options)
    described = backends.describe(flag)
    assert described.type == type_
    assert accepts in (described.accepts or "")
    assert (described.default, described.variables_read) == (default, "when the flag is registered")


def test_every_flag_is_described_as_explain_does() -> None:
    every = backends.describe()
    assert [described.name for described in every][:2] == [row.name for row in every[:2]]
    for described in every:
        explained = backends.explain(described.name)
        assert (described.value, described.level) == (explained.value, explained.level)
        assert described.is_registered or described.documentation.endswith(".")
        assert (described.variables_read is None) == (not described.variables)
    own = backends.describe("backends.cudnn.enabled")
    assert (own.type, own.is_registered, own.validator) == ("bool", False, None)
    assert own.variables_read == "when interlock is imported"


@pytest.mark.parametrize("function", [backends.describe, collect.flags])
def test_flag_may_be_unregistered_meanwhile(function: Callable[[], Iterable[Any]]) -> None:
    class Members(enum.EnumMeta):
        def __getitem__(cls, name: str) -> Any:
            if armed:
                backends.unregister(armed.pop())
            return super().__getitem__(name)

    class Unregistering(enum.Enum, metaclass=Members):
        A = 1

    armed: list[backends.Flag[Any]] = []
    flag = register(f"describe_test.flag{next(NUMBERS)}", 1, doc="A flag.")
    name = f"describe_test.flag{next(NUMBERS)}"
    register(name, Unregistering.A, doc="A flag whose values are looked up in its class.")
    armed.append(flag)
    names = {described.name for described in function()}
    assert {flag.name, name} <= names
    assert not armed
    assert flag.name not in {described.name for described in function()}


def test_unknown_names_are_refused() -> None:
    with pytest.raises(errors.UnknownFlagError, match=r"did you mean backends\.cudnn\.enabled"):
        backends.describe("cudnn.enable")
    with pytest.raises(errors.UnknownFlagError, match=r"^describe: state\.grad is a mode or device"):
        backends.describe("state.grad")
    untyped: Any = backends.describe
    with pytest.raises(errors.FlagTypeError, match="describe: name must be a str or a Flag, got int"):
        untyped(1)
