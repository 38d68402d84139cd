//! The model of devices and their streams.

use std::collections::{BTreeMap, BTreeSet};

use interlock_accelerator::PoolId;
use interlock_driver::DeviceIndex;

use super::device::{Device, Tracker};
use super::segment::{Mark, StreamKey, rounded, segment_for};

/// Streams, which run all work at once unless a latch blocks them.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The latches that block streams.
    pub closed: BTreeMap<StreamKey, u64>,
    latches: u64,
    /// The streams that have handles.
    pub alive: BTreeSet<StreamKey>,
    /// Whether a graph is being captured.
    pub capturing: bool,
}

impl Streams {
    /// Returns the mark after all queued work.
    pub fn mark(&self, stream: StreamKey) -> Mark {
        self.closed.get(&stream).copied()
    }

    pub fn is_reached(&self, mark: Mark) -> bool {
        mark.is_none_or(|latch| !self.closed.values().any(|closed| *closed == latch))
    }

    pub fn block(&mut self, stream: StreamKey) {
        self.latches += 1;
        self.closed.insert(stream, self.latches);
    }
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    pub succeeded: bool,
    /// Whether the driver was called again after all unused memory was released.
    pub retried: bool,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub devices: Vec<Device>,
    pub streams: Streams,
    /// The stream that captures, and the pool of its graph.
    pub capture: Option<(StreamKey, PoolId)>,
    /// The streams that the program or a graph has handles of, once for each handle.
    pub handles: Vec<StreamKey>,
    /// The later allocation of the driver that fails.
    pub failing: Option<u64>,
    capacity: u64,
    /// The number of requests so far.
    pub requests: u64,
}

impl Model {
    pub fn new(devices: DeviceIndex, capacity: u64) -> Self {
        Model {
            devices: (0..devices).map(|_| Device::new()).collect(),
            streams: Streams::default(),
            capture: None,
            handles: Vec::new(),
            failing: None,
            capacity,
            requests: 0,
        }
    }

    fn device(&mut self, stream: StreamKey) -> (&mut Device, &Streams) {
        (&mut self.devices[usize::from(stream.0)], &self.streams)
    }

    /// Allocates a block for a stream. The number of the request identifies the block.
    pub fn allocate(&mut self, stream: StreamKey, requested: usize) -> Served {
        self.requests += 1;
        let number = self.requests;
        let pool = self.capture.filter(|(capturing, _)| *capturing == stream).map(|(_, pool)| pool);
        let (device, streams) = self.device(stream);
        device.pools.extend(pool);
        device.process_events(streams);
        let mut succeeded = device.allocate_cached(number, requested, stream, pool);
        device.release_ready(streams);
        self.destroy_unused_streams();
        let mut retried = false;
        if !succeeded {
            succeeded = self.alloc_segment(number, requested, stream, pool);
        }
        if !succeeded && self.capture.is_none() {
            retried = true;
            let (device, streams) = self.device(stream);
            device.empty(streams);
            device.statistics.num_alloc_retries += 1;
            succeeded = device.allocate_cached(number, requested, stream, pool);
            self.destroy_unused_streams();
            succeeded = succeeded || self.alloc_segment(number, requested, stream, pool);
        }
        if !succeeded {
            self.device(stream).0.statistics.num_ooms += 1;
        }
        Served { succeeded, retried }
    }

    /// Allocates a segment from the driver, unless the limit or the capacity of the device prevents it.
    fn alloc_segment(
        &mut self,
        number: u64,
        requested: usize,
        stream: StreamKey,
        pool: Option<PoolId>,
    ) -> bool {
        let bytes = segment_for(rounded(requested)) as u64;
        let capacity = self.capacity;
        let device = &mut self.devices[usize::from(stream.0)];
        let reserved = device.reserved() + bytes;
        if reserved > capacity || device.limit.is_some_and(|limit| reserved > limit) {
            return false;
        }
        self.failing = self.failing.map(|left| left - 1);
        let fails = self.failing == Some(0);
        if fails {
            self.failing = None;
        }
        if !fails {
            device.allocate_segment(number, requested, stream, pool);
        }
        !fails
    }

    pub fn release(&mut self, device: DeviceIndex, number: u64) {
        self.devices[usize::from(device)].release(number, &self.streams);
        self.destroy_unused_streams();
    }

    /// Records the use of a block by a stream other than its own.
    pub fn use_on(&mut self, device: DeviceIndex, number: u64, stream: StreamKey) {
        let device = &mut self.devices[usize::from(device)];
        let used = device.used.get_mut(&number).unwrap();
        if device.segments[&used.segment].stream != stream && !used.stream_uses.contains(&stream) {
            used.stream_uses.push(stream);
        }
    }

    pub fn empty_cache(&mut self) {
        if self.capture.is_none() {
            self.devices.iter_mut().for_each(|device| device.empty(&self.streams));
            self.destroy_unused_streams();
        }
    }

    pub fn set_cache_limit(&mut self, device: DeviceIndex, limit: Option<u64>) {
        let device = &mut self.devices[usize::from(device)];
        device.cache_limit = limit;
        device.trim(&self.streams);
        device.release_ready(&self.streams);
    }

    pub fn open_tracker(&mut self, device: DeviceIndex, id: u64) {
        let tracker = Tracker { since: self.requests, counted: Default::default() };
        self.devices[usize::from(device)].trackers.insert(id, tracker);
    }

    /// Adds a handle of a stream.
    pub fn add_handle(&mut self, stream: StreamKey) {
        self.handles.push(stream);
        self.streams.alive.insert(stream);
    }

    /// Removes a handle of a stream.
    pub fn drop_stream(&mut self, stream: StreamKey) {
        let place = self.handles.iter().position(|handle| *handle == stream).unwrap();
        self.handles.swap_remove(place);
        self.destroy_unused_streams();
    }

    /// Destroys the streams without handles.
    fn destroy_unused_streams(&mut self) {
        let in_use = self.devices.iter().flat_map(Device::streams).chain(self.handles.iter().copied());
        let in_use: BTreeSet<_> = in_use.collect();
        for stream in std::mem::take(&mut self.streams.alive) {
            if in_use.contains(&stream) {
                self.streams.alive.insert(stream);
            } else {
                let (device, streams) = self.device(stream);
                device.on_stream_destroyed(stream, streams);
            }
        }
    }

    pub fn begin_capture(&mut self, stream: StreamKey, pool: PoolId) {
        self.capture = Some((stream, pool));
        self.streams.capturing = true;
    }

    pub fn end_capture(&mut self) {
        self.capture = None;
        self.streams.capturing = false;
    }

    /// Releases the pool of a graph that was replayed on these streams.
    pub fn reset_graph(&mut self, pool: PoolId, replayed_on: &[StreamKey]) {
        for device in &mut self.devices {
            device.on_pool_released(pool, replayed_on, &self.streams);
            device.release_ready(&self.streams);
        }
        replayed_on.iter().for_each(|stream| self.drop_stream(*stream));
        self.destroy_unused_streams();
    }
}
