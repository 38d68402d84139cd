"""The state of interlock itself: flags, process defaults, and the state of the context in which tests run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import interlock
from interlock import backends
from interlock._core.backends import flags_frozen_at
from interlock._core.state import TRACED, begin_defaults, end_defaults
from interlock._features import HAS_TENSORS
from interlock._pytest.source import Parts, Source
from interlock.backends import _register
from interlock.errors import FlagsFrozenError, UnknownFlagError
from interlock.settings._origin import caller
from interlock.settings._writes import same

_FLAGS = "interlock.backends."
_CONTEXT = "interlock.capture()"
_DEFAULTS = "interlock.state.process_defaults()."
_PRINTING = "interlock.set_printoptions()."
_FROZEN = "interlock.backends.flags_frozen()"
_ARE_FROZEN = "flags are frozen"

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.tensor import _print_options
else:

    def _print_options() -> dict[str, Any]:
        return {}


class Unassigned(NamedTuple):
    """The value of a flag that is not assigned: its default, or what an environment variable sets."""

    value: Any

    def __repr__(self) -> str:
        return f"{self.value!r} (not assigned)"


class ContextState(Parts):
    """The state of a context with its open scopes; equal to another one that reads equal."""

    def __init__(self) -> None:
        # The variable is published only by a token, whose old value is the state.
        token = begin_defaults()
        self._variable, self._stored = token.var, token.old_value
        end_defaults(token)
        self._parts = dict(interlock.capture()._parts())

    def parts(self) -> dict[str, str]:
        """Return the modes, devices and flags of scopes, as the text of a `ThreadState` shows them."""
        return self._parts

    def install(self) -> None:
        """Restore it in the present context, with the values that each scope had."""
        self._variable.set(self._stored)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ContextState) and self._parts == other._parts

    def __repr__(self) -> str:
        return f"ThreadState({', '.join(f'{name}={text}' for name, text in self._parts.items())})"


class Reading(NamedTuple):
    """The values that `OwnState` compares."""

    flags: dict[str, Any]
    frozen: bool
    defaults: dict[str, Any]
    printing: dict[str, Any]
    context: ContextState


class OwnState(Source):
    """Compares what tests change through interlock."""

    def __init__(self) -> None:
        # The flags that were registered since the test began.
        self._registered: list[str] = []
        # What registers each flag once more.
        self._again: dict[str, Callable[[], object]] = {}
        _register.observers.append(self._note_registration)
        # Changes with each write of a flag; reading all flags takes longer than the rest.
        self._epoch = backends.epoch()
        self._flags = _flags()

    def _note_registration(self, name: str, again: Callable[[], object] | None) -> None:
        self._epoch = -1
        if again is None:
            if name in self._registered:
                # It would keep the functions of the flag alive.
                self._again.pop(name, None)
            return
        self._again[name] = again
        # A second import of a module would not register the flag again.
        if not caller(("interlock.backends",)).at_import:
            self._registered.append(name)

    def stop(self) -> None:
        """Observe no registrations."""
        _register.observers.remove(self._note_registration)

    def begin(self) -> None:
        """Forget the flags that were registered before a test."""
        self._registered.clear()

    def number_registered(self) -> int:
        """Return how many registrations have been noted since the test began."""
        return len(self._registered)

    def keep_registered(self, number: int) -> None:
        """Forget the registrations since `number` were noted: a fixture of a wider scope has made them."""
        del self._registered[number:]

    def unregister(self, is_ignored: Callable[[str], bool], before: Reading) -> None:
        """Unregister the flags that a test has registered, except those that an import has."""
        for name in dict.fromkeys(self._registered):
            if f"{_FLAGS}{name}" in before.flags or is_ignored(f"{_FLAGS}{name}"):
                continue
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
            _print_options(),
            ContextState(),
        )

    def values(self, reading: Reading) -> dict[str, Any]:
        """Return the flags with their names below `interlock.backends`, and the rest of the state."""
        defaults = {f"{_DEFAULTS}{name}": value for name, value in reading.defaults.items()}
        return {
            **reading.flags,
            **defaults,
            **{f"{_PRINTING}{name}": value for name, value in reading.printing.items()},
            _FROZEN: reading.frozen,
            _CONTEXT: reading.context,
        }

    def first(self, name: str, value: Any) -> Any:
        """Return that a flag which was registered since was not assigned."""
        if not name.startswith(_FLAGS) or isinstance(value, Unassigned):
            return value
        return Unassigned(backends.describe(name.removeprefix(_FLAGS)).default)

    def writer(self, name: str, value: Any) -> str | None:
        """Return the line that froze flags, or that assigned a flag, if `INTERLOCK_DEBUG=1` records it."""
        if name == _FROZEN:
            line = flags_frozen_at()
            return None if line is None else f"frozen at {line}"
        if not name.startswith(_FLAGS) or value is None or isinstance(value, Unassigned):
            return None
        if not TRACED:
            return "by a line that is recorded with INTERLOCK_DEBUG=1"
        line = backends.explain(name.removeprefix(_FLAGS)).set_by
        return None if line is None else f"written at {line}"

    def restore(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Assign or unset flags, and restore the state of the context, also of scopes that are open."""
        refused: dict[str, str] = {}
        if _FROZEN in wanted:
            only = "only the object that `frozen()` returned can end the freeze"
            refused[_FROZEN] = "the freeze has ended" if wanted[_FROZEN] else only
        refused |= self._restore_flags(wanted)
        defaults = {name: value for name, value in wanted.items() if name.startswith(_DEFAULTS)}
        if defaults:
            try:
                interlock.state.set_process_defaults(
                    **{name.removeprefix(_DEFAULTS): value for name, value in defaults.items()}
                )
            except FlagsFrozenError:
                refused |= dict.fromkeys(defaults, _ARE_FROZEN)
        printing = {name: value for name, value in wanted.items() if name.startswith(_PRINTING)}
        if printing:
            options = {name.removeprefix(_PRINTING): value for name, value in printing.items()}
            interlock.set_printoptions(**_print_options() | options)
        if _CONTEXT in wanted:
            wanted[_CONTEXT].install()
        return refused

    def _restore_flags(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        refused: dict[str, str] = {}
        flags = {name: value for name, value in wanted.items() if name.startswith(_FLAGS) and name != _FROZEN}
        present = _flags()
        for name in flags.keys() - present.keys():
            again = self._again.get(name.removeprefix(_FLAGS))
            if again is None:
                refused[name] = "it was unregistered, and only its library can register it"
                continue
            try:
                again()
            except Exception as error:
                refused[name] = f"it was unregistered, and cannot be registered again: {error}"
        for name, value in flags.items():
            # One at a time: a flag that refuses its value must not keep the others.
            if name in refused or same(_flags().get(name), value):
                continue
            plain = name.removeprefix(_FLAGS)
            entries = [entry for entry in backends.snapshot() if entry.name != plain]
            if not isinstance(value, Unassigned):
                entries.append(backends.SnapshotEntry(plain, value, "process"))
            try:
                backends.restore(entries)
            except FlagsFrozenError:
                refused[name] = _ARE_FROZEN
            except Exception as error:
                refused[name] = str(error)
        return refused


def _flags() -> dict[str, Any]:
    return {
        f"{_FLAGS}{name}": value if level == "process" else Unassigned(value)
        for name, value, level in backends.snapshot()
        if not name.startswith("state.")
    }
