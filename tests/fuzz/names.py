"""The targets of the API fuzzer: every callable and attribute of the public modules and classes."""

from __future__ import annotations

import copy
import importlib
import inspect
import operator
import pickle
import pkgutil
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import interlock
from interlock import backends

# `disable_global_flags` cannot be undone, so the fuzzer calls it in a forked process.
ONE_WAY = {"disable_global_flags"}
# It starts programs; a separate target below only makes it print a plan.
STARTS_PROGRAMS = "interlock.backends.xeon.run_cpu"
# Private parts of `launch`: querying a worker for the next call blocks.
PRIVATE = {"CallbackWorker", "Call", "HostCallback"}
# Special methods that every class has and that no class of interlock defines.
NOT_CALLED = {"__class__", "__dict__", "__doc__", "__module__", "__weakref__", "__slots__", "__new__"}
NOT_CALLED |= {"__del__", "__init_subclass__", "__subclasshook__"}
# Methods that Python adds to named tuples and data classes.
NOT_CALLED |= {"_make", "_replace", "_asdict", "__getnewargs__", "__replace__", "__match_args__"}
MADE_BY_PYTHON = ("dataclasses", "enum", "collections")
# Arguments of asyncio: with a wrong one its loop blocks forever.
PASSED_ON = {"context", "loop_factory"}


@dataclass(frozen=True)
class Target:
    """A callable under test."""

    name: str
    call: Callable[..., Any]
    parameters: tuple[str, ...] = ()
    """The names of the positional parameters, if known."""
    keywords: tuple[str, ...] = ()
    owner: type | None = None
    """The class whose instance is the first argument."""
    one_way: bool = False
    writes: bool = field(default=False)
    """Whether the call may change modes, flags, or current devices and streams."""


WRITERS = (
    "__enter__",
    "__exit__",
    "__call__",
    "__init__",
    "__setstate__",
    "_enter_inference_mode",
    "_exit_inference_mode",
    "begin_defaults",
    "blas_workspace_size",
    "clone",
    "cublas",
    "copy",
    "deepcopy",
    "end_open_scopes",
    "install",
    "pickle",
    "register",
    "remove",
    "reset",
    "restore",
    "set_",
    "setattr",
    "delattr",
    "use_deterministic_algorithms",
    "preferred_",
    "disable_",
    "enable_",
    "end_defaults",
    "allow_",
    "capture_begin",
    "capture_end",
    "close",
    "send",
    "throw",
    "run",
    "enforce_grad_layout_policy",
    "_force_original_view_tracking",
    "__reduce",
    "sdp_kernel",
    "verbose",
)


def writes(name: str) -> bool:
    """Return whether a call of this name may change the state of the thread or the process."""
    last = name.rpartition(".")[2]
    return any(last.startswith(word) for word in WRITERS)


def modules() -> list[ModuleType]:
    """Return the public modules of the package."""
    found = [interlock]
    for info in pkgutil.walk_packages(interlock.__path__, "interlock."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        module = importlib.import_module(info.name)
        if info.name not in (STARTS_PROGRAMS,):
            found.append(module)
    return found


def parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the positional and of the keyword-only parameters, if known."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return (), ()
    positional, keywords = [], []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            positional.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            positional += [parameter.name, parameter.name]
        elif parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in PASSED_ON:
            keywords.append(parameter.name)
    return tuple(positional), tuple(keywords)


def is_ours(thing: object) -> bool:
    """Return whether a class belongs to the package."""
    return str(getattr(thing, "__module__", "")).startswith(("interlock", "_core"))


def public(module: ModuleType) -> list[str]:
    """Return the public names of a module, and the private ones that it lists as public."""
    listed = list(getattr(module, "__all__", ()))
    return sorted({*listed, *(name for name in dir(module) if not name.startswith("_"))})


def classes() -> list[type]:
    """Return the public classes and those of the native modules, whose instances calls return."""
    found: dict[type, None] = {}
    native = [module for name, module in sys.modules.items() if name.startswith("interlock._core")]
    for module in [*modules(), *native]:
        for name in dir(module):
            value = getattr(module, name, None)
            if not isinstance(value, type) or not is_ours(value) or value.__name__ in PRIVATE:
                continue
            if not issubclass(value, ModuleType):
                found[value] = None
    return sorted(found, key=lambda each: f"{each.__module__}.{each.__qualname__}")


def of_modules() -> Iterator[Target]:
    """Yield the functions and the attributes of modules."""
    seen: set[int] = set()
    for module in modules():
        for name in public(module):
            value = getattr(module, name, None)
            full = f"{module.__name__}.{name}"
            if isinstance(value, (type, ModuleType)) or not callable(value) or id(value) in seen:
                continue
            if not str(getattr(value, "__module__", "interlock")).startswith(("interlock", "_core", "None")):
                continue
            seen.add(id(value))
            positional, keywords = parameters(value)
            yield Target(full, value, positional, keywords, one_way=name in ONE_WAY, writes=writes(full))


def of_flags() -> Iterator[Target]:
    """Yield the reads, writes and deletions of every flag."""
    for entry in backends.snapshot():
        path, _, name = f"backends.{entry.name}".rpartition(".")
        holder: Any = interlock
        for part in path.split("."):
            holder = getattr(holder, part)
        yield Target(f"{path}.{name}", _getter(holder, name))
        yield Target(f"setattr {path}.{name}", _setter(holder, name), ("flag",), writes=True)
        yield Target(f"delattr {path}.{name}", _deleter(holder, name), writes=True)


def _getter(holder: Any, name: str) -> Callable[[], Any]:
    return lambda: getattr(holder, name)


def _setter(holder: Any, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(holder, name, value)


def _deleter(holder: Any, name: str) -> Callable[[], None]:
    return lambda: delattr(holder, name)


def of_class(cls: type) -> Iterator[Target]:
    """Yield the constructor, the methods and the attributes of a class."""
    full = f"{cls.__module__}.{cls.__qualname__}"
    positional, keywords = parameters(cls)
    yield Target(full, cls, positional, keywords, writes=True)
    names: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if is_ours(base):
            names.update(vars(base))
    for name, value in sorted(names.items()):
        if name in NOT_CALLED or (issubclass(cls, BaseException) and name.startswith("__")):
            continue
        if getattr(value, "__module__", None) in MADE_BY_PYTHON:
            continue
        if isinstance(value, (staticmethod, classmethod)):
            positional, keywords = parameters(getattr(cls, name))
            yield Target(f"{full}.{name}", getattr(cls, name), positional, keywords, writes=writes(name))
        elif callable(value):
            positional, keywords = parameters(value)
            call = _method(name)
            yield Target(
                f"{full}.{name}", call, positional[1:], keywords, cls, writes=writes(f"{full}.{name}")
            )
        elif isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType, property)):
            yield Target(f"{full}.{name}", operator.attrgetter(name), owner=cls)
            yield Target(f"setattr {full}.{name}", _set(name), (name,), owner=cls, writes=True)
            yield Target(f"delattr {full}.{name}", _delete(name), owner=cls, writes=True)


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *arguments, **named: getattr(self, name)(*arguments, **named)


def _set(name: str) -> Callable[[Any, Any], None]:
    return lambda self, value: setattr(self, name, value)


def _delete(name: str) -> Callable[[Any], None]:
    return lambda self: delattr(self, name)


def _with(scope: Any, value: Any) -> None:
    with scope:
        repr(value)


def _plan(*arguments: Any) -> Any:
    run_cpu = importlib.import_module(STARTS_PROGRAMS)
    return run_cpu.main(["--dry-run", *arguments])


def _take(iterable: Any) -> list[Any]:
    """Return the first values of an iterable, which may be infinite."""
    return [value for value, _ in zip(iterable, range(20), strict=False)]


def of_protocols(numpy: Any) -> Iterator[Target]:
    """Yield operators, built-in functions and functions of NumPy, which use special methods."""
    binary = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge"
    inplace = "iadd isub imul itruediv ipow imatmul ifloordiv iand ior"
    for name in f"{binary} {inplace} contains".split():
        yield Target(f"operator.{name}", getattr(operator, name), ("anything", "other"))
        yield Target(f"operator.{name} (reflected)", getattr(operator, name), ("hostile", "anything"))
    for name in ["neg", "pos", "abs", "invert", "index", "truth", "length_hint"]:
        yield Target(f"operator.{name}", getattr(operator, name), ("anything",))
    yield Target("operator.getitem", operator.getitem, ("anything", "key"))
    yield Target("operator.setitem", operator.setitem, ("anything", "key", "value"))
    yield Target("operator.delitem", operator.delitem, ("anything", "key"))
    plain = (repr, str, hash, bool, int, float, complex, len, bytes, memoryview, dir, vars, callable, round)
    for function in (*plain, format, divmod, pow, isinstance, issubclass, getattr, iter, reversed):
        yield Target(f"builtins.{function.__name__}", function, ("anything", "other"))
    yield Target("builtins.sum", sum, ("anything",))
    yield Target("list of", _take, ("anything",))
    yield Target("with", _with, ("anything", "other"), writes=True)
    for call in (copy.copy, copy.deepcopy):
        yield Target(f"copy.{call.__name__}", call, ("anything",), writes=True)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield Target(f"pickle {protocol}", _pickled(protocol), ("anything",), writes=True)
    yield Target("weakref.ref", weakref.ref, ("anything",))
    for name in ("asarray", "array", "from_dlpack", "add", "matmul", "sum", "isnan", "concatenate"):
        yield Target(f"numpy.{name}", getattr(numpy, name), ("anything", "other"))
    yield Target(f"{STARTS_PROGRAMS}.main", _plan, ("text", "text", "text"))


def _pickled(protocol: int) -> Callable[[Any], Any]:
    return lambda value: pickle.loads(pickle.dumps(value, protocol))


def targets(numpy: Any) -> list[Target]:
    """Return all targets of the API fuzzer."""
    found = [*of_modules(), *of_flags(), *of_protocols(numpy)]
    for cls in classes():
        found += of_class(cls)
    return found
