"""The state of interlock itself: flags, process defaults, and the state of the context in which tests run."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import interlock
from interlock import backends
from interlock._core.state import TRACED
from interlock.backends import _register
from interlock.errors import UnknownFlagError
from interlock.settings._origin import caller

_FLAGS = "interlock.backends."
_CONTEXT = "interlock.capture()"
_DEFAULTS = "interlock.state.process_defaults()."
_FROZEN = "interlock.backends.flags_frozen()"


class Unassigned(NamedTuple):
    """The value of a flag that is not assigned: its default, or what an environment variable sets."""

    value: Any

    def __repr__(self) -> str:
        return f"{self.value!r} (not assigned)"


class ContextState:
    """The state of a context; equal to another one that reads equal."""

    def __init__(self) -> None:
        self.state = interlock.capture()
        self._text = repr(self.state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ContextState) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return self._text


class Reading(NamedTuple):
    """What `OwnState` compares."""

    flags: dict[str, Any]
    frozen: bool
    defaults: dict[str, Any]
    context: ContextState


class OwnState:
    """Compares what tests change through interlock."""

    def __init__(self) -> None:
        self._registered: list[str] = []
        _register.observers.append(self._note_registration)
        # Changes with each write of a flag; reading all flags takes longer than the rest.
        self._epoch = backends.epoch()
        self._flags = _flags()

    def _note_registration(self, name: str) -> None:
        # A second import of a module would not register the flag again.
        if not caller(("interlock.backends",)).at_import:
            self._registered.append(name)

    def stop(self) -> None:
        """Observe no registrations."""
        _register.observers.remove(self._note_registration)

    def begin(self) -> None:
        """Forget the flags that were registered before a test."""
        self._registered.clear()

    def unregister(self) -> None:
        """Unregister the flags that a test has registered, except those that an import has."""
        for name in dict.fromkeys(self._registered):
            # A test may have done so itself.
            with contextlib.suppress(UnknownFlagError):
                backends.unregister(name)
        self._registered.clear()

    def read(self) -> object:
        """Return a reading, for which the flags are read again if one was written."""
        epoch = backends.epoch()
        if epoch != self._epoch:
            self._epoch, self._flags = epoch, _flags()
        return Reading(
            self._flags,
            backends.flags_frozen(),
            interlock.state.process_defaults(),
            ContextState(),
        )

    def values(self, reading: Reading) -> dict[str, Any]:
        """Return the flags with their names below `interlock.backends`, and the rest of the state."""
        defaults = {f"{_DEFAULTS}{name}": value for name, value in reading.defaults.items()}
        return {
            **reading.flags,
            **defaults,
            _FROZEN: reading.frozen,
            _CONTEXT: reading.context,
        }

    def first(self, name: str, value: Any) -> Any:
        """Return that a flag which was registered since was not assigned."""
        return Unassigned(None) if name.startswith(_FLAGS) and not isinstance(value, Unassigned) else value

    def writer(self, name: str, value: Any) -> str | None:
        """Return the line that assigned a flag, which is recorded with `INTERLOCK_DEBUG=1`."""
        if name.startswith(_FLAGS) and not isinstance(value, Unassigned):
            line = backends.explain(name.removeprefix(_FLAGS)).set_by if name != _FROZEN else None
            if line is not None:
                return f"written at {line}"
        return None if TRACED else "by a line that is recorded with INTERLOCK_DEBUG=1"

    def is_left(self, name: str, value: Any) -> bool:
        """Return False: every change is put back."""
        return False

    def restore(self, wanted: Mapping[str, Any]) -> None:
        """Assign or unset flags, and replace what was written in the context without a scope."""
        if wanted.get(_FROZEN) is False:
            raise RuntimeError("only the object that `frozen()` returned can end the freeze")
        present = _flags()
        flags = {name.removeprefix(_FLAGS): value for name, value in wanted.items() if name in present}
        if flags:
            assigned = [
                backends.SnapshotEntry(name, value, "process")
                for name, value in flags.items()
                if not isinstance(value, Unassigned)
            ]
            others = [entry for entry in backends.snapshot() if entry.name not in flags]
            backends.restore([*others, *assigned])
        defaults = {
            name.removeprefix(_DEFAULTS): value
            for name, value in wanted.items()
            if name.startswith(_DEFAULTS)
        }
        if defaults:
            interlock.state.set_process_defaults(**defaults)
        if _CONTEXT in wanted:
            wanted[_CONTEXT].state.install()


def _flags() -> dict[str, Any]:
    return {
        f"{_FLAGS}{name}": value if level == "process" else Unassigned(value)
        for name, value, level in backends.snapshot()
        if not name.startswith("state.")
    }
