//! A trace of what a program allocates and frees, replayed on another device, comes to the same statistics.
//!
//! Of two pieces of one size the one at the lower address is handed out. So that both devices have the same addresses
//! the driver counts them up.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod rig;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlock_accelerator::memory::{self, DeviceBuffer, Statistics};
use interlock_accelerator::{Device, Stream, use_driver};
use interlock_host::{HostDriver, HostOptions};
use rig::failing::Failing;

const LAYERS: usize = 12;
const WIDTH: usize = 768;

/// A device with two streams, what it has handed out, and what it was asked.
struct Traced {
    device: Device,
    streams: [Stream; 2],
    live: BTreeMap<usize, DeviceBuffer>,
    made: usize,
    trace: String,
    told: Vec<Statistics>,
}

impl Traced {
    fn new(device: &str) -> Self {
        let device: Device = device.parse().unwrap();
        // The caches of all devices are emptied at once, and that is counted.
        memory::reset_accumulated_statistics(Some(device)).unwrap();
        let streams = [(); 2].map(|()| Stream::dedicated(Some(device), 0).unwrap());
        let (live, trace, told) = (BTreeMap::new(), String::new(), Vec::new());
        Traced { device, streams, live, made: 0, trace, told }
    }

    /// Does what a line of a trace says, and writes it down.
    fn act(&mut self, line: &str) {
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
        self.told.push(memory::statistics(Some(self.device)).unwrap());
    }

    fn allocate(&mut self, numbers: usize, stream: usize) -> usize {
        self.made += 1;
        self.act(&format!("allocate {} {} {stream}", self.made, 4 * numbers));
        self.made
    }

    fn free(&mut self, id: usize) {
        self.act(&format!("free {id}"));
    }
}

/// What training a small transformer allocates: parameters and what the optimiser keeps, then in every step
/// activations that are freed in reverse, with what is used on the way.
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
        traced.act(&format!("use {batch} 0"));
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
            // The optimiser makes what it keeps when it first runs.
            keep(traced);
        }
        gradients.into_iter().for_each(|gradient| traced.free(gradient));
        if step == 3 {
            traced.act("empty_cache");
        }
    }
}

#[test]
fn a_recorded_trace_replays_to_the_same_statistics() {
    let host = HostDriver::new(HostOptions { devices: 2, memory: 16 << 30, ..HostOptions::default() });
    use_driver(Failing::numbered(host.unwrap())).unwrap();
    let mut recorded = Traced::new("failing:0");
    train(&mut recorded);
    let statistics = recorded.told.last().unwrap();
    assert!(statistics.inactive_split.all.peak > 10 && statistics.num_device_free > 0);
    assert_eq!(statistics.num_ooms, 0);

    let mut replayed = Traced::new("failing:1");
    recorded.trace.lines().for_each(|line| replayed.act(line));
    assert_eq!(replayed.trace, recorded.trace);
    for (line, (now, before)) in recorded.trace.lines().zip(replayed.told.iter().zip(&recorded.told)) {
        assert_eq!(now, before, "after {line}");
    }
}
