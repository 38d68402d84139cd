"""What the carriers of a state give to engines, over fakes of their interfaces."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import pickle
import sys
from types import ModuleType
from typing import Any

import pytest
from interlock import errors
from interlock.integrations import Drift, Portable, Verification

from tests.helpers import fake_clusters
from tests.helpers.fake_clusters import HANGS, Client, Nanny, Parallel, Ray, SparkContext
from tests.helpers.subprocess import eval_program
from tests.helpers.torch_python import FAKE

STATE = Portable(
    {
        "version": 1,
        "origin": "/home/ada/train.py:12",
        "flags": {"cudnn.benchmark_limit": 10},
        "threads": 2,
        "environment": {"NCCL_DEBUG": "INFO"},
        "variables": {"MKL_NUM_THREADS": "8"},
    }
)
PLAIN = Portable({"version": 1, "origin": "/home/ada/train.py:12", "flags": {"cudnn.benchmark_limit": 10}})
OTHER = Portable({"version": 1, "origin": "/home/ada/train.py:12", "flags": {"cudnn.benchmark_limit": 4}})
THREADS = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}


@pytest.fixture
def ray_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module of Ray that `verify` imports."""
    module = ModuleType("ray.util.scheduling_strategies")
    vars(module)["NodeAffinitySchedulingStrategy"] = fake_clusters.NodeAffinitySchedulingStrategy
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_environment_has_the_state_and_the_variables() -> None:
    assert STATE.env() == {"INTERLOCK_STATE": STATE.to_json(), "NCCL_DEBUG": "INFO", **THREADS}
    assert STATE.spark() == {f"spark.executorEnv.{name}": value for name, value in STATE.env().items()}


def test_nanny_gets_the_environment_except_variables_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    # Dask gives each worker one thread where its machine says nothing.
    nanny = Nanny(OMP_NUM_THREADS="1", MKL_NUM_THREADS="8", OPENBLAS_NUM_THREADS="5")
    STATE.dask()[0].setup(nanny)
    own = {"OPENBLAS_NUM_THREADS": "5"}
    assert nanny.pre_spawn_env == {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", **own}
    assert nanny.env == nanny.pre_spawn_env | {"INTERLOCK_STATE": STATE.to_json()}
    later = Portable({"version": 1, "threads": 3})
    later.dask()[0].setup(nanny)
    assert nanny.env == {
        "INTERLOCK_STATE": later.to_json(),
        "OMP_NUM_THREADS": "3",
        "MKL_NUM_THREADS": "3",
        **own,
    }


def test_plugins_have_names_so_that_a_later_one_replaces_them() -> None:
    names = [plugin.name for plugin in STATE.dask()]
    assert names == [plugin.name for plugin in OTHER.dask()]
    assert len(set(names)) == 2


def test_dask_without_distributed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(errors.UnsupportedError, match="dask: distributed cannot be imported"):
        STATE.dask()


def test_joblib_gets_an_equal_initializer_for_an_equal_state() -> None:
    options = STATE.joblib()
    assert options == Portable.from_json(STATE.to_json()).joblib()
    assert (options["backend"], options["inner_max_num_threads"]) == ("loky", 2)
    assert "inner_max_num_threads" not in OTHER.joblib()


def test_dataloader_calls_the_function_of_the_program_afterwards() -> None:
    calls: list[int] = []
    initialize = Portable({"version": 1}).dataloader(calls.append)
    initialize(3)
    assert calls == [3]
    with pytest.raises(TypeError, match="dataloader: worker_init_fn must be callable or None, got 3"):
        STATE.dataloader(3)  # type: ignore[arg-type]


def test_ray_gets_the_state_and_a_hook_that_it_uploads() -> None:
    found = STATE.ray()
    assert found["env_vars"] == {"INTERLOCK_STATE": STATE.to_json()}
    [path] = found["py_modules"]
    module, _, function = found["worker_process_setup_hook"].partition(".")
    assert os.path.basename(path) == f"{module}.py"
    spec = importlib.util.spec_from_file_location(module, path)
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    assert callable(getattr(hook, function))


def run_hook(state: str | None, *, hides_interlock: bool = False, **env: str) -> list[Any]:
    """Return the variables that the hook sets, whether it imports interlock, and what a library then has."""
    variables = env if state is None else env | {"INTERLOCK_STATE": state}
    name = "processes.ray_hook.run"
    found: list[Any] = eval_program(
        name, STATE.ray()["py_modules"][0], str(FAKE), hides_interlock, env=variables
    )
    return found


def test_hook_of_ray_sets_variables_and_imports_interlock_before_a_library() -> None:
    parts = json.loads(STATE.to_json()) | {"settings": {"torch.backends.cudnn.benchmark": True}, "flags": {}}
    del parts["threads"]
    found = run_hook(json.dumps(parts | {"threads": 2}), MKL_NUM_THREADS="8", OMP_NUM_THREADS="5")
    assert found == [["INFO", "5", "2"], False, [True, True]]


def test_hook_of_ray_imports_nothing_that_is_not_needed() -> None:
    assert run_hook('{"version": 1}') == [[None] * 3, False, [False, False]]


def test_hook_of_ray_does_nothing_without_a_valid_state() -> None:
    for state in (None, "{", "[]", '{"environment": 3, "settings": 3, "threads": []}'):
        assert run_hook(state) == [[None] * 3, False, [False, False]]


def test_hook_of_ray_needs_no_interlock() -> None:
    parts = '{"version": 1, "settings": {"torch.backends.cudnn.benchmark": true}}'
    assert run_hook(parts, hides_interlock=True)[1:] == [False, [False, False]]


@pytest.fixture(params=["Dask", "joblib", "Spark", "mapping"])
def workers(request: pytest.FixtureRequest) -> Any:
    made = {"Dask": Client(a=None), "joblib": Parallel(), "Spark": SparkContext(), "mapping": None}
    return made[request.param] or {"a": OTHER.observe()}


@pytest.fixture
def joblib(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module of joblib."""
    module = ModuleType("joblib")
    vars(module)["effective_n_jobs"] = lambda number: number
    monkeypatch.setitem(sys.modules, "joblib", module)


@pytest.mark.usefixtures("joblib")
def test_verify_reports_what_workers_of_each_engine_have(workers: Any) -> None:
    found = OTHER.verify(workers)
    assert not found
    [drift] = found.drifts
    assert drift[1:] == ("cudnn.benchmark_limit", 4, 10, "no state has arrived")
    assert drift.worker in found.workers
    if not isinstance(workers, dict):
        assert PLAIN.verify(workers)


def test_error_names_worker_setting_and_the_line_of_the_driver() -> None:
    with pytest.raises(errors.StateDriftError) as caught:
        OTHER.verify({"node-7": OTHER.observe()}).check()
    assert str(caught.value) == (
        "check: workers differ from the state of /home/ada/train.py:12: node-7: "
        "cudnn.benchmark_limit must be 4, got 10 (no state has arrived)"
    )
    PLAIN.verify().check()
    with pytest.raises(errors.StateDriftError, match=r"no worker answered about the state of /home/ada"):
        OTHER.verify({}).check()


@pytest.mark.usefixtures("ray_module")
def test_verify_asks_one_worker_of_each_node_of_ray() -> None:
    found = OTHER.verify(Ray(one=None, two=TimeoutError()), timeout=3)
    assert [drift[:2] for drift in found.drifts] == [
        ("one one", "cudnn.benchmark_limit"),
        ("two two", "worker"),
    ]
    assert found.drifts[1].reason == "no answer within 3 s"


def test_worker_that_does_not_answer_is_reported() -> None:
    found = PLAIN.verify(Client(a=None, b=OSError("connection lost")))
    assert found.drifts == (Drift("b", "worker", "an answer", None, "OSError: connection lost"),)
    assert found.table().splitlines()[-1].split(None, 2) == ["b", "-", "OSError: connection lost"]


def test_other_version_of_interlock_is_reported() -> None:
    answer = PLAIN.observe() | {"interlock": "0.0.1"}
    [drift] = PLAIN.verify({"a": answer}).drifts
    assert (drift.name, drift.found, drift.reason) == ("interlock", "0.0.1", "another version")


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        (3, "verify: workers must be a client, executor, pool, session, the module ray, a mapping or None"),
        ({1: {}}, "verify: workers must have names of type str, got 1"),
        ({"a": 3}, "verify: workers must have results of observe, got 3"),
        ({"a": {"values": 3}}, "verify: workers must have results of observe"),
        ({"a": {"b": 1}}, "verify: workers must have results of observe"),
    ],
)
def test_workers_of_a_wrong_type_are_refused(workers: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        STATE.verify(workers)
    assert message in str(caught.value)


class BusyPool:
    """A pool with one worker, which answers nothing."""

    _processes = 1

    def apply_async(self, function: object, arguments: object) -> BusyPool:
        """Start a call."""
        return self

    def get(self, timeout: float) -> object:
        """Wait for the result, as a pool of `multiprocessing` does."""
        raise multiprocessing.TimeoutError


class BusyParallel:
    """joblib's `Parallel(timeout=1)` whose workers are busy."""

    n_jobs = 1

    def __call__(self, calls: object) -> object:
        """Call functions in workers."""
        raise TimeoutError("workers are busy")


class MultiprocessingBackend:
    """joblib's backend, which sends functions with `pickle`."""


class PicklingParallel(Parallel):
    _backend = MultiprocessingBackend()

    def __call__(self, calls: Any) -> list[Any]:
        return super().__call__(pickle.loads(pickle.dumps(list(calls))))


def test_workers_that_receive_pickled_functions_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    joblib = ModuleType("joblib")
    monkeypatch.setattr(joblib, "effective_n_jobs", int, raising=False)
    monkeypatch.setitem(sys.modules, "joblib", joblib)
    assert [drift.name for drift in OTHER.verify(PicklingParallel()).drifts] == ["cudnn.benchmark_limit"]


def test_time_limit_of_the_engine_itself_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    joblib = ModuleType("joblib")
    monkeypatch.setattr(joblib, "effective_n_jobs", int, raising=False)
    monkeypatch.setitem(sys.modules, "joblib", joblib)
    [drift] = PLAIN.verify(BusyParallel()).drifts
    assert (drift.worker, drift.name) == ("joblib", "worker")
    assert "workers are busy" in drift.reason


def test_worker_of_dask_that_does_not_answer_hides_no_other() -> None:
    found = PLAIN.verify(Client(a=None, b=HANGS), timeout=0.05)
    assert list(found.workers) == ["a", "b"]
    assert [(drift.worker, drift.reason) for drift in found.drifts] == [("b", "no answer within 0.05 s")]


def test_worker_of_a_pool_that_does_not_answer_is_a_difference() -> None:
    [drift] = PLAIN.verify(BusyPool(), timeout=2).drifts
    assert (drift.name, drift.found, drift.reason) == ("worker", None, "no answer within 2 s")


def test_wrong_timeout_is_refused() -> None:
    with pytest.raises(TypeError, match="verify: timeout must be a number of seconds, got 'long'"):
        STATE.verify(timeout="long")  # type: ignore[arg-type]
    with pytest.raises(errors.ArgumentError, match="timeout must be a positive number of seconds, got 0"):
        STATE.verify(timeout=0)


def test_texts_of_other_processes_are_quoted_on_one_line() -> None:
    state = Portable(
        {"version": 1, "origin": "a\n\x1b" * 2000, "flags": {"x\n" * 3000: 1, "cudnn.benchmark": True}}
    )
    found = state.verify({"w\n": {"error": "\x1b" * 9000}, "v": state.observe()})
    with pytest.raises(errors.StateDriftError) as caught:
        found.check()
    texts = [
        str(caught.value),
        repr(state),
        repr(found),
        *str(found).splitlines(),
        *found.table().splitlines(),
    ]
    assert all(text.isprintable() and len(text) < 2000 for text in texts)
    with pytest.warns(errors.PortableStateWarning) as warned:
        Portable(json.loads(state.to_json()) | {"flags": {}, "new\n" * 3000: 1}).install()
    assert all(str(each.message).isprintable() and len(str(each.message)) < 2000 for each in warned)
    with pytest.raises(TypeError, match="Verification: answers must be a mapping"):
        Verification(state, 3)  # type: ignore[arg-type]
