from fork_setup import *

uses = {
    "Stream.query": stream.query,
    "Stream.synchronize": stream.synchronize,
    "Stream.record_event": stream.record_event,
    "Stream.wait_event": lambda: stream.wait_event(event),
    "Stream.wait_stream": lambda: stream.wait_stream(stream),
    "Stream.is_capturing": stream.is_capturing,
    "Stream.native_handle": lambda: stream.native_handle,
    "Stream.__enter__": stream.__enter__,
    "set_stream": lambda: accelerator.set_stream(stream),
    "launch": lambda: accelerator.launch(stream, print),
    "Event.query": event.query,
    "Event.synchronize": event.synchronize,
    "Event.record": event.record,
    "Event.wait": event.wait,
    "Event.elapsed_time": lambda: timed.elapsed_time(timed),
    "Event.event_id": lambda: event.event_id,
    "Graph.replay": graph.replay,
    "Graph.reset": graph.reset,
    "Graph.pool": graph.pool,
    "copy_": lambda: copy_(bytearray(8), buffer),
    "fill_": lambda: fill_(buffer, 1),
}


def work():
    for name, use in uses.items():
        try:
            use()
        except errors.ForkedProcessError as error:
            assert "forked" in str(error), error
        else:
            raise AssertionError(f"{name} was not refused")
    for reported in (repr(stream), repr(event), repr(buffer), stream.stream_id, event.device, hash(stream)):
        assert reported is not None


print(in_child(work))
