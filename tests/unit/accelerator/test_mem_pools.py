"""Memory pools of the program, and the scope whose allocations use one."""

from __future__ import annotations

import asyncio
import contextvars
import pickle
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import interlock
import pytest
from interlock import Stream, accelerator, autograd, errors
from interlock.accelerator import Graph, MemPool, memory, use_mem_pool
from interlock.accelerator.memory import Buffer

from tests.helpers.thread_worker import Worker

pytestmark = pytest.mark.usefixtures("empty_cache_around")

MIB = 1 << 20


def pool_id(buffer: Buffer) -> tuple[int, int]:
    """Return the id of the pool of a buffer, which is (0, 0) for the default pool."""
    for segment in memory.snapshot(buffer.device)["segments"]:
        if segment["address"] <= buffer.data_ptr() < segment["address"] + segment["total_size"]:
            return segment["segment_pool_id"]
    raise AssertionError("no segment has the memory of the buffer")


def current_pool(device: str | None = None) -> tuple[int, int]:
    """Return the id of the pool from which this code allocates."""
    with Buffer(1, device) as buffer:
        return pool_id(buffer)


def test_block_routes_its_allocations_also_after_an_exception() -> None:
    pool = MemPool()
    assert pool.snapshot() == []
    with use_mem_pool(pool):
        buffer = Buffer(3 * MIB)
    assert (pool_id(buffer), current_pool()) == (pool.id, (0, 0))
    assert pool.snapshot() == [s for s in memory.snapshot()["segments"] if s["segment_pool_id"] == pool.id]
    first, second = pool.id
    stats = accelerator.memory_stats()
    assert stats[f"reserved_bytes_by_private_pools.{first}_{second}.all.current"] == 20 * MIB
    with pytest.raises(KeyError), use_mem_pool(pool):
        raise KeyError
    assert current_pool() == (0, 0)
    # The freed block remains cached, in the pool alone.
    address = buffer.data_ptr()
    buffer.close()
    with Buffer(3 * MIB) as outside:
        assert outside.data_ptr() != address
    with use_mem_pool(pool), Buffer(3 * MIB) as inside:
        assert inside.data_ptr() == address


def test_innermost_block_holds_in_any_order_of_exits() -> None:
    pools = [MemPool(), MemPool()]
    first, second = (use_mem_pool(pool) for pool in pools)
    for scope in (first, second, first):
        scope.__enter__()
    assert current_pool() == pools[0].id
    first.__exit__(None, None, None)
    assert current_pool() == pools[1].id
    first.__exit__(None, None, None)
    assert [pool.use_count() for pool in pools] == [1, 2]
    assert current_pool() == pools[1].id
    second.__exit__(None, None, None)
    assert (current_pool(), pools[1].use_count()) == ((0, 0), 1)


@pytest.mark.skipif(
    sys.version_info >= (3, 14),
    reason="from 3.14, the switch to the context itself calls the function, before the block is entered",
)
def test_block_whose_enter_is_interrupted_does_not_use_the_pool() -> None:
    interrupts: list[type[BaseException]] = []

    def interrupt(change: object) -> None:
        if interrupts:
            raise interrupts.pop()

    pool, context = MemPool(), contextvars.copy_context()
    block = use_mem_pool(pool)
    with autograd.on_change(interrupt):
        context.run(interlock.set_grad_enabled, False)
        assert interlock.is_grad_enabled()
        interrupts.append(KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            context.run(block.__enter__)
    assert (context.run(interlock.state.end_open_scopes), pool.use_count()) == (0, 1)


def test_block_holds_for_every_stream() -> None:
    pool, stream = MemPool(), Stream()
    with use_mem_pool(pool), Buffer(1, stream=stream) as buffer, stream:
        assert pool_id(buffer) == current_pool() == pool.id
    # A stream reuses only its own blocks, as in the default pool.
    assert {segment["stream"] for segment in pool.snapshot()} == {stream.stream_id}


def test_block_belongs_to_the_context_that_enters_it(workers: tuple[Worker, Worker]) -> None:
    pool, other = MemPool(), MemPool()
    seen: dict[str, tuple[int, int]] = {}

    async def with_own_pool() -> None:
        with use_mem_pool(other):
            await asyncio.sleep(0)
            seen["task"] = current_pool()

    async def run() -> None:
        with use_mem_pool(pool):
            task = asyncio.create_task(with_own_pool())
            await asyncio.sleep(0)
            seen["caller"] = current_pool()
            seen["to_thread"] = await asyncio.to_thread(current_pool)
            await task

    asyncio.run(run())
    assert seen == {"task": other.id, "caller": pool.id, "to_thread": pool.id}
    with use_mem_pool(pool):
        assert workers[0].do(current_pool) == (0, 0)
        captured = interlock.capture()
    assert workers[0].do(captured.wrap(current_pool)) == pool.id


def test_block_of_a_generator_may_end_on_another_thread(workers: tuple[Worker, Worker]) -> None:
    pool = MemPool()

    def allocating() -> Iterator[tuple[int, int]]:
        with use_mem_pool(pool):
            while True:
                yield current_pool()

    generator = allocating()
    assert workers[0].do(lambda: next(generator)) == pool.id
    workers[1].do(generator.close)
    assert [worker.do(current_pool) for worker in workers] == [(0, 0)] * 2
    assert pool.use_count() == 1


def test_memory_returns_to_the_device_with_the_last_user_and_block() -> None:
    pool = MemPool()
    scope = use_mem_pool(pool)
    with scope:
        buffers = [Buffer(20 * MIB), Buffer(30 * MIB)]
    buffers.pop().close()
    accelerator.empty_cache()
    assert accelerator.memory_reserved() == 50 * MIB
    scope.__enter__()
    gone = weakref.ref(pool)
    used = pool.id
    del pool
    assert (gone(), current_pool()) == (None, used)
    scope.__exit__(None, None, None)
    del scope
    accelerator.empty_cache()
    assert accelerator.memory_reserved() == 20 * MIB
    buffers.pop().close()
    accelerator.empty_cache()
    assert accelerator.memory_reserved() == 0
    assert not [name for name in accelerator.memory_stats() if "private" in name]


def test_captured_state_contains_the_block_and_does_not_use_the_pool() -> None:
    pool = MemPool()
    with use_mem_pool(pool):
        captured = interlock.capture()
    assert pool.use_count() == 1
    assert f"mem_pools=[MemPool {pool.id}" in repr(captured)
    with pytest.raises(TypeError, match="its memory pools belong to this process"):
        pickle.dumps(captured)
    with captured.apply():
        assert current_pool() == pool.id
        del pool
        assert current_pool() == (0, 0)


def test_pool_of_one_device_is_used_there_alone(two_devices: tuple[str, str]) -> None:
    first, second = two_devices
    pool, any_device = MemPool(device=second), MemPool()
    assert (str(pool.device), any_device.device) == (second, None)
    with use_mem_pool(pool):
        assert (current_pool(), current_pool(second)) == ((0, 0), pool.id)
    with pytest.raises(
        errors.DeviceError, match=f"must be {second}, the device of the pool, or None, got {first}"
    ):
        use_mem_pool(pool, first)
    with pytest.raises(errors.DeviceError, match="not available"):
        use_mem_pool(any_device, 99)
    scope = use_mem_pool(any_device)
    with accelerator.device_index(1), scope:
        assert (current_pool(first), current_pool(second)) == ((0, 0), any_device.id)
    with use_mem_pool(pool, second), use_mem_pool(any_device, first):
        assert (current_pool(first), current_pool(second)) == (any_device.id, pool.id)


def test_graph_captures_into_a_pool() -> None:
    pool, stream = MemPool(), Stream()
    graphs = [Graph(pool=pool), Graph(pool=pool.id)]
    for graph in graphs:
        with stream, graph:
            Buffer(1000).fill_(1)
        assert graph.pool() == pool.id
    assert pool.use_count() == 3
    assert len(pool.snapshot()) == 1
    with pytest.raises(TypeError, match="must be a MemPool, the id of a memory pool, or None, got str"):
        Graph(pool="pool")  # type: ignore[arg-type]
    for graph in graphs:
        graph.reset()
    assert pool.use_count() == 1


def test_pool_of_the_capture_or_the_block_holds_whichever_began_last() -> None:
    before, during, stream, graph = MemPool(), MemPool(), Stream(), Graph()
    with use_mem_pool(before), stream, graph:
        assert current_pool() == graph.pool()
        with use_mem_pool(during):
            buffer = Buffer(4).fill_(7)
        assert (pool_id(buffer), current_pool()) == (during.id, graph.pool())
    assert (before.use_count(), during.use_count()) == (1, 2)
    address = buffer.data_ptr()
    buffer.close()
    # The graph keeps the memory, so a replay writes to no other buffer.
    with stream, use_mem_pool(during):
        other = Buffer(4).fill_(0)
        assert other.data_ptr() != address
        graph.replay()
        found = bytearray(4)
        other.copy_to(found)
    stream.synchronize()
    assert found == bytes(4)
    graph.reset()
    assert during.use_count() == 1


@pytest.mark.usefixtures("small_devices")
def test_lack_of_memory_in_a_block_names_the_pool_and_counts_once() -> None:
    free, _ = accelerator.get_memory_info()
    pool = MemPool()
    kept = Buffer(2 * MIB)
    with use_mem_pool(pool), pytest.raises(errors.OutOfMemoryError) as raised:
        Buffer(free)
    assert raised.value.pool == pool.id
    stats = accelerator.memory_stats()
    assert (stats["num_ooms"], stats["allocation.all.current"]) == (1, 1)
    assert (accelerator.memory_allocated(), pool.snapshot()) == (2 * MIB, [])
    kept.close()


@pytest.mark.usefixtures("small_devices")
def test_use_on_oom_serves_a_request_outside_that_would_fail() -> None:
    free, _ = accelerator.get_memory_info()
    size = free // 2 // MIB * MIB
    for use_on_oom in (True, False):
        pool = MemPool(use_on_oom=use_on_oom)
        with use_mem_pool(pool):
            Buffer(size).close()
        outer = Buffer(size // 2 // MIB * MIB)
        if use_on_oom:
            with Buffer(size) as buffer:
                assert (pool_id(buffer), accelerator.memory_stats()["num_ooms"]) == (pool.id, 0)
        else:
            with pytest.raises(errors.OutOfMemoryError, match="free in other memory pools"):
                Buffer(size)
        outer.close()
        del pool


def test_no_split_allocates_a_segment_for_each_block() -> None:
    pool = MemPool(no_split=True)
    with use_mem_pool(pool):
        buffers = [Buffer(1000) for _ in range(3)]
    segments = pool.snapshot(include_traces=False)
    assert [(len(segment["blocks"]), segment["total_size"]) for segment in segments] == [(1, 2 * MIB)] * 3
    assert len({buffer.data_ptr() // (2 * MIB) for buffer in buffers}) >= 2


def test_history_has_the_id_of_the_pool() -> None:
    with memory.history():
        pool = MemPool()
        with use_mem_pool(pool):
            Buffer(1000).close()
        Buffer(1000).close()
    entries = memory.snapshot(0)["device_traces"][0]
    assert [entry["pool_id"] for entry in entries if entry["action"] == "alloc"] == [pool.id, (0, 0)]


# The tensor runtime computes on devices whose memory the CPU can access.
@pytest.mark.usefixtures("host_accessible_memory")
def test_tensors_and_their_gradients_are_allocated_from_the_pool(devices: tuple[str, ...]) -> None:
    pool = MemPool()
    with use_mem_pool(pool):
        tensor = interlock.ones(1000, device=devices[0], requires_grad=True)
        (tensor * 2).sum().backward()
    grad = tensor.grad
    assert grad is not None
    outside = interlock.ones(1000, device=devices[0])
    (segment,) = pool.snapshot()
    end = segment["address"] + segment["total_size"]
    inside = [segment["address"] <= one.data_ptr() < end for one in (tensor, grad, outside)]
    assert inside == [True, True, False]


def test_largest_free_block_is_that_of_the_pool() -> None:
    pool = MemPool()
    with use_mem_pool(pool):
        assert memory.largest_free_block() == 0
        Buffer(30 * MIB).close()
        assert memory.largest_free_block() == 30 * MIB
    assert memory.largest_free_block() == 0


def test_use_mem_pool_affects_no_other_thread_that_allocates_meanwhile() -> None:
    pool, wrong, rounds = MemPool(), list[tuple[int, int]](), 200

    def allocate(scoped: bool) -> None:
        for _ in range(rounds):
            if scoped:
                with use_mem_pool(pool):
                    expected, found = pool.id, current_pool()
            else:
                expected, found = (0, 0), current_pool()
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=allocate, args=(number % 2 == 0,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, pool.use_count()) == ([], 1)


def test_decorated_functions_and_coroutines_allocate_from_the_pool() -> None:
    pool = MemPool()

    @use_mem_pool(pool)
    def plain(number: int) -> tuple[int, tuple[int, int]]:
        return number, current_pool()

    @use_mem_pool(pool)
    async def coroutine() -> tuple[int, int]:
        await asyncio.sleep(0)
        return current_pool()

    assert plain(3) == (3, pool.id)
    assert asyncio.run(coroutine()) == pool.id
    assert (current_pool(), pool.use_count()) == ((0, 0), 1)
    wrong: Any = 3
    with pytest.raises(TypeError, match="use_mem_pool: function must be callable, got int"):
        use_mem_pool(pool)(wrong)


def test_wrong_arguments_are_refused() -> None:
    allowed = (
        "allocator must be None, because the driver in use allocates the memory of every pool, got object"
    )
    allocator: Any = object()
    with pytest.raises(TypeError, match=f"MemPool: {allowed}"):
        MemPool(allocator)
    with pytest.raises(TypeError, match="MemPool: no_split must be a bool, got int"):
        MemPool(no_split=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"accelerator.use_mem_pool: pool must be a MemPool, got tuple"):
        use_mem_pool(MemPool().id)  # type: ignore[arg-type]
    with pytest.raises(errors.DeviceError, match="MemPool"):
        MemPool(device="cpu")
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(MemPool())
    pool = MemPool()
    assert repr(pool) == f"interlock.accelerator.MemPool(id={pool.id})"
