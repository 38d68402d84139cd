"""Signals at random moments: an action ends with KeyboardInterrupt or finishes, and all state is consistent.

Another process sends SIGINT and SIGUSR1 while this one waits, computes, and enters and exits scopes. The
handler of SIGUSR1 uses interlock itself. After each action modes, flags, current streams and devices must
be as before.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import interlock
from interlock import accelerator, backends, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

from tests.fuzz.actions import Actions
from tests.helpers.subprocess import PROGRAMS

MEMORY = 64 << 20


class Wrong(AssertionError):
    """A violated invariant."""


class Interrupts:
    """The signal handlers; an interrupt is raised at most once per action."""

    def __init__(self) -> None:
        self.armed = False
        self.received = 0
        self.used = 0
        self.errors: list[str] = []

    def interrupt(self, *_: object) -> None:
        """Raise KeyboardInterrupt if an action is running."""
        self.received += 1
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def use(self, *_: object) -> None:
        """Use interlock in a handler that is not interrupted itself."""
        armed, self.armed = self.armed, False
        self.used += 1
        try:
            before = repr(interlock.capture())
            with interlock.no_grad(), backends.override({"cudnn.benchmark": True}):
                if interlock.is_grad_enabled() or not backends.cudnn.benchmark:
                    self.errors.append("a scope of a handler has no effect")
                if interlock.ones(2).sum().item() != 2.0:
                    self.errors.append("a sum in a handler is wrong")
            if repr(interlock.capture()) != before:
                self.errors.append("a scope of a handler stayed")
        except Exception as error:
            self.errors.append(f"in a handler: {type(error).__name__}: {error}")
        finally:
            self.armed = armed


class Work:
    """The interrupted actions."""

    def __init__(self, drawn: random.Random) -> None:
        self.random = drawn
        self.streams = [interlock.Stream(0), interlock.Stream(1), interlock.Stream(1, dedicated=True)]
        self.matrix = interlock.ones(96, 96)
        self.integers = interlock.ones(64, 64, dtype=interlock.int64)

    def scopes(self) -> None:
        """Enter and exit scopes of all kinds."""
        for _ in range(20):
            with (
                interlock.no_grad(),
                backends.cudnn.flags(enabled=False),
                backends.frozen(),
                interlock.capture().apply(),
                interlock.device("host:1"),
                accelerator.device_index(1),
                self.streams[0],
            ):
                if interlock.is_grad_enabled() or backends.cudnn.enabled:
                    raise Wrong("a scope has no effect")

    def written_modes(self) -> None:
        """Create modes that write in their constructor, in a scope: an interrupt may precede their entry."""
        for _ in range(20):
            with (
                interlock.capture().apply(),
                interlock.set_grad_enabled(False),
                interlock.set_multithreading_enabled(False),
            ):
                interlock.ones(3)

    def wait_for_stream(self) -> None:
        """Wait for a function on a stream."""
        stream = self.random.choice(self.streams)
        accelerator.launch(stream, time.sleep, self.random.choice((0.0, 0.002, 0.006)))
        stream.synchronize()

    def wait_for_event(self) -> None:
        """Wait for an event behind a function."""
        stream = self.random.choice(self.streams)
        accelerator.launch(stream, time.sleep, 0.003)
        event = stream.record_event()
        event.synchronize()
        if not event.query():
            raise Wrong("an event that was awaited is not done")

    def wait_for_device(self) -> None:
        """Wait for a whole device."""
        accelerator.launch(self.streams[0], time.sleep, 0.002)
        accelerator.synchronize(0)

    def product(self) -> None:
        """Multiply matrices of floats and of integers."""
        if self.matrix.matmul(self.matrix).sum().item() != 96.0**3:
            raise Wrong("a product is wrong")
        if self.integers.matmul(self.integers).sum().item() != 64**3:
            raise Wrong("a product of integers is wrong")

    def gradient(self) -> None:
        """Run backward through a chain of operations."""
        leaf = interlock.ones(8, requires_grad=True)
        result = leaf
        for _ in range(60):
            result = result * 1.0 + 0.0
        result.sum().backward()
        if leaf.grad is None or leaf.grad.tolist() != [1.0] * 8:
            raise Wrong(f"a gradient is {leaf.grad}")

    def on_device(self) -> None:
        """Compute on a device and copy back."""
        made = interlock.ones(64, 8, device="host:1") * 2
        if made.cpu().sum().item() != 1024.0 or made.t().sum(0).tolist() != [16.0] * 64:
            raise Wrong("a result of a device is wrong")

    def buffers(self) -> None:
        """Allocate, fill and copy bytes."""
        with Buffer(1 << 16, 1) as buffer:
            buffer.fill_(7)
            got = bytearray(1 << 16)
            buffer.copy_to(got)
            if set(got) != {7}:
                raise Wrong("a buffer does not contain the value of its fill")

    def graph(self) -> None:
        """Capture a graph and replay it."""
        graph, buffer = accelerator.Graph(capture_error_mode="relaxed"), Buffer(64)
        stream = interlock.Stream()
        try:
            with stream, graph:
                buffer.fill_(3)
            with stream:
                graph.replay()
            stream.synchronize()
        finally:
            # `Graph.__enter__` is a Python function: an interrupt at its end leaves the graph capturing.
            graph._abort_capture()

    def decorated(self) -> None:
        """Call decorated functions and resume decorated generators."""

        @interlock.no_grad()
        def numbers() -> Iterator[bool]:
            for _ in range(30):
                yield interlock.is_grad_enabled()

        if any(numbers()) or not interlock.is_grad_enabled():
            raise Wrong("a mode of a decorated generator is not active inside, or is active outside")

    def state(self) -> None:
        """Run functions in a captured state."""
        with interlock.inference_mode():
            captured = interlock.capture()
        for _ in range(30):
            if not captured.run(interlock.is_inference_mode_enabled):
                raise Wrong("a captured state has no effect")

    def lists(self) -> None:
        """Convert to lists and back."""
        values = list(range(2000))
        if interlock.tensor(values).tolist() != values:
            raise Wrong("a list has changed")

    def pin(self) -> None:
        """Copy through pinned memory."""
        if interlock.ones(512).pin_memory().to("host:1", non_blocking=True).sum().item() != 512.0:
            raise Wrong("a pinned copy is wrong")


ACTIONS: tuple[Callable[[Work], None], ...] = (
    Work.scopes,
    Work.written_modes,
    Work.wait_for_stream,
    Work.wait_for_event,
    Work.wait_for_device,
    Work.product,
    Work.gradient,
    Work.on_device,
    Work.buffers,
    Work.graph,
    Work.decorated,
    Work.state,
    Work.lists,
    Work.pin,
)


# CPython 3.14 runs handlers of signals between `__enter__` and the block of a `with` statement, and does not
# call `__exit__` if one raises: `with threading.Lock()` also stays locked. 3.11 and 3.15 do not.
LOSES_EXITS = sys.version_info[:2] == (3, 14)
WITH_BLOCKS = (Work.scopes, Work.written_modes, Work.buffers, Work.graph, Work.decorated, Work.state)


def state() -> tuple[Any, ...]:
    """Return the state that an interrupt must not change."""
    return (
        repr(interlock.capture()),
        backends.flags_frozen(),
        backends.cudnn.enabled,
        accelerator.current_device_index(),
        str(interlock.get_default_device()),
        [accelerator.current_stream(device).stream_id for device in range(2)],
        [accelerator.current_stream(device).is_capturing() for device in range(2)],
    )


def run(actions: Actions) -> None:
    """Run `actions.count` actions under signals."""
    accelerator.use("host", devices=2, memory=MEMORY)
    accelerator.synchronize()
    interrupts = Interrupts()
    signal.signal(signal.SIGINT, interrupts.interrupt)
    signal.signal(signal.SIGUSR1, interrupts.use)
    work, before = Work(actions.random), state()
    sender_program = PROGRAMS / "fuzz" / "send_signals.py"
    sender = subprocess.Popen(
        [sys.executable, "-S", str(sender_program), str(os.getpid()), str(actions.seed)], process_group=0
    )
    try:
        for _ in actions:
            before = one(actions, interrupts, work, before)
    finally:
        sender.kill()
        sender.wait()
        # Another thread may receive a signal so late that the interpreter has removed the handlers.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    # CPython 3.12 remembers a KeyboardInterrupt that leaves `exec` of a string, which `dataclass` uses, even
    # if it is caught later, and `python -m` then ends with SIGINT. The next `exec` of a string clears that.
    exec("pass")
    actions.add("signals", interrupts.received + interrupts.used)
    del work
    _all_is_back(actions)


def one(actions: Actions, interrupts: Interrupts, work: Work, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run one action, check the state and return it."""
    action = actions.random.choice(ACTIONS)
    actions.doing(action.__name__)
    try:
        if actions.fault():
            raise Wrong("planted")
        interrupts.armed = not (LOSES_EXITS and action in WITH_BLOCKS)
        action(work)
        interrupts.armed = False
    except KeyboardInterrupt:
        actions.add("interrupted")
    except errors.AcceleratorError as error:
        interrupts.armed = False
        # A function on a stream runs on another thread, so no signal reaches it.
        actions.wrong(f"{action.__name__}: {type(error).__name__}: {error}")
    except Exception as error:
        interrupts.armed = False
        actions.wrong(f"{action.__name__}: {type(error).__name__}: {error}")
    for text in interrupts.errors:
        actions.wrong(f"{action.__name__}: {text}")
    interrupts.errors.clear()
    after = state()
    if after != before:
        actions.wrong(f"{action.__name__}: the state {before} became {after}")
    return after


def _all_is_back(actions: Actions) -> None:
    """Check that no device memory has leaked."""
    gc.collect()
    for device in range(2):
        accelerator.synchronize(device)
    gc.collect()
    accelerator.empty_cache()
    left = [memory.memory_reserved(device) for device in range(2)]
    if any(left):
        actions.wrong(f"bytes of the devices that were not released: {left}")
