//! Runs a program with the allocator and with its model at the same time.

mod memory;
mod streams;

use std::sync::{Arc, Mutex};

use interlock_accelerator::memory as device_memory;
use interlock_accelerator::memory::{Limit, MemoryTracker};
use interlock_accelerator::{Graph, PoolId, Stream};
use interlock_driver::DeviceIndex;

use memory::{Lingering, Live};

use super::counting;
use super::devices::{Devices, device};
use super::model::Model;
use super::segment::StreamKey;
use super::steps::{CAPACITY, DEVICES, GRAPHS, STREAMS, Step};
use crate::rig::Latch;

/// A graph with its device and pool after a capture, and the streams that it was replayed on.
struct Recorded {
    graph: Graph,
    pool: Option<(DeviceIndex, PoolId)>,
    replayed_on: Vec<StreamKey>,
}

pub struct Run<'a> {
    pub model: Model,
    devices: &'a Devices,
    streams: Vec<Option<Stream>>,
    latches: Vec<Option<Latch>>,
    live: Vec<Live>,
    /// A small buffer for each stream, the destination of copies from other devices.
    scratch: Vec<Live>,
    lingering: Vec<Lingering>,
    graphs: Vec<Recorded>,
    capturing: Option<usize>,
    trackers: Vec<(DeviceIndex, u64, MemoryTracker)>,
    opened: u64,
    /// Unexpected contents of memory.
    wrong: Arc<Mutex<Vec<String>>>,
}

fn key(stream: &Stream) -> StreamKey {
    (stream.device_index(), stream.id())
}

impl<'a> Run<'a> {
    pub fn new(devices: &'a Devices) -> Self {
        let made = |_| Recorded { graph: Graph::new(false).unwrap(), pool: None, replayed_on: Vec::new() };
        let mut run = Run {
            model: Model::new(DEVICES as DeviceIndex, CAPACITY as u64),
            devices,
            streams: (0..STREAMS).map(|_| None).collect(),
            latches: vec![None; STREAMS],
            live: Vec::new(),
            scratch: Vec::new(),
            lingering: Vec::new(),
            graphs: (0..GRAPHS).map(made).collect(),
            capturing: None,
            trackers: Vec::new(),
            opened: 0,
            wrong: Arc::default(),
        };
        run.check();
        for slot in 0..STREAMS {
            run.renew(slot);
            run.allocate(slot, 512);
            // Its content is not checked.
            run.scratch.extend(run.live.drain(..).map(|live| Live { is_written: false, ..live }));
        }
        run
    }

    fn stream(&self, slot: usize) -> Stream {
        self.streams[slot].clone().unwrap()
    }

    /// Returns the pool from which a stream allocates.
    fn pool_for(&self, stream: StreamKey) -> Option<PoolId> {
        self.model.capture.filter(|(capturing, _)| *capturing == stream).map(|(_, pool)| pool)
    }

    fn is_capturing(&self, stream: StreamKey) -> bool {
        self.model.capture.is_some_and(|(capturing, _)| capturing == stream)
    }

    /// Waits for a stream, unless it is blocked or has no work.
    fn finish(&self, slot: usize) {
        let stream = self.stream(slot);
        if self.latches[slot].is_none() && !self.is_capturing(key(&stream)) {
            stream.synchronize().unwrap();
        }
    }

    pub fn step(&mut self, step: Step) {
        match step {
            Step::Allocate { stream, bytes } => self.allocate(stream, bytes),
            Step::Free { which } if !self.live.is_empty() => {
                let live = self.live.swap_remove(which % self.live.len());
                self.free(live);
            }
            Step::Use { which, stream } if !self.live.is_empty() => {
                self.use_on(which % self.live.len(), stream)
            }
            Step::Block { stream } => self.block(stream),
            Step::Open { stream } => self.open(stream),
            Step::EmptyCache => self.empty_cache(),
            Step::Limit { device: index, limit } => {
                device_memory::set_limit(limit.map(Limit::Bytes), device(index)).unwrap();
                self.model.devices[index].limit = limit;
            }
            Step::CacheLimit { device: index, limit } => {
                device_memory::set_cache_limit(limit.map(Limit::Bytes), device(index)).unwrap();
                self.model.set_cache_limit(index as DeviceIndex, limit);
            }
            Step::ResetPeak { device: index } => {
                device_memory::reset_peak_statistics(device(index)).unwrap();
                counting::reset_peak(&mut self.model.devices[index].statistics);
            }
            Step::ResetAccumulated { device: index } => {
                device_memory::reset_accumulated_statistics(device(index)).unwrap();
                counting::reset_accumulated(&mut self.model.devices[index].statistics);
            }
            Step::Renew { stream } => self.renew(stream),
            Step::OpenTracker { device: index } if self.trackers.len() < 3 => {
                self.opened += 1;
                self.model.open_tracker(index as DeviceIndex, self.opened);
                self.trackers.push((
                    index as DeviceIndex,
                    self.opened,
                    MemoryTracker::open(device(index)).unwrap(),
                ));
            }
            Step::CloseTracker { which } if !self.trackers.is_empty() => {
                let (index, id, tracker) = self.trackers.swap_remove(which % self.trackers.len());
                let counted = self.model.devices[usize::from(index)].trackers.remove(&id).unwrap().counted;
                assert_eq!(tracker.close().unwrap(), counted);
            }
            Step::Fail { number } => {
                (self.devices.fail_allocation)(number);
                self.model.failing = Some(number);
            }
            Step::Capture { graph, stream } => self.capture(graph, stream),
            Step::EndCapture => self.end_capture(),
            Step::Replay { graph, stream } => self.replay(graph, stream),
            Step::Reset { graph } => self.reset(graph),
            _ => {}
        }
        self.check();
    }

    fn empty_cache(&mut self) {
        if self.capturing.is_none() {
            self.open_all();
        }
        device_memory::empty_cache().unwrap();
        self.model.empty_cache();
    }

    /// Checks that the statistics of the allocator equal the model's.
    fn check(&self) {
        assert_eq!(*self.wrong.lock().unwrap(), [""; 0]);
        for (index, model) in self.model.devices.iter().enumerate() {
            let statistics = device_memory::statistics(device(index)).unwrap();
            if statistics != model.statistics {
                let [real, model] = [&statistics, &model.statistics].map(|statistics| statistics.named());
                let wrong: Vec<_> = real.iter().zip(&model).filter(|(real, model)| real != model).collect();
                panic!("device {index} and its model: {wrong:?}, {} and {} numbers", real.len(), model.len());
            }
        }
        for stream in self.streams.iter().flatten() {
            let (index, _) = key(stream);
            let free =
                self.model.devices[usize::from(index)].free_for(key(stream), self.pool_for(key(stream)));
            let (largest, all) =
                free.fold((0, 0), |(largest, all), (_, bytes)| (bytes.max(largest), all + bytes));
            let _current = stream.guard().unwrap();
            assert_eq!(device_memory::largest_free_block(None).unwrap(), largest);
            let part = if all == 0 { 0.0 } else { 1.0 - largest as f64 / all as f64 };
            assert!((device_memory::fragmentation(None).unwrap() - part).abs() < 1e-9);
        }
        for (index, id, tracker) in &self.trackers {
            let model = &self.model.devices[usize::from(*index)].trackers[id];
            assert_eq!(tracker.statistics().unwrap(), model.counted);
        }
    }

    /// Frees all memory and checks that it is released.
    pub fn end(mut self) {
        self.end_capture();
        self.open_all();
        while let Some(live) = self.live.pop().or_else(|| self.scratch.pop()) {
            self.free(live);
            self.check();
        }
        (0..GRAPHS).for_each(|graph| self.reset(graph));
        self.check();
        self.empty_cache();
        self.check();
        for (index, model) in self.model.devices.iter().enumerate() {
            assert!(counting::is_empty(&device_memory::statistics(device(index)).unwrap()));
            assert!(model.segments.is_empty() && model.used.is_empty());
        }
        assert_eq!((self.devices.live_bytes)(), 0);
    }
}

impl Drop for Run<'_> {
    /// Cleans up for the next program after any step.
    fn drop(&mut self) {
        self.graphs.drain(..).for_each(|recorded| drop(recorded.graph.abort_capture()));
        self.latches.drain(..).flatten().for_each(|latch| latch.open());
        self.streams.iter().flatten().for_each(|stream| drop(stream.synchronize()));
        (self.devices.fail_allocation)(0);
        self.live.clear();
        self.scratch.clear();
        self.trackers.clear();
        self.streams.clear();
        for index in 0..DEVICES {
            let _ = device_memory::set_limit(None, device(index));
            let _ = device_memory::set_cache_limit(None, device(index));
        }
        let _ = device_memory::empty_cache();
        for index in 0..DEVICES {
            let _ = device_memory::reset_peak_statistics(device(index));
            let _ = device_memory::reset_accumulated_statistics(device(index));
        }
    }
}
