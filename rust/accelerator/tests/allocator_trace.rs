//! Tests that a trace of allocations and frees, replayed on another device, results in the same statistics.
//!
//! Of two free blocks of one size, the one at the lower address is allocated. The driver numbers addresses, so that
//! both devices have the same ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::rig::failing::Failing;
use interlock_accelerator::memory::{self, DeviceBuffer, Statistics};
use interlock_accelerator::{Device, Stream, use_driver};
use interlock_host::{HostDriver, HostOptions};

const LAYERS: usize = 12;
const WIDTH: usize = 768;

/// A device with two streams, its buffers, the trace, and the statistics after each step.
struct Traced {
    device: Device,
    streams: [Stream; 2],
    live: BTreeMap<usize, DeviceBuffer>,
    last_id: usize,
    trace: String,
    statistics: Vec<Statistics>,
}

impl Traced {
    fn new(device: &str) -> Self {
        let device: Device = device.parse().unwrap();
        // `empty_cache` covers all devices, and is counted on each.
        memory::reset_accumulated_statistics(Some(device)).unwrap();
        let streams = [(); 2].map(|()| Stream::dedicated(Some(device), 0).unwrap());
        let (live, trace, statistics) = (BTreeMap::new(), String::new(), Vec::new());
        Traced { device, streams, live, last_id: 0, trace, statistics }
    }

    /// Runs a line of a trace and records it.
    fn run(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<usize>().unwrap();
        match words[0] {
            "allocate" => {
                let memory = DeviceBuffer::on(&self.streams[number(3)], number(2)).unwrap();
                self.live.insert(number(1), memory);
            }
            "use" => self.live[&number(1)].record_stream(&self.streams[number(2)]).unwrap(),
            "free" => drop(self.live.remove(&number(1)).unwrap()),
            "empty_cache" => memory::empty_cache().unwrap(),
            other => panic!("no line of a trace begins with {other}"),
        }
        writeln!(self.trace, "{line}").unwrap();
        self.statistics.push(memory::statistics(Some(self.device)).unwrap());
    }

    fn allocate(&mut self, numbers: usize, stream: usize) -> usize {
        self.last_id += 1;
        self.run(&format!("allocate {} {} {stream}", self.last_id, 4 * numbers));
        self.last_id
    }

    fn free(&mut self, id: usize) {
        self.run(&format!("free {id}"));
    }
}

/// Allocates like the training of a small transformer: parameters and optimizer state, then in each step activations,
/// which are freed in reverse order, and temporary buffers.
fn train(traced: &mut Traced) {
    let matrices = [3 * WIDTH * WIDTH, WIDTH * WIDTH, 4 * WIDTH * WIDTH, 4 * WIDTH * WIDTH, WIDTH, 4 * WIDTH];
    let parameters: Vec<_> = (0..LAYERS).flat_map(|_| matrices).collect();
    let keep = |traced: &mut Traced| {
        for numbers in &parameters {
            traced.allocate(*numbers, 0);
        }
    };
    keep(traced);
    for step in 0..6 {
        // The last batch of an epoch is smaller.
        let tokens = if step % 3 == 2 { 100 } else { 512 } + 17 * step;
        let batch = traced.allocate(tokens * WIDTH, 1);
        traced.run(&format!("use {batch} 0"));
        let mut activations = Vec::new();
        for _ in 0..LAYERS {
            let scores = traced.allocate(12 * tokens * tokens, 0);
            activations.extend([3 * WIDTH, WIDTH, 4 * WIDTH].map(|width| traced.allocate(tokens * width, 0)));
            traced.free(scores);
        }
        traced.free(batch);
        let mut gradients = Vec::new();
        for (place, activation) in activations.into_iter().rev().enumerate() {
            let gradient = traced.allocate(tokens * WIDTH, 0);
            gradients.push(traced.allocate(parameters[place % parameters.len()], 0));
            traced.free(activation);
            traced.free(gradient);
        }
        if step == 0 {
            // The optimizer allocates its state in the first step.
            keep(traced);
        }
        gradients.into_iter().for_each(|gradient| traced.free(gradient));
        if step == 3 {
            traced.run("empty_cache");
        }
    }
}

#[test]
fn allocator_trace_replays_to_the_same_statistics() {
    let host = HostDriver::new(HostOptions { devices: 2, memory: 16 << 30, ..HostOptions::default() });
    use_driver(Failing::numbered(host.unwrap())).unwrap();
    let mut recorded = Traced::new("failing:0");
    train(&mut recorded);
    let statistics = recorded.statistics.last().unwrap();
    assert!(statistics.inactive_split.all.peak > 10 && statistics.num_device_free > 0);
    assert_eq!(statistics.num_ooms, 0);

    let mut replayed = Traced::new("failing:1");
    recorded.trace.lines().for_each(|line| replayed.run(line));
    assert_eq!(replayed.trace, recorded.trace);
    for (line, (now, before)) in
        recorded.trace.lines().zip(replayed.statistics.iter().zip(&recorded.statistics))
    {
        assert_eq!(now, before, "after {line}");
    }
}
