"""The CPUs that a process may use: affinity, quotas of control groups, and the workers that share them."""

from __future__ import annotations

import json
import os
import pickle
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from interlock import threads
from interlock.errors import ArgumentError

from tests.helpers.subprocess import eval_program

VARIABLES = ("LOCAL_WORLD_SIZE", "PYTEST_XDIST_WORKER_COUNT", "LOKY_MAX_CPU_COUNT", "OMP_NUM_THREADS")
CPUS = 8
PERIOD = "100000"
V2 = "0::/kube/pod\n"
V2_MOUNT = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
V1 = "4:memory:/kube/pod\n3:cpu,cpuacct:/kube/pod\n2:cpuset:/kube/pod\n"
V1_MOUNT = (
    "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 8 CPUs, all of which this process may use, without launchers and schedulers."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in ("distributed.worker", "ray", "joblib"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: CPUS)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(CPUS)), raising=False)
    monkeypatch.delattr(os, "process_cpu_count", raising=False)


def files(root: Path, contents: dict[str, str]) -> Path:
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def group(root: Path, cgroup: str, mountinfo: str, contents: dict[str, str]) -> Path:
    """Create the files of a process in control groups; `contents` are below `sys/fs/cgroup`."""
    named = {f"sys/fs/cgroup/{name}": text for name, text in contents.items()}
    return files(root, {"proc/self/cgroup": cgroup, "proc/self/mountinfo": mountinfo} | named)


def inputs(found: threads.Budget) -> list[tuple[str, float | None]]:
    return [(reason.input, reason.cpus) for reason in found.reasons]


def test_budget_without_limits_is_the_number_of_allowed_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert threads.budget(root=tmp_path) == CPUS
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 6})
    found = threads.budget(root=tmp_path)
    assert found == 3
    assert list(map(str, found.reasons)) == ["affinity: 3 of 8 CPUs"]
    assert found.explain() == "3 CPUs\n  affinity: 3 of 8 CPUs"


def test_budget_obeys_the_cpu_count_that_the_user_gave_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "process_cpu_count", lambda: 5, raising=False)
    found = threads.budget(root=tmp_path)
    assert (found, inputs(found)) == (5, [("affinity", 8.0), ("PYTHON_CPU_COUNT", 5.0)])


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("400000 100000", 4), ("max 100000", 8), ("350000 100000", 3), ("20000 100000", 1), ("300000", 3)],
)
def test_budget_obeys_the_quota_of_version_2(tmp_path: Path, text: str, cpus: int) -> None:
    root = group(tmp_path, V2, V2_MOUNT, {"kube/pod/cpu.max": f"{text}\n", "kube/cpu.max": "max 100000\n"})
    assert threads.budget(root=root) == cpus


@pytest.mark.parametrize(
    ("quota", "period", "cpus"),
    [("400000", "100000", 4), ("-1", "100000", 8), ("150000", "50000", 3), ("1000", "100000", 1)],
)
def test_budget_obeys_the_quota_of_version_1(tmp_path: Path, quota: str, period: str, cpus: int) -> None:
    folder = "cpu,cpuacct/kube/pod"
    contents = {f"{folder}/cpu.cfs_quota_us": quota, f"{folder}/cpu.cfs_period_us": period}
    assert threads.budget(root=group(tmp_path, V1, V1_MOUNT, contents)) == cpus


def test_budget_obeys_the_smallest_quota_of_all_parents(tmp_path: Path) -> None:
    contents = {
        "kube/pod/cpu.max": "600000 100000\n",
        "kube/cpu.max": "250000 100000\n",
        "cpu.max": "500000 100000",
    }
    found = threads.budget(root=group(tmp_path, V2, V2_MOUNT, contents))
    assert found == 2
    assert inputs(found) == [
        ("affinity", 8.0),
        ("/sys/fs/cgroup/kube/pod/cpu.max", 6.0),
        ("/sys/fs/cgroup/kube/cpu.max", 2.5),
        ("/sys/fs/cgroup/cpu.max", 2.5),
    ]
    assert found.reasons[2].text == "a quota of 2.5 CPUs"


def test_budget_obeys_both_versions_of_a_hybrid_hierarchy(tmp_path: Path) -> None:
    mounts = V1_MOUNT + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    contents = {
        "unified/kube/pod/cpu.max": "500000 100000",
        "cpu,cpuacct/kube/cpu.cfs_quota_us": "300000",
        "cpu,cpuacct/kube/cpu.cfs_period_us": "100000",
    }
    assert threads.budget(root=group(tmp_path, V1 + V2, mounts, contents)) == 3


@pytest.mark.parametrize(
    ("path", "mounted", "folder"),
    [
        ("/docker/abc", "/docker/abc", ""),
        ("/docker/abc/inner", "/docker/abc", "inner/"),
        ("/", "/", ""),
        ("/../../host", "/", ""),
        ("/elsewhere", "/docker/abc", ""),
    ],
)
def test_budget_finds_the_group_of_a_container(tmp_path: Path, path: str, mounted: str, folder: str) -> None:
    mount = f"31 23 0:28 {mounted} /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"
    root = group(tmp_path, f"0::{path}\n", mount, {f"{folder}cpu.max": "200000 100000"})
    assert threads.budget(root=root) == 2


def test_budget_uses_the_default_mount_point_without_mountinfo(tmp_path: Path) -> None:
    root = files(tmp_path, {"proc/self/cgroup": V2, "sys/fs/cgroup/kube/pod/cpu.max": "200000 100000"})
    assert threads.budget(root=root) == 2


def test_budget_finds_a_mount_point_with_a_space(tmp_path: Path) -> None:
    mount = "31 23 0:28 / /my\\040groups rw - cgroup2 cgroup2 rw\n"
    contents = {
        "proc/self/cgroup": V2,
        "proc/self/mountinfo": mount,
        "my groups/kube/cpu.max": "200000 100000",
    }
    assert threads.budget(root=files(tmp_path, contents)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "garbage",
        "",
        "0 100000",
        "-5 100000",
        "100000 0",
        "1e5 100000",
        "\x00\xff",
        "9" * 400,
        "1 " + "9" * 400,
    ],
)
def test_budget_ignores_garbage_in_a_quota_and_says_so(tmp_path: Path, text: str) -> None:
    found = threads.budget(root=group(tmp_path, V2, V2_MOUNT, {"kube/pod/cpu.max": text}))
    assert found == CPUS
    (ignored,) = found.reasons[1:]
    assert ignored.cpus is None
    assert ignored.input == "/sys/fs/cgroup/kube/pod/cpu.max"
    assert ignored.text.startswith("ignored: a quota and a period in microseconds are expected, got ")


def test_budget_ignores_garbage_in_the_list_of_groups_and_says_so(tmp_path: Path) -> None:
    contents = {
        "cpu,cpuacct/kube/pod/cpu.cfs_quota_us": "x",
        "cpu,cpuacct/kube/pod/cpu.cfs_period_us": "100000",
    }
    found = threads.budget(root=group(tmp_path, f"no group\n{V1}", f"short line\n{V1_MOUNT}", contents))
    assert found == CPUS
    assert [reason.input for reason in found.reasons[1:]] == [
        "/proc/self/cgroup",
        "/sys/fs/cgroup/cpu,cpuacct/kube/pod/cpu.cfs_quota_us",
    ]
    assert [reason.cpus for reason in found.reasons[1:]] == [None, None]


def test_budget_is_divided_by_processes_of_launchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    found = threads.budget(root=tmp_path)
    assert (found, str(found.reasons[1])) == (4, "LOCAL_WORLD_SIZE: 2 ranks of torchrun on this machine")
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    assert threads.budget(root=tmp_path) == 2
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "100")
    assert threads.budget(root=tmp_path) == 1


def test_budget_divides_a_quota_before_it_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    root = group(tmp_path, V2, V2_MOUNT, {"kube/cpu.max": "660000 100000"})
    found = threads.budget(root=root)
    assert (found, found.reasons[-1].cpus) == (2, 2.2)


@pytest.mark.parametrize("name", ["LOCAL_WORLD_SIZE", "PYTEST_XDIST_WORKER_COUNT", "LOKY_MAX_CPU_COUNT"])
@pytest.mark.parametrize("value", ["-2", "0", "two", "", "1.5"])
def test_budget_ignores_an_invalid_variable_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    found = threads.budget(root=tmp_path)
    assert found == CPUS
    assert found.reasons[1] == threads.Reason(
        name, f"ignored: a positive int is expected, got {value!r}", None
    )


def test_budget_uses_workers_instead_of_what_launchers_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    found = threads.budget(workers=4, root=tmp_path)
    assert (found, inputs(found)) == (2, [("affinity", 8.0), ("workers", 2.0)])
    assert inputs(threads.budget(workers=1, root=tmp_path))[1:] == [("workers", 8.0)]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"workers": 0}, ArgumentError, "budget: workers must be a positive int or None, got 0"),
        ({"workers": -1}, ArgumentError, "budget: workers must be a positive int or None, got -1"),
        ({"workers": "2"}, TypeError, "budget: workers must be a positive int or None, got str"),
        ({"workers": True}, TypeError, "budget: workers must be a positive int or None, got bool"),
        ({"root": 3}, TypeError, "budget: root must be a path, got int"),
    ],
)
def test_budget_refuses_invalid_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        threads.budget(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["limits", "set_limits", "oversubscription"])
def test_each_function_names_itself_for_invalid_workers(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}: workers must be a positive int or None, got 0$"):
        getattr(threads, name)(workers=0)


def test_budget_is_an_int_in_every_format(tmp_path: Path) -> None:
    found = threads.budget(workers=2, root=tmp_path)
    assert (str(found), f"{found}", json.dumps({"threads": found})) == ("4", "4", '{"threads": 4}')
    copied = pickle.loads(pickle.dumps(found))
    assert (copied, copied.reasons) == (4, found.reasons)


def fake_worker(nthreads: object) -> ModuleType:
    """Return a fake of `distributed.worker` in a process with one worker, outside of its tasks."""
    module = ModuleType("distributed.worker")
    worker = SimpleNamespace(state=SimpleNamespace(nthreads=nthreads))

    def get_worker() -> object:
        raise ValueError("No worker found")

    vars(module).update(get_worker=get_worker, Worker=SimpleNamespace(_instances=[worker]))
    return module


@pytest.mark.parametrize(
    ("nthreads", "cpus", "text"),
    [
        (2, 2, "a worker with 2 threads"),
        (16, 8, "a worker with 16 threads"),
        ("many", 8, "ignored: the worker does not report its threads: "),
    ],
)
def test_budget_of_a_dask_worker_is_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nthreads: object, cpus: int, text: str
) -> None:
    monkeypatch.setitem(sys.modules, "distributed.worker", fake_worker(nthreads))
    found = threads.budget(root=tmp_path)
    assert found == cpus
    assert found.reasons[1].input == "Dask"
    assert found.reasons[1].text.startswith(text)


def test_budget_ignores_several_dask_workers_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = fake_worker(2)
    module.Worker._instances *= 2
    monkeypatch.setitem(sys.modules, "distributed.worker", module)
    assert threads.budget(root=tmp_path) == CPUS


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="Dask has no release for Python 3.15")
@pytest.mark.slow
# Not imported here: Dask would read the number of CPUs of the fixture's machine, for this whole process.
@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")
def test_budget_in_a_task_of_dask_is_the_threads_of_its_worker() -> None:
    found = eval_program("threads.workers.budgets_of_dask")
    of_worker = {"cpus": 1, "reasons": ["Dask: a worker with 1 thread"]}
    assert found["task"] == of_worker
    assert found["workers"] == [of_worker, of_worker]
    assert found["client"]["reasons"] == []


class FakeRay(ModuleType):
    """A fake of Ray: `initialized`, the mode of this process, and the resources of its task."""

    WORKER_MODE = 1

    def __init__(
        self, resources: dict[str, Any], mode: int = WORKER_MODE, *, initialized: bool = True
    ) -> None:
        super().__init__("ray")
        self._context = SimpleNamespace(
            worker=SimpleNamespace(mode=mode), get_assigned_resources=lambda: resources
        )
        self._initialized = initialized

    def is_initialized(self) -> bool:
        return self._initialized

    def get_runtime_context(self) -> object:
        return self._context


@pytest.mark.parametrize(
    ("ray", "cpus", "text"),
    [
        (FakeRay({"CPU": 3.0}), 3, "a task or actor with 3 CPUs"),
        (FakeRay({"CPU": 0.5}), 1, "a task or actor with 0.5 CPUs"),
        (FakeRay({"GPU": 1.0}), 1, "an actor without CPUs: 1 CPU"),
        (FakeRay({"CPU": "x"}), 8, "ignored: Ray does not report the CPUs of this task: "),
    ],
)
def test_budget_of_a_ray_worker_is_its_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ray: FakeRay, cpus: int, text: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ray)
    found = threads.budget(root=tmp_path)
    assert (found, found.reasons[1].input) == (cpus, "Ray")
    assert found.reasons[1].text.startswith(text)


@pytest.mark.parametrize("ray", [FakeRay({"CPU": 1.0}, mode=0), FakeRay({}, initialized=False)])
def test_budget_of_a_driver_of_ray_is_that_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ray: FakeRay
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert inputs(threads.budget(root=tmp_path)) == [("affinity", 8.0)]


@pytest.mark.parametrize(("value", "cpus"), [("2", 2), ("99", 8)])
def test_budget_obeys_the_cpu_count_of_loky(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, cpus: int
) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", value)
    found = threads.budget(root=tmp_path)
    assert (found, str(found.reasons[1])) == (cpus, f"LOKY_MAX_CPU_COUNT: at most {value} CPUs for joblib")


@pytest.mark.parametrize(("value", "cpus"), [("4", 4), ("nothing", 1), (None, 1)])
def test_budget_of_a_worker_of_joblib_is_what_joblib_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, cpus: int
) -> None:
    import multiprocessing.process

    process = SimpleNamespace(name="LokyProcess-1")
    monkeypatch.setattr(multiprocessing.process, "current_process", lambda: process)
    if value is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
    found = threads.budget(root=tmp_path)
    assert (found, found.reasons[1].input) == (cpus, "joblib")


@pytest.mark.skipif(sys.platform != "linux", reason="needs an affinity mask")
def test_budget_under_taskset_is_the_mask() -> None:
    assert eval_program("threads.workers.budget_of_one_cpu") == [1, "affinity"]


@pytest.mark.slow
def test_budget_in_a_worker_of_xdist_is_divided() -> None:
    found = eval_program("threads.workers.budgets_of_xdist")
    assert found == ["PYTEST_XDIST_WORKER_COUNT: 2 workers of pytest-xdist"] * 2
