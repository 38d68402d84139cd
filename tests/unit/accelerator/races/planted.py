"""Planted races: each with the order that the program lacks, which a twin of the program has.

A case is a function of a `Plan`. Where a program lacks an order, it calls `plan.order(...)`, which makes that
order in the twin only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import interlock
from interlock import Event, Stream, Tensor, accelerator
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer


@dataclass
class Plan:
    """How to run a case."""

    is_ordered: bool
    """Whether the missing order is made."""
    devices: tuple[str, ...]
    kept: list[Any] = field(default_factory=list)
    """Objects that live as long as the detection, so that their memory is not reused."""

    def order(self, make: Callable[..., object], *arguments: object) -> None:
        """Make an order that the racy program lacks."""
        if self.is_ordered:
            make(*arguments)

    def keep(self, *objects: Any) -> None:
        """Keep objects until the detection ends."""
        self.kept += objects


class Case(NamedTuple):
    """A planted race."""

    run: Callable[[Plan], object]
    accesses: set[str]
    """The kinds of the accesses of each race that may be reported."""
    missing: str
    """A part of the missing order."""


CASES: dict[str, Case] = {}


def planted(accesses: str, missing: str) -> Callable[[Callable[[Plan], object]], Callable[[Plan], object]]:
    """Add a case whose races are of these kinds."""

    def add(run: Callable[[Plan], object]) -> Callable[[Plan], object]:
        CASES[run.__name__] = Case(run, set(accesses.split()), missing)
        return run

    return add


def new_stream(device: str | None = None) -> Stream:
    """Return a stream that is not of the pool, so that no two streams of a case are one."""
    return Stream(device, dedicated=True)


def signal(event: Event, by: Stream, to: Stream) -> None:
    """Make a stream wait for what another one has queued until now."""
    by.record_event(event)
    to.wait_event(event)


def ones(device: str, **options: Any) -> Tensor:
    """Return a tensor on a device whose work on the current stream has completed."""
    made = interlock.ones(64, device=device, **options)
    accelerator.synchronize()
    return made


STREAMS = "call wait_stream"
PROGRAM = "the program does not wait"


@planted("write/read", STREAMS)
def copy_reads_before_the_fill_of_another_stream(plan: Plan) -> None:
    writer, reader = new_stream(), new_stream()
    buffer = Buffer(64, stream=writer).fill_(1, stream=writer)
    plan.order(reader.wait_stream, writer)
    buffer.copy_to(bytearray(64), stream=reader)
    plan.keep(buffer)


@planted("write/read", STREAMS)
def kernel_of_the_default_stream_reads_before_the_transfer(plan: Plan) -> None:
    """ROCm/pytorch#3194: found after days, by its author with a reproducer of 100 lines."""
    transfer, batch = new_stream(), interlock.ones(64, pin_memory=True)
    with transfer:
        on_device = batch.to(plan.devices[0], non_blocking=True)
    plan.order(accelerator.current_stream().wait_stream, transfer)
    plan.keep(batch, on_device, on_device * 2)


@planted("write/read", STREAMS)
def transfer_reads_before_the_kernel(plan: Plan) -> None:
    x, transfer = ones(plan.devices[0]), new_stream()
    y, target = x * 2, interlock.empty(64, pin_memory=True)
    plan.order(transfer.wait_stream, accelerator.current_stream())
    with transfer:
        target.copy_(y, non_blocking=True)
    plan.keep(x, y, target)


@planted("write/read", PROGRAM)
def program_reads_pinned_memory_before_the_copy(plan: Plan) -> None:
    x, target = ones(plan.devices[0]), interlock.zeros(64, pin_memory=True)
    target.copy_(x, non_blocking=True)
    plan.order(accelerator.synchronize)
    target.tolist()
    plan.keep(x, target)


@planted("read/write", PROGRAM)
def program_overwrites_pinned_memory_during_the_copy(plan: Plan) -> None:
    source = interlock.ones(64, pin_memory=True)
    on_device = source.to(plan.devices[0], non_blocking=True)
    plan.order(accelerator.current_stream().synchronize)
    source.fill_(2)
    plan.keep(source, on_device)


@planted("write/read", PROGRAM)
def array_of_pinned_memory_is_taken_before_the_copy(plan: Plan) -> None:
    x, target = ones(plan.devices[0]), interlock.zeros(64, pin_memory=True)
    target.copy_(x, non_blocking=True)
    plan.order(accelerator.synchronize)
    memoryview(target).release()
    plan.keep(x, target)


@planted("write/read", STREAMS)
def event_is_recorded_before_the_write(plan: Plan) -> None:
    writer, reader, event = new_stream(), new_stream(), Event()
    buffer = Buffer(64, stream=writer)
    writer.record_event(event)
    buffer.fill_(1, stream=writer)
    plan.order(writer.record_event, event)
    reader.wait_event(event)
    buffer.copy_to(bytearray(64), stream=reader)
    plan.keep(buffer)


@planted("write/read", STREAMS)
def wait_precedes_the_record_of_the_event(plan: Plan) -> None:
    writer, reader, event = new_stream(), new_stream(), Event()
    buffer = Buffer(64, stream=writer)
    reader.wait_event(event)
    buffer.fill_(1, stream=writer)
    writer.record_event(event)
    plan.order(reader.wait_event, event)
    buffer.copy_to(bytearray(64), stream=reader)
    plan.keep(buffer)


@planted("write/read", STREAMS)
def another_stream_waits(plan: Plan) -> None:
    writer, reader, other, event = new_stream(), new_stream(), new_stream(), Event()
    buffer = Buffer(64, stream=writer).fill_(1, stream=writer)
    signal(event, writer, other)
    plan.order(reader.wait_event, event)
    buffer.copy_to(bytearray(64), stream=reader)
    plan.keep(buffer)


@planted("write/read", STREAMS)
def wait_stream_precedes_the_work(plan: Plan) -> None:
    writer, reader = new_stream(), new_stream()
    buffer = Buffer(64, stream=writer)
    reader.wait_stream(writer)
    buffer.fill_(1, stream=writer)
    plan.order(reader.wait_stream, writer)
    buffer.copy_to(bytearray(64), stream=reader)
    plan.keep(buffer)


@planted("write/write", STREAMS)
def two_streams_fill(plan: Plan) -> None:
    one, other = new_stream(), new_stream()
    buffer = Buffer(64, stream=one).fill_(1, stream=one)
    plan.order(signal, Event(), one, other)
    buffer.fill_(2, stream=other)
    plan.keep(buffer)


@planted("write/write", STREAMS)
def slices_overlap_by_a_byte(plan: Plan) -> None:
    one, other = new_stream(), new_stream()
    buffer = Buffer(64, stream=one)
    end = 32 if plan.is_ordered else 33
    buffer.slice(0, end).fill_(1, stream=one)
    buffer.slice(32, 64).fill_(2, stream=other)
    plan.keep(buffer)


@planted("read/write", STREAMS)
def next_batch_overwrites_the_one_in_use(plan: Plan) -> None:
    compute, transfer = new_stream(), new_stream()
    staged = [interlock.ones(64, pin_memory=True) for _ in range(2)]
    with transfer:
        batch = staged[0].to(plan.devices[0], non_blocking=True)
    compute.wait_stream(transfer)
    with compute:
        result = batch * 2
    plan.order(transfer.wait_stream, compute)
    with transfer:
        batch.copy_(staged[1], non_blocking=True)
    plan.keep(staged, batch, result)


@planted("read/write", PROGRAM)
def ring_of_pinned_buffers_is_refilled_too_early(plan: Plan) -> None:
    ring, events = [interlock.ones(64, pin_memory=True) for _ in range(2)], [Event(), Event()]
    for step in range(4):
        slot, event = ring[step % 2], events[step % 2]
        if step >= 2:
            plan.order(event.synchronize)
        slot.fill_(step)
        plan.keep(slot.to(plan.devices[0], non_blocking=True))
        event.record()
    plan.keep(ring)


@planted("write/read", STREAMS)
def copy_between_devices_does_not_wait_for_the_source(plan: Plan) -> None:
    one, other = new_stream(plan.devices[0]), new_stream(plan.devices[1])
    source = Buffer(64, stream=one).fill_(1, stream=one)
    target = Buffer(64, plan.devices[1], stream=other)
    plan.order(other.wait_stream, one)
    memory.copy_(target, source, non_blocking=True, stream=other)
    plan.keep(source, target)


@planted("read/allocation allocation/read", "call record_stream")
def memory_is_reused_without_record_stream(plan: Plan) -> None:
    """pytorch#58385: a mode of the caching allocator that shows it was asked for in 2021."""
    owner, user, gate = new_stream(), new_stream(), threading.Event()
    buffer = Buffer(4096, stream=owner)
    # Another library, which knows the address.
    read = accelerator.declare_uses(gate.wait, reads=[(buffer.data_ptr(), buffer.nbytes)])
    accelerator.launch(user, read)
    plan.order(buffer.record_stream, user)
    del buffer
    plan.keep(Buffer(4096, stream=owner))
    gate.set()


@planted("release/read", "keep its owner")
def work_is_queued_after_the_memory_was_freed(plan: Plan) -> None:
    stream = new_stream()
    buffer = Buffer(4096, stream=stream)
    address = buffer.data_ptr()
    plan.order(plan.keep, buffer)
    buffer = None
    accelerator.launch(stream, accelerator.declare_uses(int, reads=[(address, 64)]))


@planted("release/read", "keep its owner")
def address_of_a_tensor_is_read_after_its_last_reference(plan: Plan) -> None:
    stream, tensor = new_stream(), ones(plan.devices[0])
    read = accelerator.declare_uses(int, reads=[(tensor.data_ptr(), tensor.nbytes)])
    plan.order(plan.keep, tensor)
    tensor = None
    accelerator.launch(stream, read)


@planted("release/write", "keep its owner")
def address_of_a_closed_buffer_is_written(plan: Plan) -> None:
    stream = new_stream()
    buffer = Buffer(4096, stream=stream)
    write = accelerator.declare_uses(int, writes=[(buffer.data_ptr(), 64)])
    if not plan.is_ordered:
        buffer.close()
    accelerator.launch(stream, write)
    plan.keep(buffer)


@planted("write/read", STREAMS)
def memory_of_one_stream_is_first_used_by_another(plan: Plan) -> None:
    """The memory has work of its last owner, which its own stream alone is ordered after."""
    own, other, gate = new_stream(), new_stream(), threading.Event()
    first = Buffer(4096, stream=own)
    accelerator.launch(own, gate.wait)
    first.fill_(1, stream=own)
    del first
    second = Buffer(4096, stream=own)
    plan.order(other.wait_stream, own)
    copy = bytearray(4096)
    threading.Timer(0.05, gate.set).start()
    second.copy_to(copy, stream=other)
    plan.keep(second)


def _graph(stream: Stream, work: Callable[[], object]) -> accelerator.Graph:
    graph = accelerator.Graph()
    with stream:
        graph.capture_begin()
        work()
        graph.capture_end()
    return graph


@planted("write/read", STREAMS)
def eager_work_reads_beside_the_replay_of_a_graph(plan: Plan) -> None:
    stream, other = new_stream(), new_stream()
    buffer = Buffer(64, stream=stream)
    graph = _graph(stream, lambda: buffer.fill_(1, stream=stream))
    with stream:
        graph.replay()
    plan.order(other.wait_stream, stream)
    buffer.copy_to(bytearray(64), stream=other)
    plan.keep(buffer, graph)


@planted("read/write", STREAMS)
def input_of_a_graph_is_changed_during_its_replay(plan: Plan) -> None:
    stream, other = new_stream(), new_stream()
    static, result = Buffer(64, stream=stream), Buffer(64, stream=stream)
    graph = _graph(stream, lambda: memory.copy_(result, static, non_blocking=True, stream=stream))
    with stream:
        graph.replay()
    plan.order(other.wait_stream, stream)
    static.fill_(2, stream=other)
    plan.keep(static, result, graph)


@planted("write/write", STREAMS)
def two_graphs_write_one_buffer(plan: Plan) -> None:
    one, other = new_stream(), new_stream()
    buffer = Buffer(64, stream=one)
    graphs = [
        _graph(stream, lambda stream=stream: buffer.fill_(1, stream=stream))  # type: ignore[misc]
        for stream in (one, other)
    ]
    with one:
        graphs[0].replay()
    plan.order(other.wait_stream, one)
    with other:
        graphs[1].replay()
    plan.keep(buffer, graphs)


@planted("write/read", STREAMS)
def threads_have_current_streams_of_their_own(plan: Plan) -> None:
    """CV-CUDA#274: the current stream belongs to the thread, so a worker queues on another stream."""
    x, worker_stream = ones(plan.devices[0]), new_stream()

    def preprocess() -> None:
        with worker_stream:
            x.mul_(2)

    thread = threading.Thread(target=preprocess)
    thread.start()
    thread.join()
    plan.order(accelerator.current_stream().wait_stream, worker_stream)
    plan.keep(x, x + 1)


@planted("write/read", STREAMS)
def launched_function_reads_before_the_kernel(plan: Plan) -> None:
    x, stream = ones(plan.devices[0]), new_stream()
    x.add_(1)
    plan.order(stream.wait_stream, accelerator.current_stream())
    accelerator.launch(stream, accelerator.declare_uses(int, reads=[x]))
    plan.keep(x)


@planted("write/read", PROGRAM)
def program_reads_what_a_launched_function_writes(plan: Plan) -> None:
    stream, shared = new_stream(), interlock.zeros(64, pin_memory=True)
    accelerator.launch(stream, accelerator.declare_uses(int, writes=[shared]))
    plan.order(stream.synchronize)
    shared.sum()
    plan.keep(shared)


@planted("write/read", PROGRAM)
def result_of_a_query_is_ignored(plan: Plan) -> None:
    x, target, gate = ones(plan.devices[0]), interlock.zeros(64, pin_memory=True), threading.Event()
    stream = new_stream()
    accelerator.launch(stream, gate.wait)
    with stream:
        target.copy_(x, non_blocking=True)
    stream.query()
    threading.Timer(0.05, gate.set).start()
    while plan.is_ordered and not stream.query():
        pass
    target.tolist()
    plan.keep(x, target)


@planted("write/read", PROGRAM)
def another_stream_is_synchronized(plan: Plan) -> None:
    x, stream, other = ones(plan.devices[0]), new_stream(), new_stream()
    target = interlock.zeros(64, pin_memory=True)
    with stream:
        target.copy_(x, non_blocking=True)
    (stream if plan.is_ordered else other).synchronize()
    target.tolist()
    plan.keep(x, target)


@planted("write/read", PROGRAM)
def another_device_is_synchronized(plan: Plan) -> None:
    x, target = ones(plan.devices[0]), interlock.zeros(64, pin_memory=True)
    target.copy_(x, non_blocking=True)
    accelerator.synchronize(0 if plan.is_ordered else 1)
    target.tolist()
    plan.keep(x, target)


@planted("write/read", PROGRAM)
def event_before_the_copy_is_synchronized(plan: Plan) -> None:
    x, target, event = ones(plan.devices[0]), interlock.zeros(64, pin_memory=True), Event()
    event.record()
    target.copy_(x, non_blocking=True)
    plan.order(event.record)
    event.synchronize()
    target.tolist()
    plan.keep(x, target)


@planted("write/read", STREAMS)
def main_stream_does_not_wait_for_the_side_stream(plan: Plan) -> None:
    x, side = ones(plan.devices[0]), new_stream()
    side.wait_stream(accelerator.current_stream())
    with side:
        y = x * 2
    plan.order(accelerator.current_stream().wait_stream, side)
    plan.keep(x, y, y + 1)


@planted("write/read", STREAMS)
def optimizer_steps_before_the_gradient(plan: Plan) -> None:
    weight, side = ones(plan.devices[0], requires_grad=True), new_stream()
    (weight * 2).sum().backward()
    accelerator.synchronize()
    assert weight.grad is not None
    weight.grad.mul_(0.5)
    plan.order(side.wait_stream, accelerator.current_stream())
    with side, interlock.no_grad():
        weight.sub_(weight.grad)
    plan.keep(weight)


@planted("write/read", STREAMS)
def chain_of_three_streams_lacks_its_second_event(plan: Plan) -> None:
    load, compute, store = new_stream(), new_stream(), new_stream()
    source, target = interlock.ones(64, pin_memory=True), interlock.zeros(64, pin_memory=True)
    with load:
        x = source.to(plan.devices[0], non_blocking=True)
    signal(Event(), load, compute)
    with compute:
        y = x * 2
    plan.order(signal, Event(), compute, store)
    with store:
        target.copy_(y, non_blocking=True)
    plan.keep(source, x, y, target)


@planted("write/read write/allocation", "")
def pool_is_shared_by_two_streams_of_one_program(plan: Plan) -> None:
    """pytorch#173729: streams of a pool alias; here a program counts on two numbers of one priority."""
    streams = [new_stream(), new_stream()]
    buffers = [Buffer(64, stream=stream) for stream in streams]
    for buffer, stream in zip(buffers, streams, strict=True):
        buffer.fill_(1, stream=stream)
    plan.order(streams[1].wait_stream, streams[0])
    memory.copy_(buffers[1], buffers[0], non_blocking=True, stream=streams[1])
    plan.keep(buffers)
