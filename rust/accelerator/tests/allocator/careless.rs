//! A program that continues after errors.

use interlock_accelerator::memory::{self, CopyOperand, DeviceBuffer, Limit};
use interlock_accelerator::{CaptureMode, Graph, Stream};
use interlock_accelerator::{Error, Result};

use super::counting;
use super::devices::{Devices, device};
use super::segment::{KIB, MIB, rounded};

pub const DEVICES: usize = 2;
/// The memory of each device in bytes.
pub const MEMORY: usize = 96 * MIB;
const SIZES: [usize; 8] = [100, 4 * KIB, 700 * KIB, MIB, MIB + 1, 3 * MIB, 11 * MIB, 24 * MIB];

/// A deterministic generator of pseudo-random numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

/// Counts a failure.
fn tried<T>(failures: &mut usize, result: Result<T>) -> Option<T> {
    result.inspect_err(|_| *failures += 1).ok()
}

/// Creates two streams on each device.
pub fn streams() -> Vec<Stream> {
    (0..2 * DEVICES).map(|place| Stream::dedicated(device(place / 2), 0).unwrap()).collect()
}

/// Allocates, uses and frees memory, continuing after errors. Returns the remaining buffers and the number of failures.
pub fn program(streams: &[Stream]) -> (Vec<DeviceBuffer>, usize) {
    let (mut draw, mut live, mut failures) = (Draw(1), Vec::<DeviceBuffer>::new(), 0);
    for step in 0..300 {
        let stream = streams[draw.below(streams.len())].clone();
        let other = streams[draw.below(streams.len())].clone();
        match draw.below(15) {
            0..6 => {
                let bytes = SIZES[draw.below(SIZES.len())];
                live.extend(tried(&mut failures, DeviceBuffer::on(&stream, bytes)));
            }
            6..10 if !live.is_empty() => drop(live.swap_remove(draw.below(live.len()))),
            10 if !live.is_empty() => {
                let memory = &live[draw.below(live.len())];
                tried(&mut failures, memory.slice(0..64).unwrap().fill(1, Some(&other)));
                tried(&mut failures, memory.record_stream(&stream));
            }
            11 if live.len() > 1 => {
                let [to, from] =
                    [draw.below(live.len()), draw.below(live.len())].map(|place| live[place].clone());
                let [to, from] = [to, from].map(|end| CopyOperand::Device(end.slice(0..64).unwrap()));
                tried(&mut failures, memory::copy(&to, &from, Some(&stream), false));
            }
            12 => drop(tried(&mut failures, memory::empty_cache())),
            13 => {
                let limit = (step % 3 > 0).then_some(Limit::Bytes(32 * MIB as u64));
                let device = Some(stream.device());
                tried(&mut failures, memory::set_cache_limit(limit, device));
            }
            14 => failures += graph(&stream),
            _ => {}
        }
    }
    (live, failures)
}

/// Captures work that allocates, and replays it. Returns the number of failures.
fn graph(stream: &Stream) -> usize {
    let mut failures = 0;
    let graph = Graph::new(false).unwrap();
    {
        let _current = stream.guard().unwrap();
        tried(&mut failures, graph.capture_begin(None, CaptureMode::Relaxed));
    }
    if let Some(memory) = tried(&mut failures, DeviceBuffer::on(stream, 5000)) {
        tried(&mut failures, memory.fill(2, Some(stream)));
    }
    if tried(&mut failures, graph.capture_end()).is_some() {
        let _current = stream.guard().unwrap();
        tried(&mut failures, graph.replay());
    }
    tried(&mut failures, graph.reset());
    failures
}

/// Checks that the statistics match the live buffers.
pub fn check(live: &[DeviceBuffer]) {
    for index in 0..DEVICES {
        let statistics = memory::statistics(device(index)).unwrap();
        let here = live.iter().filter(|memory| Some(memory.device()) == device(index));
        let (count, bytes) =
            here.fold((0, 0), |sum, memory| (sum.0 + 1, sum.1 + rounded(memory.bytes()) as u64));
        assert_eq!(statistics.allocation.all.current, count);
        // Blocks of large segments may be larger than their requests.
        assert!((bytes..=bytes + count * MIB as u64).contains(&statistics.allocated_bytes.all.current));
        assert!(statistics.reserved_bytes.all.current >= statistics.active_bytes.all.current);
        assert!(statistics.active.all.current >= count);
    }
}

/// Frees the remaining buffers, and checks that the devices have no allocated memory.
pub fn end(streams: Vec<Stream>, live: Vec<DeviceBuffer>, devices: &Devices) {
    check(&live);
    for index in 0..DEVICES {
        memory::set_cache_limit(None, device(index)).unwrap();
    }
    let served = DeviceBuffer::on(&streams[0], 3 * MIB).map(drop);
    assert!(matches!(served, Ok(()) | Err(Error::OutOfMemory(_))), "{served:?}");
    check(&live);
    drop(live);
    drop(streams);
    memory::empty_cache().unwrap();
    check(&[]);
    for index in 0..DEVICES {
        let statistics = memory::statistics(device(index)).unwrap();
        assert!(counting::is_empty(&statistics), "{:?}", statistics.named());
    }
    assert_eq!((devices.live_bytes)(), 0);
    let new = Stream::dedicated(device(0), 0).unwrap();
    assert!(DeviceBuffer::on(&new, 24 * MIB).is_ok());
}
