"""Streams: attributes, ordering and errors."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any, Self

import interlock
import pytest
from interlock import Event, Stream, accelerator, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

from tests.helpers.gate import Gate
from tests.helpers.ids import stable_repr

pytestmark = pytest.mark.usefixtures("devices")


def test_launch_blocks_neither_the_caller_nor_other_streams(gate: Gate) -> None:
    held, free = Stream(dedicated=True), Stream(dedicated=True)
    seen: list[str] = []
    accelerator.launch(held, gate)
    accelerator.launch(held, seen.append, "held")
    accelerator.launch(free, seen.append, "free")
    free.synchronize()
    assert (held.query(), free.query(), seen) == (False, True, ["free"])
    gate.open()
    held.synchronize()
    assert (held.query(), seen) == (True, ["free", "held"])


def test_wait_event_blocks_a_stream_until_the_event_completes(gate: Gate) -> None:
    first, second, third = (Stream(dedicated=True) for _ in range(3))
    seen: list[str] = []
    accelerator.launch(first, gate)
    event = first.record_event()
    third.wait_event(event)
    accelerator.launch(third, seen.append, "third")
    accelerator.launch(second, seen.append, "second")
    second.synchronize()
    assert (event.query(), third.query(), seen) == (False, False, ["second"])
    gate.open()
    third.synchronize()
    assert (event.query(), seen) == (True, ["second", "third"])


def test_wait_stream_waits_for_work_queued_before_it_only(gate: Gate) -> None:
    first, second = Stream(dedicated=True), Stream(dedicated=True)
    seen: list[str] = []
    accelerator.launch(first, seen.append, "before")
    second.wait_stream(first)
    accelerator.launch(first, gate)
    accelerator.launch(second, seen.append, "after")
    second.synchronize()
    assert seen == ["before", "after"]
    assert not first.query()


def test_streams_of_two_devices_wait_for_each_other(two_devices: tuple[str, str], gate: Gate) -> None:
    there, here = Stream(two_devices[1], dedicated=True), Stream(two_devices[0], dedicated=True)
    seen: list[int] = []
    accelerator.launch(there, gate)
    accelerator.launch(there, seen.append, 1)
    here.wait_stream(there)
    accelerator.launch(here, seen.append, 0)
    assert seen == []
    gate.open()
    here.synchronize()
    assert seen == [1, 0]


def test_functions_run_in_the_order_of_their_stream_with_arguments() -> None:
    stream = Stream()
    seen: list[object] = []

    def note(*values: object, **named: object) -> None:
        seen.append((*values, *named.items()))

    for number in range(100):
        accelerator.launch(stream, note, number, twice=2 * number)
    stream.synchronize()
    assert seen == [(number, ("twice", 2 * number)) for number in range(100)]


def test_functions_of_many_streams_run_at_the_same_time() -> None:
    barrier = threading.Barrier(8, timeout=20)
    streams = [Stream(dedicated=True) for _ in range(8)]
    for stream in streams:
        accelerator.launch(stream, barrier.wait)
    for stream in streams:
        stream.synchronize()


def test_launch_runs_in_the_state_of_the_launching_thread(two_devices: tuple[str, str]) -> None:
    stream = Stream(two_devices[1])
    seen: list[object] = []

    def look() -> None:
        seen.append((interlock.is_grad_enabled(), accelerator.current_stream() == stream))

    with interlock.no_grad(), stream:
        accelerator.launch(stream, look)
    accelerator.launch(stream, look)
    stream.synchronize()
    assert seen == [(False, True), (True, False)]


def test_stream_attributes_describe_the_stream(two_devices: tuple[str, str]) -> None:
    stream = Stream(two_devices[1], priority=-1)
    assert (stream.device, stream.device_index) == (interlock.device(two_devices[1]), 1)
    assert (stream.priority, stream.dedicated, stream.is_capturing()) == (-1, False, False)
    assert stream.native_handle > 0
    assert stream.__cuda_stream__() == (0, stream.native_handle)
    place = f"device_type={stream.device.type}, device_index=1"
    assert repr(stream) == f"interlock.Stream({place}, stream_id={stream.stream_id}, priority=-1, pooled)"
    own = Stream(device=two_devices[0], dedicated=True)
    assert (own.dedicated, own.device_index, own.priority) == (True, 0, 0)
    assert "dedicated" in repr(own)
    assert accelerator.current_stream().stream_id == 0
    assert "default" in repr(accelerator.current_stream())


def test_stream_is_found_by_its_ids(two_devices: tuple[str, str]) -> None:
    for stream in (Stream(), Stream(two_devices[1], dedicated=True), accelerator.current_stream(1)):
        numbers: Any = {
            "stream_id": stream.stream_id,
            "device_index": stream.device_index,
            "device_type": stream.device_type,
        }
        found = Stream(**numbers)
        assert found == stream
        assert (hash(found), found.dedicated) == (hash(stream), stream.dedicated)
    with pytest.raises(errors.ArgumentError, match="123456"):
        Stream(stream_id=123456, device_index=0, device_type=stream.device_type)
    with pytest.raises(TypeError, match="together"):
        Stream(stream_id=1)
    with pytest.raises(TypeError, match="together"):
        Stream(**numbers, dedicated=True)


def test_streams_are_equal_if_work_on_one_is_work_on_the_other(two_devices: tuple[str, str]) -> None:
    assert accelerator.current_stream() == accelerator.current_stream(two_devices[0])
    assert accelerator.current_stream() != accelerator.current_stream(two_devices[1])
    first, second = Stream(dedicated=True), Stream(dedicated=True)
    assert len({first, second, first}) == 2
    assert first != first.stream_id


def test_priority_is_clamped_below_and_refused_above() -> None:
    least, greatest = accelerator.stream_priority_range()
    assert (least, greatest < 0) == (0, True)
    # Pools have four priorities, as in PyTorch.
    assert Stream(priority=greatest - 100).priority == max(greatest, -3)
    assert Stream(priority=greatest - 100, dedicated=True).priority == greatest
    with pytest.raises(errors.ArgumentError, match=r"priority.*got 1"):
        Stream(priority=1)


class Foreign:
    """A stream of another library."""

    def __init__(self, reported: object) -> None:
        self.reported = reported

    def __cuda_stream__(self) -> Any:
        return self.reported


@pytest.mark.usefixtures("isolated_state")
def test_stream_of_another_library_is_accepted_everywhere(gate: Gate) -> None:
    own = Stream(dedicated=True)
    foreign: Any = Foreign((0, own.native_handle))
    seen: list[int] = []
    accelerator.launch(foreign, gate)
    accelerator.launch(foreign, seen.append, 1)
    event, other = Event(), Stream(dedicated=True)
    event.record(foreign)
    other.wait_stream(foreign)
    assert (own.query(), event.query(), other.query()) == (False, False, False)
    gate.open()
    other.synchronize()
    event.wait(foreign)
    assert seen == [1]
    accelerator.set_stream(foreign)
    # The stream is known, so its handle names it.
    assert accelerator.current_stream() == own
    assert accelerator.current_stream().stream_id == own.stream_id
    assert accelerator.current_stream().dedicated


def test_memory_for_a_stream_of_another_library_is_cached_for_its_handle() -> None:
    own = Stream(dedicated=True)
    before = memory.memory_stats()
    for _ in range(20):
        with Buffer(3 << 20, stream=Foreign((0, own.native_handle))) as buffer:
            assert buffer.stream == own
    after = memory.memory_stats()
    assert after["num_device_alloc"] - before["num_device_alloc"] == 1
    assert after["num_device_free"] == before["num_device_free"]


@pytest.mark.usefixtures("isolated_state")
def test_memory_for_a_stream_of_another_library_is_accepted_everywhere(gate: Gate) -> None:
    own = Stream(dedicated=True)
    foreign: Any = Foreign((0, own.native_handle))
    accelerator.launch(foreign, gate)
    source, target = Buffer(8, stream=foreign), Buffer(8)
    source.fill_(3, stream=foreign)
    target.copy_from(source, non_blocking=True, stream=foreign)
    target.record_stream(foreign)
    assert not own.query()
    gate.open()
    own.synchronize()
    copied = bytearray(8)
    target.copy_to(copied)
    assert copied == b"\3" * 8
    source.close(foreign)


@pytest.mark.parametrize("reported", [(1, 5), (0, "x"), (0,), 7, None, (0, -1), (0, 1.5)], ids=stable_repr)
def test_invalid_result_of_cuda_stream_protocol_is_refused(reported: object) -> None:
    with pytest.raises(TypeError, match="__cuda_stream__"):
        accelerator.set_stream(Foreign(reported))


@pytest.mark.parametrize("handle", [2**63, 2**64 - 1, 2**40 + 1], ids=hex)
def test_handle_that_cannot_be_a_stream_is_refused(handle: int) -> None:
    foreign: Any = Foreign((0, handle))
    with pytest.raises(errors.ArgumentError):
        accelerator.set_stream(foreign)


@pytest.mark.parametrize("given", [1, "host:0", None, 1.5, object()], ids=stable_repr)
def test_other_objects_are_refused_as_streams_everywhere(given: Any) -> None:
    stream = Stream()
    takers = [stream.wait_stream, accelerator.set_stream, lambda given: accelerator.launch(given, print)]
    takers += [Event().record, Event().wait] if given is not None else []
    for taker in takers:
        with pytest.raises(TypeError):
            taker(given)


def test_streams_cannot_be_pickled_or_copied() -> None:
    stream = Stream()
    for travel in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="Stream"):
            travel(stream)


def test_subclass_is_a_stream() -> None:
    class Named(Stream):
        name = "mine"

    stream = Named(priority=-1)
    assert (stream.name, stream.priority) == ("mine", -1)
    with stream as entered:
        assert entered is stream
        assert accelerator.current_stream() == stream


def test_subclass_may_have_a_constructor_of_its_own() -> None:
    class Named(Stream):
        label: str

        def __new__(cls, label: str) -> Self:
            stream = super().__new__(cls, priority=-1)
            stream.label = label
            return stream

        def __init__(self, label: str) -> None:
            assert self.label == label

    stream = Named("mine")
    assert (type(stream), stream.label, stream.priority) == (Named, "mine", -1)
    assert stream == Stream(
        stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
    )
    accelerator.launch(stream, lambda: None)
    stream.synchronize()


def test_exception_of_a_function_is_reported_once_by_the_next_wait() -> None:
    def fails() -> None:
        raise ValueError("no such thing")

    stream = Stream(dedicated=True)
    seen: list[str] = []
    accelerator.launch(stream, fails)
    accelerator.launch(stream, seen.append, "later")
    with pytest.raises(
        interlock.AcceleratorError, match=r"fails.*ValueError: no such thing.*test_streams\.py"
    ) as caught:
        stream.synchronize()
    assert caught.value.operation == fails.__qualname__
    assert (caught.value.device, caught.value.error_code) == (stream.device, None)
    stream.synchronize()
    assert seen == ["later"]


def test_async_error_is_reported_by_a_later_event_or_the_device() -> None:
    def fails() -> None:
        raise KeyError("gone")

    for wait in (lambda stream, event: event.synchronize(), lambda stream, event: accelerator.synchronize()):
        stream = Stream(dedicated=True)
        accelerator.launch(stream, fails)
        event = stream.record_event()
        with pytest.raises(errors.AcceleratorError, match="KeyError"):
            wait(stream, event)
        assert stream.query()


def test_default_stream_of_each_thread_is_refused(driver: str) -> None:
    if driver != "cuda":
        pytest.skip("only NVIDIA's driver has a default stream for each thread")
    foreign: Any = Foreign((0, 2))
    with pytest.raises(errors.ArgumentError, match="per-thread"):
        accelerator.set_stream(foreign)
