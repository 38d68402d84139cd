"""The state of a process as a value: its JSON, the environment variable, and what wins in a worker."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from typing import Any

import interlock
import pytest
from interlock import backends, errors, settings
from interlock.integrations import Portable, portable, received

from tests.helpers import torch_python
from tests.helpers.subprocess import eval_program, eval_python, run_python

FLAGS = {"cudnn.deterministic": True, "cudnn.conv.fp32_precision": "ieee"}
STATE = {"version": 1, "flags": FLAGS}


def variables(**parts: Any) -> dict[str, str]:
    return {"INTERLOCK_STATE": json.dumps({"version": 1, **parts})}


def child(env: dict[str, str], options: tuple[str, ...] = ("-W", "error")) -> Any:
    return eval_program("processes.received_state.flags_and_warnings", env=env, options=options)


@pytest.fixture
def level() -> Iterator[dict[str, int]]:
    """A setting of the process, `mylib.level`."""
    config = {"level": 1}
    setting = settings.Setting(
        "mylib.level", get=lambda: config["level"], set=lambda value: config.update(level=value)
    )
    with settings.register(setting):
        yield config


@pytest.mark.usefixtures("restored")
def test_value_has_assigned_flags_and_its_line() -> None:
    backends.cudnn.deterministic = True
    state = portable()
    assert state.flags == {"cudnn.deterministic": True}
    assert state.origin is not None
    assert state.origin.startswith(f"{__file__}:")
    assert (state.settings, state.environment, state.threads) == ({}, {}, None)


def test_value_survives_json_and_pickle_and_is_compared_by_value() -> None:
    state = Portable(STATE | {"threads": 2, "environment": {"NCCL_DEBUG": "INFO"}})
    copies = Portable.from_json(state.to_json()), pickle.loads(pickle.dumps(state))
    assert copies == (state, state)
    assert len({state, *copies}) == 1
    assert state != Portable(STATE)
    assert repr(state) == "<Portable: 2 flags, threads=2, environment: NCCL_DEBUG>"
    assert repr(Portable({"version": 1, "flags": {"cudnn.enabled": True}})) == "<Portable: 1 flag>"


def test_no_other_variable_is_included(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    state = portable(environment=["NCCL_DEBUG"])
    assert state.environment == {"NCCL_DEBUG": "INFO"}
    assert "secret" not in state.to_json()


def test_value_has_settings_that_scopes_hold_and_that_are_named(level: dict[str, int]) -> None:
    with settings.override({"mylib.level": 2}):
        assert portable().settings == {"mylib.level": 2}
    with settings.pin({"mylib.level": 3}, on_write="ignore"):
        state = portable()
    assert (state.settings, state.pinned) == ({"mylib.level": 3}, {"mylib.level": "ignore"})
    assert portable().settings == {}
    assert portable(settings=["mylib.level"]).settings == {"mylib.level": 1}


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            {"threads": 0},
            errors.ArgumentError,
            'portable: threads must be a positive int, "budget" or None, got 0',
        ),
        ({"threads": "two"}, TypeError, "portable: threads must be a positive int"),
        ({"settings": "mylib.level"}, TypeError, "portable: settings must be an iterable of str"),
        ({"settings": ["no.such"]}, errors.UnknownSettingError, "portable: unknown setting"),
        ({"environment": "PATH"}, TypeError, "portable: environment must be an iterable or mapping"),
        ({"environment": ["NO_SUCH_VARIABLE"]}, errors.ArgumentError, 'NO_SUCH_VARIABLE" is not set'),
        ({"environment": {"A=B": "1"}}, errors.ArgumentError, "is not the name of a variable"),
        ({"environment": {"INTERLOCK_STATE": "1"}}, errors.ArgumentError, "is not the name of a variable"),
        ({"environment": {"A": 1}}, TypeError, 'the variable "A" must be a str, got 1'),
        ({"environment": {"A": "\0"}}, errors.ArgumentError, 'the variable "A" has an invalid value'),
    ],
)
def test_wrong_argument_is_refused(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        portable(**arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "from_json: text must be JSON"),
        ("[]", "from_json: text must be an object of JSON, got '[]'"),
        ('{"version": "new"}', "from_json: text must have a positive int as version, got 'new'"),
        ('{"flags": []}', "from_json: text must have an object with values by name as flags, got []"),
        ('{"threads": -1}', 'must have a positive int or "budget" as threads'),
        ('{"environment": {"A": 1}}', "must have an object of str by name as environment"),
        ('{"settings": {"a.b": []}}', "must have an object with plain values by name as settings"),
        ('{"pinned": {"a.b": "raise"}}', "must have a value in settings for each name in pinned"),
        ("[" * 100_000, "from_json: text must be JSON"),
    ],
)
def test_malformed_json_is_refused_and_ignored_in_the_environment(text: str, message: str) -> None:
    with pytest.raises(errors.ArgumentError) as caught:
        Portable.from_json(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500
    done = run_python(
        "import interlock.integrations\nprint(interlock.integrations.received())",
        env={"INTERLOCK_STATE": text},
    )
    assert (done.code, done.stdout) == (0, "None\n")
    warning = "child_script.py:1: PortableStateWarning: the variable INTERLOCK_STATE is ignored: it must"
    assert warning in done.stderr


def test_first_import_in_a_child_applies_the_state() -> None:
    found = child(Portable(STATE).env())
    assert (found["state"], found["flags"], found["reasons"]) == (STATE, FLAGS, {})


def test_import_without_the_variable_or_with_an_empty_one_receives_nothing() -> None:
    assert child({})["state"] is None
    assert child({"INTERLOCK_STATE": ""})["state"] is None


def test_variable_that_is_set_after_the_import_does_not_take_precedence() -> None:
    found = eval_program("processes.received_state.variable_set_after_the_import")
    assert found == [[3, {}], [4, {}]]


def test_own_environment_of_a_worker_takes_precedence_and_is_reported() -> None:
    found = child(Portable(STATE).env() | {"INTERLOCK_CUDNN_DETERMINISTIC": "0"})
    assert found["flags"] == {"cudnn.conv.fp32_precision": "ieee"}
    reason = "the worker's own environment has INTERLOCK_CUDNN_DETERMINISTIC=0"
    assert found["reasons"] == {"cudnn.deterministic": reason}


def test_variable_that_the_driver_has_overridden_does_not_take_precedence() -> None:
    inherited = {"INTERLOCK_CUDNN_DETERMINISTIC": "0"}
    found = child(variables(flags=FLAGS, variables=inherited) | inherited)
    assert (found["flags"], found["reasons"]) == (FLAGS, {})


@pytest.mark.usefixtures("restored")
def test_state_has_the_variables_that_the_program_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_CUDNN_DETERMINISTIC", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    backends.cudnn.deterministic = True
    assert portable().variables == {"INTERLOCK_CUDNN_DETERMINISTIC": "0"}
    assert portable(threads=1).variables["OMP_NUM_THREADS"] == "7"


def test_invalid_variable_of_a_worker_does_not_take_precedence() -> None:
    env = Portable(STATE).env() | {"INTERLOCK_CUDNN_DETERMINISTIC": "perhaps"}
    assert child(env, ("-W", "ignore"))["flags"] == FLAGS


def test_newer_state_is_applied_as_far_as_it_is_known_and_passed_on() -> None:
    env = variables(version=2, flags=FLAGS | {"cudnn.of_the_future": 1}, schedule={"kind": "cosine"})
    done = run_python("import interlock", env=env)
    assert "its format has version 2, newer than 1 and its parts 'schedule' are unknown" in done.stderr
    assert "the flag cudnn.of_the_future could not be set to 1" in done.stderr
    assert child(env, ("-W", "ignore"))["flags"] == FLAGS
    name = "processes.received_state.grandchild"
    inherited, passed_on, later = eval_program(name, env=env, options=["-W", "ignore"])
    for state in (inherited, passed_on, later):
        assert state["schedule"] == {"kind": "cosine"}
        assert state["flags"].items() >= {**FLAGS, "cudnn.of_the_future": 1}.items()
    assert later["flags"]["cudnn.benchmark_limit"] == 4


def test_flag_of_a_library_waits_for_its_registration() -> None:
    env = variables(flags={"mylib.level": 3})
    before, value, is_known = eval_program("processes.received_state.registered_later", env=env)
    assert (before, value, is_known) == ({"mylib.level": 3}, 3, True)


def test_settings_of_a_library_wait_for_its_import() -> None:
    pinned = {"torch.backends.cudnn.deterministic": "warn"}
    values = {"torch.backends.cudnn.deterministic": True, "torch.backends.cudnn.benchmark": False}
    env = variables(settings=values, pinned=pinned, origin="/home/ada/train.py:12")
    found = eval_program(
        "processes.received_state.settings_of_a_library",
        env=env | {"PYTHONPATH": str(torch_python.FAKE)},
        options=["-W", "error"],
    )
    assert found["values"]["torch.backends.cudnn.deterministic"] is True
    assert found["after"] == [True, True]
    assert len(found["warned"]) == 1
    assert "/home/ada/train.py:12" in found["warned"][0]
    assert found["passed on"][0] == {**values, "torch.backends.cudnn.benchmark": True}
    assert found["passed on"][1] == pinned


def test_later_state_replaces_and_releases_pins() -> None:
    env = {"PYTHONPATH": str(torch_python.FAKE)}
    assert eval_program("processes.received_state.settings_replaced", env=env) == [True, False, True]


@pytest.mark.usefixtures("restored")
def test_later_state_unsets_the_flags_of_an_earlier_one_and_no_others() -> None:
    backends.cudnn.benchmark_limit = 4
    Portable(STATE).install()
    assert received() == Portable(STATE)
    Portable({"version": 1, "flags": {"cudnn.benchmark": True}}).install()
    assert portable().flags == {"cudnn.benchmark_limit": 4, "cudnn.benchmark": True}


@pytest.mark.usefixtures("restored")
def test_flag_is_unset_after_a_later_state_had_a_refused_value_for_it() -> None:
    Portable({"version": 1, "flags": {"cudnn.benchmark_limit": 4}}).install()
    with pytest.warns(errors.PortableStateWarning, match="could not be set to -4"):
        Portable({"version": 1, "flags": {"cudnn.benchmark_limit": -4}}).install()
    assert backends.cudnn.benchmark_limit == 4
    Portable({"version": 1}).install()
    assert backends.explain("cudnn.benchmark_limit").level == "default"


@pytest.mark.usefixtures("restored")
def test_refused_value_affects_no_other_and_warns() -> None:
    state = Portable({"version": 1, "flags": FLAGS | {"cudnn.benchmark": "often"}})
    with pytest.warns(errors.PortableStateWarning, match=r"cudnn\.benchmark could not be set to 'often'"):
        state.install()
    assert {entry.name: entry.value for entry in backends.snapshot() if entry.level == "process"} == FLAGS
    assert list(state.observe()["reasons"]) == ["cudnn.benchmark"]


def test_frozen_flags_are_kept_and_reported() -> None:
    found = eval_program("processes.received_state.frozen")
    assert found == [False, ["PortableStateWarning"]]


def test_variables_are_set_unless_the_process_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.delenv("XLA_FLAGS")
    state = Portable({"version": 1, "environment": {"NCCL_DEBUG": "INFO", "XLA_FLAGS": "--a"}})
    state.install()
    assert (os.environ["NCCL_DEBUG"], os.environ["XLA_FLAGS"]) == ("WARN", "--a")
    assert state.observe()["reasons"] == {
        "environ.NCCL_DEBUG": "the worker's own environment has NCCL_DEBUG=WARN"
    }
    # A later state may replace what an earlier one has set.
    Portable({"version": 1, "environment": {"XLA_FLAGS": "--b"}}).install()
    assert os.environ["XLA_FLAGS"] == "--b"


@pytest.mark.parametrize("threads", [3, "budget"])
def test_threads_set_the_pools_and_the_variables(threads: int | str) -> None:
    code = """
        import os, interlock
        from interlock import threads
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        result = [interlock.get_num_threads(), [os.environ[name] for name in names], int(threads.budget())]
    """
    env = Portable({"version": 1, "threads": threads}).env() | {"LOCAL_WORLD_SIZE": "1"}
    size, variables, budget = eval_python(code, env=env)
    assert size == (budget if threads == "budget" else threads)
    assert variables == [str(size)] * 3


def test_state_that_no_environment_accepts_is_refused() -> None:
    state = Portable({"version": 1, "flags": {"mylib.text": "x" * 100_000}})
    for carrier in (state.env, state.spark, state.ray):
        with pytest.raises(errors.ArgumentError, match="env: the state must have at most 100000 bytes"):
            carrier()


def test_import_without_a_state_loads_no_module_of_integrations() -> None:
    code = "import interlock, sys\nprint([name for name in sys.modules if 'integrations' in name])"
    assert run_python(code).stdout == "[]\n"
    assert interlock.integrations.received() is None


def test_writes_of_a_state_are_reported_without_a_lock() -> None:
    assert eval_program("processes.received_state.watched_by_another_thread") == [2]
