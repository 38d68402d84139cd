"""Devices that misbehave when they are told to, and what a program sees of it."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_python

SETUP = """
    import gc, threading
    import interlock
    from interlock import accelerator, errors, testing
    from interlock.accelerator.memory import Buffer, copy_, fill_

    faults = testing.FaultInjector()
    accelerator.use("host", devices=2, faults=faults)

    def raised(call, *args):
        try:
            call(*args)
        except Exception as error:
            return [type(error).__name__, str(error)]
        return None
"""


def told(code: str) -> list[object]:
    answer: list[object] = eval_python(f"{SETUP}\n{code}")
    return answer


def test_the_driver_has_no_memory_for_the_kth_request_and_for_no_other() -> None:
    code = """
    faults.fail_allocation(3)
    retries = []
    for _ in range(5):
        Buffer(20 << 20).close()
        retries.append(accelerator.memory_stats()["num_alloc_retries"])
        accelerator.empty_cache()
    faults.fail_allocation(1)
    faults.fail_allocation(None)
    answer = [retries, raised(Buffer, 8), raised(faults.fail_allocation, 0)]
    """
    retries, after, zero = told(code)
    assert retries == [0, 0, 1, 1, 1], "what is kept is given back, and the driver asked again"
    assert after is None
    assert isinstance(zero, list)
    assert zero[0] == "ArgumentError"


@pytest.mark.parametrize(
    ("fault", "work", "operation"),
    [
        ("fail_next_launch", "accelerator.launch(stream, seen.append, 1)", "append"),
        ("fail_next_copy", "copy_(bytearray(8), buffer, non_blocking=True, stream=stream)", "copy"),
        ("fail_next_fill", "fill_(buffer, 1, stream=stream)", "fill"),
    ],
)
def test_work_fails_late_once_and_what_comes_later_runs(fault: str, work: str, operation: str) -> None:
    code = f"""
    stream, buffer, seen = interlock.Stream(), Buffer(8), []
    faults.{fault}("a cable came loose")
    {work}
    accelerator.launch(stream, seen.append, 2)
    answer = [raised(stream.synchronize), raised(stream.synchronize), seen]
    """
    first, second, seen = told(code)
    assert isinstance(first, list)
    assert first[0] == "AcceleratorError"
    assert operation in first[1]
    assert "a cable came loose" in first[1]
    assert (second, seen) == (None, [2])


def test_a_device_that_is_lost_wakes_who_waits_and_stays_lost() -> None:
    code = """
    stream, other, never = interlock.Stream(1), interlock.Stream(0), threading.Event()
    buffer, begun = Buffer(8, 1), threading.Event()
    accelerator.launch(stream, lambda: (begun.set(), never.wait()))
    begun.wait()
    outcome = []
    waiter = threading.Thread(target=lambda: outcome.append(raised(stream.synchronize)))
    waiter.start()
    faults.lose_device(1, "it fell off the bus")
    waiter.join(20)
    calls = [
        stream.query,
        stream.record_event,
        lambda: accelerator.launch(stream, print),
        lambda: fill_(buffer, 1),
        lambda: copy_(bytearray(8), buffer),
        lambda: Buffer(3 << 20, 1),
        lambda: accelerator.synchronize(1),
        lambda: accelerator.get_memory_info(1),
    ]
    answer = [outcome, [raised(call) for call in calls], raised(other.synchronize), raised(Buffer, 8, 0)]
    del buffer
    gc.collect()
    """
    (outcome, *_), calls, stream, memory = told(code)
    for kind, message in [outcome, *calls]:
        assert kind == "DeviceLostError"
        assert "it fell off the bus" in message
    assert (stream, memory) == (None, None), "the other device is as it was"


def test_the_error_of_a_lost_device_names_the_operation_of_the_program() -> None:
    code = """
    stream, other, buffer = interlock.Stream(1), interlock.Stream(0), Buffer(8, 1)
    tensor = interlock.ones(2, device="host:1")
    faults.lose_device(1, "x")
    calls = [
        lambda: fill_(buffer, 1),
        lambda: copy_(buffer, bytearray(8)),
        lambda: interlock.Stream(1),
        lambda: other.wait_stream(stream),
        stream.record_event,
        lambda: interlock.Event().record(stream),
        stream.is_capturing,
        lambda: tensor.mul(tensor),
    ]
    answer = [raised(call) for call in calls]
    """
    names = ["a fill", "accelerator.memory.copy_", "Stream", "Stream.wait_stream", "Stream.record_event"]
    names += ["Event.record", "Stream.is_capturing", "mul"]
    wanted = [["DeviceLostError", f"{name} is impossible: host:1 was lost: x"] for name in names]
    assert told(code) == wanted


def test_a_copy_that_is_slow_holds_up_its_stream_alone() -> None:
    code = """
    slow, quick, buffer = interlock.Stream(exclusive=True), interlock.Stream(exclusive=True), Buffer(4)
    back, seen = bytearray(4), []
    copy_(buffer, b"slow")
    with faults.hold_copies() as hold:
        copy_(back, buffer, non_blocking=True, stream=slow)
        accelerator.launch(slow, seen.append, "slow")
        accelerator.launch(quick, seen.append, "quick")
        quick.synchronize()
        held = [slow.query(), bytes(back) == bytes(4), list(seen)]
        stepped = [hold.step(), hold.step()]
        slow.synchronize()
    answer = [held, stepped, back.decode(), seen]
    """
    held, stepped, back, seen = told(code)
    assert held == [False, True, ["quick"]]
    assert stepped == [True, False]
    assert (back, seen) == ("slow", ["quick", "slow"])


def test_work_of_a_higher_priority_goes_first_when_engines_are_busy() -> None:
    code = """
    blockers = [interlock.Stream(exclusive=True) for _ in range(2)]
    low, high = (interlock.Stream(priority=priority, exclusive=True) for priority in (0, -1))
    buffers, order = [Buffer(4) for _ in range(4)], []
    hold = faults.hold_copies()
    names = ("first", "first", "low", "high")
    for stream, buffer, name in zip((*blockers, low, high), buffers, names):
        copy_(buffer, b"1234", non_blocking=True, stream=stream)
        accelerator.launch(stream, order.append, name)
    for stream in (*blockers, high, low):
        hold.step()
        stream.synchronize()
    hold.release()
    answer = order
    """
    assert told(code) == ["first", "first", "high", "low"]


def test_objects_that_have_gone_leave_nothing_behind() -> None:
    code = """
    def use():
        stream, event, graph = interlock.Stream(exclusive=True), interlock.Event(), accelerator.Graph()
        buffer = Buffer(64)
        with stream, graph:
            fill_(buffer, 1)
            accelerator.launch(stream, len, "abc")
        with stream:
            graph.replay()
        event.record(stream)
        interlock.Stream(exclusive=True).wait_event(event)
        copy_(bytearray(64), buffer, stream=stream)
        stream.synchronize()

    use()
    before = faults.live_objects()
    for _ in range(20):
        use()
    gc.collect()
    accelerator.synchronize()
    after = faults.live_objects()
    names = ("streams", "events", "graphs", "executables", "captures", "commands", "bytes")
    answer = [[before[name], after[name]] for name in names]
    """
    for before, after in told(code):  # type: ignore[misc]
        assert after <= before + 1


def test_a_handle_without_a_driver_says_so() -> None:
    code = """
        from interlock import accelerator, errors, testing
        faults = testing.FaultInjector()
        try:
            faults.fail_next_copy("never")
        except errors.NoAcceleratorError as error:
            answer = str(error)
    """
    assert "handle" in eval_python(code)
