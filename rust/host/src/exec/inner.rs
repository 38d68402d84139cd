//! The state of a host driver.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use interlock_driver::DeviceIndex;
use interlock_driver::capture::Captures;

use crate::exec::deferred_drop::DeferredDrops;
use crate::exec::fault_plan::FaultPlan;
use crate::fault_injection::LiveObjects;
use crate::memory::heap::Heap;
use crate::object::capture::Recording;
use crate::object::device::DeviceState;
use crate::object::event::Event;
use crate::object::graph::Node;
use crate::object::graph_exec::GraphExec;
use crate::object::stream::{PRIORITIES, Stream, StreamId, StreamKind};
use crate::options::HostOptions;

/// The state behind the mutex of a driver: its objects by id, and the queue of the scheduler. The tables are visible in
/// the crate, because the scheduler borrows several of them at a time.
pub(crate) struct Inner {
    pub(crate) devices: Vec<DeviceState>,
    pub(crate) streams: BTreeMap<StreamId, Stream>,
    pub(crate) events: HashMap<u64, Event>,
    pub(crate) captures: Captures<Recording>,
    pub(crate) graphs: HashMap<u64, Arc<[Node]>>,
    pub(crate) executables: HashMap<u64, GraphExec>,
    pub(crate) pinned: Heap,
    pub(crate) faults: FaultPlan,
    /// Whether any device is lost, for readers without the lock.
    pub(crate) has_lost_device: Arc<AtomicBool>,
    /// Values of the caller, to drop without the lock.
    deferred_drops: DeferredDrops,
    /// Streams that may be able to advance.
    pub(crate) run_queue: VecDeque<StreamId>,
    last_id: u64,
}

impl Inner {
    pub(crate) fn new(options: &HostOptions) -> Self {
        let mut inner = Inner {
            devices: Vec::new(),
            streams: BTreeMap::new(),
            events: HashMap::new(),
            captures: Captures::default(),
            graphs: HashMap::new(),
            executables: HashMap::new(),
            pinned: Heap::new(u64::MAX),
            faults: FaultPlan::default(),
            has_lost_device: Arc::default(),
            deferred_drops: DeferredDrops::default(),
            run_queue: VecDeque::new(),
            last_id: 0,
        };
        for device in (0..=DeviceIndex::MAX).take(options.devices as usize) {
            let default_stream = inner.add_stream(device, PRIORITIES.least, StreamKind::Default);
            inner.devices.push(DeviceState::new(options.memory, default_stream));
        }
        inner
    }

    /// Returns a new id, never 0. Handles of all kinds share the ids, so no handle is mistaken for one of another kind.
    /// Ids increase, so they also order events in time.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Drops a value of the caller when the lock is released.
    pub(crate) fn defer_drop(&mut self, value: impl Send + 'static) {
        self.deferred_drops.add(value);
    }

    pub(crate) fn take_deferred_drops(&mut self) -> DeferredDrops {
        std::mem::take(&mut self.deferred_drops)
    }

    /// Returns the number of live objects of each kind.
    pub(crate) fn live_objects(&self) -> LiveObjects {
        let of_kind = |kind| self.streams.values().filter(|stream| stream.kind() == kind).count();
        LiveObjects {
            streams: of_kind(StreamKind::Created),
            events: self.events.len(),
            graphs: self.graphs.len(),
            executables: self.executables.len(),
            replay_streams: of_kind(StreamKind::Replay),
            captures: self.captures.count(),
            threads: self.streams.values().filter(|stream| stream.has_worker()).count(),
            commands: self.streams.values().map(Stream::pending).sum(),
            bytes: self.devices.iter().map(|device| device.memory.used()).sum(),
            pinned_bytes: self.pinned.used(),
        }
    }

    /// Runs the queued work that faults delay or keep from completing.
    pub(crate) fn release_faults(&mut self) {
        self.streams.values_mut().for_each(Stream::release_faults);
        self.advance_all();
    }

    /// Destroys all objects when the runtime is dropped; queued work still runs.
    pub(crate) fn close(&mut self) {
        let captures = self.captures.take_all();
        let graphs = std::mem::take(&mut self.graphs);
        let executables = std::mem::take(&mut self.executables);
        self.defer_drop((captures, graphs, executables));
        self.streams.values_mut().for_each(Stream::close);
        self.faults.clear();
        self.release_faults();
    }
}
