//! Model-based tests of the cache of pinned memory.
//!
//! A model without addresses computes the statistics of random programs. Each block gets its own number when it is
//! allocated, and queued work that uses the block checks the number later. Latches block streams, and streams without a
//! latch are awaited, so that results do not depend on timing. The driver is global, so this is one test.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::pinned_model::{Model, SLOTS, STREAMS, Step, program};
use crate::rig::Latch;
use interlock_accelerator::Error;
use interlock_accelerator::memory::{self, DurationStats, PinnedMemory, PinnedStats};
use interlock_accelerator::{self as accelerator, HostFn, Stream};
use interlock_host::{FaultInjector, HostDriver, HostOptions};
use proptest::prelude::*;

/// Returns the number in a block, whose address is in memory that has been pinned.
fn number_at(address: u64) -> &'static AtomicU64 {
    // SAFETY: the block is aligned and has 8 bytes. The cache keeps it until the work that uses it is done, unless it
    // has the error that the test detects.
    unsafe { AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(address as usize)) }
}

struct Run<'a> {
    faults: &'a FaultInjector,
    streams: &'a [Stream],
    latches: [Option<Latch>; STREAMS],
    slots: [Option<(PinnedMemory, u64)>; SLOTS],
    numbers: u64,
    model: Model,
}

impl<'a> Run<'a> {
    fn new(faults: &'a FaultInjector, streams: &'a [Stream]) -> Self {
        memory::reset_accumulated_host_memory_stats();
        memory::reset_peak_host_memory_stats();
        let (latches, slots) = Default::default();
        Run { faults, streams, latches, slots, numbers: 0, model: Model::default() }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Allocate { slot, bytes } => {
                self.slots[slot] = None;
                let made = PinnedMemory::new(bytes).unwrap();
                self.numbers += 1;
                number_at(made.pointer().as_ptr() as u64).store(self.numbers, Ordering::Relaxed);
                self.slots[slot] = Some((made, self.numbers));
            }
            Step::AllocateTooMuch => match PinnedMemory::new(usize::MAX) {
                Err(Error::OutOfMemory(oom)) => {
                    let (cache, counted) = (oom.cache.unwrap(), memory::host_memory_stats());
                    assert_eq!((cache.allocated, cache.largest_free), (counted.active_bytes.current, 0));
                    assert_eq!(cache.reserved, counted.allocated_bytes.current);
                }
                other => panic!("{other:?}"),
            },
            Step::Free { slot } => self.slots[slot] = None,
            Step::Use { slot, stream } => self.check_number(slot, stream),
            Step::Hold { stream } if self.latches[stream].is_none() => {
                let latch = Latch::default();
                self.streams[stream].launch(latch.work()).unwrap();
                self.latches[stream] = Some(latch);
            }
            Step::Hold { .. } => {}
            Step::Release { stream } => {
                if let Some(latch) = self.latches[stream].take() {
                    latch.open();
                }
                self.streams[stream].synchronize().unwrap();
            }
            Step::Empty => memory::empty_host_cache(),
            Step::Fail => {
                self.faults.clear().unwrap();
                self.faults.fail_pinned_allocation(1).unwrap();
            }
        }
        self.model.step(step);
        self.check();
    }

    /// Queues work that checks the number of a block, perhaps after its slot is freed.
    fn check_number(&self, slot: usize, stream: usize) {
        let Some((block, number)) = &self.slots[slot] else { return };
        let (address, number) = (block.pointer().as_ptr() as u64, *number);
        let _keeper = block.prepare_use(&self.streams[stream]).unwrap();
        let look = move || {
            let found = number_at(address).load(Ordering::Relaxed);
            if found == number { Ok(()) } else { Err(format!("block {number} was given to {found}").into()) }
        };
        self.streams[stream].launch(HostFn::new("look", look)).unwrap();
        if !self.model.is_blocked(stream) {
            self.streams[stream].synchronize().unwrap();
        }
    }

    fn check(&self) {
        for (block, number) in self.slots.iter().flatten() {
            let pointer = block.pointer().as_ptr();
            assert_eq!(number_at(pointer as u64).load(Ordering::Relaxed), *number);
            assert!(PinnedMemory::is_pinned(pointer.wrapping_add(block.bytes() - 1)));
        }
        let counts = |times: DurationStats| DurationStats { count: times.count, ..DurationStats::default() };
        let counted = memory::host_memory_stats();
        let counted = PinnedStats {
            host_alloc_time: counts(counted.host_alloc_time),
            host_free_time: counts(counted.host_free_time),
            ..counted
        };
        assert_eq!(counted, self.model.counted);
        assert_eq!(self.faults.live_objects().unwrap().pinned_bytes, counted.allocated_bytes.current);
    }

    /// Checks that all memory is released.
    fn finish(mut self) {
        (0..SLOTS).for_each(|slot| self.step(Step::Free { slot }));
        (0..STREAMS).for_each(|stream| self.step(Step::Release { stream }));
        self.step(Step::Empty);
        assert_eq!(self.faults.live_objects().unwrap().pinned_bytes, 0);
        self.faults.clear().unwrap();
    }
}

/// Cleans up after a program that failed.
impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.slots = Default::default();
        self.latches.iter().flatten().for_each(Latch::open);
        self.streams.iter().for_each(|stream| drop(stream.synchronize()));
        memory::empty_host_cache();
    }
}

#[test]
fn pinned_cache_agrees_with_its_model() {
    assert_eq!(memory::host_memory_stats(), PinnedStats::default());
    memory::empty_host_cache();
    assert!(!PinnedMemory::is_pinned(std::ptr::from_ref(&0)));
    let faults = FaultInjector::new();
    let options = HostOptions { devices: 2, faults: faults.clone(), ..HostOptions::default() };
    accelerator::use_driver(HostDriver::new(options).unwrap()).unwrap();
    let stream = |name: &str| Stream::dedicated(Some(name.parse().unwrap()), 0).unwrap();
    let streams = ["host:0", "host:0", "host:1"].map(stream);
    let config = ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(program in program())| {
        let mut run = Run::new(&faults, &streams);
        program.into_iter().for_each(|step| run.step(step));
        run.finish();
    });
    drop(streams);
    let left = faults.live_objects().unwrap();
    assert_eq!((left.streams, left.pinned_bytes, left.commands), (0, 0, 0));
}
