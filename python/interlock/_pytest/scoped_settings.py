"""The object of the fixture `interlock_settings`."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import gc
import weakref
from collections.abc import Mapping
from typing import Any, Literal, Self

from interlock import settings
from interlock._core.state import UninterruptedExit
from interlock.errors import UnsupportedError
from interlock.integrations import _thread_pools
from interlock.settings import Difference, Snapshot, _scopes


class _Mark:
    """Lives as long as a context in which it is set, or a copy of one."""

    def __init__(self, before: _Mark | None) -> None:
        self.before = before


_marks: contextvars.ContextVar[_Mark | None] = contextvars.ContextVar("interlock_test_context", default=None)


class ScopedSettings(UninterruptedExit):
    """Overrides, pins and compares settings until the end of a test: the fixture `interlock_settings`.

    It enables the settings of all libraries that interlock knows. As a context manager it puts everything
    back at the end of the block.

    Example:
        >>> from interlock import settings
        >>> from interlock.testing import ScopedSettings
        >>> config = {"depth": 1}
        >>> depth = settings.Setting(
        ...     "mylib.depth",
        ...     get=lambda: config["depth"],
        ...     set=lambda value: config.update(depth=value),
        ... )
        >>> with settings.register(depth), ScopedSettings() as scoped:
        ...     scoped.override({"mylib.depth": 2})
        ...     config["depth"]
        2
        >>> config["depth"]
        1

    """

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._before = Snapshot()
        # Whether the test owns its context, which ends with it.
        self._context_ends = False

    def _exists(self, mark: weakref.ref[_Mark]) -> bool:
        """Return whether the context of a mark may run later code."""
        if self._context_ends:
            return False
        if mark() is not None:
            # A task that has ended may be part of a cycle.
            gc.collect()
        return mark() is not None

    def __enter__(self) -> Self:
        try:
            self._stack.enter_context(settings.enable())
            # Without threadpoolctl, which finds native libraries, their settings are not known.
            with contextlib.suppress(UnsupportedError):
                self._stack.enter_context(settings.enable(*_thread_pools.LIBRARIES))
            self._before = settings.snapshot()
            return self
        except BaseException:
            self._stack.close()
            raise

    def _exit(self, _exited: list[object]) -> None:
        self._stack.close()

    def override(
        self, values: Mapping[str, Any], *, on_conflict: Literal["raise", "wait", "warn"] = "raise"
    ) -> None:
        """Set settings until the end of the test, as `interlock.settings.override` does for a block.

        Args:
            values: Values by the names of settings.
            on_conflict: What happens if another scope holds a setting with another value, as for `override`.

        Raises:
            UnknownSettingError: A setting is not known.
            SettingValueError: A setting does not accept its value, or is read-only.
            SettingConflictError: Another scope holds a setting with another value.

        """
        self._stack.enter_context(settings.override(values, on_conflict=on_conflict))
        # An asynchronous test has a context of its own, which the end of the fixture is not in.
        mark = _Mark(_marks.get())
        _marks.set(mark)
        for scope in _scopes.chain()[:1]:
            scope.has_context = functools.partial(self._exists, weakref.ref(mark))

    def pin(
        self, values: Mapping[str, Any], *, on_write: Literal["raise", "warn", "ignore"] = "raise"
    ) -> None:
        """Keep settings at values until the end of the test, as `interlock.settings.pin` does.

        Args:
            values: Values by the names of settings of the process.
            on_write: What happens in the code that writes, as for `pin`.

        Raises:
            UnknownSettingError: A setting is not known.
            SettingValueError: A setting does not accept its value, is read-only, or not one of the process.
            SettingConflictError: Another scope holds a setting with another value, or pins it to one.

        """
        self._stack.enter_context(settings.pin(values, on_write=on_write))

    def snapshot(self) -> Snapshot:
        """Return the values of all settings now, as `interlock.settings.snapshot` does."""
        return settings.snapshot()

    def changes(self) -> list[Difference]:
        """Return the settings that differ from the beginning of the test."""
        return settings.diff(self._before)
