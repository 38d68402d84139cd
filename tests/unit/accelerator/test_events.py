"""Events: record, wait, query and elapsed time."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Self

import interlock
import pytest
from interlock import Event, Stream, accelerator, errors

from tests.helpers.gate import Gate
from tests.helpers.ids import stable_repr

pytestmark = pytest.mark.usefixtures("devices")


def test_unrecorded_event_is_complete_and_blocks_no_stream() -> None:
    event, stream = Event(), Stream()
    assert event.query()
    event.synchronize()
    stream.wait_event(event)
    event.wait(stream)
    stream.synchronize()
    assert event.event_id == 0


def test_record_replaces_the_previous_record(gate: Gate) -> None:
    free, held = Stream(dedicated=True), Stream(dedicated=True)
    event = Event()
    event.record(free)
    event.synchronize()
    accelerator.launch(held, gate)
    event.record(held)
    assert not event.query()
    gate.open()
    event.synchronize()
    assert event.query()


def test_wait_for_a_replaced_record_ends_with_that_record(gate: Gate) -> None:
    first, second, held = (Stream(dedicated=True) for _ in range(3))
    event = first.record_event()
    second.wait_event(event)
    accelerator.launch(held, gate)
    event.record(held)
    second.synchronize()
    assert not event.query()


def test_event_belongs_to_the_device_of_its_first_record(two_devices: tuple[str, str]) -> None:
    event = Event()
    assert event.device == interlock.device(interlock.device(two_devices[1]).type)
    event.record(Stream(two_devices[1]))
    assert event.device == interlock.device(two_devices[1])
    with pytest.raises(errors.AcceleratorError, match=f"{two_devices[0]}.*{two_devices[1]}"):
        event.record(Stream(two_devices[0]))
    fixed = Event(two_devices[0])
    assert fixed.device == interlock.device(two_devices[0])
    with pytest.raises(errors.AcceleratorError):
        fixed.record(Stream(two_devices[1]))


def test_record_and_wait_use_the_current_stream(two_devices: tuple[str, str], gate: Gate) -> None:
    held = Stream(two_devices[1], dedicated=True)
    event, other = Event(), Stream(two_devices[0], dedicated=True)
    with held:
        accelerator.launch(held, gate)
        event.record()
    with other:
        event.wait()
    assert (event.device, other.query()) == (interlock.device(two_devices[1]), False)
    gate.open()
    other.synchronize()
    fixed = Event(two_devices[1])
    fixed.record()
    fixed.synchronize()
    assert fixed.device == interlock.device(two_devices[1])


def test_elapsed_time_is_the_time_between_two_events() -> None:
    stream = Stream()
    start, end = Event(enable_timing=True), Event(enable_timing=True)
    start.record(stream)
    for _ in range(10):
        accelerator.launch(stream, lambda: None)
    end.record(stream)
    end.synchronize()
    assert start.elapsed_time(end) > 0
    assert start.elapsed_time(end) == -end.elapsed_time(start)
    assert start.elapsed_time(start) == 0


def test_unrecorded_event_has_no_device_index(driver: str) -> None:
    assert interlock.Event().device == interlock.device(driver)
    assert interlock.Event().device.index is None


def test_elapsed_time_requires_two_completed_timing_events(gate: Gate) -> None:
    stream = Stream(dedicated=True)
    timed, untimed, unrecorded = Event(enable_timing=True), Event(), Event(enable_timing=True)
    timed.record(stream)
    untimed.record(stream)
    for refused, needed in [(untimed, "enable_timing"), (unrecorded, "recorded")]:
        for start, end in [(timed, refused), (refused, timed)]:
            with pytest.raises(ValueError, match=f"elapsed_time: both events must be .*{needed}"):
                start.elapsed_time(end)
    accelerator.launch(stream, gate)
    unrecorded.record(stream)
    with pytest.raises(errors.AcceleratorError, match="elapsed_time"):
        timed.elapsed_time(unrecorded)


def test_record_event_returns_its_argument_or_a_new_event() -> None:
    stream, event = Stream(), Event(enable_timing=True)
    assert stream.record_event(event) is event
    assert stream.record_event().device == stream.device
    assert event.event_id > 0


@pytest.mark.parametrize("on", ["enable_timing", "blocking", "interprocess"])
def test_event_attributes_return_the_constructor_arguments(on: str) -> None:
    event = Event(**{on: True})
    names = ("enable_timing", "blocking", "interprocess")
    assert {name: getattr(event, name) for name in names} == {name: name == on for name in names}
    assert f"{on}=True" in repr(event)


def test_interprocess_event_is_not_supported_by_the_host_driver(driver: str) -> None:
    if driver != "host":
        pytest.skip("other drivers may support interprocess events")
    event = Event(interprocess=True)
    event.record()
    with pytest.raises(NotImplementedError, match="ipc_handle"):
        event.ipc_handle()
    with pytest.raises(errors.UnsupportedError, match="from_ipc_handle"):
        Event.from_ipc_handle("host:0", b"handle")
    with pytest.raises(errors.AcceleratorError, match="interprocess"):
        Event().ipc_handle()


@pytest.mark.parametrize("given", [1, "event", None, object()], ids=stable_repr)
def test_other_objects_are_refused_as_events(given: Any) -> None:
    stream = Stream()
    with pytest.raises(TypeError):
        stream.wait_event(given)
    with pytest.raises(TypeError):
        Event(enable_timing=True).elapsed_time(given)


def test_subclass_is_an_event(gate: Gate) -> None:
    class Named(Event):
        label: str

        def __new__(cls, label: str) -> Self:
            event = super().__new__(cls, enable_timing=True)
            event.label = label
            return event

        def __init__(self, label: str) -> None:
            assert self.label == label

    event, stream, other = Named("mine"), Stream(dedicated=True), Stream(dedicated=True)
    assert (type(event), event.label, event.enable_timing) == (Named, "mine", True)
    accelerator.launch(stream, gate)
    assert stream.record_event(event) is event
    other.wait_event(event)
    assert not other.query()
    gate.open()
    other.synchronize()
    assert event.query()


def test_events_cannot_be_pickled_or_copied() -> None:
    for travel in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="Event"):
            travel(Event())
