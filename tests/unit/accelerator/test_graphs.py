"""Graphs: work that is captured once and replayed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import interlock
import pytest
from interlock import Stream, Tensor, accelerator, errors
from interlock.accelerator import Graph
from interlock.accelerator.memory import Buffer, copy_, fill_

from tests.helpers.gate import Gate

pytestmark = [
    pytest.mark.usefixtures("devices"),
    # Most of these tests do not depend on the contents of a graph.
    pytest.mark.filterwarnings("ignore:Graph.capture_end. the graph is empty:UserWarning"),
]


def read(buffer: Buffer) -> bytes:
    """Return the bytes of a buffer."""
    found = bytearray(buffer.nbytes)
    copy_(found, buffer)
    return bytes(found)


def test_replay_reads_changed_inputs_and_runs_no_python() -> None:
    source, destination = Buffer(4), Buffer(4)
    stream, graph, entered = Stream(), Graph(), []
    with stream, graph:
        entered.append(1)
        assert stream.is_capturing()
        copy_(destination, source, non_blocking=True)
    assert not stream.is_capturing()
    for content in (b"once", b"more"):
        copy_(source, content, stream=stream)
        with stream:
            graph.replay()
        stream.synchronize()
        assert read(destination) == content
    assert entered == [1]


def test_replay_runs_on_the_device_of_the_capture(devices: tuple[str, ...]) -> None:
    stream, graph = Stream(devices[1], dedicated=True), Graph()
    buffer = Buffer(2, stream=stream)
    with stream, graph:
        fill_(buffer, 3)
    with accelerator.device_index(0):
        graph.replay()
        assert accelerator.current_device_index() == 0
    accelerator.synchronize(devices[1])
    assert read(buffer) == b"\3\3"


def test_subclass_is_a_graph() -> None:
    class Named(Graph):
        def __new__(cls, label: str) -> Self:
            return super().__new__(cls, keep_graph=True)

        def __init__(self, label: str) -> None:
            super().__init__(keep_graph=True)
            self.label = label

    stream, graph, seen = Stream(), Named("mine"), list[int]()
    with stream, graph:
        accelerator.launch(stream, seen.append, 1)
    with stream:
        graph.replay()
    stream.synchronize()
    assert (type(graph), graph.label, seen) == (Named, "mine", [1])


def test_captured_work_is_not_run() -> None:
    buffer = Buffer(2)
    seen: list[int] = []
    fill_(buffer, 7)
    accelerator.synchronize()
    stream, graph = Stream(), Graph()
    with stream, graph:
        fill_(buffer, 9)
        accelerator.launch(stream, seen.append, 1)
    assert (read(buffer), seen) == (b"\7\7", [])
    with stream:
        graph.replay()
        graph.replay()
    stream.synchronize()
    assert (read(buffer), seen) == (b"\t\t", [1, 1])


def test_capture_includes_a_second_stream_from_its_wait_to_its_join(driver: str) -> None:
    main, side = Stream(dedicated=True), Stream(dedicated=True)
    # NVIDIA's driver runs the functions of graphs one after the other.
    meeting = threading.Barrier(2 if driver == "host" else 1, timeout=20)
    graph = Graph()
    seen: list[int] = []
    with main, graph:
        side.wait_stream(main)
        assert side.is_capturing()
        accelerator.launch(side, meeting.wait)
        accelerator.launch(main, meeting.wait)
        main.wait_stream(side)
        accelerator.launch(main, seen.append, 1)
    assert not side.is_capturing()
    with Stream() as stream:
        for _ in range(3):
            graph.replay()
    stream.synchronize()
    assert seen == [1, 1, 1]


def test_unjoined_stream_invalidates_the_capture(driver: str) -> None:
    main, side = Stream(dedicated=True), Stream(dedicated=True)
    graph = Graph()
    with main:
        graph.capture_begin()
        side.wait_stream(main)
        accelerator.launch(side, print)
        number = rf"native_handle {side.native_handle}\b" if driver == "host" else "Graph.capture_end"
        with pytest.raises(errors.GraphError, match=number):
            graph.capture_end()
    assert (main.is_capturing(), side.is_capturing()) == (False, False)
    with pytest.raises(errors.GraphError, match="nothing"), main:
        graph.replay()


def test_capture_of_a_default_stream_is_refused_with_the_cure() -> None:
    with pytest.raises(errors.GraphError, match=r"default stream.*Stream\(\)"):
        Graph().capture_begin()
    with pytest.raises(errors.GraphError), Graph():
        pass


def test_synchronize_of_a_capturing_stream_invalidates_the_capture() -> None:
    stream, graph = Stream(dedicated=True), Graph()
    with pytest.raises(errors.GraphError), stream, graph, pytest.raises(errors.GraphError):
        stream.synchronize()
    assert not stream.is_capturing()


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize(
    ("mode", "here", "elsewhere"),
    [
        ("default", False, False),
        ("global", False, False),
        ("thread_local", False, True),
        ("relaxed", True, True),
    ],
)
def test_unsafe_calls_are_refused_according_to_the_capture_mode(
    mode: Any, here: bool, elsewhere: bool
) -> None:
    def allowed(on_another_thread: bool) -> bool:
        stream, graph = Stream(dedicated=True), Graph(capture_error_mode=mode)
        refused: list[BaseException] = []

        def wait() -> None:
            try:
                accelerator.synchronize(1)
            except errors.GraphError as error:
                refused.append(error)

        with stream:
            graph.capture_begin()
            if on_another_thread:
                thread = threading.Thread(target=wait)
                thread.start()
                thread.join()
            else:
                wait()
            if refused:
                with pytest.raises(errors.GraphError):
                    graph.capture_end()
            else:
                graph.capture_end()
        assert not stream.is_capturing()
        return not refused

    assert (allowed(on_another_thread=False), allowed(on_another_thread=True)) == (here, elsewhere)


@pytest.mark.usefixtures("two_devices")
def test_mode_and_the_pool_may_be_assigned_for_the_next_capture() -> None:
    graph = Graph()
    assert (graph.graph_pool, graph.capture_error_mode) == (None, "default")
    graph.capture_error_mode = "relaxed"
    graph.graph_pool = (0, 12345)
    with Stream(), graph:
        accelerator.synchronize(1)
    assert graph.pool() == (0, 12345)
    graph.reset()
    wrong: Any = "sloppy"
    graph.capture_error_mode = wrong
    with pytest.raises(errors.ArgumentError, match=r"thread_local.*sloppy"), Stream():
        graph.capture_begin()
    with pytest.raises(errors.ArgumentError):
        Graph(capture_error_mode=wrong)


def test_graphs_have_private_pools_unless_they_share_one() -> None:
    first, second = Graph(), Graph()
    assert first.pool() != second.pool()
    assert Graph(pool=first.pool()).pool() == first.pool()
    assert isinstance(first.pool(), tuple)


def test_keep_graph_instantiates_on_replay_or_request() -> None:
    stream, graph = Stream(), Graph(keep_graph=True)
    seen: list[int] = []
    with stream, graph:
        accelerator.launch(stream, seen.append, 1)
    with stream:
        graph.replay()
    graph.instantiate()
    graph.instantiate()
    with stream:
        graph.replay()
    stream.synchronize()
    assert seen == [1, 1]
    unkept = Graph()
    with stream, unkept:
        pass
    with pytest.raises(errors.GraphError, match="keep_graph"):
        unkept.instantiate()


def test_order_of_calls_is_checked() -> None:
    graph = Graph()
    with pytest.raises(errors.GraphError, match="nothing has been captured"):
        graph.replay()
    with pytest.raises(errors.GraphError, match="no capture has begun"):
        graph.capture_end()
    graph.reset()
    with Stream():
        graph.capture_begin()
        with pytest.raises(errors.GraphError, match="already"):
            graph.capture_begin()
        with pytest.raises(errors.GraphError):
            graph.reset()
        graph.capture_end()
        with pytest.raises(errors.GraphError, match="reset"):
            graph.capture_begin()
        graph.reset()
        graph.capture_begin()
        graph.capture_end()


def test_capture_inside_of_a_capture_is_refused_by_name() -> None:
    with (
        pytest.raises(errors.GraphError, match=r"Graph\.capture_begin failed"),
        Stream(dedicated=True),
        Graph(),
        Graph(),
    ):
        pytest.fail("entered")


def test_exception_aborts_the_capture() -> None:
    stream, graph = Stream(), Graph()

    def fail_half_way() -> None:
        with stream, graph:
            accelerator.launch(stream, print)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert not stream.is_capturing()
    with pytest.raises(errors.GraphError), stream:
        graph.replay()
    with stream, graph:
        pass


def test_dump_contains_the_captured_work(tmp_path: Path) -> None:
    def greet() -> None:
        pass

    def record(graph: Graph) -> Path:
        stream = Stream()
        with stream, graph:
            fill_(buffer, 5)
            accelerator.launch(stream, greet)
        path = tmp_path / "graph.dot"
        graph.debug_dump(path)
        return path

    buffer = Buffer(16)
    debugged = Graph()
    debugged.enable_debug_mode()
    for graph in (Graph(keep_graph=True), debugged):
        text = record(graph).read_text()
        assert text.startswith("digraph")
        assert text.count("->") == 1
        assert "greet" in text
        assert "16" in text
    with pytest.raises(errors.GraphError, match="enable_debug_mode"):
        record(Graph())
    with pytest.raises(OSError, match="missing"):
        debugged.debug_dump(str(tmp_path / "missing" / "graph.dot"))


def test_synchronous_copy_is_not_captured() -> None:
    buffer, stream, graph = Buffer(4), Stream(), Graph()
    with stream, graph:
        with pytest.raises(errors.GraphError, match="non_blocking"):
            copy_(buffer, b"1234")
        copy_(buffer, b"5678", non_blocking=True)
    with stream:
        graph.replay()
    stream.synchronize()
    assert read(buffer) == b"5678"


def test_replay_error_is_asynchronous_and_names_the_function() -> None:
    def fails() -> None:
        raise OSError("no disk")

    stream, graph = Stream(dedicated=True), Graph()
    with stream, graph:
        accelerator.launch(stream, fails)
    with stream:
        graph.replay()
    with pytest.raises(interlock.AcceleratorError, match=r"fails.*no disk"):
        stream.synchronize()


def test_graph_may_be_dropped_during_replay_or_capture(gate: Gate) -> None:
    stream, graph = Stream(dedicated=True), Graph()
    seen: list[int] = []
    with stream, graph:
        accelerator.launch(stream, gate)
        accelerator.launch(stream, seen.append, 1)
    with stream:
        graph.replay()
    del graph
    gate.open()
    stream.synchronize()
    assert seen == [1]
    with stream:
        half = Graph()
        half.capture_begin()
        del half
    assert not stream.is_capturing()


@pytest.mark.parametrize("keep_graph", [False, True])
def test_capture_end_warns_of_an_empty_graph(keep_graph: bool) -> None:
    stream, graph = Stream(), Graph(keep_graph)
    with pytest.warns(UserWarning, match="the graph is empty") as caught, stream, graph:
        pass
    assert caught[0].filename == __file__
    graph.reset()
    with stream:
        graph.capture_begin()
        with pytest.warns(UserWarning, match="the graph is empty") as caught:
            graph.capture_end()
    assert caught[0].filename == __file__


@pytest.mark.usefixtures("host_accessible_memory")
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("item", lambda x: x[0].item()),
        ("bool", lambda x: bool(x[0])),
        ("tolist", lambda x: x.tolist()),
        ("__repr__", repr),
        ("nonzero", lambda x: x.nonzero()),
        ("__getitem__", lambda x: x[x > 0]),
        ("equal", lambda x: interlock.equal(x, x)),
        ("__contains__", lambda x: 1.0 in x),
    ],
)
def test_capture_refuses_to_read_elements(
    name: str, call: Callable[[Tensor], object], devices: tuple[str, ...]
) -> None:
    device = devices[0]
    x = interlock.ones(2, device=device)
    message = f"^{name}: elements of a device tensor cannot be read while its stream captures a graph"
    with Stream(device), Graph():
        x.mul_(2)
        with pytest.raises(errors.GraphError, match=message):
            call(x)


@pytest.mark.usefixtures("host_accessible_memory")
def test_capture_names_the_copy_that_waits_and_its_cure(devices: tuple[str, ...]) -> None:
    device = devices[0]
    x = interlock.ones(2, device=device)
    cure = "copy them before the capture, or call .* with non_blocking=True$"
    with Stream(device), Graph():
        with pytest.raises(
            errors.GraphError, match=rf"^tensor: elements cannot be copied from the CPU .*; {cure}"
        ):
            interlock.tensor([1.0], device=device)
        with pytest.raises(
            errors.GraphError, match=rf"^copy_: elements cannot be copied from the CPU .*; {cure}"
        ):
            x.copy_(interlock.ones(2))
        with pytest.raises(
            errors.GraphError, match=r"^to: .* replay, or record the copy with non_blocking=True$"
        ):
            x.to("cpu")
        x.copy_(interlock.ones(2), non_blocking=True)


@pytest.mark.usefixtures("host_accessible_memory")
@pytest.mark.filterwarnings("ignore:SumBackward0 failed:UserWarning")
def test_capture_names_anomaly_mode_that_reads_gradients(devices: tuple[str, ...]) -> None:
    device = devices[0]
    x = interlock.ones(2, device=device, requires_grad=True)
    with (
        Stream(device),
        Graph(),
        interlock.autograd.detect_anomaly(),
        pytest.raises(
            errors.GraphError, match=r"^detect_anomaly: elements of a device tensor cannot be read"
        ),
    ):
        (x * 2).sum().backward()
