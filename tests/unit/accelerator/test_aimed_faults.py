"""`FaultInjector.inject`, faults as data, and the exceptions of launched functions as causes of errors."""

from __future__ import annotations

import gc
import json
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from interlock import Stream, accelerator, errors, testing

from tests.helpers.sequences import Long
from tests.helpers.subprocess import eval_program, run_program


def result_of(program: str) -> Any:
    return eval_program(f"accelerator.faults.{program}")


def test_fault_fails_the_function_that_it_names() -> None:
    message, seen, pending = result_of("fault_fails_the_function_that_it_names")
    assert message == "second failed on host:0: a cable came loose"
    assert seen == ["first", "second", "first"]
    assert pending == []


def test_fault_matches_its_device_and_stream_only() -> None:
    matched, raised, injected = result_of("fault_matches_its_device_and_stream_only")
    assert matched == [0, 0, 1]
    assert raised.endswith("injected")
    assert injected == ["error", "device", "stream", "number"]


def test_chance_repeats_with_its_seed() -> None:
    first, second, other = result_of("chance_repeats_with_its_seed")
    assert first == second != other
    assert 5 < sum(first) < 45


def test_slow_device_delays_its_work_only() -> None:
    quick, slow = result_of("slow_device_delays_its_work_only")
    assert slow >= 0.1 > quick


def test_work_that_hangs_completes_after_clear() -> None:
    before, after, waited = result_of("work_that_hangs_completes_after_clear")
    assert before == [False, False, False]
    assert after == [True, True]
    assert waited == "TimeoutError" or waited is None


def test_sticky_fault_breaks_its_device() -> None:
    seen, reported, other = result_of("sticky_fault_breaks_its_device")
    assert seen == []
    for kind, message in reported:
        assert kind == "DeviceLostError"
        assert "append had failed: illegal address" in message
    assert other is None


def test_allocation_fails_on_its_device_only() -> None:
    assert result_of("allocation_fails_on_its_device_only") == [None, "OutOfMemoryError"]


def test_scenario_repeats_its_faults(tmp_path: Path) -> None:
    program, path = "accelerator.faults.scenario_repeats_its_faults", str(tmp_path / "failing.json")
    first = eval_program(program, path, 5)
    assert first == eval_program(program, path, None), "from the file"
    assert first[1]
    assert any(first[2:]), "some of the calls fail"
    assert [fault.keys() <= testing.Fault.__annotations__.keys() for fault in first[0]] == [True] * 8


@pytest.mark.parametrize("kind", ["hang", "delay"])
def test_process_ends_although_work_does_not(kind: str) -> None:
    done = run_program("accelerator.faults.leave_unfinished_work", kind, seconds=30)
    assert (done.code, done.stderr) == (0, "")


FAULTS: list[dict[str, Any]] = [
    {"operation": "copy", "number": 3, "error": "bus error"},
    {"name": "*work", "delay": 0.5, "times": None},
    {"device": "host:1", "sticky": True, "probability": 0.5, "seed": 3},
]


def test_scenario_is_json_with_a_fault_on_each_line() -> None:
    scenario = testing.Scenario(FAULTS)
    text = scenario.to_json()
    assert len(text.splitlines()) == len(FAULTS) + 2
    assert json.loads(text) == {"version": 1, "faults": FAULTS}
    again = testing.Scenario.from_json(text)
    assert again == scenario
    assert hash(again) == hash(scenario)
    assert list(again.faults) == FAULTS
    assert testing.Scenario.from_json(testing.Scenario().to_json()) == testing.Scenario()
    assert repr(testing.Scenario(FAULTS[:1])) == f"Scenario({FAULTS[:1]!r})"
    assert testing.Scenario([{**FAULTS[0], "matched": 1, "fired": 0}]).faults == (FAULTS[0],)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "text must be JSON"),
        ("[]", "an object with version and faults only"),
        ('{"version": 1, "faults": [], "more": 1}', "an object with version and faults only"),
        ('{"version": 2, "faults": []}', "version must be 1, got 2"),
        ('{"version": 1, "faults": {}}', "faults must be a list"),
        ('{"version": 1, "faults": [3]}', "index 0 must be a dict, got int"),
        ('{"version": 1, "faults": [{"operatoin": "copy"}]}', "'operatoin'; did you mean 'operation'"),
        (
            '{"version": 1, "faults": [{}, {"xyz": 1}]}',
            "index 1 has an unknown argument 'xyz'; the arguments",
        ),
        ('{"version": 1, "faults": [{"number": true}]}', "number must be of type int, got True"),
        ('{"version": 1, "faults": [{"delay": "1"}]}', "delay must be of type int or float, got '1'"),
    ],
)
def test_invalid_scenario_is_refused(text: str, message: str) -> None:
    with pytest.raises(errors.ArgumentError) as caught:
        testing.Scenario.from_json(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: testing.Scenario(cast(Any, 3)), TypeError, "Scenario: faults must be an iterable of dicts"),
        (
            lambda: testing.Scenario.from_json(cast(Any, b"{}")),
            TypeError,
            "Scenario.from_json: text must be a",
        ),
        (
            lambda: testing.Scenario.load(cast(Any, 0)),
            TypeError,
            "Scenario.load: path must be a str or a path",
        ),
        (lambda: testing.Scenario.random(cast(Any, "1")), TypeError, "Scenario.random: seed must be an int"),
        (lambda: testing.Scenario.random(1, faults=1001), errors.ArgumentError, "from 0 to 1000, got 1001"),
        (lambda: testing.Scenario.random(1, faults=-1), errors.ArgumentError, "from 0 to 1000, got -1"),
    ],
)
def test_wrong_arguments_of_scenarios_are_refused(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_scenario_of_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "faults.json").write_bytes(b"\xff\xfe")
    with pytest.raises(errors.ArgumentError, match="the file must be UTF-8 text"):
        testing.Scenario.load(tmp_path / "faults.json")


def test_error_of_a_fault_of_a_scenario_names_its_index() -> None:
    # No driver uses the injector.
    with pytest.raises(errors.NoAcceleratorError):
        testing.Scenario([{"number": 1}]).inject(testing.FaultInjector())
    with pytest.raises(TypeError, match=r"Scenario\.inject: faults must be a FaultInjector, got 3"):
        testing.Scenario().inject(cast(Any, 3))
    with pytest.raises(errors.ArgumentError, match="number must be at least 1") as refused:
        testing.Scenario([{"number": 1}, {"number": 0}]).inject(testing.FaultInjector())
    assert refused.value.__notes__ == ["This is the fault with the index 1 of a scenario."]


def test_faults_are_a_list_of_dicts_not_a_sequence_of_any_length() -> None:
    faults: Any = testing.FaultInjector()
    with pytest.raises(TypeError, match="faults must be a list, got "):
        faults._inject_all(Long())
    with pytest.raises(TypeError, match="each of faults must be a dict, got int"):
        faults._inject_all([3])


@pytest.mark.parametrize("wrong", [{"device": "host:100"}, {"number": 0}, {"delay": -1.0}])
def test_scenario_injects_all_faults_or_none(wrong: dict[str, Any]) -> None:
    right = {"operation": "copy", "error": ""}
    notes, pending, injected = eval_program("accelerator.faults.inject_all_or_none", right, wrong)
    assert notes == ["This is the fault with the index 1 of a scenario."]
    assert (pending, injected) == ([], [right])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operation": "sum"}, 'operation must be one of "launch", "copy", "fill", "event", '),
        (
            {"operation": "allocation", "never": True},
            "operation must be an operation that the fault can affect",
        ),
        ({"operation": "copy", "name": "x"}, 'operation must be "launch" with a name'),
        ({"delay": -1.0}, "delay must be a number of seconds from 0 to below 2**64, got -1.0"),
        ({"delay": float("nan")}, "delay must be a number of seconds from 0 to"),
        ({"delay": 1e300}, "delay must be a number of seconds from 0 to below 2**64, got 1e300"),
        ({"delay": 1.0, "never": True}, "never must be False with a delay"),
        ({"delay": 1.0, "error": "x"}, "error must be None with a delay or never"),
        ({"never": True, "sticky": True}, "sticky must be False with a delay or never"),
        ({"probability": 2}, "probability must be from 0 to 1, got 2"),
        ({"times": 0}, "times must be at least 1, got 0"),
        ({"times": 2**70}, "times must be from 1 to 2**64 - 1, got 1180591620717411303424"),
        ({"seed": -1}, "seed must be from 0 to 2**64 - 1, got -1"),
    ],
)
def test_inject_refuses_other_values(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ArgumentError) as caught:
        testing.FaultInjector().inject(**arguments)
    assert str(caught.value).startswith("FaultInjector.inject: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"operation": 3},
        {"error": b""},
        {"sticky": 1},
        {"delay": "1"},
        {"name": 1},
        {"stream": "x"},
        {"number": 1.5},
    ],
)
def test_inject_refuses_other_types(arguments: dict[str, Any]) -> None:
    (name,) = arguments
    with pytest.raises(TypeError, match=f"^FaultInjector.inject: {name} must be "):
        testing.FaultInjector().inject(**arguments)


class Raised(Exception):
    pass


def raises(error: Exception) -> None:
    raise error


@pytest.mark.usefixtures("devices")
def test_exception_of_a_launched_function_is_the_cause() -> None:
    stream, error = Stream(dedicated=True), Raised("in the function")
    accelerator.launch(stream, raises, error)
    with pytest.raises(errors.AcceleratorError, match="Raised: in the function") as caught:
        stream.synchronize()
    assert caught.value.__cause__ is error
    frames = traceback.extract_tb(error.__traceback__)
    assert [(frame.name, frame.filename) for frame in frames] == [("raises", __file__)]
    stream.synchronize()


@pytest.mark.usefixtures("devices")
def test_each_replay_of_a_graph_has_the_cause() -> None:
    stream, graph, error = Stream(dedicated=True), accelerator.Graph(), Raised("again")
    with stream, graph:
        accelerator.launch(accelerator.current_stream(), raises, error)
    for _ in range(2):
        with stream:
            graph.replay()
        with pytest.raises(errors.AcceleratorError) as caught:
            stream.synchronize()
        assert caught.value.__cause__ is error


@pytest.mark.usefixtures("devices")
def test_unreported_exception_is_released_with_its_error() -> None:
    stream = Stream(dedicated=True)
    gone = []
    for _ in range(3):
        # The stream keeps the first error.
        error = Raised()
        gone.append(weakref.ref(error))
        accelerator.launch(stream, raises, error)
        del error
    with pytest.raises(errors.AcceleratorError) as caught:
        stream.synchronize()
    gc.collect()
    assert [reference() is not None for reference in gone] == [True, False, False]
    del caught
    accelerator.launch(stream, print, end="")
    stream.synchronize()
    gc.collect()
    assert gone[0]() is None


def test_exception_is_dropped_before_the_interpreter_ends() -> None:
    done = run_program("accelerator.faults.leave_an_exception", seconds=30)
    assert (done.code, done.stdout.split(), done.stderr) == (0, ["released"], "")
