//! Devices, their streams and what may go wrong with them.

use std::collections::{BTreeMap, BTreeSet};

use interlock_accelerator::PoolId;
use interlock_driver::DeviceIndex;

use super::device::{Device, Scope};
use super::segment::{Mark, StreamKey, rounded, segment_for};

/// What streams do, which run everything at once unless a latch is in the way.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The latches behind which streams stand.
    pub closed: BTreeMap<StreamKey, u64>,
    latches: u64,
    /// Those that somebody has a handle to.
    pub alive: BTreeSet<StreamKey>,
    /// Whether anybody captures a graph.
    pub capturing: bool,
}

impl Streams {
    /// The place after all that is queued.
    pub fn mark(&self, stream: StreamKey) -> Mark {
        self.closed.get(&stream).copied()
    }

    pub fn is_over(&self, mark: Mark) -> bool {
        mark.is_none_or(|latch| !self.closed.values().any(|closed| *closed == latch))
    }

    pub fn block(&mut self, stream: StreamKey) {
        self.latches += 1;
        self.closed.insert(stream, self.latches);
    }
}

/// How a request went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    pub taken: bool,
    /// The driver was asked again after everything had been given back.
    pub retried: bool,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub devices: Vec<Device>,
    pub streams: Streams,
    /// The stream that captures, and the pool of its graph.
    pub capture: Option<(StreamKey, PoolId)>,
    /// Streams of which the program or a graph has handles, once for each.
    pub handles: Vec<StreamKey>,
    /// Which driver allocation from now on fails.
    pub failing: Option<u64>,
    capacity: u64,
    /// How many requests there were.
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

    /// A stream allocates. The number of the request stands for what it gets.
    pub fn allocate(&mut self, stream: StreamKey, requested: usize) -> Served {
        self.requests += 1;
        let number = self.requests;
        let pool = self.capture.filter(|(capturing, _)| *capturing == stream).map(|(_, pool)| pool);
        let (device, streams) = self.device(stream);
        device.pools.extend(pool);
        device.settle(streams);
        let mut taken = device.take_kept(number, requested, stream, pool);
        self.let_streams_go();
        let mut retried = false;
        if !taken {
            let (device, streams) = self.device(stream);
            device.give_back(streams);
            taken = self.grow(number, requested, stream, pool);
        }
        if !taken && self.capture.is_none() {
            retried = true;
            let (device, streams) = self.device(stream);
            device.empty(streams);
            device.statistics.num_alloc_retries += 1;
            taken = device.take_kept(number, requested, stream, pool);
            self.let_streams_go();
            taken = taken || self.grow(number, requested, stream, pool);
        }
        if !taken {
            self.device(stream).0.statistics.num_ooms += 1;
        }
        Served { taken, retried }
    }

    /// Asks the driver, unless the device cannot have so much.
    fn grow(&mut self, number: u64, requested: usize, stream: StreamKey, pool: Option<PoolId>) -> bool {
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
            device.take_new(number, requested, stream, pool);
        }
        !fails
    }

    pub fn release(&mut self, device: DeviceIndex, number: u64) {
        self.devices[usize::from(device)].release(number, &self.streams);
        self.let_streams_go();
    }

    /// Work of a stream uses it; that of its own is known of.
    pub fn use_on(&mut self, device: DeviceIndex, number: u64, stream: StreamKey) {
        let device = &mut self.devices[usize::from(device)];
        let used = device.used.get_mut(&number).unwrap();
        if device.segments[&used.segment].stream != stream && !used.used_on.contains(&stream) {
            used.used_on.push(stream);
        }
    }

    pub fn empty_cache(&mut self) {
        if self.capture.is_none() {
            self.devices.iter_mut().for_each(|device| device.empty(&self.streams));
            self.let_streams_go();
        }
    }

    pub fn set_cache_limit(&mut self, device: DeviceIndex, limit: Option<u64>) {
        let device = &mut self.devices[usize::from(device)];
        device.cache_limit = limit;
        device.trim(&self.streams);
        device.give_back(&self.streams);
    }

    pub fn open_scope(&mut self, device: DeviceIndex, id: u64) {
        let scope = Scope { since: self.requests, counted: Default::default() };
        self.devices[usize::from(device)].scopes.insert(id, scope);
    }

    /// The program has one more handle to a stream.
    pub fn keep_stream(&mut self, stream: StreamKey) {
        self.handles.push(stream);
        self.streams.alive.insert(stream);
    }

    /// The program has one handle less to a stream.
    pub fn drop_stream(&mut self, stream: StreamKey) {
        let place = self.handles.iter().position(|kept| *kept == stream).unwrap();
        self.handles.swap_remove(place);
        self.let_streams_go();
    }

    /// Streams go with the last handle to them.
    fn let_streams_go(&mut self) {
        let held = self.devices.iter().flat_map(Device::streams).chain(self.handles.iter().copied());
        let held: BTreeSet<_> = held.collect();
        for stream in std::mem::take(&mut self.streams.alive) {
            if held.contains(&stream) {
                self.streams.alive.insert(stream);
            } else {
                let (device, streams) = self.device(stream);
                device.stream_goes(stream, streams);
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

    /// A graph goes, which has been replayed on these streams.
    pub fn reset_graph(&mut self, pool: PoolId, replayed_on: &[StreamKey]) {
        for device in &mut self.devices {
            device.pool_goes(pool, replayed_on, &self.streams);
            device.give_back(&self.streams);
        }
        replayed_on.iter().for_each(|stream| self.drop_stream(*stream));
        self.let_streams_go();
    }
}
