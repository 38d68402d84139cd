"""The topology of a machine is read from the kernel's files below a given root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies
from interlock._launcher import topology as _topology
from interlock._launcher.topology import format_cpulist, parse_cpulist, parse_int

from tests.unit.launcher import machines


def changed(name: str, changes: dict[str, str | None], root: Path) -> _topology.Topology:
    """Return the topology of a recorded machine with some files changed or removed."""
    texts = machines.files(name) | {path: text for path, text in changes.items() if text is not None}
    kept = {path: text for path, text in texts.items() if changes.get(path, text) is not None}
    return _topology.read(machines.lay_out(kept, root))


def test_hyper_thread_belongs_to_the_physical_core_of_its_lowest_sibling() -> None:
    topology = machines.topology("two_sockets_hyper_threads")
    assert {core.number: core.physical for core in topology.cores} == {n: n % 8 for n in range(16)}
    assert {core.socket for core in topology.cores if core.number in (0, 11)} == {0}


def test_first_usable_core_represents_a_physical_core() -> None:
    cores = machines.topology("cpuset_of_hyper_threads").usable(logical=False)
    assert [core.number for core in cores] == [8, 9, 2, 12, 13]


def test_offline_cores_are_excluded() -> None:
    topology = machines.topology("offline_cores")
    assert {1, 3, 12}.isdisjoint(core.number for core in topology.cores)
    assert {1, 3, 12}.isdisjoint(topology.allowed)


def test_affinity_of_the_thread_restricts_the_cores(tmp_path: Path) -> None:
    root = machines.lay_out(machines.files("two_sockets"), tmp_path)
    assert _topology.read(root, {2, 5, 99}).allowed == {2, 5}


def test_cpuset_of_a_parent_cgroup_applies_if_the_own_is_missing(
    tmp_path: Path,
) -> None:
    root = "sys/fs/cgroup/cpuset.cpus.effective"
    group = "sys/fs/cgroup/user.slice/job.scope/cpuset.cpus.effective"
    assert changed("cpuset_of_three_odd_cores", {group: None, root: "3-7\n"}, tmp_path).allowed == {3, 5}


def test_cgroup_outside_the_namespace_is_read_at_the_mount_root(tmp_path: Path) -> None:
    changes: dict[str, str | None] = {
        "proc/self/cgroup": "0::/../../job.scope\n",
        "sys/fs/cgroup/cpu.max": "200000 100000\n",
    }
    assert changed("two_sockets", changes, tmp_path).quota == 2.0


@pytest.mark.parametrize("text", ["max 100000\n", "", "nonsense\n", "1000 0\n", "-1 100000\n"])
def test_unlimited_or_missing_quota_is_none(text: str, tmp_path: Path) -> None:
    assert changed("two_sockets", {"sys/fs/cgroup/cpu.max": text}, tmp_path).quota is None


def test_quota_is_read_where_control_groups_are_mounted(tmp_path: Path) -> None:
    changes: dict[str, str | None] = {
        "proc/self/cgroup": "0::/job.scope\n",
        "proc/self/mountinfo": "30 25 0:26 / /groups rw - cgroup2 cgroup2 rw\n",
        "groups/job.scope/cpu.max": "200000 100000\n",
    }
    assert changed("two_sockets", changes, tmp_path).quota == 2.0


def test_smallest_quota_of_the_parent_cgroups_applies() -> None:
    assert machines.topology("cpu_quota").quota == 3.5
    assert machines.topology("cpu_quota_of_version_1").quota == 1.5


def test_nodes_without_memory_are_found_by_size_without_a_list(tmp_path: Path) -> None:
    listed = "sys/devices/system/node/has_memory"
    assert machines.topology("node_without_memory").memory_nodes == {0, 2}
    status: dict[str, str | None] = {listed: None, "proc/self/status": None}
    assert changed("node_without_memory", status, tmp_path).memory_nodes == {0, 2}


def test_malformed_lists_are_ignored(tmp_path: Path) -> None:
    online = "sys/devices/system/cpu/cpu1/topology/thread_siblings_list"
    topology = changed(
        "one_socket", {online: "0,x\n", "proc/self/status": "Cpus_allowed_list:\t?\n"}, tmp_path
    )
    assert topology.allowed == {0, 1, 2, 3}
    assert [core.physical for core in topology.cores] == [0, 1, 2, 3]


def test_missing_kernel_files_raise_one_error(tmp_path: Path) -> None:
    with pytest.raises(_topology.TopologyError, match="needs Linux"):
        _topology.read(tmp_path)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinities")
def test_this_machine_allows_the_cores_of_this_thread() -> None:
    affinity = os.sched_getaffinity(0)
    topology = _topology.read(Path("/"), affinity)
    assert topology.allowed
    assert topology.allowed <= affinity


@given(strategies.sets(strategies.integers(0, 300)))
def test_list_that_was_written_is_read_as_the_same_numbers(numbers: set[int]) -> None:
    assert parse_cpulist(format_cpulist(numbers)) == tuple(sorted(numbers))


@pytest.mark.parametrize("text", ["1,,2", "3-1", "a", "1-", "-1", "0-99999999999", "1.5", "²"])
def test_list_with_something_else_in_it_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"neither|before it begins|too large"):
        parse_cpulist(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("012", 12),
        ("9" * 18, 10**18 - 1),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1_0", None),
        ("\u0661", None),
        ("1" * 19, None),
        ("", None),
    ],
)
def test_integers_have_at_most_eighteen_digits(text: str, number: int | None) -> None:
    assert parse_int(text) == number


def test_integer_below_the_minimum_is_invalid() -> None:
    assert [parse_int(text, minimum=-1) for text in ("-2", "-1", "0")] == [None, -1, 0]
