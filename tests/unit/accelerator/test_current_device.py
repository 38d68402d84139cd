"""The current device and the current streams, which are slots of the thread state."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
from typing import Any

import interlock
import pytest
from interlock import Stream, accelerator, aio, errors

from tests.helpers.ids import stable_repr
from tests.helpers.thread_worker import Worker

pytestmark = pytest.mark.usefixtures("devices", "isolated_state")


def place() -> tuple[int, int, int]:
    """Return the current device and the ids of the current streams of both devices."""
    first, second = (accelerator.current_stream(index).stream_id for index in range(2))
    return accelerator.current_device_index(), first, second


def test_stream_scope_sets_the_current_stream_and_device(two_devices: tuple[str, str]) -> None:
    stream = Stream(two_devices[1], dedicated=True)
    with stream as entered:
        assert entered is stream
        assert place() == (1, 0, stream.stream_id)
    assert place() == (0, 0, 0)


def test_repr_of_scopes_shows_the_device(two_devices: tuple[str, str]) -> None:
    name = two_devices[1]
    module = "interlock.accelerator"
    assert repr(accelerator.device_index(1)) == f"{module}.device_index({name!r})"
    assert repr(accelerator.device_index(None)) == f"{module}.device_index(None)"
    assert repr(accelerator.memory.MemoryTracker(name)) == f"{module}.memory.MemoryTracker({name!r})"
    pool = accelerator.MemPool()
    assert repr(accelerator.use_mem_pool(pool)) == f"{module}.use_mem_pool({pool!r})"


def test_scopes_nest_reenter_and_exit_in_any_order(two_devices: tuple[str, str]) -> None:
    here, there = Stream(two_devices[0], dedicated=True), Stream(two_devices[1], dedicated=True)
    with here, there, here:
        assert place() == (0, here.stream_id, there.stream_id)
    here.__enter__()
    there.__enter__()
    here.__exit__(None, None, None)
    assert place() == (1, 0, there.stream_id)
    there.__exit__(None, None, None)
    assert place() == (0, 0, 0)


@pytest.mark.parametrize("given", [1, "{}:1", "device"], ids=str)
def test_device_index_accepts_anything_that_names_a_device(two_devices: tuple[str, str], given: Any) -> None:
    named: Any = {1: 1, "{}:1": two_devices[1], "device": interlock.device(two_devices[1])}[given]
    scope = accelerator.device_index(named)
    with scope, scope:
        assert accelerator.current_device_index() == 1
        assert accelerator.current_stream().device_index == 1
    assert accelerator.current_device_index() == 0


@pytest.mark.usefixtures("two_devices")
def test_device_index_of_none_changes_nothing() -> None:
    with accelerator.device_index(1), accelerator.device_index(None):
        assert accelerator.current_device_index() == 1


def test_write_is_undone_with_the_scope_that_owns_it(two_devices: tuple[str, str]) -> None:
    stream = Stream(two_devices[0], dedicated=True)
    with accelerator.device_index(1):
        accelerator.set_stream(stream)
        assert place() == (0, stream.stream_id, 0)
    assert place() == (0, stream.stream_id, 0), "the scope set only the device"
    accelerator.set_device_index(two_devices[1])
    assert place()[0] == 1
    accelerator.set_device_index(0)


def test_other_threads_have_their_own_current_device(
    two_devices: tuple[str, str], workers: tuple[Worker, Worker]
) -> None:
    stream = Stream(two_devices[1], dedicated=True)
    first, second = workers
    first.do(lambda: accelerator.set_stream(stream))
    assert first.do(place) == (1, 0, stream.stream_id)
    assert second.do(place) == place() == (0, 0, 0)


def test_stream_exited_on_another_thread_ends_on_its_original_thread(
    two_devices: tuple[str, str], workers: tuple[Worker, Worker]
) -> None:
    stream = Stream(two_devices[1], dedicated=True)
    first, second = workers
    first.do(stream.__enter__)
    second.do(lambda: stream.__exit__(None, None, None))
    first.do(lambda: interlock.no_grad().__enter__())
    assert first.do(place) == (0, 0, 0)


def test_one_stream_is_entered_and_exited_by_two_threads(
    two_devices: tuple[str, str], workers: tuple[Worker, Worker]
) -> None:
    stream = Stream(two_devices[1], dedicated=True)
    for worker in workers:
        worker.do(stream.__enter__)
    workers[0].do(lambda: stream.__exit__(None, None, None))
    assert [worker.do(place)[0] for worker in workers] == [0, 1]
    workers[1].do(lambda: stream.__exit__(None, None, None))
    assert workers[1].do(place) == (0, 0, 0)


def test_captured_state_includes_the_current_device_and_stream(two_devices: tuple[str, str]) -> None:
    stream = Stream(two_devices[1], dedicated=True)
    with stream:
        state = interlock.capture()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(state.run, place).result() == (1, 0, stream.stream_id)
        assert pool.submit(place).result() == (0, 0, 0)
    with concurrent.futures.ThreadPoolExecutor(1, initializer=state.install) as pool:
        assert pool.submit(place).result() == (1, 0, stream.stream_id)
    plain = interlock.capture()
    with stream, plain.apply():
        assert place() == (0, 0, 0)


def test_tasks_have_their_own_current_device(two_devices: tuple[str, str]) -> None:
    async def work(index: int) -> list[tuple[int, int, int]]:
        seen = []
        stream = Stream(index, dedicated=True)
        with stream:
            for _ in range(3):
                await asyncio.sleep(0)
                seen.append(place())
        accelerator.set_device_index(index)
        await asyncio.sleep(0)
        seen.append(place())
        expected = (index, *(stream.stream_id if index == other else 0 for other in range(2)))
        assert seen[:3] == [expected] * 3
        return seen

    async def main() -> None:
        results = await asyncio.gather(work(0), work(1))
        assert [seen[3] for seen in results] == [(0, 0, 0), (1, 0, 0)]
        assert place() == (0, 0, 0)

    aio.run(main())
    assert place() == (0, 0, 0)


def test_current_stream_is_kept_alive(devices: tuple[str, ...]) -> None:
    stream = Stream(dedicated=True)
    number = stream.stream_id
    accelerator.set_stream(stream)
    del stream
    gc.collect()
    assert accelerator.current_stream().stream_id == number
    assert accelerator.current_stream().query()


def test_default_device_is_the_cpu_until_it_is_set(two_devices: tuple[str, str]) -> None:
    assert interlock.get_default_device() == interlock.device("cpu")
    with interlock.device(two_devices[1]) as entered:
        assert entered == interlock.get_default_device() == interlock.device(two_devices[1])
        with interlock.device("cpu"):
            assert interlock.get_default_device() == interlock.device("cpu")
        assert accelerator.current_device_index() == 0
    interlock.set_default_device(two_devices[0])
    assert interlock.get_default_device() == interlock.device(two_devices[0])
    interlock.set_default_device(None)
    assert interlock.get_default_device() == interlock.device("cpu")


@pytest.mark.usefixtures("host_accessible_memory")
def test_get_default_device_has_the_index_of_the_current_device(two_devices: tuple[str, str]) -> None:
    kind = interlock.device(two_devices[0]).type
    interlock.set_default_device(kind)
    assert interlock.get_default_device() == interlock.device(two_devices[0])
    with accelerator.device_index(1):
        assert interlock.get_default_device() == interlock.device(two_devices[1])
    interlock.set_default_device("meta")
    assert interlock.get_default_device() == interlock.device("meta")
    interlock.set_default_device(None)


@pytest.mark.usefixtures("host_accessible_memory")
def test_tensors_are_made_on_the_default_device(two_devices: tuple[str, str]) -> None:
    interlock.set_default_device(two_devices[0])
    assert interlock.ones(2).device == interlock.device(two_devices[0])
    assert interlock.ones_like(interlock.ones(2, device="cpu")).device == interlock.device("cpu")
    interlock.set_default_device(None)


WRONG: list[Any] = [True, False, 1.0, 1.5, [], object(), b"host"]


@pytest.mark.parametrize("wrong", WRONG, ids=stable_repr)
def test_wrong_type_for_a_device_raises_type_error_everywhere(wrong: Any) -> None:
    for take in takers():
        with pytest.raises(TypeError):
            take(wrong)


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize(
    "wrong", [2, 127, 128, -1, -2, 10**30, "nope", "xpu:0", "cpu", "{}:2", "{}:-1"], ids=str
)
def test_unknown_device_is_refused_everywhere(driver: str, wrong: Any) -> None:
    given = wrong.format(driver) if isinstance(wrong, str) else wrong
    for take in takers():
        before = place()
        with pytest.raises(errors.DeviceError) as caught:
            take(given)
        assert isinstance(caught.value, (ValueError, RuntimeError))
        assert place() == before


def takers() -> list[Any]:
    """Return every function that accepts a device."""
    return [
        accelerator.set_device_index,
        accelerator.current_stream,
        accelerator.synchronize,
        accelerator.stream_priority_range,
        accelerator.device_name,
        accelerator.device_properties,
        accelerator.get_device_capability,
        accelerator.get_memory_info,
        lambda given: accelerator.device_index(given).__enter__(),
        Stream,
        interlock.Event,
        lambda given: accelerator.memory.Buffer(8, given),
    ]


@pytest.mark.parametrize("given", [None, "{}"], ids=str)
def test_set_device_index_requires_an_index(driver: str, given: str | None) -> None:
    with pytest.raises(errors.DeviceError, match="index"):
        accelerator.set_device_index(given and given.format(driver))  # type: ignore[arg-type]


@pytest.mark.usefixtures("two_devices")
def test_device_without_an_index_is_the_current_one(driver: str) -> None:
    with accelerator.device_index(1):
        assert accelerator.current_stream(driver).device_index == 1
        assert Stream(driver).device_index == Stream().device_index == 1
        assert accelerator.memory.Buffer(1, driver).device.index == 1


def test_device_properties_describe_the_device(devices: tuple[str, ...]) -> None:
    properties = accelerator.device_properties(devices[-1])
    assert properties.name == accelerator.device_name(devices[-1])
    free, total = accelerator.get_memory_info(devices[-1])
    assert properties.total_memory == total >= free > 0
    assert properties.multi_processor_count >= 1


def test_tensors_of_each_supported_dtype_can_be_on_the_device(devices: tuple[str, ...]) -> None:
    supported = accelerator.get_device_capability(devices[-1])["supported_dtypes"]
    known = {value for value in vars(interlock).values() if isinstance(value, interlock.dtype)}
    assert supported == known
    for dtype in supported:
        x = interlock.ones(2, dtype=dtype).to(devices[-1])
        assert str(x.device) == devices[-1]
        assert x.cpu().tolist() == [1, 1]


@pytest.mark.usefixtures("host_accessible_memory")
def test_each_supported_dtype_computes_on_the_device(devices: tuple[str, ...]) -> None:
    for dtype in accelerator.get_device_capability(devices[-1])["supported_dtypes"]:
        x = interlock.ones(2, dtype=dtype, device=devices[-1])
        assert (x * x).tolist() == [1, 1]


def test_deprecated_names_warn_at_the_calling_line() -> None:
    with pytest.warns(FutureWarning, match="current_device_index") as caught:
        assert accelerator.current_device_idx() == 0
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match="set_device_index") as caught:
        accelerator.set_device_idx(0)
    assert caught[0].filename == __file__
