"""What tests register in interlock for it to call, and pauses of copies, that they leave."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from interlock._core.accelerator import PausedCopies
from interlock._core.state import Registration, _observe_registrations
from interlock.settings._origin import Origin, caller

if TYPE_CHECKING:
    # A build without the tensor runtime lacks it.
    from interlock._core.dispatch import RegisteredKernel

_PASSED_ON = "interlock.dispatch"
"""The module whose function calls the native one."""


class Pause:
    """A pause of copies, which ends with the last reference of the program, too."""

    def __init__(self, paused: PausedCopies) -> None:
        self._paused = weakref.ref(paused)

    @property
    def is_registered(self) -> bool:
        """Whether copies are paused."""
        paused = self._paused()
        return paused is not None and paused.is_active

    def remove(self) -> None:
        """End the pause."""
        paused = self._paused()
        if paused is not None:
            paused.release()


class Registered(NamedTuple):
    """What a call of a function such as `backends.on_change` has registered."""

    function: str
    registration: Registration | RegisteredKernel | Pause
    origin: Origin

    @property
    def name(self) -> str:
        """The function, with the operation and the name of a kernel."""
        registration = self.registration
        if isinstance(registration, Registration | Pause):
            return self.function
        return f"{self.function}({registration.operation}, {registration.name})"

    def __str__(self) -> str:
        if isinstance(self.registration, Pause):
            return f"the pause of {self.name} at {self.origin}"
        return f"what {self.name} registered at {self.origin}"


class Registrations:
    """Removes what a test has registered, except what an import has, which a second one would not repeat.

    What interlock itself registers is left to the object that the caller of its function has, such as an
    `Integration`.
    """

    def __init__(self) -> None:
        self._made: list[Registered] = []
        self._other = _observe_registrations(self._note)

    def stop(self) -> None:
        """Observe no registrations."""
        _observe_registrations(self._other)

    def _note(self, function: str, registration: Registration | RegisteredKernel | PausedCopies) -> None:
        frame = sys._getframe(1)
        if frame.f_globals.get("__name__") == _PASSED_ON and frame.f_back is not None:
            frame = frame.f_back
        is_own = str(frame.f_globals.get("__name__", "")).startswith("interlock.")
        origin = caller((_PASSED_ON,))
        if not is_own and not origin.at_import:
            made = Pause(registration) if isinstance(registration, PausedCopies) else registration
            self._made.append(Registered(function, made, origin))

    def number(self) -> int:
        """Return how many registrations have been noted and not taken."""
        return len(self._made)

    def take(self, since: int = 0) -> list[Registered]:
        """Return the registrations since `since` were noted, and forget them."""
        taken, self._made[since:] = self._made[since:], []
        return taken

    @staticmethod
    def remove(made: Iterable[Registered], is_ignored: Callable[[str], bool]) -> list[str]:
        """Remove what is still registered, and describe it."""
        left = [each for each in made if each.registration.is_registered and not is_ignored(each.name)]
        for each in reversed(left):
            each.registration.remove()
        return [f"{each} was left" for each in left]
