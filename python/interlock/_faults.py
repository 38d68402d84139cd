"""Faults of the host driver as data: `interlock.testing.Scenario`."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self, TypedDict, cast

from interlock._core.accelerator import FaultInjector
from interlock._quote import open_file, shown
from interlock._suggest import closest_match
from interlock.errors import ArgumentError

_VERSION: Final = 1
_NUMBER = (int, float)
# The arguments of `FaultInjector.inject` and their types in JSON.
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "operation": (str,),
    "error": (str,),
    "sticky": (bool,),
    "delay": _NUMBER,
    "never": (bool,),
    "name": (str,),
    "device": (str, int),
    "stream": (int,),
    "number": (int,),
    "times": (int, type(None)),
    "probability": _NUMBER,
    "seed": (int,),
}
# What `FaultInjector.pending` adds to them.
_COUNTS: Final = frozenset({"matched", "fired"})
# Of a random scenario: its faults, and a delay in milliseconds.
_MOST_FAULTS: Final = 1000
_LONGEST_DELAY: Final = 20


class Fault(TypedDict, total=False):
    """The arguments of `FaultInjector.inject` as a dict: one fault of a `Scenario`."""

    operation: str
    error: str
    sticky: bool
    delay: float
    never: bool
    name: str
    device: str | int
    stream: int
    number: int
    times: int | None
    probability: float
    seed: int


class Scenario:
    """Faults as data, which a file can hold: a list of arguments of `FaultInjector.inject`.

    A program whose operations are queued in the same order gets the same faults each time. The faults that a
    test has injected are `Scenario(faults.injected())`.

    Args:
        faults: The arguments of each call of `inject`.

    Raises:
        ArgumentError: A fault has an unknown argument, or a value of a wrong type.
        TypeError: `faults` is no iterable.

    Example:
        >>> from interlock import accelerator, testing
        >>> scenario = testing.Scenario([{"operation": "copy", "number": 3, "error": "bus error"}])
        >>> testing.Scenario.from_json(scenario.to_json()) == scenario
        True
        >>> faults = testing.FaultInjector()
        >>> accelerator.use("host", faults=faults)
        >>> scenario.inject(faults)
        >>> len(faults.pending())
        1

    """

    def __init__(self, faults: Iterable[Mapping[str, Any]] = ()) -> None:
        if not isinstance(faults, Iterable):
            raise TypeError(f"Scenario: faults must be an iterable of dicts, got {shown(faults)}")
        self._faults = tuple(_checked(index, fault) for index, fault in enumerate(faults))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The arguments of each call of `inject`, in their order."""
        return tuple(fault.copy() for fault in self._faults)

    def inject(self, faults: FaultInjector) -> None:
        """Inject the faults: all of them, or none.

        Args:
            faults: The injector of the driver, such as the fixture `interlock_devices`.

        Raises:
            ArgumentError: A value of a fault is not accepted. Its note has the index of the fault.
            DeviceError: The driver does not have the device of a fault.
            TypeError: `faults` is no injector.

        """
        if not isinstance(faults, FaultInjector):
            raise TypeError(f"Scenario.inject: faults must be a FaultInjector, got {shown(faults)}")
        faults._inject_all(list(self._faults))

    @classmethod
    def random(cls, seed: int, *, faults: int = 3) -> Self:
        """Return a scenario of random failures and delays, for tests of programs under faults.

        No fault loses a device or keeps work from completing, so the program continues after each of them.

        Args:
            seed: The seed, of any size: the same seed gives the same scenario.
            faults: The number of faults, from 0 to 1,000.

        Raises:
            ArgumentError: `faults` is out of range.
            TypeError: An argument is no int.

        Example:
            >>> from interlock import testing
            >>> testing.Scenario.random(7) == testing.Scenario.random(7)
            True

        """
        for name, value in (("seed", seed), ("faults", faults)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"Scenario.random: {name} must be an int, got {shown(value)}")
        if not 0 <= faults <= _MOST_FAULTS:
            raise ArgumentError(
                f"Scenario.random: faults must be from 0 to {_MOST_FAULTS}, got {shown(faults)}"
            )
        choose = random.Random(seed)
        return cls(_random_fault(choose, seed, index) for index in range(faults))

    def to_json(self) -> str:
        """Return the scenario as JSON, one fault a line."""
        faults = ",\n".join(f"  {json.dumps(fault)}" for fault in self._faults)
        return f'{{"version": {_VERSION}, "faults": [\n{faults}\n]}}\n'

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the scenario of a JSON text.

        Args:
            text: What `to_json` returned.

        Raises:
            ArgumentError: The text is not a scenario of this version.
            TypeError: `text` is no str.

        """
        if not isinstance(text, str):
            raise TypeError(f"Scenario.from_json: text must be a str, got {shown(text)}")
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ArgumentError(f"Scenario.from_json: text must be JSON: {error}") from None
        if not isinstance(found, dict) or found.keys() != {"version", "faults"}:
            raise ArgumentError("Scenario.from_json: text must be an object with version and faults only")
        if found["version"] != _VERSION:
            raise ArgumentError(
                f"Scenario.from_json: version must be {_VERSION}, got {shown(found['version'])}"
            )
        if not isinstance(found["faults"], list):
            raise ArgumentError("Scenario.from_json: faults must be a list")
        return cls(found["faults"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scenario to a file as JSON.

        Args:
            path: The file.

        Raises:
            OSError: The file cannot be written.

        """
        with open_file("Scenario.save", path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the scenario of a file.

        Args:
            path: A file that `save` wrote.

        Raises:
            OSError: The file cannot be read.
            ArgumentError: The file is not a scenario of this version.

        """
        with open_file("Scenario.load", path, "r", encoding="utf-8") as file:
            try:
                text = file.read()
            except UnicodeDecodeError as error:
                raise ArgumentError(f"Scenario.load: the file must be UTF-8 text: {error}") from None
        return cls.from_json(text)

    def __eq__(self, other: object) -> bool:
        return self._faults == other._faults if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"Scenario({list(self._faults)!r})"


def _checked(index: int, fault: object) -> Fault:
    """Return a fault with the arguments of `inject`, without the counts of `pending`."""
    what = f"Scenario: the fault with the index {index}"
    if not isinstance(fault, Mapping):
        raise ArgumentError(f"{what} must be a dict, got {type(fault).__name__}")
    checked = {}
    for name, value in fault.items():
        if name in _COUNTS:
            continue
        if name not in _TYPES:
            similar = closest_match(str(name), _TYPES)
            hint = f"; did you mean {similar!r}?" if similar else f"; the arguments are {', '.join(_TYPES)}"
            raise ArgumentError(f"{what} has an unknown argument {shown(name)}{hint}")
        types = _TYPES[name]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            wanted = " or ".join("None" if each is type(None) else each.__name__ for each in types)
            raise ArgumentError(f"{what}: {name} must be of type {wanted}, got {shown(value)}")
        checked[name] = value
    return cast(Fault, checked)


def _random_fault(choose: random.Random, seed: int, index: int) -> Fault:
    fault: Fault = {"operation": choose.choice(("launch", "copy", "fill", "allocation"))}
    if fault["operation"] == "allocation" or choose.random() < 2 / 3:
        fault["error"] = f"fault {index} of the scenario {seed}"
    else:
        fault["delay"] = choose.randint(1, _LONGEST_DELAY) / 1000
    # From 2 on, so that `injected` returns the same arguments: it omits defaults.
    fault["number"] = choose.randint(2, 20)
    fault["times"] = choose.randint(2, 3)
    if choose.random() < 1 / 3:
        fault["probability"] = choose.uniform(0.1, 1)
        fault["seed"] = choose.randint(1, 1 << 32)
    return fault
