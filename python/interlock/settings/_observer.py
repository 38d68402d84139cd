"""Wraps the functions of a library that write its settings, so that each call is recorded."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from interlock.settings import _apply, _pins, _registry
from interlock.settings._locks import call_locked, locks_of
from interlock.settings._origin import Origin, caller
from interlock.settings._setting import Setting, read
from interlock.settings._writes import LOG, Write, report, same

# A setting that a function writes, and the first arguments of the function that select it.
_Direct = tuple[Setting, tuple[Any, ...]]
# Returns the settings that a call with some arguments writes.
_Select = Callable[[tuple[Any, ...]], Sequence[Setting]]


class _Replaced(NamedTuple):
    """A function that was replaced by its wrapper."""

    owner: object
    attribute: str
    original: Callable[..., Any]
    wrapper: Callable[..., Any]
    is_inherited: bool
    """Whether the owner is a class that inherits the function."""


class _Calls(threading.local):
    compared: tuple[Setting, ...] = ()
    """The settings that the calls in progress on this thread compare."""


def _call(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    return function(*arguments, **named)


@functools.lru_cache(maxsize=1024)
def _code_at(file: str, line: int, name: str) -> CodeType:
    """Return the code of `_call` as if its line were a line of another file."""
    return _call.__code__.replace(co_filename=file, co_firstlineno=line - 1, co_name=name, co_qualname=name)


def _called_from(frame: FrameType, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls another one in a frame with the module, file and line of a given frame.

    A warning of the library then has the place that it has without the wrapper.
    """
    code = frame.f_code
    line = frame.f_lineno or code.co_firstlineno
    placed = FunctionType(_code_at(code.co_filename, line, code.co_name), frame.f_globals)
    return functools.partial(placed, function)


class Observer:
    """Wraps the functions of one library.

    Args:
        packages: The packages of the library: a write is attributed to the code that calls them.
        groups: Pairs of a package and a name for writes that the package makes by itself.

    """

    def __init__(self, packages: Sequence[str], groups: Sequence[tuple[str, str]] = ()) -> None:
        self._packages = tuple(packages)
        self._groups = tuple(groups)
        self._is_bypassed: Callable[[], bool] | None = None
        self._is_active = True
        self._calls = _Calls()
        # The functions and their wrappers, by identity: a function of a C module has no place for a mark.
        self._wrappers: dict[int, tuple[Callable[..., Any], Callable[..., Any]]] = {}
        self._replaced: list[_Replaced] = []

    def bypass_while(self, is_bypassed: Callable[[], bool]) -> None:
        """Do not record calls while a function returns True: while a compiler traces them."""
        self._is_bypassed = is_bypassed

    def wrap(self, owner: object, attribute: str, settings: Sequence[Setting]) -> None:
        """Replace a function that writes settings by one that records each call.

        Args:
            owner: The module or object that has the function; one without it is not changed.
            attribute: The name of the function.
            settings: The settings that it writes. A call is recorded for those that its arguments select,
                even if it does not change them, and for each setting of their families that it changes.

        """
        self._wrap(owner, attribute, [(each, each.writer_arguments) for each in settings])

    def wrap_selecting(
        self, owner: object, attribute: str, select: Callable[[tuple[Any, ...]], Sequence[Setting]]
    ) -> None:
        """Replace a function that writes settings which only its arguments determine.

        Args:
            owner: The class or object that has the function.
            attribute: The name of the function.
            select: Returns the settings that a call with these arguments writes.

        """
        self._wrap(owner, attribute, select)

    def wrap_attributes(self, module: ModuleType, settings: Mapping[str, Setting]) -> None:
        """Record assignments to attributes of a module that has a class of its own.

        Args:
            module: The module; one of Python's own class is not changed.
            settings: The settings by the names of their attributes.

        """
        if type(module) is not ModuleType:
            direct = [(setting, (module, name)) for name, setting in settings.items()]
            self._wrap(type(module), "__setattr__", direct)

    def _wrap(self, owner: object, attribute: str, direct: Sequence[_Direct] | _Select) -> None:
        original = getattr(owner, attribute, None)
        if original is None or not callable(original):
            return
        known = self._wrappers.get(id(original))
        wrapper = self._wrapper(original, direct) if known is None else known[1]
        self._wrappers[id(original)] = (original, wrapper)
        self._replace(owner, attribute, original, wrapper)

    def replace_copies(self, owner: object, attribute: str) -> None:
        """Replace a reference to a function that was wrapped, if `attribute` of `owner` is one."""
        original = getattr(owner, attribute, None)
        known = self._wrappers.get(id(original))
        if known is not None and known[0] is original:
            self._replace(owner, attribute, known[0], known[1])

    def _replace(
        self, owner: object, attribute: str, original: Callable[..., Any], wrapper: Callable[..., Any]
    ) -> None:
        is_inherited = isinstance(owner, type) and attribute not in vars(owner)
        setattr(owner, attribute, wrapper)
        self._replaced.append(_Replaced(owner, attribute, original, wrapper, is_inherited))

    def stop(self) -> None:
        """Put the functions back. A wrapper that other code has stored records nothing from now on."""
        self._is_active = False
        for owner, attribute, original, wrapper, is_inherited in reversed(self._replaced):
            if getattr(owner, attribute, None) is not wrapper:
                continue
            if is_inherited:
                delattr(owner, attribute)
            else:
                setattr(owner, attribute, original)
        self._replaced.clear()

    def _wrapper(
        self, original: Callable[..., Any], direct: Sequence[_Direct] | _Select
    ) -> Callable[..., Any]:
        is_bypassed = self._is_bypassed
        if is_bypassed is None:

            def write(*arguments: Any, **named: Any) -> Any:
                placed = _called_from(sys._getframe(1), original)
                return self._write(placed, direct, arguments, named)

        else:

            def write(*arguments: Any, **named: Any) -> Any:
                # A compiler that traces this function must meet only the function of the library.
                if is_bypassed():
                    return original(*arguments, **named)
                placed = _called_from(sys._getframe(1), original)
                return self._write(placed, direct, arguments, named)

        # A function of a C module may lack some of these attributes.
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(original, name):
                setattr(write, name, getattr(original, name))
        write.__wrapped__ = original  # type: ignore[attr-defined]
        return write

    def _write(
        self,
        original: Callable[..., Any],
        direct: Sequence[_Direct] | _Select,
        arguments: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:
        if not self._is_active or _apply.is_applying():
            return original(*arguments, **named)
        if callable(direct):
            addressed = changing = list(direct(arguments))
        else:
            addressed = [setting for setting, first in direct if arguments[: len(first)] == first]
            # Arguments that select no setting, such as another environment variable, may change a family.
            changing = addressed or [setting for setting, _ in direct if setting.family]
        compared = tuple(
            dict.fromkeys(relative for each in changing for relative in _registry.relatives(each))
        )
        # Without settings, or if a writer calls another one: the outer call records what changes.
        if all(each in self._calls.compared for each in compared):
            return original(*arguments, **named)
        call = functools.partial(original, *arguments, **named)
        found = call_locked(locks_of(compared), self._record, call, compared, addressed)
        result, writes, refusals = found
        report(writes)
        for refusal in refusals:
            refusal()
        return result

    def _record(
        self, call: Callable[[], Any], compared: Sequence[Setting], addressed: Sequence[Setting]
    ) -> tuple[Any, list[Write], list[Callable[[], None]]]:
        """Call a function of the library with the locks of settings held, and record what it changes."""
        writes: list[Write] = []
        refusals: list[Callable[[], None]] = []
        origin: Origin | None = None
        outer = self._calls.compared
        before = [LOG.look(each) for each in compared]
        self._calls.compared = (*outer, *compared)
        try:
            result = call()
        finally:
            self._calls.compared = outer
        for setting, old in zip(compared, before, strict=True):
            new = read(setting)
            if setting not in addressed and same(old, new):
                continue
            origin = origin or caller(self._packages, self._groups)
            writes.append(LOG.add(setting, old, new, origin))
            refusal = _pins.refused(setting, new, f"the write at {origin} of")
            if refusal is not None:
                refusals.append(refusal)
        return result, writes, refusals
