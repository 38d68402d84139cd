"""cuFFT's plan caches: one for each device, errors without devices, and PyTorch's descriptor.

Tests that need a device run in child processes with a fake of NVIDIA's driver and two devices.
"""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from interlock import errors
from interlock.backends import cuda
from interlock.backends.cuda import cuFFTPlanCache, cuFFTPlanCacheAttrContextProp, cuFFTPlanCacheManager

from tests.helpers import fake_driver
from tests.helpers.subprocess import eval_program

needs_a_driver = pytest.mark.skipif(
    sys.platform != "linux" or fake_driver.COMPILER is None,
    reason="a driver is built with the C compiler, and that of Linux is looked for",
)


def answer(program: str, env: dict[str, str]) -> Any:
    """Return the result of a program."""
    return eval_program(program, env=env)


@pytest.fixture
def two_devices(tmp_path: Path) -> dict[str, str]:
    return fake_driver.build(tmp_path, count=2)


@pytest.fixture
def no_device(tmp_path: Path) -> dict[str, str]:
    return fake_driver.build(tmp_path, init=100)


@needs_a_driver
def test_every_device_has_its_own_cache(two_devices: dict[str, str]) -> None:
    assert answer("backends.plan_caches.every_device_has_its_own_cache", two_devices) == [
        [4096] * 4,
        [0, 7, 7, 7],
        [0, 7],
        [7, 0, 1],
    ]


@needs_a_driver
def test_manager_has_the_attributes_of_the_current_device(two_devices: dict[str, str]) -> None:
    assert answer("backends.plan_caches.manager_has_the_attributes_of_the_current_device", two_devices) == [
        2**63 - 1,
        0,
        0,
        2**63 - 1,
        4096,
        2**63 - 1,
    ]


@needs_a_driver
def test_missing_cuda_device_is_refused_with_the_available_ones(
    two_devices: dict[str, str],
) -> None:
    reported = answer(
        "backends.plan_caches.missing_cuda_device_is_refused_with_the_available_ones", two_devices
    )
    assert {name for name, _ in reported} == {"DeviceError"}
    texts = [text for _, text in reported]
    outside, mistaken = texts[:5] + texts[-2:], texts[5:-2]
    assert all("device must be an index from 0 to 1, got " in text for text in outside)
    expected = (
        "device cpu",
        "device cuda",
        "device cpu:0",
        "nope",
        "None",
        "1.5",
        "True",
        "got 1000000000000000000000000000000",
    )
    for text, shown in zip(mistaken, expected, strict=True):
        assert shown in text


@needs_a_driver
def test_max_size_is_validated_named_and_can_be_frozen(two_devices: dict[str, str]) -> None:
    raised = answer("backends.plan_caches.max_size_is_validated_named_and_can_be_frozen", two_devices)
    assert [name for name, _ in raised] == ["FlagValueError"] * 2 + ["FlagTypeError"] * 4 + [
        "FlagsFrozenError"
    ]
    assert all("backends.cuda.cufft_plan_cache[1].max_size" in text for _, text in raised)
    assert all("an int from 0 to 9223372036854775807" in text for _, text in raised[:-1])


@needs_a_driver
def test_every_access_without_a_device_raises(no_device: dict[str, str]) -> None:
    reported = answer("backends.plan_caches.every_access_without_a_device_raises", no_device)
    assert {name for name, _ in reported} == {"NoAcceleratorError"}
    (text,) = {text for _, text in reported}
    assert text.startswith("backends.cuda.cufft_plan_cache: no CUDA device: ")


def test_other_device_type_is_refused_without_a_driver() -> None:
    with pytest.raises(errors.DeviceError, match=r"device of the accelerator with an index.*the device cpu"):
        cuda.cufft_plan_cache["cpu"]


@pytest.mark.parametrize("owner", [cuda.cufft_plan_cache, cuFFTPlanCache(0)], ids=["manager", "cache"])
def test_misspelt_attribute_is_refused_with_a_suggestion(owner: Any) -> None:
    with pytest.raises(AttributeError, match="no attribute 'max_sise'; did you mean max_size"):
        owner.max_sise = 3
    with pytest.raises(AttributeError, match="no attribute 'clera'; did you mean clear"):
        owner.clera()
    with pytest.raises(AttributeError, match=r"no attribute 'bogus'$"):
        owner.bogus = 3


@pytest.mark.parametrize("owner", [cuda.cufft_plan_cache, cuFFTPlanCache(0)], ids=["manager", "cache"])
def test_size_is_read_only(owner: Any) -> None:
    with pytest.raises(errors.ReadOnlyFlagError, match="size is read-only") as caught:
        owner.size = 3
    # PyTorch raises the first, Python the second.
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, AttributeError)


def test_caches_can_be_pickled_and_copied() -> None:
    for made in (copy.copy(cuFFTPlanCache(3)), pickle.loads(pickle.dumps(cuFFTPlanCache(3)))):
        assert (made.device_index, repr(made)) == (3, "cuFFTPlanCache(device_index=3)")
    assert type(pickle.loads(pickle.dumps(cuda.cufft_plan_cache))) is cuFFTPlanCacheManager


def test_descriptor_works_on_objects_with_a_device_index() -> None:
    sizes = {3: 10}

    class Cache:
        device_index = 3
        size = cuFFTPlanCacheAttrContextProp[int](sizes.__getitem__, "only read")
        most = cuFFTPlanCacheAttrContextProp[int](sizes.__getitem__, sizes.__setitem__)

    cache = Cache()
    cache.most = 11
    assert (cache.size, cache.most, sizes) == (11, 11, {3: 11})
    assert isinstance(Cache.most, cuFFTPlanCacheAttrContextProp)
    with pytest.raises(RuntimeError, match="only read"):
        cache.size = 12


def test_matmul_class_can_be_instantiated() -> None:
    assert type(cuda.matmul) is cuda.cuBLASModule
    assert cuda.cuBLASModule().allow_tf32 is cuda.matmul.allow_tf32
