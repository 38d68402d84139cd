"""Issues of PyTorch about devices, and interlock's behaviour; docs/pytorch_issues.md lists them.

Variations are in test_current_device, test_cuda_probe, test_exit, test_synchronize, test_device_count,
test_contracts and test_graphs.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from interlock import Event, Stream, accelerator, errors
from interlock.accelerator import Graph, memory

from tests.helpers import fake_cuda, fake_driver
from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program, run_program
from tests.helpers.thread_worker import Worker


@pytest.mark.usefixtures("two_devices", "isolated_state")
def test_stream_as_context_manager_stores_nothing_on_the_stream(
    workers: tuple[Worker, Worker],
) -> None:
    shared, before = Stream(1, dedicated=True), [worker.do(accelerator.current_stream) for worker in workers]
    workers[0].do(shared.__enter__)
    with shared, Stream(0), shared:
        workers[1].do(shared.__enter__)
        workers[0].do(lambda: shared.__exit__(None, None, None))
        assert accelerator.current_stream() == shared
        workers[1].do(lambda: shared.__exit__(None, None, None))
    assert [worker.do(accelerator.current_stream) for worker in workers] == before
    assert accelerator.current_stream().stream_id == 0
    with accelerator.device_index(0):
        accelerator.set_stream(shared)
        assert accelerator.current_stream() == shared, "the written device is current"


@fake_driver.NEEDS_COMPILER
@pytest.mark.parametrize("is_stub", [True, False])
def test_invalid_driver_file_raises_a_typed_error_with_its_name(is_stub: bool, tmp_path: Path) -> None:
    env = fake_driver.build(tmp_path, version_status=34, init=34)
    library = tmp_path / fake_driver.DRIVER
    if not is_stub:
        library.write_text("no library at all")
    done = run_program("accelerator.drivers.pytorch_issues_use_a_device", env=env)
    assert (done.code, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert str(library) in done.stdout


@fake_driver.NEEDS_COMPILER
@pytest.mark.parametrize(
    ("lacks", "version", "words"),
    [("", 11_080, "CUDA 11.8"), ("cuDeviceGet", 12_000, "lacks the function cuDeviceGet")],
)
def test_outdated_driver_raises_a_typed_error(lacks: str, version: int, words: str, tmp_path: Path) -> None:
    done = run_program(
        "accelerator.drivers.pytorch_issues_use_a_device",
        env=fake_driver.build(tmp_path, version=version, lacks=[lacks]),
    )
    assert (done.code, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert words in done.stdout


def test_exit_while_a_thread_waits_for_a_device() -> None:
    for pause in (0, 0.001, 0.01, 0.02, 0.03):
        done = run_program(
            "accelerator.exits.exit_while_a_thread_waits_for_a_device",
            pause,
            env={"INTERLOCK_ACCELERATOR": "host"},
        )
        assert (done.code, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.usefixtures("devices")
def test_events_and_streams_wait_without_blocking_other_threads() -> None:
    first, second = threading.Event(), threading.Event()
    stream = Stream(dedicated=True)
    accelerator.launch(stream, first.wait)
    event = stream.record_event(Event(blocking=True))
    threading.Timer(0.05, first.set).start()  # It needs the GIL while this thread waits.
    event.synchronize()
    assert first.is_set()
    accelerator.launch(stream, second.wait)
    pending = stream.record_event()
    del pending, stream
    second.set()


def test_visible_devices_apply_until_first_use_and_then_warn() -> None:
    first, second, changed, again = eval_program(
        "accelerator.drivers.visible_devices_apply_until_first_use_and_then_warn"
    )
    assert (first, second, again) == ([2, []], [3, []], [3, []])
    number, (warning,) = changed
    assert number == 3
    assert warning.startswith("AcceleratorEnvironmentWarning")
    assert "host:5" in warning


def test_memory_stats_are_complete_and_refuse_an_invalid_device(
    no_driver: dict[str, str],
) -> None:
    unused, refused, used, refused_later = eval_program(
        "accelerator.memory.memory_stats_are_complete_and_refuse_an_invalid_device",
        env={"INTERLOCK_ACCELERATOR": "host"},
    )
    assert list(unused) == list(used)
    assert len(unused) == 123
    assert all(number == (-1 if name == "max_split_size" else 0) for name, number in unused.items())
    assert used["allocation.all.current"] == 1
    assert refused == refused_later
    assert set(refused) == {"DeviceError", "TypeError"}
    for without in (no_driver, {"INTERLOCK_ACCELERATOR": "host:0"}, {"INTERLOCK_ACCELERATOR": "none"}):
        assert eval_program(
            "accelerator.memory.memory_stats_are_complete_and_refuse_an_invalid_device", env=without
        ) == [unused, refused]


def test_documented_no_ops_have_no_effect() -> None:
    assert (
        eval_program(
            "accelerator.drivers.call_the_documented_no_ops",
            env={"INTERLOCK_ACCELERATOR": "none"},
        )
        == 0
    )


def test_missing_accelerator_is_none_and_the_error_names_the_search(
    no_driver: dict[str, str],
) -> None:
    current, why, message = eval_program(
        "accelerator.drivers.missing_accelerator_is_none_and_the_error_names_the_search", env=no_driver
    )
    assert current is None
    assert why in message
    assert message.startswith("Stream: no CUDA device: ")


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize("wrong", [-1, -2, 2, 300, True, "xpu:0"], ids=stable_repr)
def test_invalid_device_index_is_refused_with_the_valid_range(wrong: Any) -> None:
    reported = set()
    takers: tuple[Any, ...] = (accelerator.set_device_index, accelerator.current_stream, Stream, Event)
    for take in takers:
        with pytest.raises((errors.DeviceError, TypeError)) as caught:
            take(wrong)
        reported.add(type(caught.value))
    assert len(reported) == 1
    assert reported == {TypeError if wrong is True else errors.DeviceError}
    if wrong == 2:
        assert ":0, " in str(caught.value)


@pytest.mark.usefixtures("devices")
def test_dedicated_streams_have_own_handles_and_pooled_ones_are_shared() -> None:
    own = [Stream(dedicated=True) for _ in range(64)]
    assert len({stream.native_handle for stream in own}) == len(set(own)) == 64
    assert all(stream.dedicated for stream in own)
    pooled = [Stream() for _ in range(64)]
    assert len({stream.native_handle for stream in pooled}) == 32
    assert pooled[:32] == pooled[32:]
    assert not any(stream.dedicated for stream in pooled)
    assert not set(pooled) & {Stream(priority=-1) for _ in range(32)}


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize("blocking", [True, False])
def test_event_options_take_effect_and_can_be_read(driver: str, blocking: bool) -> None:
    # NVIDIA's interprocess events have no timing.
    timing = driver == "host"
    event = Event(enable_timing=timing, blocking=blocking, interprocess=True)
    assert (event.enable_timing, event.blocking, event.interprocess) == (timing, blocking, True)
    opened, stream = threading.Event(), Stream(dedicated=True)
    accelerator.launch(stream, opened.wait)
    event.record(stream)
    threading.Timer(0.5, opened.set).start()
    before = os.times()
    event.synchronize()
    after = os.times()
    busy = (after.user + after.system - before.user - before.system) / (after.elapsed - before.elapsed)
    if blocking:
        assert busy < 0.2, "it sleeps"
    try:
        assert len(event.ipc_handle()) == 64
    except NotImplementedError:
        assert driver == "host" or fake_cuda.is_active(), "GPUs have interprocess events"


@pytest.mark.usefixtures("two_devices")
@pytest.mark.filterwarnings("ignore:Graph.capture_end. the graph is empty:UserWarning")
def test_graph_names_the_required_stream_and_follows_its_mode() -> None:
    with pytest.raises(errors.GraphError, match=r"default stream.*Stream\(\)"):
        Graph().capture_begin()
    with Stream(), Graph(capture_error_mode="relaxed"):
        accelerator.synchronize(1)
    strict = Graph(capture_error_mode="thread_local")
    with Stream():
        strict.capture_begin()
        with pytest.raises(errors.GraphError):
            accelerator.synchronize(1)
        with pytest.raises(errors.GraphError):
            strict.capture_end()


USES_MEMORY = "accelerator.memory.use_memory_of_a_stream"


def test_unsupported_backend_key_does_not_affect_memory_stats() -> None:
    usual, _ = eval_program(USES_MEMORY)
    asked = {"PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"}
    statistics, acts = eval_program(USES_MEMORY, env=asked)
    assert statistics == usual
    assert statistics["allocation.all.allocated"] == 8
    assert acts["backend"] == ["cudaMallocAsync", "never"]


@pytest.mark.parametrize(
    "variable", ["INTERLOCK_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"]
)
def test_config_keys_take_effect_and_have_a_readable_value(variable: str) -> None:
    usual, _ = eval_program(USES_MEMORY)
    statistics, acts = eval_program(USES_MEMORY, env={variable: "expandable_segments:True"})
    assert acts["expandable_segments"] == [True, "on new segments"]
    assert statistics["segment.all.allocated"] == 0 < usual["segment.all.allocated"]
    assert statistics["requested_bytes.all.current"] == usual["requested_bytes.all.current"]
    refused = run_program(USES_MEMORY, env={variable: "expandable_segment:True"})
    assert 'did you mean "expandable_segments"?' in refused.stderr
    assert variable in refused.stderr


@pytest.mark.usefixtures("empty_cache_around", "small_devices")
def test_request_in_a_memory_pool_releases_the_cache_before_it_fails() -> None:
    free, _ = accelerator.get_memory_info()
    pool, other = accelerator.MemPool(), accelerator.MemPool()
    memory.Buffer(free // 3 * 2).close()
    with accelerator.use_mem_pool(pool):
        buffer = memory.Buffer(free // 2)
    assert (len(pool.snapshot()), accelerator.memory_stats()["num_ooms"]) == (1, 0)
    buffer.close()
    with accelerator.use_mem_pool(pool), accelerator.use_mem_pool(other):
        memory.Buffer(1000).close()
    assert [len(one.snapshot()) for one in (pool, other)] == [1, 1]
