//! Tests that threads which share streams never get the same memory.
//!
//! Each thread fills its allocations with its own number, on the stream of the allocation or on another one that waits
//! for it. The number is checked after copying the memory back. Memory is passed to other threads, which check it again
//! and free it.

use crate::allocator;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::allocator::counting;
use crate::allocator::segment::{KIB, MIB};
use interlock_accelerator::Error;
use interlock_accelerator::memory::{self, CopyOperand, DeviceBuffer, HostMemory};
use interlock_accelerator::{Device, Stream, use_driver};
use interlock_driver::Owners;
use interlock_host::{FaultInjector, HostDriver, HostOptions};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

const THREADS: usize = 8;
const ROUNDS: usize = 200;
const MINUTE: Duration = Duration::from_secs(60);
const SIZES: [usize; 8] = [1, 512, 5000, 64 * KIB, 300 * KIB, MIB, MIB + 1, 3 * MIB];
/// The bytes of large memory that are written and checked.
const MAX_CHECKED: usize = 64 * KIB;

/// Memory that a thread passes to the others.
struct Shared {
    memory: DeviceBuffer,
    value: u8,
}

/// Returns the end of the memory, next to its neighbour, or all of a small buffer.
fn part(memory: &DeviceBuffer) -> DeviceBuffer {
    memory.slice(memory.bytes().saturating_sub(MAX_CHECKED)..memory.bytes()).unwrap()
}

/// Copies the memory back on a stream and returns whether it contains `value` everywhere.
fn holds(memory: &DeviceBuffer, value: u8, stream: &Stream) -> bool {
    let part = part(memory);
    let keep: Arc<Vec<_>> = Arc::new((0..part.bytes()).map(|_| AtomicU8::new(!value)).collect());
    // SAFETY: `keep` owns the bytes, which are not read before the copy is done.
    let host =
        unsafe { HostMemory::new(keep.as_ptr().cast(), keep.len(), Owners::until_completed(keep.clone())) };
    let queued =
        memory::copy(&CopyOperand::Host(host), &CopyOperand::Device(part), Some(stream), true).unwrap();
    queued.synchronize().unwrap();
    keep.iter().all(|byte| byte.load(Ordering::Relaxed) == value)
}

struct Worker<'a> {
    number: usize,
    draw: TestRng,
    streams: &'a [Stream],
    left: &'a Mutex<Vec<Shared>>,
}

impl Worker<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.draw.random_range(0..limit)
    }

    /// Fills new memory, perhaps on another stream, and passes it to another thread.
    fn allocate(&mut self) {
        let (stream, other) = (self.below(self.streams.len()), self.below(self.streams.len()));
        let [stream, other] = [stream, other].map(|place| &self.streams[place]);
        let bytes = SIZES[self.below(SIZES.len())];
        let memory = match DeviceBuffer::on(stream, bytes) {
            Ok(memory) => memory,
            Err(Error::OutOfMemory(_)) => return,
            Err(other) => panic!("{other}"),
        };
        let value = (self.number * 31 + self.below(31)) as u8;
        if stream != other {
            // Earlier work with the memory may still be queued.
            other.wait_stream(stream).unwrap();
        }
        part(&memory).fill(value, Some(other)).unwrap();
        match self.below(3) {
            // Freed while the fill is queued.
            0 => drop(memory),
            1 => {
                assert!(holds(&memory, value, other), "the memory was overwritten");
                self.share(memory, value);
            }
            _ => {
                other.synchronize().unwrap();
                self.share(memory, value);
            }
        }
    }

    fn share(&mut self, memory: DeviceBuffer, value: u8) {
        let mut left = self.left.lock().unwrap();
        left.push(Shared { memory, value });
        let place = self.draw.random_range(0..left.len());
        let taken = (left.len() > 40).then(|| left.swap_remove(place));
        drop(left);
        taken.into_iter().for_each(|taken| self.free(taken));
    }

    /// Checks memory of another thread on any stream, and frees it.
    fn free(&mut self, Shared { memory, value }: Shared) {
        let stream = &self.streams[self.draw.random_range(0..self.streams.len())];
        assert!(holds(&memory, value, stream), "the memory was overwritten");
        if self.draw.random_range(0..2) == 0 {
            memory.record_stream(&self.streams[0]).unwrap();
        }
    }

    fn round(&mut self) {
        match self.below(200) {
            0 => memory::empty_cache().unwrap(),
            1 => drop(memory::statistics(Some(self.streams[0].device())).unwrap()),
            _ => self.allocate(),
        }
    }
}

#[test]
fn allocator_never_gives_threads_the_same_memory() {
    let faults = FaultInjector::new();
    let options = HostOptions { devices: 1, memory: 160 * MIB as u64, faults: faults.clone() };
    use_driver(HostDriver::new(options).unwrap()).unwrap();
    let device: Device = "host:0".parse().unwrap();
    let streams: Vec<_> = (0..4).map(|_| Stream::dedicated(Some(device), 0).unwrap()).collect();
    let (left, started) = (Mutex::new(Vec::new()), Instant::now());
    thread::scope(|threads| {
        for number in 0..THREADS {
            let draw = TestRng::from_seed(RngAlgorithm::ChaCha, &[number as u8; 32]);
            let mut worker = Worker { number, draw, streams: &streams, left: &left };
            threads.spawn(move || {
                if !allocator::is_long() {
                    return (0..ROUNDS).for_each(|_| worker.round());
                }
                while started.elapsed() < MINUTE {
                    worker.round();
                }
            });
        }
    });
    for Shared { memory, value } in left.into_inner().unwrap() {
        assert!(holds(&memory, value, &streams[1]));
    }
    drop(streams);
    memory::empty_cache().unwrap();
    let statistics = memory::statistics(Some(device)).unwrap();
    assert!(counting::is_empty(&statistics), "{:?}", statistics.named());
    assert!(statistics.allocation.all.allocated > 0);
    assert_eq!(faults.live_objects().unwrap().bytes, 0);
}
