"""Copies the values of all settings, compares copies, and puts them back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from interlock import backends
from interlock.errors import SettingConflictError, SettingValueError, SettingWarning
from interlock.settings import _apply, _import_hook, _lookup, _pins, _registry, _scopes
from interlock.settings._locks import LONGEST_WAIT, busy, locks_of, try_locked
from interlock.settings._origin import Origin, caller
from interlock.settings._setting import Extent, Setting, Unreadable, converted, read, reason_of
from interlock.settings._writes import Write, report, same, shown


class Snapshot(dict[str, Any]):
    """The values of settings by name. It can be pickled and dumped as JSON.

    The entry `interlock.backends` has the flags of interlock, as `interlock.backends.snapshot` returns them.
    """


class Difference(NamedTuple):
    """A setting whose values in two snapshots differ."""

    name: str
    """The name of the setting."""
    before: Any
    """The value in the first snapshot; None if it does not have the setting."""
    after: Any
    """The value in the second one; None if it does not have the setting."""

    def __str__(self) -> str:
        return f"{self.name}: {self.before!r} -> {self.after!r}"


def snapshot() -> Snapshot:
    """Return the values of all settings of imported libraries, and the flags of interlock.

    Settings of a thread or a context have the values of the caller. A setting whose library cannot read it
    is left out.

    Example:
        >>> import json
        >>> from interlock import settings
        >>> before = settings.snapshot()
        >>> settings.restore(json.loads(json.dumps(before)))

    """
    _import_hook.run_imported()
    values = {setting.name: _pins.look(setting) for setting in _registry.each()}
    found = Snapshot((name, value) for name, value in values.items() if not isinstance(value, Unreadable))
    found[_registry.FLAGS] = list(backends.snapshot())
    return found


def diff(before: Mapping[str, Any], after: Mapping[str, Any] | None = None) -> list[Difference]:
    """Return the settings whose values differ between two snapshots.

    Args:
        before: A snapshot, or what its JSON was read as.
        after: A later one; None for the present values.

    Raises:
        TypeError: An argument is not a mapping.

    """
    for name, value in (("before", before), ("after", {} if after is None else after)):
        if not isinstance(value, Mapping):
            raise TypeError(f"diff: {name} must be a mapping, got {type(value).__name__}")
    one, other = _flat(before), _flat(snapshot() if after is None else after)
    names = dict.fromkeys([*one, *other])
    return [
        Difference(name, one.get(name), other.get(name))
        for name in names
        if name not in one or name not in other or not same(one[name], other[name])
    ]


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    flags = {f"{_registry.FLAGS}.{name}": value for name, value, _ in values.get(_registry.FLAGS, ())}
    return {name: value for name, value in values.items() if name != _registry.FLAGS} | flags


def restore(snapshot: Mapping[str, Any]) -> None:
    """Put the values of a snapshot back, all or none.

    Only settings that differ are written, and read-only ones are not. A value of a `Snapshot` that `override`
    would refuse is accepted, because the library had it.

    Args:
        snapshot: A snapshot, what its JSON was read as, or a mapping of some settings.

    Warns:
        SettingWarning: A setting differs that cannot be put back, such as a read-only one.

    Raises:
        UnknownSettingError: A setting is not known.
        SettingValueError: A setting does not accept its value.
        SettingConflictError: A scope of other code, or a pin, holds a setting with another value, or another
            thread has been reading or writing one for 30 seconds.

    """
    if not isinstance(snapshot, Mapping):
        raise TypeError(f"restore: snapshot must be a mapping, got {type(snapshot).__name__}")
    origin = caller()
    left = put_back("restore", snapshot, origin, was_read=isinstance(snapshot, Snapshot))
    if left:
        texts = (
            f"{name} ({shown(value)} instead of {shown(snapshot[name])})" for name, value in left.items()
        )
        message = f"restore: settings that cannot be put back are left as they are: {', '.join(texts)}"
        warnings.warn_explicit(message, SettingWarning, origin.file, origin.line)


def put_back(
    function: str, snapshot: Mapping[str, Any], origin: Origin, *, was_read: bool = False
) -> dict[str, Any]:
    """Put the values of a snapshot back, all or none, and record the writes with a line.

    Args:
        function: The function for the text of errors.
        snapshot: The values by name.
        origin: The line that is recorded.
        was_read: Whether the libraries had the values.

    Returns:
        The present values of settings that differ and cannot be put back.

    """
    _import_hook.run_imported()
    left: dict[str, Any] = {}
    wanted = []
    for name, value in snapshot.items():
        if name == _registry.FLAGS:
            continue
        setting = _lookup.get(function, name)
        present = read(setting)
        if same(present, value):
            continue
        if not _can_restore(setting, value):
            left[name] = present
            continue
        wanted.append((setting, _restorable(function, setting, value, was_read=was_read)))
    flags = snapshot.get(_registry.FLAGS)
    locks = locks_of([setting for setting, _ in wanted])
    writes = try_locked(locks, LONGEST_WAIT, _put_back, function, wanted, flags, origin)
    if writes is NotImplemented:
        raise busy(function, [setting.name for setting, _ in wanted])
    report(writes)
    return left


def _can_restore(setting: Setting, value: Any) -> bool:
    """Return whether a value can be written, which a setting without `set` decides by its `convert`."""
    if setting.set is not None:
        return True
    if setting.restore is None:
        return False
    try:
        if setting.convert is not None:
            setting.convert(value)
    except SettingValueError:
        return False
    return True


def _restorable(function: str, setting: Setting, value: Any, *, was_read: bool) -> Any:
    """Return a value in the form in which it is read; one that was read needs no other form."""
    if setting.set is None:
        return value
    try:
        return converted(function, setting, value)
    except SettingValueError:
        if was_read:
            return value
        raise


def _put_back(
    function: str, wanted: Sequence[tuple[Setting, Any]], wanted_flags: Any, origin: Origin
) -> list[Write]:
    own = _scopes.chain()
    for setting, value in wanted:
        blocking = [
            scope
            for scope in _scopes.holders(setting.name)
            if not same(scope.values[setting.name], value)
            and (scope not in own or scope.on_write is not None)
        ]
        if blocking and setting.extent == Extent.PROCESS:
            raise SettingConflictError(f"{function}: {setting.name} is {blocking[0].describe(setting.name)}")
    flags = backends.snapshot()
    if wanted_flags is not None:
        backends.restore(wanted_flags)
    writes: list[Write] = []
    done = []
    try:
        for setting, value in wanted:
            before = read(setting)
            # A setting that inherits its value has it once the settings before it are restored.
            if not same(before, value):
                done.append((setting, before))
                writes += _written(function, setting, value, origin)
    except BaseException as error:
        backends.restore(flags)
        for setting, before in reversed(done):
            try:
                _written(function, setting, before, origin)
            except SettingValueError as other:
                error.add_note(f"and {other}")
        raise
    return writes


def _written(function: str, setting: Setting, value: Any, origin: Origin) -> list[Write]:
    try:
        return _apply.apply(setting, value, origin, back=True)
    except Exception as error:
        # The text of a library rarely names the setting.
        raise SettingValueError(
            f"{function}: {setting.name} could not be set to {shown(value)}: {reason_of(error)}",
            setting=setting.name,
        ) from error
