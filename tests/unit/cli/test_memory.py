"""`python -m interlock memory`: reading a snapshot, the timeline, the summary and the HTML page."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies
from interlock._cli.memory import history, segments, snapshot_file, timeline
from interlock._cli.memory.history import MAX_BANDS, MAX_POINTS, Event, History, Stack
from interlock._cli.memory.page import page
from interlock._cli.memory.snapshot_file import Snapshot, SnapshotError

from tests.helpers.subprocess import eval_program, run_python
from tests.unit.cli.command import document, interlock, keys, sections, text

Load = Callable[[object], Snapshot]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a function that pickles an object and reads it as a snapshot."""

    def pickled(data: object) -> Snapshot:
        path = tmp_path / "snapshot.pickle"
        path.write_bytes(pickle.dumps(data, protocol=4))
        return snapshot_file.load(str(path))

    return pickled


def frame(line: int) -> dict[str, Any]:
    return {"filename": "train.py", "line": line, "name": "step"}


def event(action: str, address: int, size: int, line: int | None = None, **more: object) -> dict[str, Any]:
    frames = [] if line is None else [frame(line)]
    return {"action": action, "addr": address, "size": size, "stream": 0, "frames": frames} | more


def block(
    address: int, size: int, state: str = "active_allocated", line: int | None = None
) -> dict[str, Any]:
    frames = [] if line is None else [frame(line)]
    return {"address": address, "size": size, "requested_size": size, "state": state, "frames": frames}


def host_block(
    address: int, size: int, line: int | None = None, *, allocated: bool = True, active: bool = True
) -> dict[str, Any]:
    """Return a block of pinned memory, as PyTorch 2.15 describes it."""
    frames = [] if line is None else [frame(line)]
    flags = {"allocated": allocated, "active": active, "segment_pool_id": (0, 0)}
    return {"address": address, "size": size, "frames": frames} | flags


def segment(address: int, *blocks: dict[str, Any], device: int = 0) -> dict[str, Any]:
    size = sum(each["size"] for each in blocks)
    return {
        "device": device, "address": address, "total_size": size, "stream": 0, "blocks": list(blocks)
    }  # fmt: skip


class TestLoad:
    def test_reads_a_snapshot_with_events(self, load: Load) -> None:
        trace = [event("segment_alloc", 4096, 1024, time_us=3), event("alloc", 4096, 512, 7, time_us=5)]
        loaded = load({"segments": [segment(4096, block(4096, 512), block(4608, 512, "inactive"))],
                       "device_traces": [trace, []], "allocator_settings": {}})  # fmt: skip
        (read,) = loaded.segments
        assert [(each.address, each.size, each.requested) for each in read.blocks] == [
            (4096, 512, 512), (4608, 512, 0)
        ]  # fmt: skip
        (live,) = loaded.histories[0].live.values()
        assert (live.size, live.start, live.stack.site) == (512, 2, "train.py:7 step")
        assert loaded.histories[0].points.times == [3, 3, 5]
        assert loaded.devices() == [0]

    def test_reads_a_list_of_segments_without_block_addresses(self, load: Load) -> None:
        first, second = block(0, 512), block(0, 1024)
        del first["address"], second["address"]
        (read,) = load([segment(4096, first, second)]).segments
        assert [each.address for each in read.blocks] == [4096, 4608]

    def test_refuses_a_pickle_that_names_a_function_without_calling_it(self, tmp_path: Path) -> None:
        marker = tmp_path / "called"

        class Call:
            def __reduce__(self) -> tuple[Any, ...]:
                return os.mkdir, (str(marker),)

        path = tmp_path / "hostile.pickle"
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            path.write_bytes(pickle.dumps({"segments": [Call()]}, protocol=protocol))
            with pytest.raises(SnapshotError, match=r'refers to "\w+\.mkdir", but must be plain data'):
                snapshot_file.load(str(path))
        assert not marker.exists()

    def test_refuses_a_persistent_id(self, tmp_path: Path) -> None:
        class Outside(pickle.Pickler):
            def persistent_id(self, obj: object) -> int | None:
                return 1 if obj == "x" else None

        data = io.BytesIO()
        Outside(data, protocol=4).dump({"segments": "x"})
        path = tmp_path / "outside.pickle"
        path.write_bytes(data.getvalue())
        with pytest.raises(SnapshotError, match="data outside the file"):
            snapshot_file.load(str(path))

    @pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x80\x04]", b"\x80\x04\x8e" + b"\xff" * 8])
    def test_refuses_a_damaged_file(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "damaged.pickle"
        path.write_bytes(data)
        with pytest.raises(SnapshotError, match="is not a pickle, or is damaged"):
            snapshot_file.load(str(path))

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (3, "must be a dict with segments or device_traces, or a list of segments, got int"),
            ({"other": 1}, "got dict"),
            ({"segments": {}}, "the snapshot: segments must be a list, got dict"),
            ([4], r"the snapshot: segments\[0\] must be a dict, got int"),
            ([{"blocks": []}], 'has no "total_size"'),
            ([{"total_size": -1, "blocks": []}], "total_size must be an int of at least 0, got -1"),
            ([{"total_size": True, "blocks": []}], "total_size must be an int of at least 0, got bool"),
            ([segment(0, block(0, 1, "odd"))], r'blocks\[0\]: state must be one of .*, got "odd"'),
            ({"device_traces": [3]}, r"device_traces\[0\] must be a list, got int"),
            ({"device_traces": [[event("alloc", 0, 1, time_us="x")]]}, "time_us must be an int .*, got str"),
            ({"device_traces": [[{"size": 1}]]}, r'device_traces\[0\]\[0\] has no "action"'),
            ({"device_traces": [[event("alloc", 0, 1) | {"frames": [1]}]]}, r"frames\[0\] must be a dict"),
        ],
    )
    def test_names_the_value_that_does_not_fit(self, load: Load, data: object, message: str) -> None:
        with pytest.raises(SnapshotError, match=f"is not a memory snapshot: .*{message}"):
            load(data)


class TestTimeline:
    def test_allocated_memory_follows_the_events(self, load: Load) -> None:
        trace = [
            event("segment_alloc", 0, 4096),
            event("alloc", 0, 100, 1),
            event("alloc", 512, 200, 2),
            event("free_requested", 0, 100),
            event("free_completed", 0, 100),
            event("segment_free", 0, 4096),
        ]
        computed = timeline.compute(load({"device_traces": [trace]}), 0)
        assert computed.allocated == (0, 0, 100, 300, 300, 200, 200)
        assert computed.reserved == (0, 4096, 4096, 4096, 4096, 4096, 0)
        assert computed.peak == 3
        assert [(site.call_site, site.bytes) for site in computed.peak_sites] == [
            ("train.py:2 step", 200), ("train.py:1 step", 100)
        ]  # fmt: skip

    def test_memory_from_before_the_history_is_allocated_at_its_begin(self, load: Load) -> None:
        trace = [event("free_completed", 512, 50), event("alloc", 512, 30, 1)]
        blocks = [block(0, 100, line=9), block(512, 30), block(1024, 70, "active_awaiting_free")]
        snapshot = load({"segments": [segment(0, *blocks)], "device_traces": [trace]})
        computed = timeline.compute(snapshot, 0)
        assert computed.allocated == (220, 170, 200)
        assert computed.reserved == (200, 200, 200)
        assert computed.peak == 0

    def test_a_release_that_the_history_lacks_ends_with_the_next_allocation(self, load: Load) -> None:
        trace = [event("alloc", 0, 10), event("alloc", 0, 20)]
        assert timeline.compute(load({"device_traces": [trace]}), 0).allocated == (0, 10, 20)

    def test_allocations_of_one_line_are_one_call_site(self, load: Load) -> None:
        trace = [event("alloc", 512 * index, 10, index % 2) for index in range(5)]
        computed = timeline.compute(load({"device_traces": [trace]}), 0)
        assert [(site.bytes, site.blocks) for site in computed.peak_sites] == [(30, 3), (20, 2)]

    @settings(max_examples=100, deadline=None)
    @given(
        strategies.lists(strategies.tuples(strategies.integers(0, 5), strategies.integers(0, 99))),
        strategies.lists(strategies.tuples(strategies.integers(0, 8), strategies.integers(0, 99))),
    )
    def test_call_sites_at_the_peak_are_its_live_blocks(
        self, steps: list[tuple[int, int]], blocks: list[tuple[int, int]]
    ) -> None:
        events = [
            Event(("alloc", "free_completed")[size % 2], address, size, 0, None, Stack(()))
            for address, size in steps
        ]
        at_end = tuple(
            snapshot_file.Block(address, size, size, "active_allocated", Stack(()))
            for address, size in dict(blocks).items()
        )
        whole = snapshot_file.Segment(0, 0, 1000, 0, "large", at_end)
        computed = timeline.compute(Snapshot((whole,), {0: recorded(events)}), 0)
        assert computed.peak_allocated == max(computed.allocated)
        assert computed.peak == computed.allocated.index(computed.peak_allocated)
        assert sum(site.bytes for site in computed.peak_sites) == computed.peak_allocated
        live_at_peak = [each for each in computed.largest if each.is_live(computed.peak)]
        assert sum(each.size for each in live_at_peak) == computed.peak_allocated
        assert sum(site.blocks for site in computed.peak_sites) == len(live_at_peak)

    @settings(max_examples=60, deadline=None)
    @given(strategies.lists(strategies.tuples(strategies.integers(0, 5), strategies.integers(1, 99))))
    def test_bands_are_stacked_without_gaps(self, steps: list[tuple[int, int]]) -> None:
        events: list[Event] = []
        live: dict[int, int] = {}
        for address, size in steps:
            action = "free_completed" if address in live else "alloc"
            size = live.pop(address, size)
            if action == "alloc":
                live[address] = size
            events.append(Event(action, address, size, 0, None, Stack(())))
        computed = timeline.compute(Snapshot((), {0: recorded(events)}), 0)
        bands = timeline.stack_bands(computed.largest)
        for position, allocated in enumerate(computed.allocated):
            edges = sorted(edges_at(bands, position))
            bottoms, tops = [0, *(top for _, top in edges)], [bottom for bottom, _ in edges]
            assert bottoms == [*tops, allocated]

    def test_only_the_largest_allocations_are_stacked(
        self, load: Load, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "MAX_BANDS", 3)
        trace = [event("alloc", 512 * index, index + 1) for index in range(10)]
        computed = timeline.compute(load({"device_traces": [trace]}), 0)
        assert {band.allocation.size for band in timeline.stack_bands(computed.largest)} == {8, 9, 10}
        assert computed.allocations == 10

    def test_events_of_all_versions_of_pytorch_are_known(self, load: Load) -> None:
        profiler = {"frames": [{"filename": "ProfilerStep#0", "line": 0, "name": "START"}]}
        trace = [
            event("segment_map", 0, 4096),
            event("alloc", 0, 100, 1, user_metadata="weights", compile_context="0/0", pool_id=(0, 1)),
            {"action": "annotate", "addr": 0, "user_metadata": "weights of the first layer"},
            event("user_defined", 0, 0) | profiler,
            {"action": "oom", "device_free": 3 << 20, "size": 1 << 30, "stream": 0},
            event("snapshot", 0, 100),
            event("free", 0, 100),
            event("segment_unmap", 0, 4096),
            event("shiny", 0, 5),
            {"action": "shiny", "size": None, "frames": 3},
            {"action": "shiny", "addr": -1},
        ]
        loaded = load(
            {"device_traces": [trace], "host_traces": list(trace), "external_annotations": [{"name": "a"}]}
        )
        computed = timeline.compute(loaded, 0)
        assert computed.allocated == (0, 0, 100, 100, 100, 100, 100, 0, 0, 0, 0, 0)
        assert computed.unknown == (("shiny", 3),)
        assert [(mark.position, mark.text) for mark in computed.annotation_marks] == [
            (3, "weights of the first layer"), (4, "ProfilerStep#0 START")
        ]  # fmt: skip
        (error,) = computed.error_marks
        assert (error.position, error.size, error.text) == (5, 1 << 30, "3 MiB free on the device")

    def test_pinned_memory_comes_after_the_devices(self, load: Load) -> None:
        blocks = [host_block(4096, 1024, line=3), host_block(8192, 512, line=4, allocated=False),
                  host_block(12288, 256, allocated=False, active=False)]  # fmt: skip
        trace = [event("segment_alloc", 4096, 1024), event("alloc", 4096, 1024, 3)]
        data = {"segments": [segment(0, block(0, 64))], "host_segments": blocks, "host_traces": trace}
        loaded = load(data)
        assert loaded.devices() == [0, None]
        computed = timeline.compute(loaded, None)
        assert computed.allocated == (512, 512, 512 + 1024)
        assert computed.reserved_at_end == 1024 + 512 + 256
        assert [site.call_site for site in computed.peak_sites] == ["train.py:3 step", "train.py:4 step"]
        pinned = data_of(page(loaded, "x"))["devices"][1]
        assert pinned["index"] is None
        states = [(each["stream"], each["blocks"][0][2]) for each in pinned["segments"]]
        assert states == [(None, 0), (None, 1), (None, 2)]

    def test_ranges_of_the_profiler_are_marked_by_their_times(self, load: Load) -> None:
        def range_(stage: str, time_us: int, device: int = 0) -> dict[str, Any]:
            return {"name": "step", "stage": stage, "device": device, "time_us": time_us}

        trace = [event("alloc", 512 * index, 8, time_us=100 + 10 * index) for index in range(4)]
        trace.append({"action": "annotate", "user_metadata": "here", "time_us": 140})
        ranges = [
            range_("START", 50),
            range_("END", 125),
            range_("START", 10, 7),
            {"device": 0, "time_us": 900},
        ]
        loaded = load({"device_traces": [trace], "external_annotations": ranges})
        computed = timeline.compute(loaded, 0)
        assert [(mark.position, mark.text) for mark in computed.annotation_marks] == [
            (0, "step START"), (3, "step END"), (5, "here"), (5, "")
        ]  # fmt: skip
        assert computed.annotations == 4
        # Events of older versions have no times.
        timeless = load({"device_traces": [[event("alloc", 0, 8)]], "external_annotations": ranges})
        assert timeline.compute(timeless, 0).annotation_marks == ()


def recorded(events: Iterable[Event]) -> History:
    """Return the history of events."""
    made = History()
    for each in events:
        made.add(each)
    return made


def edges_at(bands: list[timeline.Band], position: int) -> list[tuple[int, int]]:
    """Return the lower and upper edge of each band that is live at a position."""
    edges = []
    for band in bands:
        if band.allocation.is_live(position):
            offset = [offset for start, offset in band.steps if start <= position][-1]
            edges.append((offset, offset + band.allocation.size))
    return edges


def test_fragmentation_is_the_share_outside_the_largest_free_block(load: Load) -> None:
    whole = segment(0, block(0, 512, "inactive"))
    split = segment(4096, block(4096, 300, "inactive"), block(4396, 1), block(4397, 100, "inactive"))
    full = segment(8192, block(8192, 10))
    used = segments.segments_of(load([whole, split, full]), 0)
    assert [(use.free, use.largest_free, use.fragmentation) for use in used] == [
        (512, 512, 0.0), (400, 300, 0.25), (0, 0, 0.0)
    ]  # fmt: skip


def data_of(html: str) -> Any:
    """Return the data of a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


class TestPage:
    def test_loads_nothing_from_a_network(self, load: Load) -> None:
        html = page(load([segment(0, block(0, 512))]), "snapshot.pickle")
        assert not re.search("https?:", html)
        assert "default-src 'none'" in html
        assert not re.search(r"<(link|img|iframe|script src)", html)

    def test_text_of_the_snapshot_cannot_end_the_script_element(self, load: Load) -> None:
        hostile = block(0, 512, line=1)
        hostile["frames"][0]["filename"] = "</script><script>alert(1)</script>"
        html = page(load([segment(0, hostile)]), "<b>.pickle")
        assert html.count("</script>") == 2
        assert data_of(html)["stacks"] == [["</script><script>alert(1)</script>:1 step"]]
        assert data_of(html)["file"] == "<b>.pickle"

    def test_a_long_history_keeps_its_peak(self) -> None:
        count = 2 * MAX_POINTS + 7
        events = [Event("alloc", 512 * index, 8, 0, index, Stack(())) for index in range(count - 1)]
        events[5000:5000] = [
            Event("alloc", 1, 10**9, 0, 0, Stack(())), Event("free_completed", 1, 10**9, 0, 0, Stack(()))
        ]  # fmt: skip
        (device,) = data_of(page(Snapshot((), {0: recorded(events)}), "x"))["devices"]
        assert MAX_POINTS / 2 <= len(device["allocated"]) <= MAX_POINTS
        assert len(device["times"]) == len(device["reserved"]) == len(device["allocated"])
        assert max(device["allocated"]) == 10**9 + 8 * 5000
        assert device["peak"] == [5001, 10**9 + 8 * 5000]
        assert (len(device["bands"]), device["unstacked"]) == (MAX_BANDS, count - MAX_BANDS)


def test_timeline_of_a_program_equals_its_statistics(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    statistics = eval_program("cli.record_a_memory_history", str(path))
    (device,) = document("memory", str(path))["memory"]["devices"]
    assert device["allocated"] == statistics["requested_bytes.all.current"]
    assert device["peak_allocated"] == statistics["requested_bytes.all.peak"]
    assert device["reserved"] == statistics["reserved_bytes.all.current"]
    assert device["peak_reserved"] == statistics["reserved_bytes.all.peak"]
    assert sum(segment["free"] for segment in device["segments"]) == (
        device["reserved"] - statistics["active_bytes.all.current"]
    )
    assert {"activations", "weights"} == {
        site["call_site"].split()[-1].split(".")[0] for site in device["call_sites"]
    }


def test_command_prints_a_summary_and_writes_the_page(tmp_path: Path) -> None:
    path, html = tmp_path / "snapshot.pickle", tmp_path / "out.html"
    trace = [event("alloc", 0, 3 << 20, 7), event("oom", 0, 1 << 40)]
    data = {"segments": [segment(0, block(0, 4 << 20))], "device_traces": [trace]}
    path.write_bytes(pickle.dumps(data))
    printed = text("memory", str(path), "--html", str(html))
    rows = sections(printed)["Device 0"]
    assert ["peak allocated", "3 MiB (after event 1)"] in rows
    assert ["out of memory errors", "1"] in rows
    assert ["3 MiB", "100.0 %", "1", "train.py:7 step"] in rows
    assert data_of(html.read_text())["devices"][0]["index"] == 0


def test_command_reports_an_empty_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [[], []]}))
    assert "no segments and no events" in text("memory", str(path))


def test_command_ends_with_4_for_a_file_that_is_no_snapshot(tmp_path: Path) -> None:
    missing = interlock("memory", str(tmp_path / "missing"))
    assert (missing.code, missing.stdout) == (4, "")
    assert re.search(r'cannot read ".*missing": No such file', missing.stderr)
    path = tmp_path / "text"
    path.write_text("hello")
    assert interlock("memory", str(path)).code == 4


def test_command_ends_with_1_for_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps([]))
    done = interlock("memory", str(path), "--html", str(tmp_path / "missing" / "out.html"))
    assert done.code == 1
    assert "cannot write" in done.stderr


def test_command_does_not_replace_the_snapshot_by_its_page(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps([]))
    before = path.read_bytes()
    done = interlock("memory", str(path), "--html", str(path))
    assert done.code == 2
    assert "--html must not name the snapshot" in done.stderr
    assert path.read_bytes() == before


def test_command_replaces_only_its_own_pages(tmp_path: Path) -> None:
    path, other, page = (tmp_path / name for name in ("snapshot.pickle", "other.pickle", "page.html"))
    path.write_bytes(pickle.dumps([]))
    other.write_bytes(pickle.dumps([]))
    done = interlock("memory", str(path), "--html", str(other))
    assert done.code == 2
    assert "memory: --html must name a new file, or one that it has written before" in done.stderr
    assert other.read_bytes() == path.read_bytes()
    assert [interlock("memory", str(path), "--html", str(page)).code for _ in range(2)] == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("memory",), "memory --help"),
        (("memory", "--diff", "x"), "--diff: expected 2 arguments"),
        (("memory", "x", "--diff", "y", "z"), 'SNAPSHOT must not be given with --diff, got "x"'),
        (("memory", "--diff", "y", "z", "--html", "x"), '--html must not be given with --diff, got "x"'),
        (("memory", "x", "--htm", "y"), 'did you mean "--html"?'),
        (("memory", "x", "--import", "y"), 'memory has no option "--import"'),
        (("memory", "x", "y"), 'unexpected argument "y"'),
        (("memroy",), 'did you mean "memory"?'),
        (("flags", "--html", "x"), 'flags has no option "--html"'),
    ],
)
def test_command_refuses_wrong_arguments(arguments: tuple[str, ...], message: str) -> None:
    done = interlock(*arguments)
    assert done.code == 2
    assert message in done.stderr


class TestDiff:
    def write(self, tmp_path: Path, name: str, data: object) -> str:
        path = tmp_path / name
        path.write_bytes(pickle.dumps(data))
        return str(path)

    def test_call_sites_are_sorted_by_their_growth(self, tmp_path: Path) -> None:
        kept, freed = block(0, 1 << 20, line=1), block(1 << 20, 2 << 20, line=2)
        before = [segment(0, kept, freed, block(3 << 20, 1 << 20, "inactive"))]
        grown = [block(address << 20, 1 << 20, line=3) for address in (1, 2)]
        after = [segment(0, kept, *grown, block(3 << 20, 1 << 19, line=4)), segment(0, block(0, 8), device=1)]
        files = self.write(tmp_path, "a", before), self.write(tmp_path, "b", {"segments": after})
        (first, second) = document("memory", "--diff", *files)["memory_diff"]["devices"]
        assert [tuple(each.values()) for each in first["call_sites"]] == [
            ("train.py:3 step", 0, 2 << 20, 0, 2),
            ("train.py:4 step", 0, 1 << 19, 0, 1),
            ("train.py:2 step", 2 << 20, 0, 1, 0),
        ]  # fmt: skip
        assert (first["allocated_before"], first["allocated_after"]) == (3 << 20, 7 << 19)
        assert (first["reserved_before"], first["reserved_after"]) == (4 << 20, 7 << 19)
        assert (second["device"], second["segments_before"], second["segments_after"]) == (1, 0, 1)
        assert [site["call_site"] for site in second["call_sites"]] == ["(no stack was recorded)"]
        rows = sections(text("memory", "--diff", *files))["Device 0"]
        assert ["allocated", "3 MiB", "3.5 MiB", "+512 KiB"] in rows
        assert ["blocks", "2", "4", "+2"] in rows
        assert ["reserved", "4 MiB", "3.5 MiB", "-512 KiB"] in rows
        assert ["+2 MiB", "0 bytes", "2 MiB", "+2", "train.py:3 step"] in rows
        assert ["-2 MiB", "2 MiB", "0 bytes", "-1", "train.py:2 step"] in rows

    def test_a_file_without_segments_is_compared_by_its_history(self, tmp_path: Path) -> None:
        trace = [event("segment_alloc", 0, 100), event("alloc", 0, 10, 1), event("alloc", 10, 20, 1)]
        traced = self.write(tmp_path, "a", {"device_traces": [trace]})
        stated = self.write(tmp_path, "b", [segment(0, block(0, 10, line=1), block(10, 90, "inactive"))])
        (device,) = document("memory", "--diff", traced, stated)["memory_diff"]["devices"]
        assert (device["reserved_before"], device["reserved_after"]) == (100, 100)
        assert (device["allocated_before"], device["allocated_after"]) == (30, 10)
        (site,) = device["call_sites"]
        assert (site["call_site"], site["blocks_before"], site["blocks_after"]) == ("train.py:1 step", 2, 1)

    def test_equal_and_empty_snapshots_are_reported_in_words(self, tmp_path: Path) -> None:
        same = self.write(tmp_path, "a", [segment(0, block(0, 10, line=1))])
        empty = self.write(tmp_path, "b", [])
        assert "Each call site has the same bytes and blocks" in text("memory", "--diff", same, same)
        assert "no segments and no events" in text("memory", "--diff", empty, empty)

    def test_an_error_names_the_file(self, tmp_path: Path) -> None:
        good, missing = self.write(tmp_path, "a", []), str(tmp_path / "missing")
        done = interlock("memory", "--diff", good, missing)
        assert (done.code, done.stdout) == (4, "")
        assert f'cannot read "{missing}"' in done.stderr

    def test_a_table_has_ten_rows(self, tmp_path: Path) -> None:
        blocks = [block(1024 * line, 8 * line, line=line) for line in range(1, 14)]
        files = self.write(tmp_path, "a", []), self.write(tmp_path, "b", [segment(0, *blocks)])
        printed = text("memory", "--diff", *files)
        assert printed.count("train.py:") == 10
        assert "3 more, which --json lists." in printed


DOCUMENTATION = Path(__file__).parents[3] / "docs" / "memory_timeline.md"


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the snapshot that the program in the documentation writes."""
    (program,) = re.findall(r"```python\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)
    path = tmp_path_factory.mktemp("documentation") / "snapshot.pickle"
    program = program.replace("before.pickle", str(path.with_name("before.pickle")))
    done = run_python(program.replace("snapshot.pickle", str(path)))
    assert done.code == 0, done.stderr
    return path


def test_documentation_shows_what_its_program_prints(documented: Path) -> None:
    captured, compared = re.findall(r"```console\n\$ .*?\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)
    assert stable(captured) == stable(text("memory", str(documented)))
    before = documented.with_name("before.pickle")
    assert stable(compared) == stable(text("memory", "--diff", str(before), str(documented)))


def test_documentation_lists_every_key_of_the_document(documented: Path, tmp_path: Path) -> None:
    page = DOCUMENTATION.with_name("command_line.md").read_text()
    listed = re.findall(r"^\| `(memory[a-z_.\[\]]+)` \|", page, re.MULTILINE)
    shown = document("memory", str(documented))["memory"]
    path = tmp_path / "unknown"
    path.write_bytes(pickle.dumps({"device_traces": [[event("shiny", 0, 0)]]}))
    (device,) = document("memory", str(path))["memory"]["devices"]
    shown["devices"][0]["unknown_events"] = device["unknown_events"]
    changes = document("memory", "--diff", str(path), str(documented))
    assert listed == [*keys({"memory": shown}), *keys({"memory_diff": changes["memory_diff"]})]


def stable(printed: str) -> list[list[str]]:
    """Return the cells of a summary, without addresses and call sites, which differ from run to run."""
    lines = (re.split(" {2,}", line.strip()) for line in printed.splitlines() if line)
    return [[cell for cell in cells if not re.match(r"0x|.*\.py:", cell)] for cells in lines]
