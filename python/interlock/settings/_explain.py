"""Explains the value of a setting: who wrote it, and what holds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from interlock.settings import _import_hook, _lookup, _pins, _registry, _scopes
from interlock.settings._setting import Extent, late
from interlock.settings._writes import LOG, Write, plain, shown

# The writes that the text of an explanation shows; `writes` has all.
_SHOWN_WRITES = 10


@dataclass(frozen=True)
class Explanation:
    """The value of a setting and the code that wrote it. `str` of it is a text for people."""

    name: str
    """The name of the setting."""
    value: Any
    """The value that this thread reads."""
    default: Any
    """The value without any write; None if it depends on the machine."""
    extent: Literal["process", "thread", "context"]
    """Where the library stores the setting: `process`, `thread` or `context`."""
    writes: tuple[Write, ...]
    """The writes since the library was enabled, the oldest first."""
    held_by: tuple[str, ...]
    """The open scopes and pins that hold the setting, the outermost first."""
    guards: tuple[str, ...]
    """The compilers that react to a change, such as `torch.compile`, which recompiles."""
    note: str
    """A hazard of the setting, or an empty text."""
    doc: str
    """The documentation of the setting."""
    too_late: str = ""
    """Why the library ignores a write from now on, or an empty text."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that can be dumped as JSON."""
        fields = {name: plain(value) for name, value in vars(self).items()}
        return fields | {"writes": [write.as_dict() for write in self.writes]}

    def __str__(self) -> str:
        default = "" if self.default is None else f", default {shown(self.default)}"
        lines = [f"{self.name} = {shown(self.value)} ({self.extent}{default})"]
        if self.doc:
            lines.append(f"  {self.doc}")
        lines += [f"  {text}" for text in self.held_by]
        hidden = len(self.writes) - _SHOWN_WRITES
        if hidden > 0:
            lines.append(f"  {hidden} earlier writes")
        lines += [f"  {write}" for write in self.writes[-_SHOWN_WRITES:]]
        if not self.writes:
            lines.append("  no write since the library was enabled")
        if self.guards:
            lines.append(f"  a change affects: {', '.join(self.guards)}")
        if self.too_late:
            lines.append(f"  too late for a write: {self.too_late}")
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)


def explain(name: str) -> Explanation:
    """Explain a setting: its value, the code that wrote it, and the scopes that hold it.

    Args:
        name: The name of a setting of an enabled and imported library.

    Raises:
        UnknownSettingError: No setting has this name.

    Example:
        >>> from interlock import settings
        >>> config = {"level": 1}
        >>> level = settings.Setting("mylib.level", get=lambda: config["level"], default=1)
        >>> with settings.register(level):
        ...     print(settings.explain("mylib.level"))
        mylib.level = 1 (process, default 1)
          no write since the library was enabled

    """
    _import_hook.run_imported()
    setting = _lookup.get("explain", name)
    value = _pins.look(setting)
    held = tuple(scope.describe(name) for scope in _scopes.holders(name))
    return Explanation(
        name,
        value,
        setting.default,
        Extent(setting.extent).value,
        LOG.of(name),
        held,
        setting.guards,
        setting.note,
        setting.doc,
        late(setting),
    )


def writes(names: Iterable[str] | None = None) -> list[Write]:
    """Return the recorded writes of settings, the oldest first.

    Changes without a write are looked for first, so they are the last entries. Of each setting the last
    1,000 writes are stored.

    Args:
        names: The settings; None for all.

    """
    if names is not None and not isinstance(names, Iterable):
        raise TypeError(f"writes: names must be an iterable of str or None, got {type(names).__name__}")
    _import_hook.run_imported()
    for setting in _registry.each():
        if setting.extent == Extent.PROCESS:
            _pins.look(setting)
    chosen = None if names is None else set(names)
    return [write for write in LOG.all() if chosen is None or write.setting in chosen]


def names() -> list[str]:
    """Return the names of all settings that are known, in the order of their declaration.

    The settings of an enabled library are known once the library is imported.
    """
    _import_hook.run_imported()
    return _registry.names()
