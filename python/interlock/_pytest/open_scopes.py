"""Scopes of interlock, and overrides and pins of settings, that a test enters and never exits."""

from __future__ import annotations

import threading
import warnings

import interlock
from interlock._core.state import TRACED
from interlock.errors import ScopeWarning
from interlock.settings import _leave, _registry, _scopes
from interlock.settings._scopes import Scope
from interlock.settings._setting import Extent


class OpenScopes:
    """Ends the scopes that are entered after `begin`."""

    def __init__(self) -> None:
        self._known: list[Scope] = []
        self._barrier = interlock.state.scope_barrier()

    def begin(self) -> None:
        """Regard the scopes that are open now as those of wider fixtures."""
        self._known = _scopes.open_scopes()
        # One that is never exited ends nothing.
        self._barrier = interlock.state.scope_barrier()
        self._barrier.__enter__()

    def end(self) -> list[str]:
        """End the scopes that have been entered since, and describe them."""
        return [*self._end_own(), *self._end_settings()]

    def _end_own(self) -> list[str]:
        if not TRACED:
            self._barrier.__exit__(None, None, None)
            number = self._barrier.ended
            hint = "INTERLOCK_DEBUG=1 in the environment records where they were entered"
            return [f"scopes of interlock that were left open: {number}; {hint}"] if number else []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ScopeWarning)
            self._barrier.__exit__(None, None, None)
        lines = [f"{each.filename}:{each.lineno}" for each in caught if each.category is ScopeWarning]
        return [f"a scope of interlock that was entered at {line} was left open" for line in lines]

    def held_elsewhere(self) -> set[str]:
        """Return the settings of the process that scopes of other threads hold, which end them there."""
        scopes = _scopes.open_scopes()
        if not scopes:
            return set()
        here, living = threading.get_ident(), {each.ident for each in threading.enumerate()}
        return {
            relative.name
            for scope in scopes
            if scope.thread_id != here and scope.thread_id in living
            for name in scope.values
            for setting in (_registry.known(name),)
            if setting is not None and setting.extent == Extent.PROCESS
            for relative in _registry.relatives(setting)
        }

    def _end_settings(self) -> list[str]:
        scopes, known, self._known = _scopes.open_scopes(), self._known, []
        if not scopes:
            return []
        here, living = threading.get_ident(), {each.ident for each in threading.enumerate()}
        described = []
        for scope in reversed(scopes):
            # A scope of another thread that runs will be exited there.
            if scope in known or (scope.thread_id != here and scope.thread_id in living):
                continue
            names = ", ".join(scope.values)
            described.append(f"the {scope.kind} of {names} that was entered at {scope.origin} was left open")
            with warnings.catch_warnings():
                # The values are compared afterwards.
                warnings.simplefilter("ignore")
                _leave.leave(scope)
        return described
