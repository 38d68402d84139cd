"""Plans for recorded machines equal the reviewed ones, and plans for any machine are valid."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies
from interlock._launcher import plan as _plan
from interlock._launcher.args import LATENCY_CORES, Options, validate
from interlock._launcher.discovery import Discovered
from interlock._launcher.topology import LogicalCore, Topology

from tests.helpers import run_options
from tests.unit.launcher import golden, machines


@pytest.mark.parametrize("machine", machines.NAMES)
def test_plans_equal_the_recorded_ones(machine: str) -> None:
    recorded = json.loads((golden.FOLDER / f"{machine}.json").read_text())
    assert list(recorded) == list(golden.lines(machine))
    for line, plan in recorded.items():
        assert golden.document(machine, line) == plan, line


def test_every_record_belongs_to_a_machine() -> None:
    assert {path.stem for path in golden.FOLDER.glob("*.json")} == set(machines.NAMES)
    assert set(golden.ONLY) <= set(machines.NAMES)


@strategies.composite
def topologies(draw: strategies.DrawFn) -> Topology:
    """Draw a machine with nodes of any size, cores in any order, and any of them allowed."""
    sizes = draw(strategies.lists(strategies.integers(0, 6), min_size=1, max_size=4))
    threads = draw(strategies.integers(1, 2))
    count = sum(sizes) * threads
    assume(count)
    numbers = iter(draw(strategies.permutations(range(count))))
    cores: list[LogicalCore] = []
    for node, size in enumerate(sizes):
        for _ in range(size):
            siblings = [next(numbers) for _ in range(threads)]
            cores += [LogicalCore(number, min(siblings), node // 2, node) for number in siblings]
    cores.sort(key=lambda core: core.number)
    allowed = draw(strategies.sets(strategies.integers(0, count - 1), min_size=1))
    memory = draw(strategies.sets(strategies.integers(0, len(sizes)), min_size=1))
    quota = draw(strategies.none() | strategies.floats(0.1, count + 1.0))
    return Topology(tuple(cores), frozenset(allowed), frozenset(memory), quota)


@strategies.composite
def options(draw: strategies.DrawFn) -> Options:
    few = strategies.none() | strategies.integers(1, 8)
    switch = strategies.sampled_from([False, False, True])
    drawn = Options(
        "train.py",
        multi_instance=draw(switch),
        ninstances=draw(few),
        ncores_per_instance=draw(
            strategies.none() | strategies.lists(strategies.integers(1, 8), min_size=1, max_size=3).map(tuple)
        ),
        node_id=draw(strategies.none() | strategies.integers(0, 4)),
        rank=draw(strategies.none() | strategies.integers(0, 4)),
        core_list=draw(
            strategies.none()
            | strategies.lists(strategies.integers(0, 24), min_size=1, unique=True).map(tuple)
        ),
        use_logical_core=draw(switch),
        skip_cross_node_cores=draw(switch),
        latency_mode=draw(switch),
        throughput_mode=draw(switch),
        disable_numactl=draw(switch),
    )
    assume(validate(drawn) is None)
    return drawn


EXAMPLES = 200 if run_options.FULL else 50


def planned(topology: Topology, wanted: Options, environment: dict[str, str]) -> _plan.Plan:
    found = Discovered(numactl="numactl")
    return _plan.make(topology, wanted, environment, found, python="python", stamp="now")


def cores_of(wanted: Options, instance: _plan.Instance) -> int:
    """Return the number of cores that the options ask for, or that of the instance."""
    if wanted.latency_mode:
        # The last instance has the rest.
        return min(LATENCY_CORES, len(instance.cores))
    numbers = wanted.ncores_per_instance
    if numbers is not None:
        return numbers[0] if len(numbers) == 1 else numbers[instance.index]
    if wanted.core_list is not None and not wanted.skip_cross_node_cores:
        return len(wanted.core_list) // (wanted.ninstances or 1)
    return len(instance.cores)


@settings(deadline=None, max_examples=2 * EXAMPLES)
@given(topologies(), options())
def test_plan_satisfies_machine_and_options_or_fails(topology: Topology, wanted: Options) -> None:
    try:
        plan = planned(topology, wanted, {})
    except _plan.PlanError:
        return
    node_of = {core.number: core.node for core in topology.cores}
    taken = [core for instance in plan.instances for core in instance.cores]
    assert taken
    assert len(taken) == len(set(taken)), "a core is assigned twice"
    assert set(taken) <= topology.allowed
    assert set(taken) <= set(wanted.core_list if wanted.core_list is not None else taken)
    for instance in plan.instances:
        assert instance.cores
        assert set(instance.nodes) == {node_of[core] for core in instance.cores}
        assert set(instance.memory_nodes) <= set(instance.nodes) & topology.memory_nodes
        assert instance.environment["OMP_NUM_THREADS"] == str(len(instance.cores))
        if wanted.node_id is not None:
            assert instance.nodes == (wanted.node_id,)
        if wanted.one_instance_per_node or wanted.skip_cross_node_cores:
            assert len(instance.nodes) == 1
        assert len(instance.cores) == cores_of(wanted, instance)
        if not wanted.use_logical_core and wanted.core_list is None:
            physical = [core.physical for core in topology.cores if core.number in taken]
            assert len(physical) == len(set(physical)), "two instances share a physical core"
    if wanted.rank is not None:
        assert [instance.index for instance in plan.instances] == [wanted.rank]
    else:
        assert len(plan.instances) == len(wanted.sizes or plan.instances)
        assert len(plan.instances) == (wanted.ninstances or len(plan.instances))


# About half of the drawn options name a rank, which an outer launcher does not allow.
@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.filter_too_much])
@given(topologies(), options(), strategies.integers(1, 4))
def test_nested_launchers_share_no_core(topology: Topology, wanted: Options, ranks: int) -> None:
    assume(wanted.rank is None)
    taken: list[int] = []
    for rank in range(ranks):
        environment = {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks)}
        try:
            plan = planned(topology, wanted, environment)
        except _plan.PlanError:
            # The slice of another rank may have other nodes.
            continue
        taken += [core for instance in plan.instances for core in instance.cores]
    assert len(taken) == len(set(taken))


@settings(deadline=None, max_examples=EXAMPLES)
@given(topologies())
def test_all_cores_are_used_without_limits(topology: Topology) -> None:
    free = Topology(topology.cores, topology.allowed, topology.memory_nodes)
    for wanted in (
        Options("train.py", use_logical_core=True),
        Options("a.py", multi_instance=True, use_logical_core=True),
    ):
        plan = planned(free, wanted, {})
        assert {core for instance in plan.instances for core in instance.cores} == free.allowed


@settings(deadline=None, max_examples=EXAMPLES)
@given(topologies(), strategies.booleans())
def test_default_plan_does_not_exceed_the_quota(topology: Topology, multi: bool) -> None:
    assume(topology.quota is not None)
    plan = planned(topology, Options("train.py", multi_instance=multi), {})
    assert sum(len(instance.cores) for instance in plan.instances) <= max(1, int(topology.quota or 0))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"LOCAL_RANK": "x", "LOCAL_WORLD_SIZE": "2"},
            "LOCAL_RANK is 'x'; it must be an integer of at least 0",
        ),
        (
            {"LOCAL_RANK": "1" * 5000, "LOCAL_WORLD_SIZE": "2"},
            "LOCAL_RANK is '111111111111...1111111111111'; it must be an integer",
        ),
        ({"LOCAL_RANK": "-1", "LOCAL_WORLD_SIZE": "2"}, "LOCAL_RANK is '-1'"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "0"}, "LOCAL_WORLD_SIZE is '0'"),
        ({"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2"}, "LOCAL_RANK is 2 and LOCAL_WORLD_SIZE is 2"),
        ({"LOCAL_RANK": "1"}, "LOCAL_RANK is 1 and LOCAL_WORLD_SIZE is not set"),
        ({"LOCAL_WORLD_SIZE": "2"}, "LOCAL_WORLD_SIZE is 2 and LOCAL_RANK is not set"),
    ],
)
def test_invalid_rank_is_named(environment: dict[str, str], said: str) -> None:
    with pytest.raises(_plan.PlanError) as raised:
        planned(machines.topology("one_socket"), Options("train.py"), environment)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("preloaded", "asks", "preloads", "has_settings"),
    [
        ("/a/libjemalloc.so.2", False, ["iomp5", "user"], True),
        ("/a/libmimalloc.so", False, ["iomp5", "user"], False),
        ("/a/libtcmalloc_minimal.so.4", False, ["iomp5", "user"], False),
        ("/a/libjemalloc.so.2", True, ["iomp5", "tcmalloc", "user"], False),
        ("/a/libother.so", False, ["iomp5", "tcmalloc", "user"], False),
    ],
)
def test_preloaded_allocator_is_used_unless_another_is_selected(
    preloaded: str, asks: bool, preloads: list[str], has_settings: bool
) -> None:
    environment = {"LD_PRELOAD": preloaded}
    wanted = Options("train.py", enable_tcmalloc=asks)
    topology = machines.topology("one_socket")
    plan = _plan.make(topology, wanted, environment, golden.found({}), python="python", stamp="now")
    got = plan.instances[0].environment
    paths = {"user": preloaded} | {name: f"/opt/lib/lib{name}.so" for name in ("iomp5", "tcmalloc")}
    assert got["LD_PRELOAD"] == ":".join(paths[name] for name in preloads)
    assert ("MALLOC_CONF" in got) is has_settings


def test_cores_are_divided_once_for_a_rank() -> None:
    topology = machines.topology("two_sockets")
    outer = {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    for wanted in (Options("train.py"), Options("train.py", ninstances=2, rank=1)):
        inner = {**outer, **planned(topology, wanted, outer).instances[0].environment}
        assert len(planned(topology, Options("train.py"), inner).instances[0].cores) == 8
        # A nested launcher has its own ranks.
        inner["LOCAL_WORLD_SIZE"] = "4"
        assert len(planned(topology, Options("train.py"), inner).instances[0].cores) == 2
    # Unpinned processes can use all cores again.
    (unpinned,) = planned(topology, Options("train.py", disable_taskset=True), outer).instances
    inner = {**outer, **unpinned.environment}
    assert len(planned(topology, Options("train.py"), inner).instances[0].cores) == 4


def test_own_rank_overrides_that_of_an_outer_launcher() -> None:
    wanted = Options("train.py", ninstances=2, rank=0)
    topology = machines.topology("one_socket")
    assert planned(topology, wanted, {"LOCAL_RANK": "x"}).instances[0].cores == (0, 1)


def test_missing_libraries_are_reported_and_left_out() -> None:
    wanted = Options("train.py", enable_jemalloc=True)
    topology = machines.topology("two_sockets")
    plan = _plan.make(topology, wanted, {}, Discovered(), python="python", stamp="now")
    assert plan.instances[0].command == ("python", "-u", "train.py")
    assert set(plan.instances[0].environment) == {"OMP_NUM_THREADS"}
    notes = "\n".join(plan.warnings)
    for name in ("numactl is not installed", "libjemalloc.so was not found"):
        assert name in notes
    assert [aside.partition(":")[0] for aside in plan.verbose_notes] == ["libiomp5.so was not found"]


def test_library_with_an_unusable_path_is_not_reported_missing() -> None:
    found = Discovered(not_preloadable={name: f"/a folder/lib{name}.so" for name in ("iomp5", "tcmalloc")})
    topology = machines.topology("one_socket")
    wanted = Options("train.py", enable_tcmalloc=True)
    plan = _plan.make(topology, wanted, {}, found, python="python", stamp="now")
    for (text,), name in ((plan.verbose_notes, "iomp5"), (plan.warnings, "tcmalloc")):
        assert f"'/a folder/lib{name}.so' cannot be preloaded" in text
        assert "not found" not in text


def test_threads_are_bound_only_if_instances_are() -> None:
    # Binding would place the first threads of all instances on the first core of the machine.
    for disabled in (False, True):
        wanted = Options("train.py", ninstances=2, disable_taskset=disabled)
        topology = machines.topology("one_socket")
        plan = _plan.make(topology, wanted, {}, golden.found({}), python="python", stamp="now")
        for instance in plan.instances:
            assert ("KMP_AFFINITY" in instance.environment) is not disabled
            assert instance.environment["KMP_BLOCKTIME"] == "1"


def test_failing_numactl_is_not_used_and_reported() -> None:
    found = Discovered(numactl_error="set_mempolicy: Operation not permitted")
    topology = machines.topology("two_sockets")
    plan = _plan.make(topology, Options("train.py"), {}, found, python="python", stamp="now")
    assert plan.instances[0].memory_nodes == ()
    assert any("Operation not permitted" in note for note in plan.warnings)


def test_log_name_of_many_scattered_cores_fits_the_file_system() -> None:
    numbers = tuple(range(0, 400, 2))
    cores = tuple(LogicalCore(number, number, 0, 0) for number in numbers)
    topology = Topology(cores, frozenset(numbers), frozenset({0}))
    log = planned(topology, Options("train.py", log_path="logs"), {}).instances[0].log
    assert log == "logs/run_now_instance_0_cores_200_from_0.log"
