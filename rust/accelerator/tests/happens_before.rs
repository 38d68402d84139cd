//! Tests that streams respect the order that events define, for random programs.
//!
//! Random programs launch, copy, record and wait. A model of streams and events computes which work must precede which.
//! Each step writes its own cell: a function first checks that all preceding cells are written, and a copy reads one of
//! them. Results do not depend on timing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::programs::{
    EVENTS_PER_DEVICE, Effect, INPUT, MAX_STEPS, STREAMS, Step, device_of, model, program,
};
use crate::rig::{Memory, Rig};
use interlock_driver::{
    Address, Copy, CopyEndpoint, DeviceIndex, DriverRuntime, EventHandle, EventOptions, HostFn, Owners,
    StreamHandle, WaitTarget,
};
use interlock_host::{HostDriver, HostOptions};
use proptest::prelude::*;

/// The cells of each device: one for each step, and one for the input.
#[derive(Clone)]
struct Cells([Arc<Memory>; 2]);

impl Cells {
    fn new(rig: &Rig) -> Self {
        let cells = Cells([0, 1].map(|device| rig.memory(device, 8 * (MAX_STEPS + 1))));
        cells.clear();
        cells
    }

    fn address(&self, device: usize, place: usize) -> Address {
        Address(self.0[device].address.0 + 8 * place as u64)
    }

    /// Returns a cell. Memory of a host device is memory of this process.
    fn cell(&self, device: usize, place: usize) -> &AtomicU64 {
        let pointer = std::ptr::with_exposed_provenance_mut(self.address(device, place).0 as usize);
        // SAFETY: the cell is in memory that this object owns, aligned to 8 bytes. Copies do not write it at the same
        // time unless the driver has the error that the test detects.
        unsafe { AtomicU64::from_ptr(pointer) }
    }

    fn clear(&self) {
        for device in [0, 1] {
            (0..MAX_STEPS).for_each(|place| self.cell(device, place).store(0, Ordering::Relaxed));
            self.cell(device, MAX_STEPS).store(INPUT, Ordering::Relaxed);
        }
    }
}

/// A program that is being queued.
struct Run<'a> {
    rig: &'a Rig,
    program: &'a [Step],
    effects: Vec<Option<Effect>>,
    cells: Cells,
    streams: Vec<StreamHandle>,
    events: Vec<EventHandle>,
}

impl<'a> Run<'a> {
    fn new(rig: &'a Rig, program: &'a [Step]) -> Self {
        let device = |place: usize, each: usize| (place / each) as DeviceIndex;
        let event = |place| {
            rig.driver.create_event(device(place, EVENTS_PER_DEVICE), EventOptions::default()).unwrap()
        };
        Run {
            rig,
            program,
            effects: model(program),
            cells: Cells::new(rig),
            streams: (0..STREAMS).map(|place| rig.stream(device(place, 2))).collect(),
            events: (0..2 * EVENTS_PER_DEVICE).map(event).collect(),
        }
    }

    fn device_of_step(&self, place: usize) -> usize {
        match self.program[place] {
            Step::Launch { stream } | Step::Copy { stream, .. } => device_of(stream),
            _ => 0,
        }
    }

    /// Queues the program, with or without its waits.
    fn queue(&self, with_waits: bool) {
        let driver = &self.rig.driver;
        for (place, step) in self.program.iter().enumerate() {
            match *step {
                Step::Launch { stream } => {
                    driver.launch_host_fn(self.streams[stream], self.work(place)).unwrap()
                }
                Step::Copy { stream, .. } => self.copy(self.streams[stream], place),
                Step::Record { stream, event } => {
                    let event = self.events[device_of(stream) * EVENTS_PER_DEVICE + event];
                    driver.record_event(event, self.streams[stream]).unwrap();
                }
                Step::Wait { stream, event } if with_waits => {
                    driver.wait_event(self.streams[stream], self.events[event]).unwrap();
                }
                Step::Wait { .. } => {}
            }
        }
    }

    fn work(&self, place: usize) -> HostFn {
        let effect = self.effects[place].clone().unwrap();
        let cells = self.cells.clone();
        let before: Vec<_> =
            effect.before.iter().map(|before| (self.device_of_step(*before), *before)).collect();
        let own = self.device_of_step(place);
        HostFn::new("look", move || {
            // Varies the interleaving of the streams.
            (0..place * 7 % 5).for_each(|_| std::thread::yield_now());
            for (device, before) in &before {
                if cells.cell(*device, *before).load(Ordering::Relaxed) == 0 {
                    return Err(format!("step {before} should have come before step {place}").into());
                }
            }
            cells.cell(own, place).store(effect.value, Ordering::Relaxed);
            Ok(())
        })
    }

    fn copy(&self, stream: StreamHandle, place: usize) {
        let own = self.device_of_step(place);
        let source = self.effects[place].as_ref().unwrap().source;
        let (device, from) = source.map_or((own, MAX_STEPS), |from| (self.device_of_step(from), from));
        let at = |device: usize, place| {
            CopyEndpoint::Device(device as DeviceIndex, self.cells.address(device, place))
        };
        let owners = Owners::until_completed(Arc::new(self.cells.clone()));
        let copy = Copy { to: at(own, place), from: at(device, from), bytes: 8, owners };
        // SAFETY: `owners` own all cells.
        unsafe { self.rig.driver.copy(stream, copy) }.unwrap();
    }

    /// Checks that all steps ran, in an order that the program allows.
    fn check(&self) {
        for device in [0, 1] {
            assert_eq!(self.rig.wait(WaitTarget::Device(device)), Ok(true));
        }
        for (place, effect) in self.effects.iter().enumerate() {
            let found = self.cells.cell(self.device_of_step(place), place).load(Ordering::Relaxed);
            assert_eq!(found, effect.as_ref().map_or(0, |effect| effect.value), "step {place}");
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.events.drain(..).for_each(|event| self.rig.driver.destroy_event(event));
        self.streams.drain(..).for_each(|stream| self.rig.driver.destroy_stream(stream));
    }
}

fn host() -> Rig {
    let driver = HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap();
    let driver: Arc<dyn DriverRuntime> = driver.start().unwrap();
    Rig::of(driver)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn host_streams_respect_the_order_of_a_program() {
    let rig = host();
    proptest!(config(2000), |(program in program())| {
        let run = Run::new(&rig, &program);
        run.queue(true);
        run.check();
    });
}

#[test]
fn host_replays_respect_the_order_of_a_program() {
    let rig = host();
    proptest!(config(1000), |(program in program())| {
        let run = Run::new(&rig, &program);
        let origin = run.streams[0];
        let graph = rig.ready(origin, || {
            run.streams[1..].iter().for_each(|forked| rig.join(*forked, origin));
            run.queue(true);
            run.streams[1..].iter().for_each(|forked| rig.join(origin, *forked));
        });
        for stream in [origin, run.streams[3]] {
            rig.driver.replay(graph, stream).unwrap();
            run.check();
            run.cells.clear();
        }
        rig.driver.destroy_graph_exec(graph);
    });
}

/// Checks that the test detects a driver that does not wait.
#[test]
#[should_panic(expected = "step 0 should have come before step 3")]
fn order_check_detects_a_missing_wait() {
    let rig = host();
    let program = [
        Step::Launch { stream: 0 },
        Step::Record { stream: 0, event: 0 },
        Step::Wait { stream: 2, event: 0 },
        Step::Launch { stream: 2 },
    ];
    let run = Run::new(&rig, &program);
    let latch = rig.block(run.streams[0]);
    run.queue(false);
    let failed = rig.wait(WaitTarget::Stream(run.streams[2]));
    latch.open();
    panic!("{}", failed.unwrap_err());
}
