"""The probe of NVIDIA's driver library: missing, a stub, too old, without devices, ready; it never panics."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import libcuda_is_installed
from tests.helpers import fake_driver
from tests.helpers.subprocess import eval_program, eval_python, run_command, run_program

pytestmark = fake_driver.NEEDS_COMPILER

Environment = dict[str, str]


def query(env: Environment) -> list[Any]:
    done = run_program("accelerator.drivers.query_availability", env=env)
    assert (done.code, done.stderr) == (0, "")
    answer: list[Any] = json.loads(done.stdout)
    return answer


def answering(**answers: int) -> Callable[[Path], Environment]:
    return lambda folder: fake_driver.build(folder, **answers)


def no_library(folder: Path) -> Environment:
    (folder / fake_driver.DRIVER).write_text("not a library")
    return {"LD_LIBRARY_PATH": str(folder)}


def without_a_function(folder: Path) -> Environment:
    return fake_driver.build(folder, lacks=["cuDeviceGet"])


def another_first(folder: Path) -> Environment:
    fake_driver.build(folder, name="libcuda.so", version_status=34, init=34)
    return fake_driver.build(folder)


def counted(variables: Environment) -> Callable[[Path], Environment]:
    return lambda folder: fake_driver.build(folder, nvml=True) | variables


UNUSABLE: list[tuple[Callable[[Path], Environment], list[str]]] = [
    (no_library, ["no CUDA device: cannot load libcuda.so.1 ({folder}"]),
    (answering(version_status=34, init=34), ["{folder}/libcuda.so.1", "stub", "search path"]),
    (answering(init=34), ["{folder}/libcuda.so.1", "stub", "search path"]),
    (answering(version=11_040), ["supports CUDA 11.4", "12.0 or newer", "install a newer driver"]),
    (answering(version_status=1), ["cuDriverGetVersion returned 1"]),
    (without_a_function, ["lacks the function cuDeviceGet;"]),
    (another_first, ["{folder}/libcuda.so would be loaded instead of", "{folder}/libcuda.so.1"]),
    (answering(init=100), ["NVIDIA's driver found none"]),
    (answering(count=0), ["NVIDIA's driver found none"]),
    (answering(init=800), ["no permission to use NVIDIA's devices"]),
    (answering(init=304), ["no permission to use NVIDIA's devices"]),
    (answering(init=3), ["forked", "spawn or forkserver"]),
    (answering(init=999), ["cuInit returned 999"]),
    (counted({"FAKE_NVML_INIT": "9"}), ["the kernel module of NVIDIA's driver is not loaded"]),
    (counted({"FAKE_NVML_INIT": "4"}), ["no permission to use NVIDIA's devices"]),
    (counted({"FAKE_NVML_FAILS": "0:4,1:4"}), ["no permission to use NVIDIA's devices"]),
    (counted({"CUDA_VISIBLE_DEVICES": "2,0"}), ['CUDA_VISIBLE_DEVICES is "2,0", which hides all devices']),
]
NAMES = [
    "a file that is no library",
    "a stub",
    "a stub with a version",
    "too old",
    "no version",
    "a function is missing",
    "a stub before the driver",
    "no device",
    "a count of zero",
    "not permitted",
    "refused by the system",
    "started before a fork",
    "an unknown error",
    "no kernel module",
    "version query fails",
    "may open no device",
    "all hidden",
]


def test_missing_libcuda_makes_cuda_unavailable_with_its_name() -> None:
    if libcuda_is_installed():
        pytest.skip("a real driver library is installed here, so it can not be missing")
    available, counts, why, current = query({"LD_LIBRARY_PATH": ""})
    assert (available, counts, current) == (False, [0, 0], None)
    assert why == "no CUDA device: cannot load libcuda.so.1"


@pytest.mark.parametrize(("make", "words"), UNUSABLE, ids=NAMES)
def test_unusable_driver_is_no_accelerator_and_gives_the_reason(
    make: Callable[[Path], Environment], words: list[str], tmp_path: Path
) -> None:
    env = make(tmp_path)
    available, counts, why, current = query(env)
    assert (available, counts, current) == (False, [0, 0], None)
    assert "\n" not in why
    for word in words:
        assert word.format(folder=tmp_path) in why

    program = "import interlock; print(interlock.accelerator.unavailable_reason())"
    printed = run_command([sys.executable, "-P", "-c", program], env=env)
    assert printed == (0, f"{why}\n", "")


def test_driver_with_two_devices_is_an_accelerator(tmp_path: Path) -> None:
    available, counts, why, current = query(fake_driver.build(tmp_path, count=2))
    assert (available, counts, why, current) == (True, [2, 2], None, "cuda")


def test_driver_is_found_under_another_file_name(tmp_path: Path) -> None:
    env = fake_driver.build(tmp_path)
    (tmp_path / "libcuda.so").symlink_to(fake_driver.DRIVER)
    assert query(env) == [True, [2, 2], None, "cuda"]


@pytest.mark.parametrize("nvml", [False, True])
def test_importing_does_not_touch_the_libraries_of_the_driver(nvml: bool, tmp_path: Path) -> None:
    assert eval_program(
        "accelerator.drivers.importing_does_not_touch_the_libraries_of_the_driver",
        env=fake_driver.build(tmp_path, nvml=nvml),
    ) == [[False, False], True]


def test_bare_index_is_a_device_of_the_accelerator(tmp_path: Path) -> None:
    code = """
        import interlock
        result = [str(interlock.device(0)), str(interlock.device(1))]
    """
    assert eval_python(code, env=fake_driver.build(tmp_path, count=2)) == ["cuda:0", "cuda:1"]
