//! Memory pools of the program: routing, lifetime, captures and lack of memory.

use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer};
use interlock_accelerator::{
    self as accelerator, CaptureMode, Device, DeviceScope, Error, Graph, MemPool, MemPoolOptions,
    MemPoolScope, Stream,
};
use interlock_core::thread::ThreadState;
use interlock_host::{FaultInjector, HostDriver, HostOptions};

const MIB: usize = 1 << 20;

/// Uses a host driver with two devices of 200 MiB.
fn use_host() -> (FaultInjector, [Device; 2]) {
    let faults = FaultInjector::new();
    let options = HostOptions { devices: 2, memory: 200 << 20, faults: faults.clone() };
    accelerator::use_driver(HostDriver::new(options).unwrap()).unwrap();
    (faults, ["host:0", "host:1"].map(|name| name.parse().unwrap()))
}

fn pool() -> MemPool {
    MemPool::new(None, MemPoolOptions::default()).unwrap()
}

fn allocate(bytes: usize) -> DeviceBuffer {
    DeviceBuffer::new(None, bytes).unwrap()
}

/// Returns the pool of the segment with this memory.
fn pool_of(memory: &DeviceBuffer) -> Option<accelerator::PoolId> {
    let segments = memory::snapshot(Some(memory.device())).unwrap().segments;
    let contains = |segment: &memory::SegmentState| {
        (segment.address..segment.address + segment.total_size).contains(&memory.address().0)
    };
    segments.into_iter().find(contains).unwrap().pool
}

fn reserved() -> usize {
    memory::statistics(None).unwrap().reserved_bytes.all.current as usize
}

#[test]
fn guard_routes_allocations_of_its_thread_and_device() {
    let (_, [first, second]) = use_host();
    let (outer, inner) = (pool(), pool());
    let outer_guard = outer.guard(None).unwrap();
    assert_eq!(pool_of(&allocate(1)), Some(outer.id()));
    let inner_guard = inner.guard(Some(second)).unwrap();
    assert_eq!(pool_of(&allocate(1)), Some(outer.id()));
    assert_eq!(pool_of(&DeviceBuffer::new(Some(second), 1).unwrap()), Some(inner.id()));
    let same_device = inner.guard(Some(first)).unwrap();
    let stream = Stream::new(None, 0).unwrap();
    assert_eq!(pool_of(&DeviceBuffer::on(&stream, 1).unwrap()), Some(inner.id()));
    let on_a_thread = || std::thread::spawn(|| pool_of(&allocate(1))).join().unwrap();
    assert_eq!(on_a_thread(), None);
    // A captured state contains the scopes, and does not use their pools.
    let state = ThreadState::capture();
    drop((outer_guard, inner_guard, same_device));
    assert_eq!(pool_of(&allocate(1)), None);
    let inherited =
        || std::thread::scope(|threads| threads.spawn(|| state.run(|| pool_of(&allocate(1)))).join());
    assert_eq!(inherited().unwrap(), Some(inner.id()));
    assert_eq!((outer.use_count(), inner.use_count()), (Ok(1), Ok(1)));
    drop(inner);
    assert_eq!(inherited().unwrap(), None);
}

#[test]
fn scope_holds_for_the_current_device_and_may_end_on_another_thread() {
    let (_, [_, second]) = use_host();
    let pool = pool();
    let scope = MemPoolScope::new(&pool, None).unwrap();
    let current = DeviceScope::from_device(second).unwrap();
    current.enter();
    scope.try_enter().unwrap();
    scope.try_enter().unwrap();
    current.exit();
    assert_eq!(pool_of(&allocate(1)), None);
    assert_eq!(pool_of(&DeviceBuffer::new(Some(second), 1).unwrap()), Some(pool.id()));
    assert_eq!(pool.use_count(), Ok(3));
    scope.exit();
    std::thread::scope(|threads| threads.spawn(|| scope.exit()).join().unwrap());
    // A capture applies the exits of other threads; a read does not.
    drop(ThreadState::capture());
    assert_eq!(pool_of(&DeviceBuffer::new(Some(second), 1).unwrap()), None);
    assert_eq!(pool.use_count(), Ok(1));
}

#[test]
fn pool_of_a_device_refuses_scopes_on_others() {
    let (_, [first, second]) = use_host();
    let pool = MemPool::new(Some(second), MemPoolOptions::default()).unwrap();
    assert_eq!((pool.device(), self::pool().device()), (Some(second), None));
    let refused = pool.guard(Some(first)).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "accelerator.use_mem_pool: device must be host:1, the device of the pool, or None, got host:0"
    );
    assert!(MemPoolScope::new(&pool, Some("host:2".parse().unwrap())).is_err());
    let _guard = pool.guard(None).unwrap();
    assert_eq!(pool_of(&allocate(1)), None);
    assert_eq!(pool_of(&DeviceBuffer::new(Some(second), 1).unwrap()), Some(pool.id()));
    assert_eq!(pool.use_count(), Ok(2));
}

#[test]
fn memory_returns_to_the_driver_with_the_last_user_and_block() {
    let (faults, _) = use_host();
    let bytes = || faults.live_objects().unwrap().bytes as usize;
    let (first, second) = (pool(), pool());
    let [kept, freed] = {
        let _guard = first.guard(None).unwrap();
        [allocate(30 * MIB), allocate(20 * MIB)]
    };
    drop({
        let _guard = second.guard(None).unwrap();
        allocate(10 * MIB)
    });
    drop(freed);
    memory::empty_cache().unwrap();
    let private = memory::statistics(None).unwrap().reserved_bytes_by_private_pools;
    let current: Vec<_> = private.iter().map(|(id, bytes)| (*id, bytes.all.current as usize)).collect();
    assert_eq!(current, [(first.id(), 50 * MIB), (second.id(), 10 * MIB)]);
    assert_eq!(first.snapshot().unwrap().len(), 2);

    let clone = first.clone();
    drop((first, second));
    assert_eq!((reserved(), bytes()), (50 * MIB, 50 * MIB));
    drop(clone);
    memory::empty_cache().unwrap();
    assert_eq!((reserved(), bytes()), (30 * MIB, 30 * MIB));
    drop(kept);
    memory::empty_cache().unwrap();
    assert_eq!((reserved(), bytes()), (0, 0));
    assert_eq!(memory::statistics(None).unwrap().reserved_bytes_by_private_pools, []);
}

#[test]
fn scope_and_graph_use_the_pool_until_they_end() {
    use_host();
    let stream = Stream::new(None, 0).unwrap();
    let (graph, pool) = (Graph::new(false).unwrap(), pool());
    let id = pool.id();
    {
        let _current = stream.guard().unwrap();
        graph.capture_begin(Some(id), CaptureMode::Relaxed).unwrap();
        drop(allocate(MIB));
        graph.capture_end().unwrap();
    }
    let guard = pool.guard(None).unwrap();
    assert_eq!(pool.use_count(), Ok(3));
    drop(pool);
    // Blocks of the captured stream serve no request of the default stream.
    assert_eq!((pool_of(&allocate(1)), reserved()), (Some(id), 2 * 2 * MIB));
    drop(guard);
    memory::empty_cache().unwrap();
    assert_eq!(reserved(), 2 * 2 * MIB);
    graph.reset().unwrap();
    memory::empty_cache().unwrap();
    assert_eq!(reserved(), 0);
}

#[test]
fn pool_of_the_capture_or_of_the_scope_holds_whichever_began_last() {
    use_host();
    let stream = Stream::new(None, 0).unwrap();
    let (before, during, graph) = (pool(), pool(), Graph::new(false).unwrap());
    let of_graph = graph.pool(None).unwrap();
    let in_use = || memory::statistics(None).unwrap().allocation.all.current;
    let before_guard = before.guard(None).unwrap();
    let current = stream.guard().unwrap();
    graph.capture_begin(None, CaptureMode::Relaxed).unwrap();
    assert_eq!(pool_of(&allocate(1)), Some(of_graph));
    let other = DeviceBuffer::on(&Stream::new(None, -1).unwrap(), 1).unwrap();
    assert_eq!(pool_of(&other), Some(before.id()));
    drop(other);
    {
        let _guard = during.guard(None).unwrap();
        let memory = allocate(1);
        assert_eq!(pool_of(&memory), Some(during.id()));
        memory.fill(1, None).unwrap();
    }
    let memory = allocate(1);
    assert_eq!(pool_of(&memory), Some(of_graph));
    memory.fill(1, None).unwrap();
    drop(memory);
    graph.capture_end().unwrap();
    drop((current, before_guard));
    // The graph owns the memory of the scope, which is not from its own pool, and uses the pool of the scope.
    assert_eq!((in_use(), before.use_count(), during.use_count()), (1, Ok(1), Ok(2)));
    drop((before, during));
    graph.replay().unwrap();
    accelerator::synchronize(None).unwrap();
    memory::empty_cache().unwrap();
    assert_eq!(reserved(), 2 * 2 * MIB);
    graph.reset().unwrap();
    memory::empty_cache().unwrap();
    assert_eq!((in_use(), reserved()), (0, 0));
}

#[test]
fn aborted_capture_ends_its_use_of_the_pool_of_a_scope() {
    use_host();
    let stream = Stream::new(None, 0).unwrap();
    let (pool, graph) = (pool(), Graph::new(false).unwrap());
    let _current = stream.guard().unwrap();
    graph.capture_begin(None, CaptureMode::Relaxed).unwrap();
    {
        let _guard = pool.guard(None).unwrap();
        drop((allocate(1), allocate(1)));
    }
    assert_eq!(pool.use_count(), Ok(2));
    graph.abort_capture().unwrap();
    assert_eq!(pool.use_count(), Ok(1));
}

#[test]
fn capture_and_scope_of_one_pool_share_their_memory() {
    use_host();
    let stream = Stream::new(None, 0).unwrap();
    let (pool, graph) = (pool(), Graph::new(false).unwrap());
    let _current = stream.guard().unwrap();
    graph.capture_begin(Some(pool.id()), CaptureMode::Relaxed).unwrap();
    let _guard = pool.guard(None).unwrap();
    let addresses = [(); 2].map(|()| {
        let memory = allocate(1);
        memory.fill(1, None).unwrap();
        memory.address()
    });
    graph.capture_end().unwrap();
    // The work of a capture runs in order, so the second block may be the first one again.
    assert_eq!(addresses[0], addresses[1]);
    assert_eq!(memory::statistics(None).unwrap().allocation.all.current, 0);
}

#[test]
fn graph_owns_memory_that_a_scope_of_its_pool_allocated() {
    use_host();
    let stream = Stream::new(None, 0).unwrap();
    let (pool, graph) = (pool(), Graph::new(false).unwrap());
    let guard = pool.guard(None).unwrap();
    let current = stream.guard().unwrap();
    let memory = allocate(1);
    graph.capture_begin(Some(pool.id()), CaptureMode::Relaxed).unwrap();
    memory.fill(1, None).unwrap();
    graph.capture_end().unwrap();
    let address = memory.address();
    drop(memory);
    // Otherwise a replay would write to this memory.
    assert_ne!(allocate(1).address(), address);
    drop((guard, current));
}

#[test]
fn request_within_a_scope_releases_other_cached_memory_before_it_fails() {
    use_host();
    drop(allocate(120 * MIB));
    let pool = pool();
    let _guard = pool.guard(None).unwrap();
    assert_eq!(memory::largest_free_block(None), Ok(0));
    let used = allocate(150 * MIB);
    assert_eq!((reserved(), pool_of(&used)), (150 * MIB, Some(pool.id())));
    let Err(Error::OutOfMemory(oom)) = DeviceBuffer::new(None, 60 * MIB) else { panic!("no error") };
    let state = oom.cache.unwrap();
    assert_eq!((state.pool, state.allocated as usize), (Some(pool.id()), 150 * MIB));
    let statistics = memory::statistics(None).unwrap();
    assert_eq!((statistics.num_ooms, statistics.allocation.all.current), (1, 1));
    assert_eq!(statistics.allocated_bytes.all.current as usize, 150 * MIB);
    drop(used);
    assert_eq!(memory::largest_free_block(None), Ok(150 << 20));
}

#[test]
fn pool_with_use_on_oom_serves_requests_outside_that_would_fail() {
    use_host();
    let reserve = MemPool::new(None, MemPoolOptions { use_on_oom: true, no_split: false }).unwrap();
    let plain = pool();
    for pool in [&reserve, &plain] {
        let _guard = pool.guard(None).unwrap();
        drop(allocate(80 * MIB));
    }
    let outside = allocate(60 * MIB);
    assert_eq!((pool_of(&outside), memory::statistics(None).unwrap().num_ooms), (Some(reserve.id()), 0));
    assert_eq!(reserved(), 160 * MIB);
    // What remains of the reserve is too small, and a request of a pool uses no other pool.
    assert!(matches!(DeviceBuffer::new(None, 60 * MIB), Err(Error::OutOfMemory(_))));
    drop(outside);
    {
        let _guard = plain.guard(None).unwrap();
        let _used = allocate(80 * MIB);
        assert!(matches!(DeviceBuffer::new(None, 60 * MIB), Err(Error::OutOfMemory(_))));
    }
    // The block of the reserve returns to the driver with its pool.
    let outside = allocate(60 * MIB);
    drop(reserve);
    assert!(matches!(DeviceBuffer::new(None, 60 * MIB), Err(Error::OutOfMemory(_))));
    drop(outside);
    memory::empty_cache().unwrap();
    assert_eq!(reserved(), 80 * MIB);
}

#[test]
fn pool_with_no_split_allocates_a_segment_for_each_block() {
    use_host();
    for expandable_segments in [false, true] {
        memory::set_config(AllocatorConfig { expandable_segments, ..AllocatorConfig::default() }).unwrap();
        let whole = MemPool::new(None, MemPoolOptions { no_split: true, use_on_oom: false }).unwrap();
        let _guard = whole.guard(None).unwrap();
        let _blocks = [allocate(1000), allocate(1000), allocate(5 * MIB)];
        let segments = whole.snapshot().unwrap();
        assert_eq!(segments.len(), 3);
        assert!(segments.iter().all(|segment| segment.blocks.len() == 1 && !segment.expandable));
        let statistics = memory::statistics(None).unwrap();
        assert_eq!(statistics.inactive_split.all.current, 0);
    }
}
