"""A library with flags of every type: values are read with their exact types, and written as documented."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any, Literal, assert_type

from interlock import backends, settings, state, threads
from interlock.backends import Flag, FlagChange, describe, explain, register


class Color(enum.Enum):
    AUTO = 1
    NEVER = 2


sizes = register("own_flags.sizes", [1, 2], doc="x")
ratios = register("own_flags.ratios", [1], type=list[float], doc="x")
names = register("own_flags.names", [], type=list[str], doc="x")
mixed = register("own_flags.mixed", [1.5, 2.5], doc="x")
path = register("own_flags.path", Path("c"), doc="x")
path2 = register("own_flags.path2", None, type=Path, doc="x")
paths = register("own_flags.paths", (), type=tuple[Path, ...], doc="x")
pathl = register("own_flags.pathl", ["x"], type=list[Path], doc="x")
pathu = register("own_flags.pathu", [Path("x")], doc="x")
color = register("own_flags.color", Color.AUTO, doc="x")
ocolor = register("own_flags.ocolor", None, type=Color, doc="x")
colors = register("own_flags.colors", [Color.AUTO], doc="x")
ocolors = register("own_flags.ocolors", None, type=list[Color], doc="x")
colort = register("own_flags.colort", ["AUTO"], type=list[Color], doc="x")
mode = register("own_flags.mode", "a", type=Literal["a", "b"], doc="x")
modes = register("own_flags.modes", ["a"], type=list[Literal["a", "b"]], doc="x")
omode = register("own_flags.omode", None, type=Literal["a", "b"], doc="x")
ochoice: Flag[Literal["a", "b"]] = register("own_flags.oc", "a", choices=["a", "b"], doc="x")
nchoice = register("own_flags.nc", None, choices=["a", "b"], doc="x")


def some(flag: bool) -> None:
    assert_type(register("own_flags.b", 1, doc="x", optional=flag).value, int | None)
    assert_type(register("own_flags.b2", "s", doc="x", optional=flag).value, str | None)
    assert_type(register("own_flags.b3", [1], doc="x", optional=flag).value, tuple[int, ...] | None)
    assert_type(register("own_flags.b4", Path("a"), doc="x", optional=flag).value, Path | None)
    assert_type(register("own_flags.b5", Color.AUTO, doc="x", optional=flag).value, Color | None)
    assert_type(register("own_flags.b6", "a", choices=["a"], doc="x", optional=flag).value, str | None)
    assert_type(
        register("own_flags.b7", "a", type=Literal["a", "b"], doc="x", optional=flag).value,
        Literal["a", "b"] | None,
    )
    assert_type(register("own_flags.b8", True, doc="x", optional=True), Flag[bool | None])
    assert_type(
        register("own_flags.b9", [Color.AUTO], doc="x", optional=flag).value, tuple[Color, ...] | None
    )


sizes.value = [3, 4]
sizes.value = (3,)
sizes.value = []
ratios.value = [1, 2.5]
names.value = ["a"]
path.value = "x"
path.value = Path("x")
path2.value = None
path2.value = "x"
paths.value = ["a", Path("b")]
paths.value = ["a"]
paths.value = [Path("b")]
paths.value = ("a", Path("b"))
pathl.value = ["a"]
pathu.value = ["a"]
color.value = "NEVER"
color.value = Color.NEVER
ocolor.value = None
ocolor.value = "NEVER"
colors.value = [Color.AUTO]
colors.value = ["AUTO"]
colors.value = ("AUTO", Color.NEVER)
ocolors.value = None
ocolors.value = ["AUTO", Color.NEVER]
modes.value = ["a"]
known: list[Color] = [Color.AUTO]
colors.value = known
strs: list[str] = ["x"]
paths.value = strs
names.value = strs
with color.override("NEVER"), path.override("x"), sizes.override([1]):
    pass
assert_type(sizes.value, tuple[int, ...])
assert_type(ratios.value, tuple[float, ...])
assert_type(mixed.value, tuple[float, ...])
assert_type(paths.value, tuple[Path, ...])
assert_type(path.value, Path)
assert_type(path2.value, Path | None)
assert_type(color.value, Color)
assert_type(ocolor.value, Color | None)
assert_type(colors.value, tuple[Color, ...])
assert_type(ocolors.value, tuple[Color, ...] | None)
assert_type(modes.value, tuple[Literal["a", "b"], ...])
assert_type(omode.value, Literal["a", "b"] | None)
assert_type(nchoice.value, str | None)
plain: Flag[tuple[int, ...]] = sizes
only: Flag[Color] = color
assert_type(explain(color).value, Color)
assert_type(explain(color).effective, Color)
assert_type(explain("cudnn.enabled").value, Any)
assert_type(describe(sizes).default, tuple[int, ...])


def changed(change: FlagChange[int]) -> None:
    assert_type(change.old, int | None)


level = register("own_flags.level", 0, doc="x", on_change=changed)
lam = register("own_flags.lam", 0, doc="x", on_change=lambda change: (change.new or 0).bit_length())
assert_type(Flag("own_flags.level").value, Any)


def anything(change: FlagChange) -> None:
    assert_type(change.new, Any | None)


level3 = register("own_flags.level3", 0, doc="x", on_change=anything)


def take(flag: Flag[Any]) -> Any:
    return flag.value


take(colors)
backends.override({color: "NEVER", sizes: [1]})


def name_or_flag(flag: str | Flag[Any]) -> str:
    return explain(flag).name + describe(flag).name


some(True)
name_or_flag("cudnn.enabled")
settings.enable("environ")
assert_type(settings.explain("environ.OMP_NUM_THREADS").extent, Literal["process", "thread", "context"])
assert_type(threads.pools()[0].extent, Literal["process", "thread", "context", "start"])
assert_type(state.process_defaults()["device_index"], bool | int | str | None)
threads.limits(1, pools={"interlock"})
threads.limits(1, pools=(name for name in ["interlock"]))
threads.limits(1, pools=("interlock",))
