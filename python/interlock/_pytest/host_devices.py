"""The object of the fixture `interlock_devices`."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from interlock import accelerator
from interlock._core.accelerator import FaultInjector, PausedCopies
from interlock._pytest.memory_limits import MemoryLimits
from interlock._pytest.source import Change
from interlock._quote import counted
from interlock.accelerator import memory
from interlock.errors import AcceleratorError, DeviceLostError

if TYPE_CHECKING:
    # `interlock.testing` does not need it.
    import pytest

MARKER = "interlock_devices"
"""The name of the fixture and of its marker."""
_NUMBER = 2
_BYTES = 64 << 20


class HostDevices(FaultInjector):
    """Devices of the host driver, and their `FaultInjector`: the fixture `interlock_devices`.

    After each test the devices are synchronized, their cache is emptied, copies continue, limits of memory
    are put back, and faults are removed; those that have not occurred are reported. The report of a failing
    test has its faults as a `Scenario` in JSON. A device that a test loses is lost for the rest of the
    process: later tests that use the fixture fail, so such a test runs in a process of its own.

    A test has two devices of 64 MiB, unless the marker `interlock_devices(devices=..., memory=...)` says
    otherwise.

    Args:
        devices: The number of devices of the process.
        memory: The bytes of memory of each device.

    Raises:
        TypeError: An argument is no int.
        ValueError: There cannot be so many devices, or the memory is negative.

    """

    def __new__(cls, devices: int = _NUMBER, memory: int = _BYTES) -> Self:
        # A `FaultInjector` has no arguments.
        return super().__new__(cls)

    def __init__(self, devices: int = _NUMBER, memory: int = _BYTES) -> None:
        try:
            accelerator.use("host", devices=devices, memory=memory, faults=self)
        except (TypeError, ValueError, OverflowError) as error:
            # The arguments are the same.
            raise type(error)(str(error).replace("accelerator.use", "HostDevices", 1)) from None
        self._all, self._bytes = devices, memory
        # The devices of the present test.
        self._number = devices
        self._lost: dict[str, str] = {}
        self._test = ""
        self._limits = MemoryLimits()
        # The limits before the test, without and with those of its marker.
        self._outer: Any = ()
        self._before: Any = ()
        self._paused: list[PausedCopies] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the devices of the test: `host:0` and `host:1` without a marker."""
        return tuple(f"host:{index}" for index in range(self._number))

    def pause_copies(self) -> PausedCopies:
        """Pause copies until the result is released or the test ends, as `FaultInjector.pause_copies`."""
        paused = super().pause_copies()
        self._paused.append(paused)
        return paused

    def _begin(self, test: pytest.Item) -> str:
        """Release memory of earlier tests. Return why the devices cannot be used, or an empty text."""
        self._test = test.nodeid
        if self._lost:
            device, by = next(iter(self._lost.items()))
            return f"{by} has lost the device {device} for the rest of this process: run it in one of its own"
        try:
            needed = _needed(test)
        except (TypeError, ValueError) as error:
            return f"the marker accepts devices and memory: {error}"
        if needed.devices > self._all or needed.memory > self._bytes:
            present = _Needed(self._all, self._bytes)
            return (
                f"the test needs {needed}, and this process has {present}, which cannot change: "
                "run the test in a process of its own"
            )
        # The frame of a test whose exception was caught owns buffers until the cycle collector runs.
        gc.collect()
        memory.empty_cache()
        self._number = needed.devices
        self._outer = self._limits.read()
        if needed.memory < self._bytes:
            # The devices have the memory of the test that needs most.
            for index in range(self._all):
                memory.set_limit(min(needed.memory, memory.get_limit(index) or needed.memory), index)
        self._before = self._limits.read()
        return ""

    def _end(self) -> tuple[str, list[Change]]:
        """Remove faults, resume copies, put limits back.

        Returns:
            What the test has left, or an empty text, and the limits that it has changed.

        """
        for paused in self._paused:
            paused.release()
        self._paused.clear()
        faults = [
            f"a fault that the test injected did not occur: {_described(fault)}"
            for fault in self.pending()
            if _is_missing(fault)
        ]
        # Before the wait, because work may hang.
        self.clear()
        problems = self._wait()
        if self._lost:
            return "", []
        changes = self._put_limits_back()
        problems += faults
        memory.empty_cache()
        return "; ".join(problems), changes

    def _put_limits_back(self) -> list[Change]:
        readings = (self._outer, self._before, self._limits.read())
        outer, before, after = (self._limits.values(reading) for reading in readings)
        # The test may have used the devices first.
        limits = {name: outer.get(name, self._limits.first(name, limit)) for name, limit in after.items()}
        self._limits.restore({name: limit for name, limit in limits.items() if after[name] != limit})
        return [
            Change(name, before.get(name, limits[name]), limit, None)
            for name, limit in after.items()
            if limit != before.get(name, limits[name])
        ]

    def _wait(self) -> list[str]:
        problems = []
        for index in range(self._all):
            try:
                accelerator.synchronize(index)
            except DeviceLostError:
                self._lost[f"host:{index}"] = self._test
            except AcceleratorError as error:
                problems.append(f"the test did not wait for an error of host:{index}: {error}")
        return problems


def _is_missing(fault: dict[str, Any]) -> bool:
    """Return whether a pending fault should have occurred: not by chance, nor once for each match."""
    return "probability" not in fault and (fault.get("times", 1) is not None or not fault["fired"])


def _described(fault: dict[str, Any]) -> str:
    """Return the call that injected a pending fault, and how often it has matched."""
    given = {name: value for name, value in fault.items() if name not in ("matched", "fired")}
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"inject({arguments}), which has matched {fault['matched']} and affected {fault['fired']}"


class _Needed(NamedTuple):
    """What a test needs: the arguments of its marker."""

    devices: int = _NUMBER
    memory: int = _BYTES

    def __str__(self) -> str:
        return f"{counted(self.devices, 'device')} of {self.memory / (1 << 20):g} MiB"


def _needed(test: pytest.Item) -> _Needed:
    """Return what a test needs. Raises `TypeError` or `ValueError` if its marker has a wrong argument."""
    marker = test.get_closest_marker(MARKER)
    if marker is None:
        return _Needed()
    if marker.args:
        raise TypeError("they are keyword-only")
    for name, value in marker.kwargs.items():
        if name not in _Needed._fields:
            raise TypeError(f"it has no argument {name!r}")
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} must be an int, got {type(value).__name__}")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    return _Needed(**marker.kwargs)


def for_tests(tests: Iterable[pytest.Item]) -> HostDevices:
    """Select the devices of this process, as many and as large as the tests that use the fixture need."""
    needed = []
    for test in tests:
        if test.get_closest_marker(MARKER) or MARKER in getattr(test, "fixturenames", ()):
            # A test with an invalid marker fails when it runs.
            with contextlib.suppress(TypeError, ValueError):
                needed.append(_needed(test))
    devices = max((each.devices for each in needed), default=_NUMBER)
    return HostDevices(devices, max((each.memory for each in needed), default=_BYTES))
