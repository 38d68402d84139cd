//! Tests of a caching allocator on its own host driver, with settings of its own.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, mpsc};

use interlock_host::{FaultInjector, HostDriver, HostOptions};

use super::block::Segment;
use super::{AllocCtx, CachingAllocator};
use crate::accelerator::Accelerator;
use crate::device::DeviceState;
use crate::memory::{AllocatorConfig, DeviceBuffer, Statistics};
use crate::stream::{Stream, StreamKind};
use crate::{HostFn, Result};

const MIB: usize = 1 << 20;

struct Rig {
    device: &'static DeviceState,
    faults: FaultInjector,
}

impl Rig {
    fn new(memory: usize, config: AllocatorConfig) -> Self {
        let faults = FaultInjector::new();
        let options = HostOptions { memory: memory as u64, faults: faults.clone(), ..HostOptions::default() };
        let driver = HostDriver::new(options).unwrap();
        let accelerator: &'static Accelerator = Box::leak(Box::new(Accelerator::start(driver).unwrap()));
        let device = accelerator.device(0).unwrap();
        let allocator = device.allocator("a test").unwrap();
        // No configuration of the process has a greater number.
        allocator.with_inner(|inner| inner.configure(u64::MAX, &config, memory as u64));
        Rig { device, faults }
    }

    fn allocator(&self) -> &'static CachingAllocator {
        self.device.allocator("a test").unwrap()
    }

    fn stream(&self) -> Stream {
        self.device.home().default_stream().unwrap()
    }

    fn allocate(&self, bytes: usize) -> Result<DeviceBuffer> {
        DeviceBuffer::on(&self.stream(), bytes)
    }

    fn reserved(&self) -> usize {
        self.allocator().with_stats(|stats| stats.clone()).reserved_bytes.all.current as usize
    }

    /// Returns a number that identifies the segment and the offset of a buffer.
    fn position_of(&self, memory: &DeviceBuffer) -> i64 {
        let address = memory.address().0;
        self.allocator().with_inner(|inner| {
            let inside = |segment: &Segment| {
                (segment.address.0..segment.address.0 + segment.bytes as u64).contains(&address)
            };
            let (_, segment) = inner.heap.segments().find(|(_, segment)| inside(segment)).unwrap();
            (segment.number << 40) as i64 + (address - segment.address.0) as i64
        })
    }

    fn used_by_driver(&self) -> usize {
        self.faults.live_objects().unwrap().bytes as usize
    }
}

fn expandable() -> AllocatorConfig {
    AllocatorConfig { expandable_segments: true, ..AllocatorConfig::default() }
}

/// Returns a deterministic generator of pseudo-random numbers.
fn generator(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

/// Runs a random program; returns the positions of its blocks and the final statistics. `queries` reads the statistics
/// after each step.
fn program(seed: u64, config: &AllocatorConfig, queries: bool) -> (Vec<i64>, Statistics) {
    let rig = Rig::new(400 * MIB, config.clone());
    let streams = [rig.stream(), rig.device.home().pooled_stream(0).unwrap()];
    let sizes = [100, 600, 600, 4096, 300_000, MIB, 3 * MIB, 3 * MIB, 5 * MIB, 12 * MIB];
    let mut draw = generator(seed);
    let (mut live, mut positions) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        match draw(9) {
            0..=4 => {
                let memory = DeviceBuffer::on(&streams[draw(2)], sizes[draw(sizes.len())]).unwrap();
                positions.push(rig.position_of(&memory));
                live.push(memory);
                if live.len() > 25 {
                    live.swap_remove(draw(25));
                }
            }
            5..=7 if !live.is_empty() => drop(live.swap_remove(draw(live.len()))),
            8 if draw(10) == 0 => {
                rig.allocator().release_cached_blocks(rig.device).unwrap();
            }
            _ => {}
        }
        if queries {
            rig.allocator().with_stats(|stats| stats.clone());
        }
    }
    (positions, rig.allocator().with_stats(|stats| stats.clone()))
}

#[test]
fn statistics_queries_do_not_affect_the_layout_of_blocks() {
    let expandable = expandable();
    let oversize = AllocatorConfig { max_split_size_mb: Some(20), ..AllocatorConfig::default() };
    for seed in 0..60 {
        for config in [&AllocatorConfig::default(), &expandable, &oversize] {
            assert_eq!(program(seed, config, false), program(seed, config, true), "seed {seed}");
        }
    }
}

#[test]
fn devices_with_less_memory_than_a_segment_can_be_filled() {
    for config in [AllocatorConfig::default(), expandable()] {
        for memory in [512, 1000, MIB, 3 * MIB, 12 * MIB] {
            let rig = Rig::new(memory, config.clone());
            drop(rig.allocate(1).unwrap());
            let whole =
                rig.allocate(if config.expandable_segments { MIB.min(memory) } else { memory } / 512 * 512);
            whole.unwrap();
            assert!(rig.allocate(memory + 1).is_err(), "{memory}");
        }
    }
}

#[test]
fn stream_with_the_handle_of_a_dropped_external_one_waits_for_its_work() {
    let rig = Rig::new(64 * MIB, AllocatorConfig::default());
    let runtime = rig.device.started().runtime();
    let [dropped, new] = [(); 2].map(|()| runtime.create_stream(0, 0).unwrap());
    let (opens, latch) = mpsc::channel::<()>();
    let latch = Mutex::new(latch);
    // SAFETY: the streams are not destroyed.
    let stream = unsafe { rig.device.home().external_stream(dropped.raw, None) }.unwrap();
    let held = HostFn::new("held", move || latch.lock().unwrap().recv().or(Ok(())));
    stream.launch(held).unwrap();
    drop(DeviceBuffer::on(&stream, MIB).unwrap());
    let id = stream.id();
    drop(stream);
    // The host driver reuses no handle, so the new stream is only registered for the same one.
    let new = Stream::of(rig.device, new, id, 0, StreamKind::External, None);
    rig.allocator().on_external_stream_wrapped(&new).unwrap();
    let again = DeviceBuffer::on(&new, MIB).unwrap();
    assert_eq!((rig.reserved(), new.query()), (2 * MIB, Ok(false)));
    drop(opens);
    new.synchronize().unwrap();
    drop(again);
}

#[test]
fn expandable_segment_grows_in_place() {
    let rig = Rig::new(200 * MIB, expandable());
    let first = rig.allocate(30 * MIB).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (40 * MIB, 40 * MIB));
    let second = rig.allocate(30 * MIB).unwrap();
    assert_eq!(second.address().0, first.address().0 + 30 * MIB as u64);
    assert_eq!(rig.reserved(), 60 * MIB);
    let statistics = rig.allocator().with_stats(|stats| stats.clone());
    assert_eq!((statistics.segment.all.current, statistics.num_device_alloc), (0, 2));
    assert_eq!(statistics.inactive_split.all.allocated, 0);
    drop(first);
    // The growth includes the free block at the end: three more units are enough for 60 MiB, and two are not.
    let third = rig.allocate(60 * MIB).unwrap();
    assert_eq!(rig.reserved(), 120 * MIB);
    drop((second, third));
    assert_eq!(rig.allocator().free_bytes_for(&rig.stream(), None), (120 * MIB as u64, 120 * MIB as u64));
}

#[test]
fn expandable_segment_reuses_inner_blocks_before_its_end() {
    let rig = Rig::new(200 * MIB, expandable());
    let [first, second, third] = [50, 10, 10].map(|size| rig.allocate(size * MIB).unwrap());
    let start = first.address().0;
    // 50 MiB at the start are free, and 20 MiB at the end, where the segment can grow.
    drop((first, third));
    assert_eq!(rig.allocator().free_bytes_for(&rig.stream(), None).1, 70 * MIB as u64);
    let again = rig.allocate(5 * MIB).unwrap();
    assert_eq!(again.address().0, start);
    drop((second, again));
}

#[test]
fn expandable_segment_releases_units_between_used_blocks() {
    let rig = Rig::new(200 * MIB, expandable());
    let [first, middle, last] = [(); 3].map(|()| rig.allocate(30 * MIB).unwrap());
    drop(middle);
    rig.allocator().release_cached_blocks(rig.device).unwrap();
    // The free block from 30 to 60 MiB contains one unit of 20 MiB.
    assert_eq!((rig.reserved(), rig.used_by_driver()), (80 * MIB, 80 * MIB));
    let again = rig.allocate(30 * MIB).unwrap();
    assert_eq!(rig.reserved(), 100 * MIB);
    drop((first, last, again));
    rig.allocator().release_cached_blocks(rig.device).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (0, 0));
    assert_eq!(rig.allocator().with_inner(|inner| inner.heap.segments().count()), 0);
}

#[test]
fn expandable_segment_unmaps_a_part_if_the_rest_fails() {
    let rig = Rig::new(100 * MIB, expandable());
    let large = rig.allocate(50 * MIB).unwrap();
    assert!(rig.allocate(70 * MIB).is_err());
    assert_eq!((rig.reserved(), rig.used_by_driver()), (60 * MIB, 60 * MIB));
    rig.faults.fail_allocation(2).unwrap();
    let small = rig.allocate(40 * MIB).unwrap();
    assert_eq!(rig.allocator().with_stats(|stats| stats.clone()).num_alloc_retries, 2);
    drop((large, small));
    rig.allocator().release_cached_blocks(rig.device).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (0, 0));
}

#[test]
fn expandable_segment_does_not_grow_into_units_being_released() {
    let rig = Rig::new(200 * MIB, expandable());
    let first = rig.allocate(20 * MIB).unwrap();
    let (opens, latch) = mpsc::channel::<()>();
    let latch = Mutex::new(latch);
    let held = HostFn::new("held", move || latch.lock().unwrap().recv().or(Ok(())));
    rig.stream().launch(held).unwrap();
    rig.allocator().set_cache_limit(rig.device, Some(0));
    let releasing = first.address().0;
    drop(first);
    // The units before it are released once the stream has passed the latch.
    let second = rig.allocate(20 * MIB).unwrap();
    assert_eq!((second.address().0, rig.reserved()), (releasing + 20 * MIB as u64, 40 * MIB));
    drop(opens);
    rig.stream().synchronize().unwrap();
    drop(second);
    rig.allocator().release_cached_blocks(rig.device).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (0, 0));
}

#[test]
fn expandable_segment_without_memory_is_removed() {
    let rig = Rig::new(100 * MIB, expandable());
    rig.allocator().with_limit(rig.device, |limit| *limit = Some(0)).unwrap();
    assert!(rig.allocate(MIB).is_err());
    assert_eq!(rig.allocator().with_inner(|inner| inner.heap.segments().count()), 0);
}

#[test]
fn allocator_without_caching_releases_every_block() {
    let rig = Rig::new(100 * MIB, AllocatorConfig { caching: false, ..AllocatorConfig::default() });
    let block = rig.allocate(1000).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (1024, 1024));
    drop(block);
    rig.stream().synchronize().unwrap();
    rig.allocator().release_cached_blocks(rig.device).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (0, 0));
}

#[test]
fn cache_limit_includes_memory_that_another_stream_used() {
    let uncached = AllocatorConfig { caching: false, ..AllocatorConfig::default() };
    for config in [uncached, AllocatorConfig::default()] {
        let rig = Rig::new(100 * MIB, config);
        rig.allocator().set_cache_limit(rig.device, Some(0));
        let (stream, other) = (rig.stream(), rig.device.home().pooled_stream(0).unwrap());
        let block = DeviceBuffer::on(&stream, 30 * MIB).unwrap();
        block.record_stream(&other).unwrap();
        drop(block);
        other.synchronize().unwrap();
        let (kept, last) = (rig.allocate(512), rig.allocate(512));
        assert!(rig.reserved() < 30 * MIB, "{}", rig.reserved());
        assert_eq!(rig.reserved(), rig.used_by_driver());
        drop((kept, last));
    }
}

#[test]
fn cache_limit_includes_memory_that_was_freed_during_a_capture() {
    let rig = Rig::new(100 * MIB, AllocatorConfig::default());
    rig.allocator().set_cache_limit(rig.device, Some(0));
    let (allocator, stream) = (rig.allocator(), rig.stream());
    let block = allocator.allocate(&stream, 30 * MIB, None).unwrap();
    let capture = AllocCtx { capturing: true, ..allocator.ctx(rig.device) };
    allocator.with_inner_and_release(&capture, |inner, ctx| inner.free(ctx, block.id));
    assert_eq!(rig.reserved(), 30 * MIB);
    let kept = [(); 2].map(|()| rig.allocate(512).unwrap());
    assert!(rig.reserved() < 30 * MIB, "{}", rig.reserved());
    drop(kept);
}

#[test]
fn garbage_collect_releases_the_least_recently_used_segments() {
    let rig = Rig::new(
        1000 * MIB,
        AllocatorConfig { garbage_collection_threshold: 0.5, ..AllocatorConfig::default() },
    );
    rig.allocator().with_limit(rig.device, |limit| *limit = Some(180 * MIB as u64)).unwrap();
    let blocks: Vec<_> = [30, 32, 34].map(|size| rig.allocate(size * MIB).unwrap()).into_iter().collect();
    for block in blocks {
        drop(block);
        drop(rig.allocate(512).unwrap());
    }
    // 98 MiB are reserved, more than half of the limit, so the oldest segment is released.
    drop(rig.allocate(40 * MIB).unwrap());
    let statistics = rig.allocator().with_stats(|stats| stats.clone());
    assert_eq!(statistics.num_alloc_retries, 0);
    assert_eq!(rig.reserved(), (32 + 34 + 2 + 40) * MIB);
}

#[test]
fn throw_on_oom_rejects_requests_beyond_the_free_memory() {
    let rig =
        Rig::new(100 * MIB, AllocatorConfig { throw_on_cudamalloc_oom: true, ..AllocatorConfig::default() });
    assert!(rig.allocate(120 * MIB).is_err());
    let statistics = rig.allocator().with_stats(|stats| stats.clone());
    assert_eq!((statistics.num_oom_rejections, statistics.num_ooms), (2, 1));
}

#[test]
fn allocator_locks_once_for_a_hit_and_at_most_three_times_for_a_miss() {
    for config in [AllocatorConfig::default(), expandable()] {
        let rig = Rig::new(400 * MIB, config);
        let locks = || rig.allocator().locks.load(Ordering::Relaxed);
        // The first request applies the configuration of the process.
        drop(rig.allocate(512).unwrap());
        let allocate = |bytes| {
            let before = locks();
            let memory = rig.allocate(bytes).unwrap();
            (memory, locks() - before)
        };
        let allocations = || rig.allocator().with_stats(|stats| stats.clone()).num_device_alloc;
        let (hit, on_hit) = allocate(512);
        assert_eq!((on_hit, allocations()), (1, 1));
        // The first request adds a segment; the second adds another one, or grows the first if it is expandable.
        let ((first, on_first), (second, on_second)) = (allocate(30 * MIB), allocate(40 * MIB));
        assert_eq!(allocations(), 3);
        assert!(on_first <= 3 && on_second <= 3, "{on_first} {on_second}");
        let before = locks();
        drop(hit);
        assert_eq!(locks() - before, 1);
        drop((first, second));
    }
}
