//! All that a driver knows. Each part has a file of its own.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use interlock_driver::DeviceIndex;
use interlock_driver::capture::Captures;

use super::capture::Recording;
use super::device::DeviceState;
use super::event::Event;
use super::executable::Executable;
use super::faults::Plan;
use super::graph::Node;
use super::memory::Memory;
use super::options::HostOptions;
use super::stream::{Kind, PRIORITIES, Stream, StreamId};
use super::waste::Waste;

pub(super) struct State {
    pub(super) devices: Vec<DeviceState>,
    pub(super) streams: BTreeMap<StreamId, Stream>,
    pub(super) events: HashMap<u64, Event>,
    pub(super) captures: Captures<Recording>,
    pub(super) graphs: HashMap<u64, Arc<[Node]>>,
    pub(super) executables: HashMap<u64, Executable>,
    pub(super) pinned: Memory,
    pub(super) faults: Plan,
    /// What is to be dropped without the lock.
    pub(super) waste: Waste,
    /// Streams that may be able to move on.
    pub(super) unsettled: VecDeque<StreamId>,
    /// The largest number given out.
    numbers: u64,
}

impl State {
    pub(super) fn new(options: &HostOptions) -> Self {
        let mut state = State {
            devices: (0..options.devices).map(|_| DeviceState::new(options.memory)).collect(),
            streams: BTreeMap::new(),
            events: HashMap::new(),
            captures: Captures::default(),
            graphs: HashMap::new(),
            executables: HashMap::new(),
            pinned: Memory::of(u64::MAX),
            faults: Plan::default(),
            waste: Waste::default(),
            unsettled: VecDeque::new(),
            numbers: 0,
        };
        let indices = 0..state.devices.len();
        for device in indices.filter_map(|index| DeviceIndex::try_from(index).ok()) {
            state.add_stream(device, PRIORITIES.least, Kind::Default);
        }
        state
    }

    /// A number that this driver has not used yet, and not 0: for handles of every kind, so that one is never
    /// taken for another, and for the order of what happens.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Nobody has handles any more: what is queued still runs, and everything goes once it has.
    pub(super) fn close(&mut self) {
        let captures = self.captures.take_all();
        let graphs = std::mem::take(&mut self.graphs);
        let executables = std::mem::take(&mut self.executables);
        self.waste.add((captures, graphs, executables));
        for stream in self.streams.values_mut() {
            stream.released = true;
            if stream.kind == Kind::Default {
                stream.kind = Kind::Made;
            }
        }
        self.settle_all();
    }
}
