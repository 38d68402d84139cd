//! Everything that a driver knows.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use interlock_driver::DeviceIndex;
use interlock_driver::capture::Captures;

use crate::exec::deferred_drop::DeferredDrops;
use crate::fault_injection::FaultPlan;
use crate::memory::heap::Heap;
use crate::object::capture::Recording;
use crate::object::device::DeviceState;
use crate::object::event::Event;
use crate::object::graph::Node;
use crate::object::graph_exec::GraphExec;
use crate::object::stream::{PRIORITIES, Stream, StreamId, StreamKind};
use crate::options::HostOptions;

pub(crate) struct Inner {
    pub(crate) devices: Vec<DeviceState>,
    pub(crate) streams: BTreeMap<StreamId, Stream>,
    pub(crate) events: HashMap<u64, Event>,
    pub(crate) captures: Captures<Recording>,
    pub(crate) graphs: HashMap<u64, Arc<[Node]>>,
    pub(crate) executables: HashMap<u64, GraphExec>,
    pub(crate) pinned: Heap,
    pub(crate) faults: FaultPlan,
    /// Values of the caller to be dropped without the lock.
    pub(crate) deferred_drops: DeferredDrops,
    /// Streams that may be able to advance.
    pub(crate) run_queue: VecDeque<StreamId>,
    /// The largest number given out.
    numbers: u64,
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
            pinned: Heap::of(u64::MAX),
            faults: FaultPlan::default(),
            deferred_drops: DeferredDrops::default(),
            run_queue: VecDeque::new(),
            numbers: 0,
        };
        for device in (0..=DeviceIndex::MAX).take(options.devices as usize) {
            let default_stream = inner.add_stream(device, PRIORITIES.least, StreamKind::Default);
            inner.devices.push(DeviceState::new(options.memory, default_stream));
        }
        inner
    }

    /// A number that this driver has not used yet, and not 0: for handles of every kind, so that one is never
    /// taken for another, and for the order of what happens.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Releases everything when no handle is left; what is queued still runs.
    pub(crate) fn close(&mut self) {
        let captures = self.captures.take_all();
        let graphs = std::mem::take(&mut self.graphs);
        let executables = std::mem::take(&mut self.executables);
        self.deferred_drops.add((captures, graphs, executables));
        for stream in self.streams.values_mut() {
            stream.released = true;
            if stream.kind == StreamKind::Default {
                stream.kind = StreamKind::Made;
            }
        }
        self.advance_all();
    }
}
