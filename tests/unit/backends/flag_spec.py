"""The description of a flag for tests, and the kinds of flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interlock import backends

PRECISIONS = ("none", "ieee", "tf32", "bf16")
CUDA_PRECISIONS = ("none", "ieee", "tf32")
CUDA_MATMUL_PRECISIONS = (*CUDA_PRECISIONS, "bfx9")
UNSET = None
"""The default of a flag that reads None while it is unset."""


@dataclass(frozen=True)
class Flag:
    """A flag or an alias of flags, and its accepted values."""

    name: str
    default: object
    others: tuple[object, ...]
    """Accepted values except the default, which read back unchanged."""
    wrong_types: tuple[object, ...]
    wrong_values: tuple[object, ...]
    allowed: tuple[str, ...]
    """Words that an error about a wrong value must contain."""
    spellings: tuple[tuple[object, object], ...] = ()
    """Further accepted values, each with the value that it reads as."""
    is_view: bool = False
    """Whether it is an alias of other flags without its own value."""

    def __str__(self) -> str:
        return self.name

    @property
    def owner(self) -> Any:
        """The module or object whose attribute this flag is."""
        place: Any = backends
        for part in self.name.split(".")[:-1]:
            place = getattr(place, part)
        return place

    @property
    def attribute(self) -> str:
        return self.name.split(".")[-1]

    @property
    def qualified(self) -> str:
        """The name in messages."""
        return f"backends.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable of the flag."""
        return "INTERLOCK_" + self.name.upper().replace(".", "_")

    @property
    def other(self) -> object:
        """A value that does not read as the default; for flags in `CHANGEABLE`."""
        return self.others[0]

    @property
    def base(self) -> object:
        """An assignable value other than `other`: the default, unless that unsets the flag."""
        return self.others[1] if self.default is UNSET else self.default

    @property
    def legal(self) -> tuple[object, ...]:
        """All values that read back unchanged."""
        return (self.base, *self.others)

    @property
    def accepted(self) -> tuple[tuple[object, object], ...]:
        """All accepted values, each with the value that it reads as."""
        return (*((value, value) for value in self.legal), *self.spellings)

    @property
    def wrong(self) -> tuple[object, ...]:
        return (*self.wrong_types, *self.wrong_values)

    def has_wrong_type(self, wrong: object) -> bool:
        """Return whether one of `wrong` has a wrong type; otherwise it is a wrong value."""
        return any(wrong is each for each in self.wrong_types)

    def get(self) -> object:
        return getattr(self.owner, self.attribute)

    def set(self, value: object) -> None:
        setattr(self.owner, self.attribute, value)

    def delete(self) -> None:
        delattr(self.owner, self.attribute)


def switch(name: str, default: bool, *, is_view: bool = False) -> Flag:
    wrong: tuple[object, ...] = (1, 0, "yes", None, 1.5, [], b"1")
    return Flag(name, default, (not default,), wrong, (), ("a bool",), is_view=is_view)


def count(name: str, default: int, most: int = 2**60) -> Flag:
    wrong: tuple[object, ...] = ("x", 1.5, None, [], True)
    return Flag(name, default, (3, 0, most), wrong, (-1, most + 1, 10**30), (f"an int from 0 to {most}",))


def choice(name: str, *values: str, aliases: Sequence[tuple[str, str]] = ()) -> Flag:
    allowed = (*values, *(alias for alias, _ in aliases))
    return Flag(
        name,
        default=values[0],
        others=values[1:],
        wrong_types=(None, True, 1.5, [], values[0].encode()),
        wrong_values=("x", "", values[0].upper(), 3),  # PyTorch's numbers are not accepted here
        allowed=tuple(f"'{value}'" for value in allowed),
        spellings=tuple(aliases),
    )


def ranking(name: str, names: tuple[str, ...]) -> Flag:
    backwards = names[::-1]
    short, long, other = names[1:], [*names, names[0]], (*names[1:], "x")
    return Flag(
        name,
        default=names,
        others=(backwards, (*names[1:], names[0])),
        wrong_types=(names[0], 3, None, True, {}),
        wrong_values=(short, long, other, (), [0, 1, 2, 3, 4], [None] * 5),
        allowed=(*(f"'{each}'" for each in names), "once"),
        spellings=((list(backwards), backwards),),
    )


def names(name: str) -> Flag:
    return Flag(
        name,
        default="",
        others=("matmul", "conv2d,matmul", "never_heard_of"),
        wrong_types=(3, None, True, 1.5, [], b"matmul"),
        wrong_values=("x" * (2**16 + 1),),
        allowed=("a str of at most 65536 bytes",),
    )


def precision(
    name: str, default: str = "none", *, on_cuda: bool, values: tuple[str, ...] | None = None
) -> Flag:
    values = values or (CUDA_PRECISIONS if on_cuda else PRECISIONS)
    return Flag(
        name,
        default,
        others=("ieee", *(value for value in values if value not in (default, "ieee"))),
        wrong_types=(3, None, True, 1.5, b"ieee"),
        wrong_values=(
            *("bogus", "", "TF32", "ieee ", "bfx8"),
            *(value for value in ("bf16", "bfx9") if value not in values),
        ),
        allowed=tuple(f"'{value}'" for value in values),
    )


def reduction(name: str) -> Flag:
    return Flag(
        name,
        default=True,
        others=(False,),
        wrong_types=("x", None, 1, (), [], (True, True, True), (1, 2), (True, None)),
        wrong_values=((True, False), [True, False]),
        allowed=("a bool", "one or two bools"),
        spellings=(
            *(((False,), False), ((True,), True), ([False], False)),
            *(((False, False), False), ([False, True], False), ((True, True), True)),
        ),
    )


def ids(value: object) -> str:
    """Return a test id for a flag or a value."""
    return str(value) if isinstance(value, Flag) else repr(value)
