"""Threads fuzz: several threads change modes, flags and devices at once, each checked against a model.

A thread acts in its own context and in copies of it. Modes are compared with the model of
tests/unit/state/modes_model.py, which has a state for each context. Flags and the current device that a
context has set follow a small model here; a flag that it has not set may have any value that some thread
writes. When all threads have ended, all memory of the devices must be
released.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import random
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import interlock
from interlock import accelerator, backends, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

from tests.fuzz.actions import Actions
from tests.unit.state import modes_model

THREADS = 4
DEVICES = 2
MEMORY = 64 << 20
SECONDS_TO_JOIN = 300.0
MODEL = modes_model.MODEL
MOST_OPEN = 6

VALUES: dict[str, tuple[Any, ...]] = {
    "cudnn.benchmark": (False, True),
    "cudnn.deterministic": (False, True),
    "cudnn.benchmark_limit": (10, 3, 7),
    "cudnn.depthwise_kernel": ("auto", "native", "cudnn"),
    "mkldnn.enabled": (True, False),
    "nnpack.enabled": (True, False),
}
"""The flags of the model, with every value that a thread writes; the first one is the default."""


def read(name: str) -> Any:
    """Return the value of a flag on this thread."""
    module, _, attribute = name.partition(".")
    return getattr(getattr(backends, module), attribute)


def write(name: str, value: Any) -> None:
    """Assign a flag."""
    module, _, attribute = name.partition(".")
    setattr(getattr(backends, module), attribute, value)


@dataclass(eq=False)
class Layer:
    """The values that a scope sets in one context."""

    scope: Any
    """The scope of interlock, which is entered once."""
    mode: Any = None
    """The scope of the model of modes, if it sets modes."""
    flags: dict[str, Any] = field(default_factory=dict)
    hides: bool = False
    """Whether it hides the flags of the layers below, so that other flags have the process's values."""
    device: int | None = None
    entered_in: Context | None = None


@dataclass(eq=False)
class Context:
    """The model of flags and devices in one context of a thread."""

    layers: list[Layer] = field(default_factory=list)
    base_device: int = 0
    modes: modes_model.State | None = None
    """The state of the model of modes, of a copied context."""
    ours: contextvars.Context | None = None
    """The copied context."""

    def copy(self) -> Context:
        """Copy the current context."""
        layers = [replace(layer, flags=dict(layer.flags)) for layer in self.layers]
        state = modes_model.CURRENT.state.copy()
        return Context(layers, self.base_device, state, contextvars.copy_context())


def modes() -> str:
    """Return all mode bits of this thread in the form of the model, without flags and recordings."""
    count = len(modes_model.shown(0).split(", "))
    return ", ".join(repr(interlock.capture()).rstrip(")").split(", ")[:count]) + ")"


class Wrong(AssertionError):
    """A violated invariant."""


class Shared:
    """State shared by the threads of a child."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.generators: list[Iterator[bool]] = []
        self.states: list[tuple[Any, int]] = []
        """Captured states with their modes."""
        self.handed_over: list[tuple[Any, Any, threading.Event]] = []
        self.events: list[Any] = []
        self.graphs: list[Any] = []
        self.freezes_begun = 0
        self.freezes_ended = 0


class Actor:
    """One thread with its models."""

    def __init__(self, actions: Actions, slot: int, shared: Shared) -> None:
        self.actions, self.slot, self.shared = actions, slot, shared
        self.random = random.Random(f"{actions.seed} {slot}")
        self.context = self.own = Context()
        """The context in which this thread acts, and its own one."""
        self.copies: list[Context] = []
        self.open_scopes: set[Any] = set()
        """Scopes that were entered and not exited, in any context."""
        self.pending: list[threading.Event] = []
        self.freezes: list[Any] = []
        self.buffers: list[tuple[Any, int]] = []
        self.tensors: list[tuple[Any, float]] = []
        self.streams: list[Any] = []

    @property
    def layers(self) -> list[Layer]:
        """The layers of the context in which this thread acts."""
        return self.context.layers

    # Main loop

    def run(self, count: int) -> None:
        """Run `count` actions with a check after each; then exit all scopes."""
        names, weights = zip(*((each.__name__, weight) for each, weight in ACTIONS.items()), strict=True)
        try:
            for _ in self.actions.of_slot(self.slot, count):
                (name,) = self.random.choices(names, weights)
                self.actions.doing(f"thread {self.slot}: {name}", self.slot)
                try:
                    if self.actions.fault(self.slot):
                        raise Wrong("planted")
                    self.step(getattr(self, name))
                except Exception as error:
                    self.actions.wrong(f"{name}: {type(error).__name__}: {error}", self.slot)
                    return
        finally:
            self.exit_all()

    def step(self, action: Callable[[], None]) -> None:
        """Run an action and check the invariants, alone if another thread may exit a scope of this one."""
        self.pending = [event for event in self.pending if not event.is_set()]
        if self.pending or action == self.hand_over:
            with self.shared.lock:
                action()
                self.check_modes()
        else:
            action()
            self.check_modes()
        self.check_flags()
        self.check_device()

    def check(self) -> None:
        """Check the context in which this thread acts."""
        self.check_modes()
        self.check_flags()
        self.check_device()

    def exit_all(self) -> None:
        """Exit open scopes and drop owned objects."""
        for layer in reversed(self.layers):
            layer.scope.__exit__(None, None, None)
        for scope in self.freezes:
            self.unfreeze(scope)
        self.layers.clear()
        self.copies.clear()
        self.buffers.clear()
        self.tensors.clear()
        self.streams.clear()

    # Invariants

    def check_modes(self) -> None:
        got, want = modes(), modes_model.shown(modes_model.capture())
        if got != want:
            raise Wrong(f"modes are {got}, the model has {want}")
        if interlock.is_grad_enabled() != bool(modes_model.capture() & MODEL.GRAD):
            raise Wrong("is_grad_enabled differs from the captured modes")

    def decided(self, name: str) -> tuple[bool, Any]:
        """Return whether a scope of this thread sets a flag, and the value."""
        for layer in reversed(self.layers):
            if name in layer.flags:
                return True, layer.flags[name]
            if layer.hides:
                break
        return False, None

    def check_flags(self) -> None:
        name = self.random.choice(list(VALUES))
        decided, want = self.decided(name)
        got = read(name)
        if decided and got != want:
            raise Wrong(f"{name} is {got!r}, this thread decided {want!r}")
        if got not in VALUES[name]:
            raise Wrong(f"{name} is {got!r}, which no thread writes")
        if self.freezes and not backends.flags_frozen():
            raise Wrong("flags are not frozen in a scope that freezes them")

    def device(self) -> int:
        """Return the current device of the model."""
        devices = (layer.device for layer in reversed(self.layers) if layer.device is not None)
        return next(devices, self.context.base_device)

    def check_device(self) -> None:
        got = accelerator.current_device_index()
        if got != self.device():
            raise Wrong(f"the current device is {got}, the model has {self.device()}")

    # Modes

    def open(self, layer: Layer) -> None:
        """Enter a scope on both sides; exit another one first if many are open."""
        if len(self.layers) >= MOST_OPEN:
            self.exit_scope()
        layer.scope.__enter__()
        if layer.mode is not None:
            layer.mode.__enter__()
        layer.entered_in = self.context
        self.layers.append(layer)
        self.open_scopes.add(layer.scope)

    def enter(self) -> None:
        """Enter a scope of modes."""
        name = self.random.choice(
            (
                "no_grad",
                "enable_grad",
                "inference_mode",
                "set_grad_enabled",
                "set_multithreading_enabled",
                "_force_original_view_tracking",
                "enforce_grad_layout_policy",
            )
        )
        mode = self.random.random() < 0.5
        given = () if name in ("no_grad", "enable_grad") else (mode,)
        self.open(Layer(getattr(interlock, name)(*given), getattr(MODEL, name)(*given)))

    def exit_scope(self) -> None:
        """Exit one of the scopes, mostly the last one.

        In the context that entered it, it ends there and copies keep it. In a copy, it ends in every context,
        unless it was exited before.
        """
        if not self.layers:
            return
        layer = self.layers[-1] if self.random.random() < 0.5 else self.random.choice(self.layers)
        layer.scope.__exit__(None, None, None)
        if layer.mode is not None:
            layer.mode.__exit__(None, None, None)
        if layer.scope in self.open_scopes:
            self.open_scopes.remove(layer.scope)
            is_here = layer.entered_in is self.context
            for context in [self.context] if is_here else [self.context, self.own, *self.copies]:
                context.layers = [other for other in context.layers if other.scope is not layer.scope]

    def set_mode(self) -> None:
        """Write a mode without a scope."""
        mode = self.random.random() < 0.5
        name = self.random.choice(("set_grad_enabled", "set_multithreading_enabled"))
        getattr(interlock, name)(mode)
        getattr(MODEL, name)(mode)

    def hand_over(self) -> None:
        """Enter a scope for another thread to exit."""
        if len(self.pending) >= 2:
            return
        ours, models = interlock.no_grad(), MODEL.no_grad()
        done = threading.Event()
        with self.shared.lock:
            ours.__enter__()
            models.__enter__()
            self.shared.handed_over.append((ours, models, done))
        self.pending.append(done)

    def take_over(self) -> None:
        """Exit a scope that another thread entered."""
        with self.shared.lock:
            if self.shared.handed_over:
                ours, models, done = self.shared.handed_over.pop(0)
                ours.__exit__(None, None, None)
                models.__exit__(None, None, None)
                done.set()

    def copy_context(self) -> None:
        """Copy the context, with its scopes."""
        self.copies.append(self.context.copy())
        del self.copies[:-3]

    def act_in_a_copy(self) -> None:
        """Enter, write and exit in a copy of the context, mostly on this thread."""
        if not self.copies:
            return
        context = self.random.choice(self.copies)
        assert context.ours is not None
        failures: list[Exception] = []

        def act() -> None:
            assert context.modes is not None
            before, self.context = self.context, context
            try:
                with modes_model.activated(context.modes):
                    self.check()
                    for _ in range(self.random.randrange(1, 5)):
                        action = self.random.choice(IN_A_COPY)
                        action(self)
                        self.check()
            except Exception as error:
                failures.append(error)
            finally:
                self.context = before

        if self.random.random() < 0.9:
            context.ours.run(act)
        else:
            thread = threading.Thread(target=context.ours.run, args=(act,))
            thread.start()
            thread.join()
        if failures:
            raise failures[0]

    def decorated(self) -> None:
        """Call a decorated function."""

        @interlock.no_grad()
        def inner() -> tuple[bool, float]:
            return interlock.is_grad_enabled(), float(interlock.ones(2).sum().item())

        if inner() != (False, 2.0):
            raise Wrong("grad mode is enabled in a function decorated with no_grad")

    def generator(self) -> None:
        """Resume a decorated generator, which any thread may have resumed before."""
        generators = self.shared.generators
        if len(generators) < 3:
            generators.append(interlock.no_grad()(_generator)())
        # A copy, because another thread may remove one meanwhile.
        generator = self.random.choice(generators.copy() or [interlock.no_grad()(_generator)()])
        try:
            enabled = next(generator)
        except (StopIteration, ValueError):
            # It is finished, or another thread runs it.
            if self.random.random() < 0.2 and generator in generators:
                generators.remove(generator)
            return
        if enabled:
            raise Wrong("grad mode is enabled in a generator decorated with no_grad")

    def capture(self) -> None:
        """Capture this thread's state for any thread to apply."""
        self.shared.states.append((interlock.capture(), modes_model.capture()))
        del self.shared.states[:-8]

    def apply(self) -> None:
        """Apply a state of this thread, captured now, with its flags and current device."""
        pin = self.random.random() < 0.2
        flags = {name: value for name in VALUES for decided, value in [self.decided(name)] if decided}
        device = self.device()
        state, word = interlock.capture(pin=pin), modes_model.capture()
        layer = Layer(state.apply(), modes_model.Captured(word), flags, True, device)
        self.open(layer)
        if pin:
            # The process's values at the time are unknown here; the first value that is read must stay.
            layer.flags.update({name: read(name) for name in VALUES})

    def run_in_state(self) -> None:
        """Call a function in a state that any thread captured."""
        if not self.shared.states:
            return
        state, word = self.random.choice(self.shared.states)
        if state.run(modes) != modes_model.shown(word):
            raise Wrong("a captured state has changed")

    def new_thread(self) -> None:
        """Start a thread; its modes are the defaults."""
        seen: list[str] = []
        thread = threading.Thread(target=lambda: seen.append(modes()))
        thread.start()
        thread.join()
        if seen != [modes_model.shown(MODEL.DEFAULT)]:
            raise Wrong(f"a new thread has the modes {seen}")

    def tasks(self) -> None:
        """Run tasks whose scopes overlap; each has its own state."""

        async def task(disables: bool) -> None:
            before = interlock.is_grad_enabled()
            with interlock.set_grad_enabled(not disables):
                await asyncio.sleep(0)
                if interlock.is_grad_enabled() == disables:
                    raise Wrong("a task sees the mode of another task")
            if interlock.is_grad_enabled() != before:
                raise Wrong("a scope of a task changed the mode after its exit")

        async def main() -> None:
            await asyncio.gather(*(task(bool(number % 2)) for number in range(4)))

        asyncio.run(main())

    # Flags

    def some_flags(self) -> dict[str, Any]:
        names = self.random.sample(list(VALUES), self.random.randrange(1, 4))
        return {name: self.random.choice(VALUES[name]) for name in names}

    def enter_flags(self) -> None:
        """Enter a scope of flags."""
        flags: Any = self.some_flags()
        self.open(Layer(backends.override(flags), flags=dict(flags)))

    def write_flags(self) -> None:
        """Assign flags in an own scope or process-wide; only a freeze may refuse."""
        for name, value in self.some_flags().items():
            before = self.shared.freezes_ended
            try:
                write(name, value)
            except errors.FlagsFrozenError:
                if self.shared.freezes_begun == before:
                    raise Wrong(f"{name} is frozen, and no thread freezes flags") from None
                continue
            if self.freezes:
                raise Wrong(f"{name} was written while this thread freezes flags")
            for layer in reversed(self.layers):
                if name in layer.flags:
                    layer.flags[name] = value
                if name in layer.flags or layer.hides:
                    break

    def freeze(self) -> None:
        """Freeze flags, or unfreeze them if this thread has frozen them."""
        if self.freezes:
            self.unfreeze(self.freezes.pop())
            return
        scope = backends.frozen()
        with self.shared.lock:
            self.shared.freezes_begun += 1
        scope.__enter__()
        self.freezes.append(scope)

    def unfreeze(self, scope: Any) -> None:
        scope.__exit__(None, None, None)
        with self.shared.lock:
            self.shared.freezes_ended += 1

    def explain(self) -> None:
        """Query the source of a flag's value, and take a snapshot."""
        name = self.random.choice(list(VALUES))
        decided, want = self.decided(name)
        found = backends.explain(name)
        if decided and found.value != want:
            raise Wrong(f"explain returns {found.value!r} for {name}, this thread set {want!r}")
        if self.random.random() < 0.1 and len(backends.snapshot()) < len(VALUES):
            raise Wrong("a snapshot lacks flags")

    # Devices

    def enter_device(self) -> None:
        """Enter a scope of the current device."""
        index = self.random.randrange(DEVICES)
        self.open(Layer(accelerator.device_index(index), device=index))

    def set_device(self) -> None:
        """Set the current device, in the innermost scope that sets it."""
        index = self.random.randrange(DEVICES)
        accelerator.set_device_index(index)
        for layer in reversed(self.layers):
            if layer.device is not None:
                layer.device = index
                return
        self.context.base_device = index

    def stream(self) -> Any:
        """Return one of the streams of this thread."""
        if len(self.streams) < 3:
            self.streams.append(interlock.Stream(self.random.randrange(DEVICES)))
        if self.random.random() < 0.05:
            self.streams.pop(0)
        return self.random.choice(self.streams or [interlock.Stream()])

    def use_stream(self) -> None:
        """Enter and exit a stream."""
        stream = self.stream()
        with stream:
            if accelerator.current_stream(stream.device) != stream:
                raise Wrong("a stream is not current in its scope")
            self.allocate()

    def allocate(self) -> None:
        """Allocate a buffer, fill it and check its contents; or close one."""
        if len(self.buffers) > 5 or (self.buffers and self.random.random() < 0.3):
            buffer, value = self.buffers.pop(self.random.randrange(len(self.buffers)))
            got = bytearray(buffer.nbytes)
            buffer.copy_to(got)
            if bytes(got) != bytes([value]) * buffer.nbytes:
                raise Wrong(f"a buffer of {value} contains {set(got)}")
            if self.random.random() < 0.5:
                buffer.close()
            return
        nbytes = self.random.choice((0, 1, 512, 4000, 100_000, 3 << 20))
        value = self.random.randrange(256)
        device = self.random.randrange(DEVICES)
        try:
            buffer = Buffer(nbytes, device)
        except interlock.OutOfMemoryError:
            return
        buffer.fill_(value)
        accelerator.synchronize(device)
        self.buffers.append((buffer, value))

    def check_memory(self) -> None:
        """Read the statistics of a device, which must match each other and the buffers of this thread."""
        device = self.random.randrange(DEVICES)
        stats = accelerator.memory_stats(device)
        allocated, reserved = stats["allocated_bytes.all.current"], stats["reserved_bytes.all.current"]
        own = sum(buffer.nbytes for buffer, _ in self.buffers if buffer.device.index == device)
        if not own <= allocated <= stats["active_bytes.all.current"] <= reserved <= MEMORY:
            raise Wrong(f"of device {device}: {own} own bytes, {allocated} allocated, {reserved} reserved")
        for kind in ("allocated_bytes", "reserved_bytes", "active_bytes", "allocation", "segment"):
            current, peak = stats[f"{kind}.all.current"], stats[f"{kind}.all.peak"]
            taken, given = stats[f"{kind}.all.allocated"], stats[f"{kind}.all.freed"]
            if not 0 <= current <= peak or taken - given != current:
                raise Wrong(f"{kind}: {current} current, {peak} peak, {taken} allocated, {given} freed")
            pools = sum(stats[f"{kind}.{pool}.current"] for pool in ("small_pool", "large_pool"))
            if pools != current:
                raise Wrong(f"{kind}: {current} in all and {pools} in the pools")

    def limit(self) -> None:
        """Limit the memory of a device, remove the limit, or empty the cache."""
        device = self.random.randrange(DEVICES)
        way = self.random.randrange(4)
        if way == 0:
            memory.set_limit(self.random.choice((8 << 20, 30 << 20, "50%", 0)), device)
        elif way == 1:
            memory.set_limit(None, device)
        elif way == 2:
            memory.set_cache_limit(self.random.choice((0, 4 << 20, None)), device)
        else:
            accelerator.empty_cache()

    def events(self) -> None:
        """Record events and wait for those of other threads."""
        shared = self.shared.events
        stream = self.stream()
        if len(shared) < 6 or self.random.random() < 0.5:
            event = interlock.Event(stream.device, enable_timing=self.random.random() < 0.3)
            event.record(stream)
            shared.append(event)
            del shared[:-6]
            return
        event = self.random.choice(shared)
        way = self.random.randrange(4)
        if way == 0:
            stream.wait_event(event)
        elif way == 1:
            event.synchronize()
            if not event.query():
                # Another thread may have recorded it again in the meantime.
                event.query()
        elif way == 2:
            event.record(interlock.Stream(event.device))
        else:
            event.query()

    def launch(self) -> None:
        """Launch functions on a stream; they run in order and in the state of this thread."""
        stream, seen = self.stream(), list[object]()
        want = modes()
        accelerator.launch(stream, lambda: seen.append(modes()))
        accelerator.launch(stream, seen.append, 2)
        stream.synchronize()
        if seen != [want, 2]:
            raise Wrong(f"functions on a stream saw {seen}, and not {want}")

    def graph(self) -> None:
        """Capture a graph, replay it, and check the result."""
        if len(self.shared.graphs) > 4:
            graph, buffer, value = self.shared.graphs.pop(0)
        else:
            value = self.random.randrange(256)
            try:
                buffer = Buffer(64, 0)
            except interlock.OutOfMemoryError:
                return
            graph = accelerator.Graph(capture_error_mode="relaxed")
            # The stream of another thread may be the same stream of the pool, and would join the capture.
            with interlock.Stream(0, dedicated=True), graph:
                buffer.fill_(value)
                memory.copy_(buffer[:8], buffer[8:16], non_blocking=True)
            self.shared.graphs.append((graph, buffer, value))
        stream = interlock.Stream(0)
        with stream:
            graph.replay()
        stream.synchronize()
        got = bytearray(64)
        buffer.copy_to(got)
        if bytes(got) != bytes([value]) * 64:
            raise Wrong(f"a graph that fills with {value} wrote {set(got)}")

    def compute(self) -> None:
        """Compute with tensors on a device or the CPU, with gradients if grad mode is enabled."""
        device = self.random.choice(("cpu", "host:0", "host:1"))
        try:
            with interlock.inference_mode(False):
                leaf = interlock.ones(4, 3, device=device, requires_grad=True)
                result = (leaf * 3 + leaf.t().t()).sum()
                result.backward()
                assert leaf.grad is not None
                if leaf.grad.sum().item() != 48.0 or result.item() != 48.0:
                    raise Wrong(f"a gradient is {leaf.grad.sum().item()}")
            enabled = interlock.is_grad_enabled() and not interlock.is_inference_mode_enabled()
            if (leaf * 2).requires_grad != enabled:
                raise Wrong("requires_grad of a result does not follow grad mode")
        except interlock.OutOfMemoryError:
            return

    def share_tensor(self) -> None:
        """Store tensors and check them later."""
        if len(self.tensors) > 4:
            tensor, value = self.tensors.pop(0)
            if tensor.sum().item() != value * 8:
                raise Wrong(f"a tensor of {value} contains {tensor.tolist()}")
            return
        value = float(self.random.randrange(100))
        try:
            made = interlock.full((8,), value, device=self.random.choice(("host:0", "host:1", "cpu")))
            self.tensors.append((made.to(self.random.choice(("host:0", "host:1", "cpu"))), value))
        except interlock.OutOfMemoryError:
            return


ACTIONS: dict[Callable[[Actor], None], float] = {
    Actor.enter: 10,
    Actor.exit_scope: 10,
    Actor.set_mode: 8,
    Actor.hand_over: 2,
    Actor.take_over: 4,
    Actor.copy_context: 3,
    Actor.act_in_a_copy: 6,
    Actor.decorated: 3,
    Actor.generator: 5,
    Actor.capture: 3,
    Actor.apply: 4,
    Actor.run_in_state: 3,
    Actor.new_thread: 0.3,
    Actor.tasks: 0.1,
    Actor.enter_flags: 6,
    Actor.write_flags: 8,
    Actor.freeze: 2,
    Actor.explain: 2,
    Actor.enter_device: 4,
    Actor.set_device: 4,
    Actor.use_stream: 2,
    Actor.allocate: 4,
    Actor.check_memory: 3,
    Actor.limit: 1,
    Actor.events: 4,
    Actor.launch: 1,
    Actor.graph: 0.5,
    Actor.compute: 1,
    Actor.share_tensor: 2,
}


IN_A_COPY: tuple[Callable[[Actor], None], ...] = (
    Actor.enter,
    Actor.exit_scope,
    Actor.set_mode,
    Actor.copy_context,
    Actor.apply,
    Actor.enter_flags,
    Actor.write_flags,
    Actor.enter_device,
    Actor.set_device,
    Actor.explain,
    Actor.launch,
)
"""What a thread does in a copy of a context."""


def _generator() -> Iterator[bool]:
    for _ in range(20):
        yield interlock.is_grad_enabled()


def run(actions: Actions) -> None:
    """Run `actions.count` actions, divided among the threads."""
    sys.setswitchinterval(1e-5)
    accelerator.use("host", devices=DEVICES, memory=MEMORY)
    accelerator.synchronize()
    shared = Shared()
    counts = [actions.count // THREADS + (slot < actions.count % THREADS) for slot in range(THREADS)]
    threads = [
        threading.Thread(target=Actor(actions, slot, shared).run, args=(count,), daemon=True)
        for slot, count in enumerate(counts)
        if count
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS_TO_JOIN)
    for scope, _, _ in shared.handed_over:
        scope.__exit__(None, None, None)
    del shared, threads
    _all_is_back(actions)


def _all_is_back(actions: Actions) -> None:
    """Check the remaining state after every thread has ended."""
    gc.collect()
    for device in range(DEVICES):
        memory.set_limit(None, device)
        memory.set_cache_limit(None, device)
        accelerator.synchronize(device)
    gc.collect()
    accelerator.empty_cache()
    left = [accelerator.memory_reserved(device) for device in range(DEVICES)]
    if any(left):
        actions.wrong(f"bytes of the devices that were not released: {left}")
    if backends.flags_frozen():
        actions.wrong("flags are frozen after the exit of every scope")
    if modes() != modes_model.shown(MODEL.DEFAULT):
        actions.wrong("the modes of the main thread have changed")
