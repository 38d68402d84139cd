"""Makes the settings of libraries known: now, or when the library is imported."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock._core.state import BegunAtCreation
from interlock._quote import quoted, shown
from interlock._suggest import closest_match
from interlock.errors import SettingValueError, SettingWarning
from interlock.settings import _import_hook, _registry
from interlock.settings._locks import call_registering
from interlock.settings._observer import Observer
from interlock.settings._origin import Origin, caller
from interlock.settings._setting import Setting, Unreadable, difference, read

_POOLS = "interlock.integrations._thread_pools"
KNOWN = {
    "environ": "interlock.settings._environ",
    "jax": "interlock.integrations._jax",
    "numpy": "interlock.integrations._numpy",
    "torch": "interlock.integrations.torch",
    "openblas": f"{_POOLS}:OPENBLAS",
    "mkl": f"{_POOLS}:MKL",
    "blis": f"{_POOLS}:BLIS",
    "flexiblas": f"{_POOLS}:FLEXIBLAS",
    "openmp": f"{_POOLS}:OPENMP",
    "numexpr": "interlock.integrations._numexpr",
    "interlock": "interlock.integrations._interlock",
}
"""The libraries that `enable` accepts, with the tables of their settings: a module, or an object in one.

A table has `IMPORTED`, the module whose import is waited for, `PACKAGES` for `Observer`, and `install`, which
is called then and returns the settings. It may have `GROUPS` for `Observer`, `prepare`, which a call of
`enable` with the name calls, and `find`, which returns settings that became known later.
"""


@dataclass
class _Library:
    """A library or a set of rows that is enabled."""

    observer: Observer
    uses: int = 0
    settings: tuple[Setting, ...] = ()
    waits_for: str | None = None
    activate: Callable[[], None] | None = None
    """What waits for the import of `waits_for`."""
    finder: Callable[[], None] | None = None
    """What looks for settings that became known later."""
    origin: Origin | None = None
    """The code that called `register`; None for a library that interlock supports."""
    declared: tuple[Setting, ...] = ()
    """What `register` was called with, also while it waits for an import."""
    first: Mapping[str, Any] = field(default_factory=dict)
    """Values that `register` has read."""


_enabled: dict[str, _Library] = {}


class Enabled(BegunAtCreation):
    """Settings that are known until the `with` block ends; `enable` and `register` return it.

    Args:
        disable: Called at the end of the block, with a list, and again with the same list after an interrupt.
        names: What was enabled, for `repr`.

    """

    def __init__(self, disable: Callable[[list[int]], None], names: Sequence[str]) -> None:
        self._disable = disable
        self._names = tuple(names)

    def __repr__(self) -> str:
        return f"<Enabled: {', '.join(self._names)}>"

    def _exit(self, exited: list[int]) -> None:
        self._disable(exited)
        self._disable = lambda _done: None


def enable(*libraries: str) -> Enabled:
    """Make the settings of libraries known, now or when the libraries are imported.

    No value is changed, and no library is imported. The functions of a library that write its settings are
    wrapped, so that their writes are recorded.

    Native libraries such as `openblas` are found with threadpoolctl, which is imported if their name is
    given. Without names, their settings are known once the program imports threadpoolctl.

    Args:
        libraries: The names of the libraries: `jax`, `numpy` and `torch`; `environ` for the environment
            variables that numerical libraries read; `openblas`, `mkl`, `blis`, `flexiblas`, `openmp`,
            `numexpr` and `interlock` for the sizes of their thread pools. Without a name all of them.

    Returns:
        A context manager that calls `disable` at its end; it need not be entered.

    Raises:
        SettingValueError: interlock knows no settings of a library.
        SettingConflictError: Another thread has been making settings known for 30 seconds.
        UnsupportedError: The name of a native library is given, and threadpoolctl 3.8 or newer is missing.

    Example:
        >>> from interlock import settings
        >>> with settings.enable("torch"):
        ...     pass

    """
    _check_names("enable", libraries)
    chosen = tuple(dict.fromkeys(libraries or KNOWN))
    for name in chosen:
        if name not in KNOWN:
            similar = closest_match(name, KNOWN)
            hint = f'; did you mean "{similar}"?' if similar else f"; known: {', '.join(KNOWN)}"
            raise SettingValueError(f"enable: unknown library {quoted(name)}{hint}")
    tables = {name: _table(name) for name in chosen}
    for name in libraries:
        getattr(tables[name], "prepare", lambda: None)()
    done: list[str] = []
    try:
        for name, table in tables.items():
            call_registering("enable", _enable, name, table, done)
        enabled = Enabled(lambda exited: call_registering("disable", _disable, chosen, exited), chosen)
        # A call in the `return` statement would end outside of the `try` statement.
        return enabled
    except BaseException:
        if done:
            disable(*done)
        raise


def _enable(name: str, table: Any, done: list[str]) -> None:
    """Make the settings of a library known, and add its name to the list."""
    if name not in _enabled:
        _enabled[name] = _Library(Observer(table.PACKAGES, getattr(table, "GROUPS", ())))
        try:
            _start(name, _enabled[name], table.IMPORTED, table.install, getattr(table, "find", None))
        except BaseException:
            _disable((name,), [])
            raise
    _enabled[name].uses += 1
    done.append(name)


def _table(name: str) -> Any:
    """Return the module or object with the settings of a library."""
    module, _, attribute = KNOWN[name].partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def steps_to_know(name: str) -> list[str]:
    """Return what a program has to do before the settings of a library are known."""
    imported = _table(name).IMPORTED
    steps = [] if name in _enabled else [f"call settings.enable({quoted(name)})"]
    if imported is not None and imported not in sys.modules:
        steps.append(f"import {imported}")
    return steps


def _check_names(function: str, names: tuple[object, ...]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{function}: the name of a library must be a str, got {type(name).__name__}")


def _start(
    name: str,
    library: _Library,
    imported: str | None,
    install: Callable[[Observer], Iterable[Setting]],
    find: Callable[[], Iterable[Setting]] | None = None,
) -> None:
    def add(settings: Iterable[Setting]) -> None:
        added = [each for each in settings if each not in library.settings]
        before = library.settings
        # Before they are known, so that `_disable` forgets them after an interrupt.
        library.settings = (*before, *added)
        try:
            _registry.add("enable" if library.origin is None else "register", added, library.first)
        except SettingValueError:
            library.settings = before
            raise

    def find_more() -> None:
        call_registering(f"the settings of {name}", add_more)

    def add_more() -> None:
        assert find is not None
        if _enabled.get(name) is library:
            add(find())

    def activate() -> None:
        add(install(library.observer))
        if find is not None:
            library.finder = find_more
            _import_hook.finders.append(find_more)

    library.waits_for = imported
    library.activate = activate
    if imported is None:
        activate()
    else:
        _import_hook.on_import(imported, activate)


def disable(*libraries: str) -> None:
    """Undo `enable`: forget the settings of libraries, and put the wrapped functions back.

    A library that was enabled several times stays enabled until it was disabled as often. Open scopes and
    pins of its settings are released first by the caller, otherwise they put nothing back.

    Args:
        libraries: The names of the libraries; without a name all that are enabled.

    """
    _check_names("disable", libraries)
    call_registering("disable", _disable, libraries, [])


def _disable(libraries: Sequence[str], done: list[int]) -> None:
    """Undo `enable`. After an interrupt, a call with the same list does the rest.

    Args:
        libraries: The names, or none for all libraries.
        done: The positions of the names that need nothing more.

    """
    for position, name in enumerate(libraries or tuple(_enabled)):
        library = _enabled.get(name)
        if library is None or position in done:
            continue
        if library.uses > 1 and libraries:
            library.uses -= 1
        else:
            # Steps that can be repeated, up to the last one.
            if library.waits_for is not None and library.activate is not None:
                _import_hook.cancel(library.waits_for, library.activate)
            if library.finder in _import_hook.finders:
                _import_hook.finders.remove(library.finder)
            library.observer.stop()
            _registry.remove(library.settings)
            del _enabled[name]
        # No signal handler runs between the last step and this.
        done.append(position)


def register(*settings: Setting, library: str | None = None) -> Enabled:
    """Make settings of any library known.

    The functions that a setting names as its `writers` are wrapped while it is known.

    A registration of names that were registered before replaces the earlier one, as after
    `importlib.reload`, if the declarations are equal but for `doc` and `note`. Functions are equal if their
    modules and names are.

    Args:
        settings: The declarations.
        library: The module that has to be imported first; the settings are known from then on. None if they
            can be read now.

    Returns:
        A context manager that forgets the settings at its end, unless a later registration has replaced it.
        It need not be entered.

    Raises:
        SettingValueError: The name of a setting is taken by another declaration, or the value of a setting
            cannot be compared, such as an array.
        SettingConflictError: Another thread has been making settings known for 30 seconds.
        TypeError: An argument is not a `Setting`, or `library` is no str.

    Warns:
        SettingWarning: A function of `writers` does not exist.

    """
    for each in settings:
        if not isinstance(each, Setting):
            raise TypeError(f"register: settings must be Setting objects, got {type(each).__name__}")
    if not isinstance(library, str | None):
        raise TypeError(f"register: library must be a str or None, got {shown(library)}")
    origin = caller()
    names = [each.name for each in settings]
    # Now, because a function that reads a setting may wait for the import of a module by another thread.
    first = {each.name: read(each) for each in settings} if library is None else {}
    undo: list[Callable[[], None]] = []
    try:
        key = call_registering("register", _register, settings, library, origin, first, undo)
        registered = Enabled(
            lambda exited: call_registering("register", _forget, key, settings, exited), names
        )
        # As in `enable`.
        return registered
    except BaseException:
        for restore in undo:
            call_registering("register", restore)
        raise


def _register(
    settings: tuple[Setting, ...],
    library: str | None,
    origin: Origin,
    first: Mapping[str, Any],
    undo: list[Callable[[], None]],
) -> str:
    """Register settings, in place of earlier ones of the same names, and return their key in `_enabled`.

    After the last change, a function that undoes all is added to a list.
    """
    replaced = _replaced(settings)
    # A replacement has the key of what it replaces, so that it is regarded as registered since then.
    names = ", ".join(each.name for each in settings)
    key = next(iter(replaced), f"registered {id(settings)} {names}")

    def restore() -> None:
        disable(key, *replaced)
        for earlier, found in replaced.items():
            _declare(earlier, found.declared, found.waits_for, found.origin or origin, {})

    try:
        for earlier in replaced:
            disable(earlier)
        _declare(key, settings, library, origin, first)
        _check_comparable(settings)
    except BaseException:
        restore()
        raise
    # No signal handler runs between the last step and this.
    undo.append(restore)
    return key


def _forget(key: str, settings: tuple[Setting, ...], done: list[int]) -> None:
    if key in _enabled and _enabled[key].declared is settings:
        _disable((key,), done)


def _check_comparable(settings: Iterable[Setting]) -> None:
    """Raise `SettingValueError` for the value of a known setting that `==` does not compare."""
    for each in settings:
        value = _registry.first(each.name)
        if _registry.known(each.name) is not each or isinstance(value, Unreadable):
            continue
        try:
            bool(value == value)
        except Exception:
            raise SettingValueError(
                f"register: {each.name} must have values that == compares, such as numbers and texts, "
                f"got {shown(value)}"
            ) from None


def _replaced(settings: Iterable[Setting]) -> dict[str, _Library]:
    """Return the registrations that settings replace. Raises `SettingValueError` if a declaration differs."""
    new = {each.name: each for each in settings}
    replaced: dict[str, _Library] = {}
    for key, library in _enabled.items():
        for earlier in library.declared:
            if earlier.name not in new:
                continue
            differing = difference(earlier, new[earlier.name])
            if differing is not None:
                raise SettingValueError(
                    f"register: the name {quoted(earlier.name)} is taken: it was registered at "
                    f"{library.origin}, with another {differing}"
                )
            replaced[key] = library
    return replaced


def _declare(
    key: str,
    settings: tuple[Setting, ...],
    library: str | None,
    origin: Origin,
    first: Mapping[str, Any],
) -> None:
    """Make settings that a program has registered known, now or when their library is imported."""

    def install(observer: Observer) -> Iterable[Setting]:
        for missing in wrap_writers(observer, settings):
            message = f"register: the writer {quoted(missing)} does not exist: what it writes is not recorded"
            warnings.warn_explicit(message, SettingWarning, origin.file, origin.line)
        return settings

    packages = [library] if library is not None else [each.name.partition(".")[0] for each in settings]
    observer = Observer(packages)
    _enabled[key] = _Library(observer, uses=1, origin=origin, declared=settings, first=first)
    _start(key, _enabled[key], library, install)


def wrap_writers(observer: Observer, settings: Iterable[Setting]) -> list[str]:
    """Wrap the functions that settings name as their writers, and return those that do not exist."""
    writers: dict[str, list[Setting]] = {}
    missing: list[str] = []
    for each in settings:
        for path in each.writers:
            writers.setdefault(path, []).append(each)
    for path, written in writers.items():
        owner, _, attribute = path.rpartition(".")
        found = resolve(owner)
        if hasattr(found, attribute):
            observer.wrap(found, attribute, written)
        else:
            missing.append(path)
    return missing


def resolve(path: str) -> Any:
    """Return the object of a dotted path whose first part is an imported module; None if there is none."""
    first, *rest = path.split(".")
    found: Any = sys.modules.get(first)
    for part in rest:
        found = getattr(found, part, None)
    return found
