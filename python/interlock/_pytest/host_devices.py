"""The object of the fixture `interlock_devices`."""

from __future__ import annotations

import gc
from collections.abc import Callable

import interlock
from interlock import accelerator
from interlock._core.accelerator import FaultInjector, PausedCopies
from interlock.accelerator import memory
from interlock.errors import AcceleratorError, OutOfMemoryError

_NUMBER = 2
_BYTES = 64 << 20
# Larger blocks than this are allocated by the driver one by one.
_LARGE = 11 << 20
# How many allocations are tried at most to find a fault that has not occurred.
_MOST_ALLOCATIONS = 100


class HostDevices:
    """Two devices of the host driver with 64 MiB each, and faults: the fixture `interlock_devices`.

    The methods that inject faults are those of `FaultInjector`. After each test the devices are synchronized,
    their cache is emptied, copies continue, and faults that have not occurred are removed and reported.
    """

    def __init__(self) -> None:
        self._injector = FaultInjector()
        accelerator.use("host", devices=_NUMBER, memory=_BYTES, faults=self._injector)
        self._lost: dict[str, str] = {}
        self._test = ""
        self._limits: list[int | None] = []
        self._paused: list[PausedCopies] = []
        # The reasons of faults that were injected, by kind, and the number of allocations that they may take.
        self._armed: dict[str, list[str]] = {"launch": [], "copy": [], "fill": []}
        self._allocations = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the devices: `host:0` and `host:1`."""
        return tuple(f"host:{index}" for index in range(_NUMBER))

    def fail_allocation(self, number: int | None, times: int = 1) -> None:
        """Make later allocations of device memory fail, as `FaultInjector.fail_allocation`.

        Args:
            number: The first allocation that fails; 1 is the next one. None cancels all such faults.
            times: How many consecutive allocations fail.

        """
        self._injector.fail_allocation(number, times)
        self._allocations = 0 if number is None else max(self._allocations, number + times - 1)

    def fail_pinned_allocation(self, number: int | None, times: int = 1) -> None:
        """Make later allocations of pinned memory fail, as `FaultInjector.fail_pinned_allocation`.

        One that has not occurred at the end of the test is removed, and not reported.

        Args:
            number: The first allocation that fails; 1 is the next one. None cancels all such faults.
            times: How many consecutive allocations fail.

        """
        self._injector.fail_pinned_allocation(number, times)

    def fail_next_launch(self, reason: str) -> None:
        """Make the next function on a stream fail, as `FaultInjector.fail_next_launch`.

        Args:
            reason: The text at the end of the `AcceleratorError`.

        """
        self._injector.fail_next_launch(reason)
        self._armed["launch"].append(reason)

    def fail_next_copy(self, reason: str) -> None:
        """Make the next copy fail, as `FaultInjector.fail_next_copy`.

        Args:
            reason: The text at the end of the `AcceleratorError`.

        """
        self._injector.fail_next_copy(reason)
        self._armed["copy"].append(reason)

    def fail_next_fill(self, reason: str) -> None:
        """Make the next fill fail, as `FaultInjector.fail_next_fill`.

        Args:
            reason: The text at the end of the `AcceleratorError`.

        """
        self._injector.fail_next_fill(reason)
        self._armed["fill"].append(reason)

    def lose_device(self, device: int | str, reason: str) -> None:
        """Lose a device for the rest of the process, as `FaultInjector.lose_device`.

        Later tests of the process that use the fixture fail, so such a test runs in a process of its own.

        Args:
            device: The index or the name of the device.
            reason: The text at the end of the `DeviceLostError`.

        """
        self._injector.lose_device(device, reason)
        self._lost[str(device)] = self._test

    def pause_copies(self) -> PausedCopies:
        """Pause copies until the result is released or the test ends, as `FaultInjector.pause_copies`."""
        self._paused.append(self._injector.pause_copies())
        return self._paused[-1]

    def live_objects(self, *, internal: bool = False) -> dict[str, int]:
        """Return the number of objects that the program holds, as `FaultInjector.live_objects`.

        Args:
            internal: Whether to count all objects of the driver, also those that interlock owns.

        """
        return self._injector.live_objects(internal=internal)

    def _begin(self, test: str) -> str:
        """Release memory of earlier tests. Return why the devices cannot be used, or an empty text."""
        self._test = test
        if self._lost:
            device, by = next(iter(self._lost.items()))
            return f"{by} has lost the device {device} for the rest of this process: run it in one of its own"
        # The frame of a test whose exception was caught owns buffers until the cycle collector runs.
        gc.collect()
        memory.empty_cache()
        self._limits = [memory.get_limit(index) for index in range(_NUMBER)]
        return ""

    def _end(self) -> str:
        """Remove faults, resume copies, restore limits. Return what the test has left, or an empty text."""
        for paused in self._paused:
            paused.release()
        self._paused.clear()
        problems = self._wait()
        if self._lost:
            return ""
        for index, limit in enumerate(self._limits):
            memory.set_limit(limit, index)
        problems += self._remove_faults()
        memory.empty_cache()
        return "; ".join(problems)

    def _wait(self) -> list[str]:
        problems = []
        for index in range(_NUMBER):
            try:
                accelerator.synchronize(index)
            except AcceleratorError as error:
                if not self._lost:
                    problems.append(f"the test did not wait for an error of host:{index}: {error}")
        return problems

    def _remove_faults(self) -> list[str]:
        """Remove faults that have not occurred: the driver has no list of them, so let them occur here."""
        problems = []
        if self._allocations and self._an_allocation_fails():
            problems.append("a fault of an allocation that the test injected did not occur")
        self._injector.fail_allocation(None)
        self._injector.fail_pinned_allocation(None)
        self._allocations = 0
        with accelerator.device_index(0), interlock.Stream(dedicated=True) as stream:
            pending = [
                *self._drain("launch", lambda: accelerator.launch(stream, int)),
                *self._drain("copy", lambda: memory.copy_(memory.Buffer(8), bytes(8))),
                *self._drain("fill", lambda: memory.Buffer(8).fill_(0)),
            ]
        return problems + [f"a fault that the test injected did not occur: {each}" for each in pending]

    def _drain(self, kind: str, run: Callable[[], object]) -> list[str]:
        armed, pending = self._armed[kind], 0
        for _ in range(len(armed)):
            try:
                run()
                accelerator.synchronize(0)
            except AcceleratorError:
                pending += 1
            else:
                break
        # Faults occur in the order in which they were injected.
        reasons = [f"fail_next_{kind}({reason!r})" for reason in armed[len(armed) - pending :]]
        armed.clear()
        return reasons

    def _an_allocation_fails(self) -> bool:
        for _ in range(min(self._allocations, _MOST_ALLOCATIONS)):
            memory.empty_cache()
            before = memory.memory_stats(0)["num_alloc_retries"]
            try:
                memory.Buffer(_LARGE, device=0)
            except OutOfMemoryError:
                return True
            if memory.memory_stats(0)["num_alloc_retries"] != before:
                return True
        return False
