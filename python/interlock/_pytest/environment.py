"""Environment variables, with the lines that wrote them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from interlock._pytest.source import Source
from interlock.settings._environ import ENVIRON, NAMES, PACKAGES
from interlock.settings._origin import Origin, caller

# pytest writes it several times during each test.
_OF_PYTEST = ("PYTEST_CURRENT_TEST", b"PYTEST_CURRENT_TEST")
_METHODS = ("__setitem__", "__delitem__")


# A text of this length is a number or a switch, no secret.
_LONGEST_SHOWN = 2


class _Hidden(str):
    """A value of a variable that reports must not contain: it may be a password."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<hidden>"


class Environment(Source):
    """Compares all variables of `os.environ`, and records the lines that write them."""

    def __init__(self) -> None:
        self._writers: dict[str, Origin] = {}
        # Whether this object puts variables back, which is no write of a test.
        self._restores = False
        self._kind = type(os.environ)
        self._originals = {method: getattr(self._kind, method) for method in _METHODS}
        self._wrappers = {method: self._wrapper(original) for method, original in self._originals.items()}
        for method, wrapper in self._wrappers.items():
            setattr(self._kind, method, wrapper)

    def _wrapper(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def write(environ: Any, name: Any, *value: Any) -> None:
            if self._restores and isinstance(name, str):
                self._writers.pop(name, None)
            elif name not in _OF_PYTEST and isinstance(name, str | bytes):
                self._writers[os.fsdecode(name)] = caller(PACKAGES)
            original(environ, name, *value)

        return write

    def stop(self) -> None:
        """Stop recording, unless other code has replaced the methods since."""
        for method, original in self._originals.items():
            if getattr(self._kind, method) is self._wrappers[method]:
                setattr(self._kind, method, original)

    def read(self) -> object:
        """Return the variables, undecoded where `os.environ` stores them so: decoding takes longer."""
        variables: dict[Any, Any] = dict(getattr(os.environ, "_data", os.environ))
        for name in _OF_PYTEST:
            variables.pop(name, None)
        return variables

    def values(self, reading: dict[Any, Any]) -> dict[str, Any]:
        """Return the variables of a reading, of which reports show the values of known ones."""
        decoded = ((os.fsdecode(name), os.fsdecode(value)) for name, value in reading.items())
        return {
            f"{ENVIRON}{name}": value if name in NAMES or len(value) <= _LONGEST_SHOWN else _Hidden(value)
            for name, value in decoded
        }

    def first(self, name: str, value: Any) -> Any:
        """Return that a variable did not exist."""
        return None

    def writer(self, name: str, value: Any) -> str | None:
        """Return the line of the last write."""
        origin = self._writers.get(name.removeprefix(ENVIRON))
        return None if origin is None else f"written at {origin}"

    def is_left(self, name: str, value: Any) -> bool:
        """Return whether an import wrote it: a second import of the module would not write it again."""
        origin = self._writers.get(name.removeprefix(ENVIRON))
        return origin is not None and origin.at_import

    def restore(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Write and remove variables. Return the reasons, by name, for those that cannot be written."""
        refused: dict[str, str] = {}
        self._restores = True
        try:
            for name, value in wanted.items():
                try:
                    if value is None:
                        os.environ.pop(name.removeprefix(ENVIRON), None)
                    else:
                        os.environ[name.removeprefix(ENVIRON)] = value
                except Exception as error:
                    # A pin of a fixture may refuse it.
                    refused[name] = str(error)
        finally:
            self._restores = False
        return refused
