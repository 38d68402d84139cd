//! A caching allocator on devices of its own, with configurations that can't be configured from outside of it.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, mpsc};

use interlock_host::{Faults, HostDriver, HostOptions};

use super::CachingAllocator;
use super::block::Segment;
use crate::HostFn;
use crate::Result;
use crate::accelerator::Accelerator;
use crate::memory::{AllocatorConfig, DeviceBuffer, Statistics};
use crate::stream::Stream;

const MIB: usize = 1 << 20;

struct Rig {
    accelerator: &'static Accelerator,
    faults: Faults,
}

impl Rig {
    fn new(memory: usize, config: AllocatorConfig) -> Self {
        let faults = Faults::new();
        let options = HostOptions { memory: memory as u64, faults: faults.clone(), ..HostOptions::default() };
        let driver = HostDriver::new(options).unwrap();
        let accelerator: &'static Accelerator = Box::leak(Box::new(Accelerator::start(driver).unwrap()));
        let allocator = accelerator.allocator(0, "a test").unwrap();
        // No configuration of the process comes later.
        allocator.with_inner(|inner| inner.configure(u64::MAX, &config, memory as u64));
        Rig { accelerator, faults }
    }

    fn allocator(&self) -> &'static CachingAllocator {
        self.accelerator.allocator(0, "a test").unwrap()
    }

    fn stream(&self) -> Stream {
        self.accelerator.default_stream(0).unwrap()
    }

    fn allocate(&self, bytes: usize) -> Result<DeviceBuffer> {
        DeviceBuffer::on(&self.stream(), bytes)
    }

    fn reserved(&self) -> usize {
        self.allocator().with_stats(|stats| stats.clone()).reserved_bytes.all.current as usize
    }

    /// Returns the number of the segment and the place in it.
    fn place_of(&self, memory: &DeviceBuffer) -> i64 {
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

fn growing() -> AllocatorConfig {
    AllocatorConfig { expandable_segments: true, ..AllocatorConfig::default() }
}

/// Numbers that look random and are the same in each run.
fn draws(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

/// Where pieces come to lie in a program, from the first on, and what is counted in the end.
fn program(seed: u64, config: &AllocatorConfig, looks: bool) -> (Vec<i64>, Statistics) {
    let rig = Rig::new(400 * MIB, config.clone());
    let streams = [rig.stream(), rig.accelerator.pooled_stream(0, 0).unwrap()];
    let sizes = [100, 600, 600, 4096, 300_000, MIB, 3 * MIB, 3 * MIB, 5 * MIB, 12 * MIB];
    let mut draw = draws(seed);
    let (mut live, mut places) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        match draw(9) {
            0..=4 => {
                let memory = DeviceBuffer::on(&streams[draw(2)], sizes[draw(sizes.len())]).unwrap();
                places.push(rig.place_of(&memory));
                live.push(memory);
                if live.len() > 25 {
                    live.swap_remove(draw(25));
                }
            }
            5..=7 if !live.is_empty() => drop(live.swap_remove(draw(live.len()))),
            8 if draw(10) == 0 => {
                rig.allocator().release_cached_blocks(rig.accelerator).unwrap();
            }
            _ => {}
        }
        if looks {
            rig.allocator().with_stats(|stats| stats.clone());
        }
    }
    (places, rig.allocator().with_stats(|stats| stats.clone()))
}

#[test]
fn it_makes_no_difference_whether_somebody_looks_between_a_free_and_the_next_request() {
    let growing = growing();
    let oversize = AllocatorConfig { max_split_size_mb: Some(20), ..AllocatorConfig::default() };
    for seed in 0..60 {
        for config in [&AllocatorConfig::default(), &growing, &oversize] {
            assert_eq!(program(seed, config, false), program(seed, config, true), "seed {seed}");
        }
    }
}

#[test]
fn a_segment_grows_where_it_is() {
    let rig = Rig::new(200 * MIB, growing());
    let first = rig.allocate(30 * MIB).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (40 * MIB, 40 * MIB));
    let second = rig.allocate(30 * MIB).unwrap();
    assert_eq!(second.address().0, first.address().0 + 30 * MIB as u64);
    assert_eq!(rig.reserved(), 60 * MIB);
    let statistics = rig.allocator().with_stats(|stats| stats.clone());
    assert_eq!((statistics.segment.all.current, statistics.num_device_alloc), (0, 2));
    assert_eq!(statistics.inactive_split.all.allocated, 0);
    drop(first);
    // What is free before the end counts: two more pages are enough for 60 MiB nowhere, and three are after.
    let third = rig.allocate(60 * MIB).unwrap();
    assert_eq!(rig.reserved(), 120 * MIB);
    drop((second, third));
    assert_eq!(rig.allocator().free_bytes(), (120 * MIB as u64, 120 * MIB as u64));
}

#[test]
fn the_end_of_a_segment_is_spared_for_what_needs_it() {
    let rig = Rig::new(200 * MIB, growing());
    let [first, second, third] = [50, 10, 10].map(|size| rig.allocate(size * MIB).unwrap());
    let start = first.address().0;
    // 50 MiB at the start are free, and 20 at the end, which can grow.
    drop((first, third));
    assert_eq!(rig.allocator().free_bytes().1, 70 * MIB as u64);
    let again = rig.allocate(5 * MIB).unwrap();
    assert_eq!(again.address().0, start);
    drop((second, again));
}

#[test]
fn whole_pages_go_back_from_between_pieces_in_use() {
    let rig = Rig::new(200 * MIB, growing());
    let [first, middle, last] = [(); 3].map(|()| rig.allocate(30 * MIB).unwrap());
    drop(middle);
    rig.allocator().release_cached_blocks(rig.accelerator).unwrap();
    // Of the bytes from 30 to 60 MiB one page of 20 lies within.
    assert_eq!((rig.reserved(), rig.used_by_driver()), (80 * MIB, 80 * MIB));
    let again = rig.allocate(30 * MIB).unwrap();
    assert_eq!(rig.reserved(), 100 * MIB);
    drop((first, last, again));
    rig.allocator().release_cached_blocks(rig.accelerator).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (0, 0));
    assert_eq!(rig.allocator().with_inner(|inner| inner.heap.segments().count()), 0);
}

#[test]
fn a_segment_that_gets_a_part_of_what_it_needs_gives_it_back() {
    let rig = Rig::new(100 * MIB, growing());
    let kept = rig.allocate(50 * MIB).unwrap();
    assert!(rig.allocate(70 * MIB).is_err());
    assert_eq!((rig.reserved(), rig.used_by_driver()), (60 * MIB, 60 * MIB));
    rig.faults.fail_allocation(Some(2)).unwrap();
    let small = rig.allocate(40 * MIB).unwrap();
    assert_eq!(rig.allocator().with_stats(|stats| stats.clone()).num_alloc_retries, 2);
    drop((kept, small));
    rig.allocator().release_cached_blocks(rig.accelerator).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (0, 0));
}

#[test]
fn a_segment_does_not_grow_into_pages_that_go_back() {
    let rig = Rig::new(200 * MIB, growing());
    let first = rig.allocate(20 * MIB).unwrap();
    let (opens, latch) = mpsc::channel::<()>();
    let latch = Mutex::new(latch);
    let held = HostFn::new("held", move || latch.lock().unwrap().recv().or(Ok(())));
    rig.stream().launch(held).unwrap();
    rig.allocator().set_cache_limit(rig.accelerator, Some(0));
    let leaving = first.address().0;
    drop(first);
    // The pages before it go back as soon as the stream has got past the latch.
    let second = rig.allocate(20 * MIB).unwrap();
    assert_eq!((second.address().0, rig.reserved()), (leaving + 20 * MIB as u64, 40 * MIB));
    drop(opens);
    rig.stream().synchronize().unwrap();
    drop(second);
    rig.allocator().release_cached_blocks(rig.accelerator).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (0, 0));
}

#[test]
fn addresses_that_get_no_memory_go_back() {
    let rig = Rig::new(100 * MIB, growing());
    rig.allocator().with_limit(rig.accelerator, |limit| *limit = Some(0)).unwrap();
    assert!(rig.allocate(MIB).is_err());
    assert_eq!(rig.allocator().with_inner(|inner| inner.heap.segments().count()), 0);
}

#[test]
fn without_keeping_every_piece_goes_back() {
    let rig = Rig::new(100 * MIB, AllocatorConfig { caching: false, ..AllocatorConfig::default() });
    let piece = rig.allocate(1000).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (1024, 1024));
    drop(piece);
    rig.stream().synchronize().unwrap();
    rig.allocator().release_cached_blocks(rig.accelerator).unwrap();
    assert_eq!((rig.reserved(), rig.used_by_driver()), (0, 0));
}

#[test]
fn what_is_long_unused_is_collected_before_the_driver_is_asked() {
    let rig = Rig::new(
        1000 * MIB,
        AllocatorConfig { garbage_collection_threshold: 0.5, ..AllocatorConfig::default() },
    );
    rig.allocator().with_limit(rig.accelerator, |limit| *limit = Some(180 * MIB as u64)).unwrap();
    let pieces: Vec<_> = [30, 32, 34].map(|size| rig.allocate(size * MIB).unwrap()).into_iter().collect();
    for piece in pieces {
        drop(piece);
        drop(rig.allocate(512).unwrap());
    }
    // 98 MiB are reserved, which is more than half of the limit: what is oldest goes.
    drop(rig.allocate(40 * MIB).unwrap());
    let statistics = rig.allocator().with_stats(|stats| stats.clone());
    assert_eq!(statistics.num_alloc_retries, 0);
    assert_eq!(rig.reserved(), (32 + 34 + 2 + 40) * MIB);
}

#[test]
fn what_the_driver_lacks_is_refused_without_asking_it() {
    let rig =
        Rig::new(100 * MIB, AllocatorConfig { throw_on_cudamalloc_oom: true, ..AllocatorConfig::default() });
    assert!(rig.allocate(120 * MIB).is_err());
    let statistics = rig.allocator().with_stats(|stats| stats.clone());
    assert_eq!((statistics.num_oom_rejections, statistics.num_ooms), (2, 1));
}

#[test]
fn a_hit_takes_the_lock_once_and_a_miss_at_most_three_times() {
    for config in [AllocatorConfig::default(), growing()] {
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
        // A new segment, and then one that grows if segments do.
        let ((first, on_first), (second, on_second)) = (allocate(30 * MIB), allocate(40 * MIB));
        assert_eq!(allocations(), 3);
        assert!(on_first <= 3 && on_second <= 3, "{on_first} {on_second}");
        let before = locks();
        drop(hit);
        assert_eq!(locks() - before, 1);
        drop((first, second));
    }
}
