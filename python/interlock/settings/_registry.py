"""The settings that are known and whose library is imported, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from interlock._quote import quoted
from interlock.errors import SettingValueError
from interlock.settings._setting import Setting, read
from interlock.settings._writes import LOG

FLAGS = "interlock.backends"
"""The name of the flags of interlock in a snapshot."""
_settings: dict[str, Setting] = {}
# Those that a feature of interlock uses although their library is not enabled; they are not listed.
_needed: dict[str, Setting] = {}
_families: dict[str, tuple[Setting, ...]] = {}
# The value of each setting when it became known.
_first: dict[str, Any] = {}
_version = 0


def version() -> int:
    """Return a number that changes when settings become known or are forgotten."""
    return _version


def add(function: str, settings: Iterable[Setting], first: Mapping[str, Any]) -> None:
    """Make settings known, all or none. Raises `SettingValueError` if a name is taken.

    Called while settings are registered, by one thread at a time.

    Args:
        function: The function for the text of errors.
        settings: The settings.
        first: Values that were read already.

    """
    global _version
    added = list(settings)
    values = [first[each.name] if each.name in first else read(each) for each in added]
    names = [each.name for each in added]
    for name in names:
        if name in _settings or names.count(name) > 1:
            raise SettingValueError(f"{function}: the name {quoted(name)} is taken")
    try:
        for each, value in zip(added, values, strict=True):
            _settings[each.name] = each
            if each.family:
                _families[each.family] = (*_families.get(each.family, ()), each)
            _first[each.name] = value
            LOG.remember(each, value)
    except BaseException:
        remove(added)
        raise
    _version += 1


def need(settings: Iterable[Setting]) -> None:
    """Make settings usable by their names, without listing them. A listed one of the name precedes."""
    for each in settings:
        if each.name not in _needed:
            if each.name not in _settings:
                LOG.remember(each, read(each))
            _needed[each.name] = each


def remove(settings: Iterable[Setting]) -> None:
    """Forget settings; their writes stay in the log. Called while settings are registered."""
    global _version
    _version += 1
    for each in settings:
        if _settings.get(each.name) is not each:
            continue
        if each.family:
            _families[each.family] = tuple(
                other for other in _families.get(each.family, ()) if other is not each
            )
        LOG.forget(each)
        # Last, because a removal that an interrupt has ended is repeated.
        del _settings[each.name]


def names() -> list[str]:
    """Return the names of all settings that can be read now, in the order of their declaration.

    Settings of an enabled library are listed once the library is imported.
    """
    return list(_settings)


def each() -> Iterator[Setting]:
    """Iterate over all settings."""
    return iter(list(_settings.values()))


def known(name: str) -> Setting | None:
    """Return a setting, or None if it is not known any more."""
    return _settings.get(name) or _needed.get(name)


def relatives(setting: Setting) -> tuple[Setting, ...]:
    """Return the settings that may change with one, itself included."""
    family = _families.get(setting.family, ()) if setting.family else ()
    return family if setting in family else (*family, setting)


def first(name: str) -> Any:
    """Return the value of a setting when it became known."""
    return _first.get(name)
