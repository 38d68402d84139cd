//! Tests that threads which share streams never get the same or unmapped memory while segments grow and shrink. The
//! configuration is global, so this is one test.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use interlock_accelerator::Error;
use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer, Limit};
use interlock_accelerator::{Stream, use_driver};
use interlock_host::{FaultInjector, HostDriver, HostOptions};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

const THREADS: u8 = 6;
const ROUNDS: usize = 1000;
const MIB: usize = 1 << 20;

/// The end of each allocation by its start.
type Allocations = Mutex<BTreeMap<u64, u64>>;

struct Worker<'a> {
    draw: TestRng,
    streams: &'a [Stream],
    allocations: &'a Allocations,
    own: Vec<DeviceBuffer>,
}

impl Worker<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.draw.random_range(0..limit)
    }

    fn allocate(&mut self) {
        let largest = [MIB, 40 * MIB][self.below(2)];
        let (bytes, place) = (1 + self.below(largest), self.below(self.streams.len()));
        let memory = match DeviceBuffer::on(&self.streams[place], bytes) {
            Ok(memory) => memory,
            Err(Error::OutOfMemory(_)) => return,
            Err(other) => panic!("{other}"),
        };
        let (start, end) = (memory.address().0, memory.address().0 + bytes as u64);
        let mut allocations = self.allocations.lock().unwrap();
        let before = allocations.range(..end).next_back().map(|(_, end)| *end);
        assert!(before.is_none_or(|before| before <= start), "the memory is in use");
        allocations.insert(start, end);
        drop(allocations);
        // Crashes if a page is not mapped.
        for edge in [0..1, bytes - 1..bytes] {
            memory.slice(edge).unwrap().fill(1, Some(&self.streams[place])).unwrap();
        }
        self.own.push(memory);
    }

    fn free(&mut self) {
        if self.own.is_empty() {
            return;
        }
        let (place, other) = (self.below(self.own.len()), self.below(4 * self.streams.len()));
        let memory = self.own.swap_remove(place);
        self.streams.get(other).map_or(Ok(()), |other| memory.record_stream(other)).unwrap();
        self.allocations.lock().unwrap().remove(&memory.address().0);
    }

    fn round(&mut self) {
        match self.below(30) {
            0 => memory::empty_cache().unwrap(),
            kept @ (1 | 2) => {
                let limit = (kept == 1).then_some(Limit::Bytes(50 << 20));
                memory::set_cache_limit(limit, None).unwrap();
            }
            3..16 => self.allocate(),
            _ => self.free(),
        }
    }
}

#[test]
fn expandable_segments_never_give_threads_the_same_or_no_memory() {
    let faults = FaultInjector::new();
    let options = HostOptions { devices: 1, memory: 600 * MIB as u64, faults: faults.clone() };
    use_driver(HostDriver::new(options).unwrap()).unwrap();
    memory::set_config(AllocatorConfig { expandable_segments: true, ..AllocatorConfig::default() }).unwrap();
    let streams = [(); 2].map(|()| Stream::dedicated(None, 0).unwrap());
    let allocations = Allocations::default();
    thread::scope(|threads| {
        for number in 0..THREADS {
            let draw = TestRng::from_seed(RngAlgorithm::ChaCha, &[number; 32]);
            let mut worker = Worker { draw, streams: &streams, allocations: &allocations, own: Vec::new() };
            threads.spawn(move || {
                (0..ROUNDS).for_each(|_| worker.round());
                while !worker.own.is_empty() {
                    worker.free();
                }
            });
        }
    });
    memory::empty_cache().unwrap();
    let statistics = memory::statistics(None).unwrap();
    assert!(statistics.num_device_alloc > 0);
    assert_eq!((statistics.allocated_bytes.all.current, statistics.reserved_bytes.all.current), (0, 0));
    assert_eq!(faults.live_objects().unwrap().bytes, 0);
}
