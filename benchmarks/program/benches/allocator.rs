//! Allocations and frees of device memory that the caching allocator serves from its cache.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a benchmark that can't run must stop")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use interlock::accelerator::host::{HostDriver, HostOptions};
use interlock::accelerator::memory::{self, DeviceBuffer};
use interlock::accelerator::{Stream, use_driver};

const HOT: usize = 4096;
const MIXED_LIVE: usize = 1000;
/// From 512 bytes to 32 MiB.
const MIXED_POWERS: (f64, f64) = (9.0, 25.0);

fn allocated(stream: &Stream, bytes: usize) -> DeviceBuffer {
    DeviceBuffer::on(stream, bytes).expect("there is room")
}

/// Numbers that look random and are the same in each run.
struct Draw(u64);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.unit() * limit as f64) as usize
    }

    /// As many of each order of magnitude.
    fn bytes(&mut self) -> usize {
        let (least, most) = MIXED_POWERS;
        (least + self.unit() * (most - least)).exp2() as usize
    }
}

fn memory(criterion: &mut Criterion) {
    // It is only ever reserved: nothing here touches what is allocated.
    let options = HostOptions { memory: 1 << 40, ..HostOptions::default() };
    use_driver(HostDriver::new(options).expect("the options of a driver")).expect("the first driver");
    let stream = Stream::new(None, 0).expect("a stream");
    let mut group = criterion.benchmark_group("memory");
    for live in [10, 1000, 100_000] {
        let kept: Vec<_> = (0..live).map(|_| allocated(&stream, HOT)).collect();
        group.bench_function(format!("hot_{live}"), |b| b.iter(|| drop(black_box(allocated(&stream, HOT)))));
        drop(kept);
        memory::empty_cache().expect("a device that answers");
    }
    let mut draw = Draw(1);
    let mut live: Vec<_> = (0..MIXED_LIVE).map(|_| Some(allocated(&stream, draw.bytes()))).collect();
    group.bench_function("mixed", |b| {
        b.iter(|| {
            let place = draw.below(MIXED_LIVE);
            live[place] = None;
            live[place] = Some(allocated(&stream, draw.bytes()));
        });
    });
    group.finish();
}

criterion_group!(benches, memory);
criterion_main!(benches);
