"""Every public name has a docstring, and the `Args:` section names exactly the arguments."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from types import ModuleType

import interlock
import pytest

from tests.packaging.test_public_names import MODULES

DOCUMENTED_MODULES = [*MODULES, "interlock.backends.xeon.run_cpu"]

# A finding that may stay, with the reason.
EXCEPTIONS = {
    "interlock.backends.Flags has no docstring": "a TypedDict with dotted keys cannot have one",
}

SECTION = re.compile(r"^Args:\n((?:    .*\n|\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^    \*{0,2}(\w+):", re.MULTILINE)


def is_private(name: str) -> bool:
    """Return whether a part of a dotted name begins with an underscore."""
    return any(part.startswith("_") for part in name.split("."))


def is_own(kind: type) -> bool:
    """Return whether a class is defined by interlock."""
    return kind.__module__.split(".")[0] in ("interlock", __name__.split(".")[0])


def members(kind: type) -> Iterator[tuple[str, object]]:
    """Yield the public attributes of a class, including those of its private base classes."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if base is kind or (is_own(base) and is_private(f"{base.__module__}.{base.__qualname__}")):
            for name, value in vars(base).items():
                if not is_private(name) and name not in seen:
                    seen.add(name)
                    yield name, getattr(value, "__func__", value)


def public_objects() -> Iterator[tuple[str, object]]:
    """Yield every public module, class, function, method and property once, with its dotted name."""
    seen: set[int] = set()
    for module_name in DOCUMENTED_MODULES:
        module = importlib.import_module(module_name)
        yield module_name, module
        found = [(name, getattr(module, name)) for name in module.__all__]
        # The flags of a module are attributes of its class.
        found += members(type(module)) if type(module) is not ModuleType else []
        for name, value in found:
            if id(value) in seen or inspect.ismodule(value):
                continue
            seen.add(id(value))
            yield f"{module_name}.{name}", value
            kind = value if isinstance(value, type) else type(value)
            if is_own(kind):
                for attribute, each in members(kind):
                    if id(each) not in seen:
                        seen.add(id(each))
                        yield f"{module_name}.{name}.{attribute}", each


def is_documented_kind(value: object) -> bool:
    """Return whether an object has its own docstring: an instance and a field of a tuple do not."""
    is_property = isinstance(value, property) or inspect.isgetsetdescriptor(value)
    return is_property or inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value)


def has_generated_constructor(kind: type) -> bool:
    """Return whether the arguments of a class are its fields or those of a class of Python."""
    is_record = hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields") or typing.is_typeddict(kind)
    if is_record or issubclass(kind, enum.Enum | BaseException):
        return True
    return not any(is_own(base) and vars(base).keys() & {"__new__", "__init__"} for base in kind.__mro__)


def arguments(value: object) -> list[str] | None:
    """Return the names of the arguments of a callable, or None if it has no signature."""
    if not callable(value) or (isinstance(value, type) and has_generated_constructor(value)):
        return None
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    names = list(signature.parameters)
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def named_arguments(text: str) -> list[str]:
    """Return the arguments that the `Args:` section of a docstring names."""
    section = SECTION.search(f"{text}\n")
    return ENTRY.findall(section[1]) if section else []


def findings(name: str, value: object) -> list[str]:
    """Return what the docstring of an object lacks."""
    if not is_documented_kind(value):
        return []
    text = inspect.cleandoc(value.__doc__ or "")
    # `NamedTuple` and `dataclass` generate a signature as the docstring.
    if not text or text.startswith(f"{getattr(value, '__name__', None)}("):
        return [f"{name} has no docstring"]
    expected, named = arguments(value), named_arguments(text)
    if expected is None:
        return [f"{name} has no signature"] if inspect.isroutine(value) else []
    missing = [f"{name}: Args does not name {each}" for each in expected if each not in named]
    return missing + [f"{name} has no argument {each}" for each in named if each not in expected]


@pytest.fixture(scope="module")
def objects() -> dict[str, object]:
    return dict(public_objects())


def test_docstrings_of_public_names_are_complete(objects: dict[str, object]) -> None:
    found = {finding for name, value in objects.items() for finding in findings(name, value)}
    problems = sorted(found - EXCEPTIONS.keys())
    problems += [f"{finding}: an exception without use" for finding in sorted(EXCEPTIONS.keys() - found)]
    assert not problems, "\n".join(problems)


def test_docstrings_are_checked_for_every_kind_of_public_name(objects: dict[str, object]) -> None:
    names = ["interlock.backends", "interlock.backends.xeon.run_cpu.main", "interlock.accelerator.use"]
    names += ["interlock.Stream", "interlock.Stream.device", "interlock.Event.from_ipc_handle"]
    names += ["interlock.ThreadState.wrap", "interlock.backends.Flag.value"]
    names += ["interlock.backends.mha.fastpath", "interlock.backends.cudnn.conv.fp32_precision"]
    assert set(names) <= objects.keys()
    assert all(is_documented_kind(objects[name]) for name in names)


def undocumented(size: int) -> None: ...


def documented(size: int, *shape: int, **options: int) -> None:
    """Return nothing.

    Args:
        size: The size in bytes, for example
            shape: which is not an entry here.
        *shape: More numbers.
        options: Further numbers.

    Returns:
        Nothing: not an entry.

    """


def incomplete(size: int, stride: int) -> None:
    """Return nothing.

    Args:
        stride: The stride.
        offset: An argument that was removed.

    """


class Incomplete:
    """A class without an `Args:` section."""

    def __init__(self, size: int) -> None: ...

    @property
    def width(self) -> int:
        return 0

    @classmethod
    def of(cls, size: int) -> None:
        """Return nothing."""


class Fields(typing.NamedTuple):
    width: int


class Described(Incomplete):
    # The docstring of a base class does not count.
    def __init__(self) -> None:
        super().__init__(0)


def test_docstrings_check_finds_what_is_missing() -> None:
    assert findings("f", undocumented) == ["f has no docstring"]
    assert findings("f", documented) == []
    assert findings("f", incomplete) == ["f: Args does not name size", "f has no argument offset"]
    assert findings("C", Incomplete) == ["C: Args does not name size"]
    of = dict(members(Incomplete))
    assert findings("C.width", of["width"]) == ["C.width has no docstring"]
    assert findings("C.of", of["of"]) == ["C.of: Args does not name size"]
    assert findings("Fields", Fields) == ["Fields has no docstring"]
    assert findings("Described", Described) == ["Described has no docstring"]
    assert findings("module", ModuleType("module")) == ["module has no docstring"]
    assert findings("interlock", interlock) == []
