"""NVIDIA's devices are counted without initializing the driver, filtered by CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import fake_cuda, fake_driver
from tests.helpers.subprocess import PROGRAMS, eval_python

pytestmark = fake_driver.NEEDS_COMPILER

# Python 3.12 warns of a fork in a process with threads; interlock has started none yet.
OPTIONS = ("-W", "error")


def run(folder: Path, code: str, variables: dict[str, str] | None = None, *, nvml: bool = True) -> Any:
    """Run code with a fake driver that only counts devices."""
    return run_with(fake_driver.build(folder, nvml=nvml) | (variables or {}), code)


def run_with(env: dict[str, str], code: str) -> Any:
    setup = {"PYTHONPATH": str(PROGRAMS / "accelerator")}
    code = f"import json\nfrom device_count_setup import *\n{textwrap.dedent(code)}"
    return eval_python(code, env=env | setup, options=OPTIONS)


def uuid(gpu: int, part: int | None = None) -> str:
    first = "GPU-00000000-0000-0000-0000" if part is None else f"MIG-00000000-0000-0000-{part:04x}"
    return f"{first}-{gpu:012x}"


@pytest.mark.parametrize(
    ("devices", "divided", "expected"),
    [
        (3, None, {None: 3, "0": 1, "2,0": 2, "2,0,3,1": 2, "": 0, "-1": 0, "1,1": 0, " 1, 2gpu": 2}),
        (3, None, {uuid(1): 1, f"{uuid(2)},{uuid(0)}": 2, "GPU-": 0, "GPU-1": 0, f"{uuid(0)},1": 1}),
        (1, None, {None: 1, "GPU-": 1, "GPU-0": 1, "0": 1, "1": 0}),
        (2, "0:2", {None: 1, "0": 1, "1": 1, "1,0": 1, uuid(0, 1): 1, f"MIG-{uuid(0)}/8/0": 1}),
        (2, "0:2", {f"{uuid(0, 1)},{uuid(0, 0)}": 1, f"MIG-{uuid(0)}/9/0": 0, uuid(1, 0): 0}),
        (2, "0:0", {None: 1, "0": 1, "0,1": 1, "1": 0, uuid(0): 0, uuid(1): 1}),
        (2, "0:0,1:0", {None: 0, "0": 0}),
    ],
)
def test_count_follows_cuda_visible_devices_without_initializing(
    devices: int, divided: str | None, expected: dict[str | None, int], tmp_path: Path
) -> None:
    variables = {"FAKE_CUDA_DEVICES": str(devices), "VARIABLES": json.dumps(list(expected))}
    if divided is not None:
        variables["FAKE_NVML_MIG"] = divided
    code = (
        "result = [count(each)[0] for each in json.loads(os.environ['VARIABLES'])] + [driver.fake_starts()]"
    )
    assert run(tmp_path, code, variables) == [*expected.values(), 0]


def test_inaccessible_gpus_are_not_counted(tmp_path: Path) -> None:
    code = "result = [accelerator.device_count(), driver.fake_starts()]"
    assert run(tmp_path, code, {"FAKE_NVML_FAILS": "0:4"}) == [1, 0]


def test_count_follows_added_and_removed_devices(tmp_path: Path) -> None:
    code = """
        result = []
        for number in ("2", "5", "1"):
            os.environ["FAKE_CUDA_DEVICES"] = number
            result.append(accelerator.device_count())
    """
    assert run(tmp_path, code) == [2, 5, 1]


GOOD = [True, 2, None, "cuda", "cuda"]


def test_forked_child_can_initialize_the_driver_after_every_query(tmp_path: Path) -> None:
    code = """
    result = [query(), driver.fake_starts(), in_child(query), in_child(lambda: driver.cuInit(0))]
    """
    assert run(tmp_path, code) == [GOOD, 0, str(GOOD), "0"]


def test_forked_child_uses_devices_that_its_parent_only_counted() -> None:
    code = """
    import interlock

    def use():
        return interlock.Stream(1).native_handle is not None

    result = [query(), in_child(use), in_child(query), use(), in_child(query)]
    """
    *answer, after_use = run_with(fake_cuda.environment(), code)
    assert answer == [GOOD, "True", str(GOOD), True]
    assert after_use.startswith("[False, 0, ")
    assert "spawn or forkserver" in after_use


@pytest.mark.parametrize("init", ["12", "999"])
def test_failing_nvml_falls_back_to_the_driver_and_affects_children(init: str, tmp_path: Path) -> None:
    code = """
    result = [query(), driver.fake_starts()]
    result += [in_child(lambda: [query()[:2], accelerator.unavailable_reason()])]
    result += [in_child(driver.fake_starts), query()]
    """
    answer = run(tmp_path, code, {"FAKE_NVML_INIT": init})
    assert answer[:2] == [GOOD, 1]
    assert "[False, 0]" in answer[2]
    assert "spawn or forkserver" in answer[2]
    assert answer[3:] == ["1", GOOD], "the driver is not queried again"


@pytest.mark.parametrize("missing", ["lacks its functions", "lists nothing", "lost a device"])
def test_devices_unknown_to_nvml_are_counted_by_the_driver(missing: str, tmp_path: Path) -> None:
    variables = {"lists nothing": {"FAKE_CUDA_DEVICES": "0"}, "lost a device": {"FAKE_NVML_FAILS": "1:15"}}
    code = "result = [accelerator.device_count(), driver.fake_starts()]"
    nvml = missing != "lacks its functions"
    assert run(tmp_path, code, variables.get(missing), nvml=nvml) == [2, 1]


def test_count_in_a_child_by_the_driver_does_not_affect_the_parent(tmp_path: Path) -> None:
    code = """
    result = [in_child(query), driver.fake_starts(), query(), in_child(accelerator.is_available)]
    """
    assert run(tmp_path, code, nvml=False) == [str(GOOD), 0, GOOD, "False"]


def test_variable_is_reread_until_first_use_of_a_device_and_then_warns() -> None:
    code = """
    import interlock
    result = [count(variable) for variable in ("0", "0,1", "1,0")]
    interlock.Stream(1)
    result += [count(variable) for variable in ("", "", "1,0", None)]
    """
    reported = run_with(fake_cuda.environment(), code)
    assert [number for number, _ in reported] == [1, 2, 2, 2, 2, 2, 2]
    assert [len(warned) for _, warned in reported] == [0, 0, 0, 1, 0, 0, 1]
    assert 'CUDA_VISIBLE_DEVICES was changed to "", which has no effect' in reported[3][1][0]
    assert 'it was "1,0"' in reported[3][1][0]


def test_variable_is_reread_until_the_driver_counts_and_then_warns(
    tmp_path: Path,
) -> None:
    code = """
    result = [count(variable) for variable in ("0", "", None, "1,0")]
    os.environ["FAKE_NVML_INIT"] = "999"  # Now only the driver can count.
    result += [count(variable) for variable in ("1", "0", "0", None, "1", "0")]
    """
    reported = run(tmp_path, code)
    assert [number for number, _ in reported] == [1, 0, 2, 2, 2, 2, 2, 2, 2, 2]
    assert [len(warned) for _, warned in reported] == [0, 0, 0, 0, 0, 1, 0, 1, 0, 1]
    now, unset = reported[5][1][0], reported[7][1][0]
    assert now.startswith('AcceleratorEnvironmentWarning: CUDA_VISIBLE_DEVICES was changed to "0"')
    assert 'it was "1" when NVIDIA\'s driver was started' in now
    assert "CUDA_VISIBLE_DEVICES was removed" in unset


def test_unusable_path_of_nvml_is_reported_and_counts_no_device(tmp_path: Path) -> None:
    code = """
        result = [accelerator.device_count(), accelerator.is_available(), accelerator.unavailable_reason()]
    """
    count, available, why = run(tmp_path, code, {"INTERLOCK_NVML_PATH": "/nowhere/libnvidia-ml.so.1"})
    assert (count, available) == (0, False)
    for part in ("INTERLOCK_NVML_PATH", "/nowhere/libnvidia-ml.so.1"):
        assert part in why


def test_nvml_without_a_function_is_reported_and_counts_no_device(tmp_path: Path) -> None:
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    fake_driver.build(lacking)  # The folder beside it has a library with only an init function.
    code = "result = [accelerator.device_count(), accelerator.unavailable_reason()]"
    count, why = run(tmp_path, code, {"INTERLOCK_NVML_PATH": str(lacking)})
    assert count == 0
    for part in ("INTERLOCK_NVML_PATH", str(lacking), "nvmlDeviceGetCount_v2"):
        assert part in why


def test_nvml_is_loaded_from_the_user_supplied_path(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    fake_driver.build(tmp_path / "given", nvml=True)
    folder = str(tmp_path / "given")
    code = """
        from interlock.backends import libraries
        result = [accelerator.device_count(), libraries.find("nvml")[2:5]]
    """
    count, found = run(tmp_path, code, {"INTERLOCK_NVML_PATH": folder}, nvml=False)
    assert count > 0
    assert found == [f"{folder}/libnvidia-ml.so.1", "explicit", True]
