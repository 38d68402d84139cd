"""`accelerator.trace`: the file, by Chrome's description of its format, and what it contains."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from interlock import Stream, accelerator, errors
from interlock.accelerator import memory

pytestmark = [
    pytest.mark.usefixtures("devices"),
    pytest.mark.interlock_races("the work of two streams on one buffer"),
]

# "Trace Event Format" (Google, 2016): the fields that each kind of event must have, besides name, ph and pid.
REQUIRED = {
    "X": {"cat", "ts", "dur", "tid"},
    "M": {"tid", "args"},
    "C": {"cat", "ts", "args"},
    "i": {"cat", "ts", "tid", "s"},
    "s": {"cat", "ts", "tid", "id"},
    "f": {"cat", "ts", "tid", "id", "bp"},
}
Event = dict[str, Any]


def read(path: Path) -> list[Event]:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert set(content) == {"displayTimeUnit", "otherData", "traceEvents"}
    assert content["displayTimeUnit"] in ("ms", "ns")
    events: list[Event] = content["traceEvents"]
    for event in events:
        assert set(event) == {"name", "ph", "pid"} | REQUIRED[event["ph"]]
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
    return events


def of(events: list[Event], category: str) -> list[Event]:
    return [event for event in events if event.get("cat") == category]


def traced(path: Path, **options: int) -> list[Event]:
    """Trace two streams, of which the second waits for the first."""
    first, second = Stream(dedicated=True), Stream(dedicated=True)
    with accelerator.trace(path, **options) as given:
        assert given == str(path)
        buffer = memory.Buffer(1 << 20, stream=first)
        buffer.fill_(1, stream=first)
        accelerator.launch(first, sorted, [2, 1])
        second.wait_stream(first)
        buffer.copy_to(bytearray(1 << 20), stream=second)
    return read(path)


def test_tasks_are_on_the_tracks_of_their_streams_in_order(tmp_path: Path) -> None:
    events = traced(tmp_path / "trace.json")
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    tasks = of(events, "task")
    assert [task["name"].split()[0] for task in tasks] == ["fill", "sorted", "copy"]
    fill, launched, copy = tasks
    assert fill["tid"] == launched["tid"] != copy["tid"]
    assert all(tracks[task["tid"]].startswith("stream ") for task in tasks)
    assert fill["ts"] + fill["dur"] <= launched["ts"] + launched["dur"] <= copy["ts"] + copy["dur"]


def test_calls_are_linked_with_their_tasks(tmp_path: Path) -> None:
    events = traced(tmp_path / "trace.json")
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(begins) == len(ends) == 3
    for number, begin in begins.items():
        assert begin["pid"] == 0
        assert ends[number]["pid"] == 1
    calls = {event["ts"]: event["name"] for event in of(events, "call")}
    assert all(calls[begin["ts"]].startswith("queue ") for begin in begins.values())


@pytest.mark.parametrize("max_events", [1, 2, 3, 5, 7, 100])
def test_arrows_have_both_ends_without_the_dropped_events(
    tmp_path: Path, driver: str, max_events: int
) -> None:
    stream, gate = Stream(dedicated=True), threading.Event()
    with accelerator.trace(tmp_path / "trace.json", max_events=max_events):
        for _ in range(3):
            accelerator.launch(stream, int)
        stream.synchronize()
        if driver == "host":
            # It runs after the block. The end of a trace waits for work on other drivers.
            accelerator.launch(stream, gate.wait)
    gate.set()
    stream.synchronize()
    events = read(tmp_path / "trace.json")
    begins, ends = ({event["id"] for event in events if event["ph"] == end} for end in "sf")
    assert begins == ends
    assert begins or max_events < 7


def test_memory_is_a_counter(tmp_path: Path) -> None:
    before = accelerator.memory_allocated()
    counters = of(traced(tmp_path / "trace.json"), "memory")
    assert before + (1 << 20) in [counter["args"]["bytes"] for counter in counters]


@pytest.mark.parametrize("by_event", [False, True])
def test_waits_of_streams_and_the_program_are_recorded(tmp_path: Path, driver: str, by_event: bool) -> None:
    first, second, gate = Stream(dedicated=True), Stream(dedicated=True), threading.Event()
    with accelerator.trace(tmp_path / "trace.json"):
        accelerator.launch(first, gate.wait)
        if by_event:
            second.wait_event(first.record_event())
        else:
            second.wait_stream(first)
        accelerator.launch(second, int)
        gate.set()
        second.synchronize()
    events = read(tmp_path / "trace.json")
    (waited,) = of(events, "wait")
    by_name = {task["name"]: task for task in of(events, "task")}
    assert waited["name"] == f"wait for stream {first.stream_id} of {first.device}"
    assert waited["tid"] == by_name["int"]["tid"] != by_name["Event.wait"]["tid"]
    assert waited["ts"] + waited["dur"] <= by_name["int"]["ts"] + by_name["int"]["dur"]
    # Only the host driver records the waits of the program.
    calls = ["Stream.synchronize"] if driver == "host" else []
    assert [call["name"] for call in of(events, "synchronize")] == calls


def test_error_of_a_task_is_recorded(tmp_path: Path, driver: str) -> None:
    if driver != "host":
        pytest.skip("the driver records no errors of its work")

    def fails() -> None:
        raise ValueError("planted")

    stream = Stream(dedicated=True)
    with accelerator.trace(tmp_path / "trace.json"):
        accelerator.launch(stream, fails)
        with pytest.raises(errors.AcceleratorError):
            stream.synchronize()
    (error,) = of(read(tmp_path / "trace.json"), "error")
    assert "ValueError: planted" in error["name"]


def test_replay_of_a_graph_is_recorded_by_the_host_driver(tmp_path: Path, driver: str) -> None:
    stream, graph = Stream(dedicated=True), accelerator.Graph()
    buffer = memory.Buffer(64, stream=stream)
    with accelerator.trace(tmp_path / "trace.json"):
        with stream, graph:
            buffer.fill_(1, stream=stream)
        with stream:
            graph.replay()
        stream.synchronize()
    tasks = [task["name"].split()[0] for task in of(read(tmp_path / "trace.json"), "task")]
    assert tasks == (["fill"] if driver == "host" else [])


def test_most_events_are_kept_and_the_others_counted(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    events = traced(path, max_events=2)
    assert len([event for event in events if event["ph"] in "XCi"]) == 2
    assert json.loads(path.read_text())["otherData"]["dropped"] > 0


def test_wrong_uses_are_refused_and_leave_no_trace_open(tmp_path: Path) -> None:
    with pytest.raises(errors.ArgumentError, match=r"accelerator\.trace: max_events"):
        accelerator.trace(tmp_path / "trace.json", max_events=-1)
    with pytest.raises(TypeError):
        accelerator.trace(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError), accelerator.trace(tmp_path / "none" / "trace.json"):
        pass
    with (
        accelerator.trace(tmp_path / "trace.json"),
        pytest.raises(errors.ArgumentError, match="a second trace"),
        accelerator.trace(tmp_path / "other.json"),
    ):
        pass
    assert not (tmp_path / "other.json").exists()
    assert traced(tmp_path / "trace.json")


def test_exception_of_the_block_is_raised_and_the_file_written(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), accelerator.trace(tmp_path / "trace.json"):
        raise ZeroDivisionError
    assert read(tmp_path / "trace.json")


def test_end_without_a_begin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"accelerator\.trace: exited without being entered"):
        accelerator.trace(tmp_path / "trace.json").__exit__(None, None, None)
    with pytest.raises(TypeError, match=r"accelerator\.trace: path must be a str or a path, got int"):
        accelerator.trace(cast(Any, 3))
