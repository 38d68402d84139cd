"""Registered flags of enumerations, lists and paths: values, texts of variables, snapshots and errors."""

from __future__ import annotations

import enum
import itertools
import json
import os
import pickle
from pathlib import Path
from typing import Any, Literal

import pytest
from interlock import backends, capture, errors
from interlock.backends import Flag, register

pytestmark = pytest.mark.usefixtures("restored")

untyped: Any = register
NUMBERS = itertools.count()


class Color(enum.Enum):
    AUTO = "automatic"
    NEVER = 0


class Mode(enum.StrEnum):
    FAST = "EXACT"
    EXACT = "fast"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Option(enum.Flag):
    ONE = 1
    TWO = 2


def new(default: Any, **options: Any) -> Flag[Any]:
    flag: Flag[Any] = untyped(f"own_types.flag{next(NUMBERS)}", default, doc="A flag.", **options)
    return flag


CASES: dict[str, tuple[Any, dict[str, Any], list[tuple[Any, Any]], list[Any]]] = {
    "enum": (
        Color.AUTO,
        {},
        [(Color.NEVER, Color.NEVER), ("AUTO", Color.AUTO)],
        ["automatic", "auto", 0, Mode.FAST],
    ),
    "str enum": (Mode.FAST, {}, [(Mode.EXACT, Mode.EXACT), ("FAST", Mode.FAST)], ["fast", Color.AUTO]),
    "int enum": (Level.LOW, {}, [(Level.HIGH, Level.HIGH)], [1, 2, True]),
    "optional enum": (None, {"type": Color}, [(Color.AUTO, Color.AUTO), (None, None)], ["x"]),
    "path": (
        Path("a"),
        {},
        [(Path("b/c"), Path("b/c")), ("d", Path("d"))],
        ["", "a\0b", 1, None, b"x", Path("x" * 70_000)],
    ),
    "path of text": ("a", {"type": Path}, [("~/x", Path("~/x"))], [1.5]),
    "optional path": (None, {"type": Path}, [(Path("x"), Path("x")), (None, None)], [1]),
    "ints": (
        (1, 2),
        {},
        [([3], (3,)), ((), ()), ((0,) * 1024, (0,) * 1024)],
        [1, [True], ["1"], [-1], (0,) * 1025],
    ),
    "floats": ([0.5], {"maximum": 1.0}, [((1, 0.25), (1.0, 0.25))], [[2.0], [float("nan")]]),
    "bools": ([True], {}, [([False, True], (False, True))], [[1]]),
    "texts": (["a"], {}, [(["", "b,c"], ("", "b,c"))], ["abc", [1], [["a"]]]),
    "names": (["a"], {"type": list[Literal["a", "b"]]}, [(("b", "a", "b"), ("b", "a", "b"))], [["c"]]),
    "paths": ((), {"type": tuple[Path, ...]}, [([Path("x"), "y"], (Path("x"), Path("y")))], [[""], [1]]),
    "members": (
        [Color.AUTO],
        {},
        [([Color.NEVER, "AUTO"], (Color.NEVER, Color.AUTO))],
        [[Mode.FAST], Color.AUTO],
    ),
    "optional ints": (None, {"type": list[int]}, [([1], (1,)), (None, None)], [[None]]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_are_assigned_scoped_and_captured(case: Any) -> None:
    default, options, good, wrong = case
    flag = new(default, **options)
    read: Any = tuple(default) if isinstance(default, list) else default
    if options.get("type") is Path and default is not None:
        read = Path(default)
    assert (flag.value, type(flag.value)) == (read, type(read))
    for given, expected in good:
        flag.value = given
        assert flag.value == expected
        assert type(flag.value) is type(expected)
        assert backends.explain(flag).value == expected
        del flag.value
        with flag.override(given), backends.override({flag: given}):
            assert flag.value == expected
            state = capture()
        assert state.run(lambda: flag.value) == expected
        copied = pickle.loads(pickle.dumps(state))
        assert copied.run(lambda: flag.value) == expected
    for given in wrong:
        for write in (lambda: setattr(flag, "value", given), lambda: flag.override(given)):  # noqa: B023
            with pytest.raises((errors.FlagTypeError, errors.FlagValueError), match=f"^{flag.name} must be "):
                write()
        assert flag.value == read


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_snapshots_are_restored_from_pickles_and_json(case: Any) -> None:
    default, options, good, _ = case
    flag = new(default, **options)
    for given, expected in good:
        flag.value = given
        taken = backends.snapshot()
        for copied in (pickle.loads(pickle.dumps(taken)), json.loads(json.dumps(taken))):
            del flag.value
            backends.restore(copied)
            assert (flag.value, backends.explain(flag).level) == (expected, "process")


@pytest.mark.parametrize(
    ("default", "options", "texts", "refused"),
    [
        (Color.AUTO, {}, {"never": Color.NEVER, " NEVER ": Color.NEVER}, ["automatic", ""]),
        (None, {"type": Color}, {"none": None, "auto": Color.AUTO}, ["x"]),
        (
            Path("a"),
            {},
            {" b c ": Path("b c"), "~/x": Path("/home/me/x"), "~you/x": Path("~you/x")},
            ["", " "],
        ),
        ((1,), {}, {"2, 3": (2, 3), "": (), " ": ()}, ["2;3", "2,", "x", "-1"]),
        ([True], {}, {"1,false": (True, False)}, ["2"]),
        (["a"], {}, {r"b\,c, d e ,\\": ("b,c", "d e", "\\"), r"a\b": (r"a\b",), ",": ("", "")}, []),
        (["a"], {"type": list[Literal["a", "b"]]}, {"B,a": ("b", "a")}, ["c"]),
        (None, {"type": list[int]}, {"none": None, "1": (1,)}, ["1,none"]),
        ([Color.AUTO], {}, {"never,auto": (Color.NEVER, Color.AUTO)}, ["x"]),
        (
            [Path("a")],
            {},
            {os.pathsep.join(("~/x", "", "b,c")): (Path("/home/me/x"), Path("b,c")), "": ()},
            [],
        ),
    ],
)
def test_texts_of_variables(
    default: Any, options: Any, texts: dict[str, Any], refused: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("USERPROFILE", "/home/me")
    for text, expected in texts.items():
        monkeypatch.setenv("OWN_TYPES_TEXT", text)
        flag = new(default, variable="OWN_TYPES_TEXT", **options)
        assert (flag.value, backends.explain(flag).level) == (expected, "environment"), text
        backends.unregister(flag)
    for text in refused:
        monkeypatch.setenv("OWN_TYPES_TEXT", text)
        with pytest.warns(errors.FlagEnvironmentWarning, match="^OWN_TYPES_TEXT is ignored: own_types"):
            flag = new(default, variable="OWN_TYPES_TEXT", **options)
        assert backends.explain(flag).level == "default"
        backends.unregister(flag)


@pytest.mark.parametrize(
    ("default", "options", "message"),
    [
        ([], {}, r"type must be given if the default is empty, for example list\[int\]"),
        ((), {"type": tuple}, "type must name the type of the items"),
        ((1, 2), {"type": tuple[int, int]}, "type must name the type of the items"),
        (None, {"type": list[list[int]]}, "an item of type must be bool, int, float, str"),
        (Option.ONE, {}, "type must not be a subclass of enum.Flag"),
        ([None], {}, "default must be a bool"),
        ({}, {}, "default must be a bool"),
        (Color.AUTO, {"minimum": 1}, "minimum and maximum require an int or float flag"),
        (["a"], {"maximum": 1}, "minimum and maximum require an int or float flag"),
        (1, {"type": list[int]}, "default must be a tuple or list"),
        (1, {"type": Path}, "default must be a str or an object with __fspath__"),
        (Color.AUTO, {"type": Mode}, "default must be"),
        (1, {"validator": 1}, "validator must be callable, got int"),
        (1, {"on_change": "x"}, "on_change must be callable, got str"),
    ],
)
def test_wrong_arguments_of_register_are_refused(default: Any, options: Any, message: str) -> None:
    name = f"own_types.flag{next(NUMBERS)}"
    with pytest.raises(errors.FlagTypeError, match=message):
        untyped(name, default, doc="A flag.", **options)
    with pytest.raises(errors.UnknownFlagError):
        Flag(name)


@pytest.mark.parametrize(
    ("default", "options"),
    [((1, "a"), {}), ((-1,), {}), ("", {"type": Path}), ((3,), {"maximum": 2}), ((0,) * 1025, {})],
)
def test_default_that_is_not_a_value_is_refused(default: Any, options: Any) -> None:
    with pytest.raises(errors.FlagRegistrationError, match="default must "):
        new(default, **options)


def test_changes_report_members_and_paths() -> None:
    color, paths = new(Color.AUTO), new([Path("a")])
    seen: list[Any] = []
    with backends.on_change(
        lambda change: seen.append(change.new if change.values is None else change.values)
    ):
        color.value = Color.NEVER
        with backends.override({color: Color.AUTO, paths: ["b"]}):
            pass
    assert seen[:2] == [Color.NEVER, {color.name: Color.AUTO, paths.name: (Path("b"),)}]


def enumeration(name: str = "Shade", module: str = __name__) -> Any:
    """Return a new class, as the import of a module again makes one."""
    return enum.Enum(name, {"LIGHT": 1, "DARK": 2}, module=module, qualname=name)


def test_members_of_a_module_that_was_imported_again_are_accepted() -> None:
    seen: list[Any] = []
    changes: list[backends.FlagChange] = []
    first, second = enumeration(), enumeration()
    shade = untyped("enums.shade", first.LIGHT, doc="x", validator=seen.append, on_change=changes.append)
    shade.value = first.DARK
    again = untyped("enums.shade", second.LIGHT, doc="x")
    assert again == shade
    assert shade.value is second.DARK
    assert backends.describe(shade).default is second.LIGHT
    shade.value = second.LIGHT
    assert (seen[-1], changes[-1].new) == (second.LIGHT, second.LIGHT)
    with shade.override(second.DARK):
        assert again.value is second.DARK
    with pytest.raises(errors.FlagTypeError):
        shade.value = first.DARK
    assert shade.value is second.LIGHT
    shades = untyped("enums.shades", [first.LIGHT], doc="x")
    assert untyped("enums.shades", [second.LIGHT], doc="x").value == (second.LIGHT,)
    assert shades.value == (second.LIGHT,)


def test_registration_again_with_another_enumeration_or_none_is_refused() -> None:
    first = enumeration()
    shade = untyped("enums.other_shade", first.LIGHT, doc="x")
    for other, message in (
        ({"default": enumeration("Tone").LIGHT}, f"the type is {__name__}.Shade, not {__name__}.Tone"),
        ({"default": enumeration(module="m").LIGHT}, f"the type is {__name__}.Shade, not m.Shade"),
        ({"default": "LIGHT", "type": Literal["LIGHT", "DARK"]}, f"the type is {__name__}.Shade, not str"),
    ):
        with pytest.raises(errors.FlagRegistrationError, match=f"and differently: {message}$"):
            untyped("enums.other_shade", doc="x", **other)
        assert shade.value is first.LIGHT
    names = untyped("enums.names", "LIGHT", type=Literal["LIGHT", "DARK"], doc="x")
    with pytest.raises(errors.FlagRegistrationError, match=f"the type is str, not {__name__}.Shade$"):
        untyped("enums.names", first.LIGHT, doc="x")
    assert names.value == "LIGHT"


def test_annotations_of_flags_and_changes_can_be_evaluated() -> None:
    assert Flag[int].__origin__ is Flag
    assert Flag[Color, str].__args__ == (Color, str)
    assert backends.FlagChange[int].__args__ == (int,)


def test_enumeration_without_members_is_refused() -> None:
    empty = enum.Enum("Empty", [])
    untyped: Any = register
    with pytest.raises(errors.FlagTypeError, match="type must have members, got Empty"):
        untyped("empty.flag", None, type=empty, doc="A flag.")
