"""The reader of pickles of plain data: it equals `pickle.loads`, calls nothing, and needs little memory."""

from __future__ import annotations

import io
import pickle
import pickletools
import tracemalloc
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import example, given, settings, strategies
from interlock._cli.memory import history, plain_pickle, snapshot_file
from interlock._cli.memory.plain_pickle import (
    DamagedError,
    ForbiddenError,
    ForgottenError,
    PlainList,
    PlainPickle,
)
from interlock._cli.memory.timeline import compute


def keep(_: PlainList, items: list[Any]) -> list[Any]:
    return items


def loads(data: bytes) -> Any:
    return PlainPickle(io.BytesIO(data), keep).load()


keys = strategies.one_of(
    strategies.none(), strategies.booleans(), strategies.integers(), strategies.text(max_size=300)
)
leaves = strategies.one_of(
    keys, strategies.floats(allow_nan=False), strategies.integers(-(1 << 3000), 1 << 3000)
)
plain = strategies.recursive(
    leaves,
    lambda inner: strategies.one_of(
        strategies.lists(inner, max_size=6),
        strategies.lists(inner, max_size=6).map(tuple),
        strategies.dictionaries(keys, inner, max_size=6),
    ),
    max_leaves=30,
)


@settings(max_examples=150, deadline=None)
@given(plain, strategies.integers(0, pickle.HIGHEST_PROTOCOL))
@example([{"a": index, "b": [index]} for index in range(2500)], 4)
@example({"a": {"x": "long" * 1_000_000, "y": "after"}, 1: [1 << 40] * 300_000}, 4)
@example({index: str(index) for index in range(3000)}, 2)
def test_plain_data_equals_that_of_pickle(data: Any, protocol: int) -> None:
    shared = [data, data, {"again": data}]
    for written in (pickle.dumps(shared, protocol), pickletools.optimize(pickle.dumps(shared, protocol))):
        read = loads(written)
        assert read == pickle.loads(written)
        if isinstance(data, list | dict):
            assert read[0] is read[1] is read[2]["again"]


@settings(max_examples=100, deadline=None)
@given(plain, strategies.integers(0, pickle.HIGHEST_PROTOCOL), strategies.data())
def test_damaged_data_raises_an_error(data: Any, protocol: int, draw: strategies.DataObject) -> None:
    written = bytearray(pickle.dumps([data], protocol))
    place = draw.draw(strategies.integers(0, len(written) - 1))
    written[place] = draw.draw(strategies.integers(0, 255))
    for damaged in (bytes(written), bytes(written[:place])):
        try:
            loads(damaged)
        # As `pickle` does, it raises nearly any exception.
        except Exception:
            continue


def test_other_plain_types_of_pickle_are_read() -> None:
    data = [{1, 2}, frozenset("ab"), b"bytes", b"b" * 300, bytearray(b"x"), 1.5, (), (1,), (1, 2, 3), True]
    assert loads(pickle.dumps(data, 5)) == data
    assert loads(b"S'a\\'b\\n'\n.") == "a'b\n"
    assert loads(b"(I1\nL2L\nF3.5\nl.") == [1, 2, 3.5]
    assert loads(b"(S'a'\nI01\nd.") == {"a": True}
    assert loads(b"(U\x01aT\x01\x00\x00\x00bt.") == ("a", "b")


@pytest.mark.parametrize(
    "data",
    [
        b"cposix\nsystem\n.", b"\x80\x04\x8c\x05posix\x8c\x06system\x93.", b"(S'ls'\niposix\nsystem\n.",
        b"N}R.", b"(No.", b"N)\x81.", b"N}b.", b"\x82\x01.", b"\x83\x01\x00.", b"\x84\x01\x00\x00\x00.",
        b"Pid\n.", b"NQ.", b"\x97.", b"N\x98.", b"N)}\x92.",
    ],
)  # fmt: skip
def test_instructions_that_are_more_than_plain_data_are_refused(data: bytes) -> None:
    with pytest.raises(ForbiddenError):
        loads(data)


@pytest.mark.parametrize("instruction", pickletools.opcodes, ids=lambda each: each.name)
def test_every_instruction_of_pickle_is_read_or_refused(instruction: pickletools.OpcodeInfo) -> None:
    message = ""
    try:
        loads(b"\x80\x04" + instruction.code.encode("latin-1") + b"0\n0\n")
    except Exception as error:
        message = str(error)
    assert f"{instruction.code!r}, which does not exist" not in message


def test_items_are_passed_on_in_parts_also_for_one_long_list() -> None:
    parts: list[int] = []

    def take(_: PlainList, items: list[Any]) -> list[Any]:
        parts.append(len(items))
        return []

    # PyTorch's writer in C++ does not end a list every 1,000 items.
    written = b"\x80\x02](" + b"}(X\x01\x00\x00\x00aK\x01u" * 10_000 + b"e."
    assert PlainPickle(io.BytesIO(written), take).load() == []
    assert sum(parts) == 10_000
    assert max(parts) < 5000
    with pytest.raises(DamagedError):
        # These items were not for the list, but for a tuple next to it.
        PlainPickle(io.BytesIO(written[:-2] + b"t\x86."), take).load()


def test_a_reference_to_a_forgotten_object_is_reported() -> None:
    def forget(_: PlainList, items: list[Any]) -> list[Any]:
        for item in items:
            reader.forget(item)
        return []

    entry = {"a": 1}
    reader = PlainPickle(io.BytesIO(pickle.dumps([[entry], [entry]])), forget)
    with pytest.raises(ForgottenError):
        reader.load()


def write_snapshot(file: IO[bytes], events: int) -> None:
    """Write a snapshot as PyTorch does: events of few lines, each with a stack of its own list and a pool."""
    frames = [{"filename": f"module_{index}.py", "line": index, "name": "f"} for index in range(50)]
    trace = []
    for index in range(events):
        block = index // 2 * 4096
        trace.append(
            {
                "action": "free_completed" if index % 2 else "alloc",
                "addr": (1 << 46) + block % (1 << 24),
                "size": 512 + block % 7,
                "stream": 0,
                "time_us": (1 << 50) + index,
                "compile_context": "N/A",
                "segment_pool_id": tuple([0, index % 3]),
                "frames": [frames[(index + depth) % 50] for depth in range(10)],
            }
        )
    pickle.dump({"segments": [], "device_traces": [trace, []]}, file, 4)


BYTES_PER_EVENT = 24
"""8 for each object that the rest of the file could refer to: an event, its stack and its pool."""


def test_memory_for_a_history_is_that_of_its_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small parts, so that a small file has many of them.
    monkeypatch.setattr(plain_pickle, "_CHUNK", 1 << 14)
    monkeypatch.setattr(history, "MAX_POINTS", 500)
    monkeypatch.setattr(history, "MAX_BANDS", 100)
    peaks, sizes = [], []
    for events in (2_000, 8_000):
        path = tmp_path / f"{events}.pickle"
        with path.open("wb") as file:
            write_snapshot(file, events)
        tracemalloc.start()
        computed = compute(snapshot_file.load(str(path)), 0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        sizes.append(path.stat().st_size)
        assert (computed.events, computed.allocations) == (events, events // 2)
        assert (computed.peak, computed.peak_allocated) == (13, 518)
    # A list grows by an eighth at a time, and may be copied then.
    assert peaks[1] - peaks[0] < 2.25 * BYTES_PER_EVENT * 6_000
    # `pickle.loads` would need several times the size of the file.
    assert peaks[1] - peaks[0] < (sizes[1] - sizes[0]) / 2


def test_the_same_object_as_two_events_is_two_events(tmp_path: Path) -> None:
    allocated = {"action": "alloc", "addr": 0, "size": 5, "frames": []}
    freed = {"action": "free_completed", "addr": 0, "size": 5, "frames": []}
    path = tmp_path / "shared.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [[allocated, freed] * 3, [allocated]]}))
    loaded = snapshot_file.load(str(path))
    assert compute(loaded, 0).allocated == (0, 5, 0, 5, 0, 5, 0)
    assert compute(loaded, 1).allocated == (0, 5)


def test_equal_stacks_are_one_object(tmp_path: Path) -> None:
    def entry(index: int) -> dict[str, Any]:
        # Text that is made anew each time, so that the file repeats it.
        frames = [{"filename": "".join(["train", ".py"]), "line": 7, "name": "step"} for _ in range(2)]
        return {"action": "alloc", "addr": index, "size": 1, "frames": frames}

    path = tmp_path / "repeated.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [[entry(index) for index in range(20)]]}))
    live = snapshot_file.load(str(path)).histories[0].live
    assert len({id(allocation.stack) for allocation in live.values()}) == 1
    assert live[0].stack.site == "train.py:7 step"
