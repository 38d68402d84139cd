"""What the scopes share in which a vendor library reports its calls."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Literal, Self

from interlock._core import backends as _native

VERBOSE_OFF: Final = 0
VERBOSE_ON: Final = 1
VERBOSE_ON_CREATION: Final = 2


class VerboseScope:
    """A context manager within which a vendor library reports its calls."""

    def __init__(self, library: Literal["mkl", "onednn"], level: int) -> None:
        self._scope = _native.VerboseScope(library, level)

    def __enter__(self) -> Self:
        self._scope.enter()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._scope.leave()
