"""Snapshots of memory in PyTorch's format, histories, and replays of them."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import interlock
import pytest
from interlock import Stream, accelerator, errors
from interlock.accelerator import Graph, _snapshot_types, memory
from interlock.accelerator.memory import Buffer, fill_, history, replay, snapshot

from tests.helpers.gate import Gate
from tests.helpers.subprocess import eval_program, run_command, run_program

MIB = 1 << 20

# Allocates and frees on several streams, some memory while another stream uses it, until there is too little.


@pytest.fixture
def recording(devices: tuple[str, ...]) -> Iterator[memory.Recording]:
    with history() as recording:
        yield recording


def matches(value: Any, annotation: Any) -> bool:
    """Return whether the type of a value is exactly that of an annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if is_typeddict(annotation):
        types = get_type_hints(annotation, include_extras=True)
        needed = {key for key, type_ in types.items() if get_origin(type_) is not NotRequired}
        return (
            type(value) is dict
            and needed <= set(value) <= set(types)
            and all(matches(value[key], types[key]) for key in value)
        )
    if origin is NotRequired:
        return matches(value, arguments[0])
    if origin is Literal:
        return value in arguments
    if origin is list:
        return type(value) is list and all(matches(one, arguments[0]) for one in value)
    if origin is tuple:
        return type(value) is tuple and list(map(type, value)) == list(arguments)
    return type(value) is (origin or annotation)


def trace(device: str) -> list[_snapshot_types.TraceEntry]:
    return snapshot(device)["device_traces"][int(device[-1])]


def annotation(device: str) -> _snapshot_types.TraceEntry:
    """Return the last annotation."""
    return [entry for entry in trace(device) if entry["action"] == "annotate"][-1]


def actions(device: str) -> list[str]:
    return [entry["action"] for entry in trace(device)]


def test_format_check_can_fail() -> None:
    frame = {"filename": "a.py", "line": 1, "name": "f"}
    assert matches(frame, _snapshot_types.Frame)
    assert not matches({**frame, "line": "1"}, _snapshot_types.Frame)
    assert not matches({**frame, "column": 1}, _snapshot_types.Frame)
    assert not matches({"filename": "a.py", "line": 1}, _snapshot_types.Frame)
    assert not matches((0, "1"), tuple[int, int])


def test_snapshot_has_the_format_of_pytorch(
    devices: tuple[str, ...], recording: memory.Recording, gate: Gate
) -> None:
    with pytest.raises(errors.OutOfMemoryError):
        Buffer(1 << 50, devices[0])
    kept, waiting = Buffer(5 * MIB, devices[0]), Buffer(100, devices[0])
    other = Stream(devices[0], dedicated=True)
    accelerator.launch(other, gate)
    fill_(waiting, 1, stream=other)
    del waiting
    taken = snapshot()
    assert matches(taken, memory.Snapshot)
    assert all(
        ("device_free" in e) == (e["action"] == "oom") != ("addr" in e) for e in taken["device_traces"][0]
    )
    for segment in taken["segments"]:
        address, sizes = segment["address"], Counter[str]()
        for block in segment["blocks"]:
            assert block["address"] == address
            address += block["size"]
            sizes[block["state"]] += block["size"]
        assert address == segment["address"] + segment["total_size"]
        assert segment["allocated_size"] == sizes["active_allocated"]
        assert segment["active_size"] == sizes["active_allocated"] + sizes["active_awaiting_free"]
    states = {block["state"] for segment in taken["segments"] for block in segment["blocks"]}
    assert states == {"active_allocated", "active_awaiting_free", "inactive"}
    assert kept.nbytes == 5 * MIB


def test_blocks_and_entries_have_the_allocating_frames(
    two_devices: tuple[str, str], recording: memory.Recording
) -> None:
    def allocate() -> Buffer:
        return Buffer(3 * MIB, two_devices[1])

    buffer = allocate()
    taken = snapshot(two_devices[1])
    blocks = [block for segment in taken["segments"] for block in segment["blocks"]]
    [block] = [block for block in blocks if block["address"] == buffer.data_ptr()]
    del buffer
    expected = [(__file__, allocate.__qualname__), (__file__, allocate.__qualname__.split(".")[0])]
    of_buffer = [entry for entry in trace(two_devices[1]) if entry.get("addr") == block["address"]]
    assert [entry["action"] for entry in of_buffer][-3:] == ["alloc", "free_requested", "free_completed"]
    for frames in (block["frames"], *(entry["frames"] for entry in of_buffer[-3:])):
        assert [(frame["filename"], frame["name"]) for frame in frames[:2]] == expected
    assert block["frames"][0]["line"] == allocate.__code__.co_firstlineno + 1


def test_annotation_is_an_event_of_the_block_with_the_frames_of_the_caller(
    devices: tuple[str, ...], recording: memory.Recording
) -> None:
    buffer = Buffer(1000, devices[0])
    memory.annotate(buffer[8:16], "a part")
    entry = annotation(devices[0])
    assert entry.get("user_metadata") == "a part"
    assert (entry.get("addr"), entry["size"]) == (buffer.data_ptr(), 1000)
    assert entry["frames"][0]["filename"] == __file__
    assert matches(snapshot(), memory.Snapshot)


def test_annotation_without_a_history_has_no_effect(devices: tuple[str, ...]) -> None:
    memory.annotate(Buffer(8, devices[0]), "nothing records this")
    with history():
        memory.annotate(Buffer(0, devices[0]), "no memory")
        assert "annotate" not in actions(devices[0])


# The tensor runtime computes on devices whose memory the CPU can access.
@pytest.mark.usefixtures("host_accessible_memory")
def test_tensor_on_a_device_is_annotated(devices: tuple[str, ...], recording: memory.Recording) -> None:
    x = interlock.ones(4, device=devices[0])
    memory.annotate(x[1:], "ones")
    entry = annotation(devices[0])
    assert (entry.get("addr"), entry.get("user_metadata")) == (x.data_ptr(), "ones")
    with pytest.raises(errors.ArgumentError, match=r"annotate: memory must be on a device, got a tensor of"):
        memory.annotate(interlock.ones(4), "ones")


def test_wrong_arguments_of_annotate_are_named(devices: tuple[str, ...]) -> None:
    wrong: Any = 1
    with pytest.raises(TypeError, match=r"annotate: memory must be a Buffer or a Tensor, got int"):
        memory.annotate(wrong, "a")
    with pytest.raises(TypeError, match=r"accelerator.memory.annotate: annotation must be a str"):
        memory.annotate(Buffer(8, devices[0]), wrong)


def test_annotated_trace_is_replayed(devices: tuple[str, ...], recording: memory.Recording) -> None:
    buffer = Buffer(1000, devices[0])
    memory.annotate(buffer, "replayed")
    recording.stop()
    taken = snapshot(devices[0])
    assert replay(taken, devices[0])["allocation.all.allocated"] >= 1


def test_replay_releases_nothing_where_a_capture_could_not() -> None:
    differing, ooms = eval_program("accelerator.snapshots.replay_a_capture_without_memory")
    assert (differing, ooms) == ({}, 1)


@pytest.mark.parametrize("release", ["empty_cache", "stream", "pool"])
def test_replay_repeats_releases_of_expandable_segments(release: str) -> None:
    causes, differing = eval_program("accelerator.snapshots.replay_releases_of_expandable_segments", release)
    assert set(causes) == {release}
    assert differing == {}


def test_history_of_pinned_memory_has_its_events_and_blocks(devices: tuple[str, ...]) -> None:
    accelerator.empty_host_cache()
    with history(pinned=True):
        x = interlock.ones(3 * MIB, dtype=interlock.uint8, pin_memory=True)
        address = x.data_ptr()
        inside = snapshot()
        del x
        accelerator.empty_host_cache()
    taken = snapshot()
    assert matches(inside, memory.Snapshot)
    [block] = [block for block in inside["host_segments"] if block["address"] == address]
    assert (block["size"], block["allocated"], block["active"]) == (4 * MIB, True, True)
    assert block["frames"][0]["filename"] == __file__
    of_block = [entry for entry in taken["host_traces"] if entry.get("addr") == address]
    assert [(entry["action"], entry["size"]) for entry in of_block] == [
        (action, 4 * MIB)
        for action in ("segment_alloc", "alloc", "free_requested", "free_completed", "segment_free")
    ]
    assert of_block[2]["frames"] == block["frames"]
    assert address not in {block["address"] for block in taken["host_segments"]}


def test_pinned_memory_is_not_recorded_unless_asked_for(devices: tuple[str, ...]) -> None:
    with history():
        interlock.ones(8, pin_memory=True)
        taken = snapshot()
    assert (taken["host_segments"], taken["host_traces"]) == ([], [])


def test_history_under_the_proposed_name(devices: tuple[str, ...]) -> None:
    memory.record_memory_history(max_entries=1)
    kept = Buffer(8, devices[0])
    memory.record_memory_history(enabled=None)
    del kept
    assert actions(devices[0]) == ["alloc"]
    memory.record_memory_history("state")
    kept = Buffer(8, devices[0])
    blocks = [block for segment in snapshot(devices[0])["segments"] for block in segment["blocks"]]
    [block] = [block for block in blocks if block["address"] == kept.data_ptr()]
    memory.record_memory_history(None)
    assert (actions(devices[0]), block["frames"][0]["filename"]) == ([], __file__)
    wrong: Any = "some"
    with pytest.raises(
        errors.ArgumentError, match=r'record_memory_history: enabled must be "all", "state" or None'
    ):
        memory.record_memory_history(wrong)


def test_without_stacks_there_are_no_frames(devices: tuple[str, ...]) -> None:
    with history(stacks=None):
        buffer = Buffer(8, devices[0])
        assert [entry["frames"] for entry in trace(devices[0]) if entry["action"] == "alloc"] == [[]]
    del buffer


def test_history_ends_with_its_scope_and_stays_readable(devices: tuple[str, ...]) -> None:
    with history(2, device=devices[0]):
        for _ in range(3):
            Buffer(8, devices[0])
    Buffer(8, devices[0])
    assert actions(devices[0]) == ["free_requested", "free_completed"]


def test_only_the_active_history_can_be_stopped(devices: tuple[str, ...]) -> None:
    first = history()
    with history():
        first.stop()
        Buffer(8, devices[0])
        assert "alloc" in actions(devices[0])


def test_history_may_be_of_one_device(two_devices: tuple[str, str]) -> None:
    with history(device=two_devices[1]):
        kept = [Buffer(8, device) for device in two_devices]
        assert snapshot()["device_traces"][0] == []
        assert "alloc" in actions(two_devices[1])
    del kept


def test_snapshot_of_one_device_has_nothing_of_others(
    two_devices: tuple[str, str], recording: memory.Recording
) -> None:
    kept = [Buffer(8, device) for device in two_devices]
    taken = snapshot(two_devices[1])
    assert {segment["device"] for segment in taken["segments"]} == {1}
    assert [bool(trace) for trace in taken["device_traces"]] == [False, True]
    assert memory._snapshot(two_devices[1], augment_with_fx_traces=True)["segments"] == taken["segments"]
    del kept


@pytest.mark.filterwarnings("ignore:Graph.capture_end. the graph is empty:UserWarning")
def test_memory_of_a_graph_names_its_pool(devices: tuple[str, ...], recording: memory.Recording) -> None:
    graph = Graph()
    with Stream(devices[0], dedicated=True), graph:
        kept = Buffer(8)
    pools = [entry["pool_id"] for entry in trace(devices[0]) if entry["action"] == "alloc"]
    assert pools == [graph.pool()]
    assert graph.pool() in [segment["segment_pool_id"] for segment in snapshot(devices[0])["segments"]]
    del kept


@pytest.mark.parametrize("given", [-1, 1 << 200])
def test_history_needs_a_number_of_entries(given: int) -> None:
    with pytest.raises(errors.ArgumentError, match=r"history: max_entries must be 0 or more, or None"):
        history(given)


def test_history_refuses_other_words_and_types() -> None:
    wrong: Any = "c++"
    with pytest.raises(errors.ArgumentError, match=r'stacks .*"c\+\+"'):
        history(stacks=wrong)
    wrong = 1
    with pytest.raises(TypeError, match=r"stacks .* int"):
        history(stacks=wrong)
    wrong = True
    with pytest.raises(TypeError, match="max_entries"):
        history(wrong)


def test_dump_snapshot_refuses_an_open_file() -> None:
    wrong: Any = 2
    with pytest.raises(TypeError, match="int"):
        memory.dump_snapshot(wrong)
    assert os.fstat(2)


def test_history_is_not_shared_with_other_processes(recording: memory.Recording) -> None:
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        pickle.dumps(recording)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"device_traces": []},
        {"device_traces": [[]]},
        {"device_traces": [[{}]]},
        {"device_traces": [[{"action": "nap", "addr": 1, "size": 1, "stream": 0}]]},
        {"device_traces": [[{"action": "alloc", "size": 1, "stream": 0}]]},
        {"device_traces": [[{"action": "alloc", "addr": 1, "size": -1, "stream": 0}]]},
    ],
)
def test_replay_refuses_an_invalid_snapshot(devices: tuple[str, ...], wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.ArgumentError, match=r"accelerator\.memory\.replay|snapshot's trace"):
        replay(wrong, devices[0])


@pytest.mark.parametrize("wrong", [None, 1, {"device_traces": 1}, {"device_traces": [[1]]}])
def test_replay_refuses_objects_that_are_no_dict(devices: tuple[str, ...], wrong: Any) -> None:
    with pytest.raises(TypeError):
        replay(wrong, devices[0])


def layout(entries: list[_snapshot_types.TraceEntry]) -> list[tuple[Any, ...]]:
    """Return the trace with segments and streams numbered in order, without addresses and ids."""
    segments: list[tuple[int, int]] = []
    streams: dict[int, int] = {0: 0}
    reported: list[tuple[Any, ...]] = []
    for entry in entries:
        action, stream = entry["action"], streams.setdefault(entry["stream"], len(streams))
        if action == "segment_alloc":
            segments.append((entry["addr"], entry["addr"] + entry["size"]))
        elif action in ("alloc", "free_requested", "free_completed"):
            address = entry["addr"]
            place = max(i for i, (start, end) in enumerate(segments) if start <= address < end)
            reported.append((action, stream, entry["size"], place, address - segments[place][0]))
        elif action == "oom":
            reported.append((action, stream, entry["size"]))
    return reported


def test_heavy_program_is_replayed_in_a_new_process(tmp_path: Path) -> None:
    recorded, repeated = tmp_path / "recorded.pickle", tmp_path / "repeated.pickle"
    done = run_program("accelerator.snapshots.record_many_allocations", str(recorded))
    assert done.code == 0, done.stderr
    counted = eval_program("accelerator.snapshots.replay_a_recorded_snapshot", str(recorded), str(repeated))
    before = pickle.loads(recorded.read_bytes())
    after = pickle.loads(repeated.read_bytes())
    [reported], [again] = before["device_traces"], after["device_traces"]
    happened = Counter(entry["action"] for entry in reported)
    assert happened["oom"] > 0, "the program must run out of memory"
    assert any(entry.get("cause") == "shortage" for entry in reported)
    assert layout(again)[: len(layout(reported))] == layout(reported)
    assert {
        "allocation.all.allocated": counted["allocation.all.allocated"],
        "allocation.all.freed": counted["allocation.all.freed"],
        "active.all.freed": counted["active.all.freed"],
        "num_ooms": counted["num_ooms"],
        "num_device_alloc": counted["num_device_alloc"],
        "num_device_free": counted["num_device_free"],
        "reserved_bytes.all.current": counted["reserved_bytes.all.current"],
        "allocated_bytes.all.current": counted["allocated_bytes.all.current"],
        "active_bytes.all.current": counted["active_bytes.all.current"],
        "requested_bytes.all.current": counted["requested_bytes.all.current"],
    } == {
        "allocation.all.allocated": happened["alloc"],
        "allocation.all.freed": happened["free_requested"],
        "active.all.freed": happened["free_completed"],
        "num_ooms": happened["oom"],
        "num_device_alloc": happened["segment_alloc"],
        "num_device_free": happened["segment_free"],
        "reserved_bytes.all.current": sum(segment["total_size"] for segment in before["segments"]),
        "allocated_bytes.all.current": sum(segment["allocated_size"] for segment in before["segments"]),
        "active_bytes.all.current": sum(segment["active_size"] for segment in before["segments"]),
        "requested_bytes.all.current": sum(segment["requested_size"] for segment in before["segments"]),
    }
    assert counted["num_alloc_retries"] >= counted["num_ooms"]


def test_history_starts_with_the_first_device_and_initializes_none(no_driver: dict[str, str]) -> None:
    nothing: dict[str, Any] = {
        "segments": [],
        "device_traces": [],
        "external_annotations": [],
        "host_segments": [],
        "host_traces": [],
    }
    seen = eval_program(
        "accelerator.snapshots.history_starts_with_the_first_device_and_initializes_none", env={**no_driver}
    )
    assert seen == [nothing, [["segment_alloc", "alloc", "snapshot"], []], "native"]


def test_forked_child_starts_its_own_history() -> None:
    answer = eval_program("accelerator.snapshots.forked_child_starts_its_own_history")
    assert answer == "segment_alloc alloc snapshot"


def test_threads_record_frames_while_histories_start_and_stop() -> None:
    answer = eval_program("accelerator.snapshots.threads_record_frames_while_histories_start_and_stop")
    assert answer == [50, ["allocates"]]


@pytest.fixture(scope="session")
def viewer() -> str:
    """Return an interpreter with PyTorch's viewer."""
    python = os.environ.get("BENCH_PYTHON")
    if not python:
        pytest.skip("BENCH_PYTHON names no Python that has PyTorch")
    return python


@pytest.mark.parametrize("kind", ["trace_plot", "segment_plot", "segments", "memory", "stats", "trace"])
def test_snapshot_opens_in_the_viewer_of_pytorch(tmp_path: Path, viewer: str, kind: str) -> None:
    dumped, shown = tmp_path / "snapshot.pickle", tmp_path / "shown"
    done = run_program("accelerator.snapshots.record_many_allocations", str(dumped))
    assert done.code == 0, done.stderr
    # A fake of the script that the viewer would download to draw flame graphs.
    script = tmp_path / ".cache" / "flamegraph.pl"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\ncat\n")
    script.chmod(0o755)
    output = [] if kind in ("stats", "trace") else ["-o", str(shown)]
    arguments = [viewer, "-m", "torch.cuda._memory_viz", kind, str(dumped), *output]
    done = run_command(arguments, env={"HOME": str(tmp_path)})
    assert done.code == 0, done.stderr
    text = shown.read_text() if output else done.stdout
    expected = {
        "segments": "seg_",
        "memory": "snapshots.py",
        "stats": "total_reserved",
        "trace": "cudaMalloc",
    }
    assert expected.get(kind, "snapshot.pickle") in text
