//! Graphs that are ready to be replayed: each of their lanes has a stream.

use std::sync::Arc;

use interlock_driver::Result;
use interlock_driver::{GraphExecHandle, GraphHandle, StreamHandle};

use super::command::Step;
use super::graph::{Node, unknown};
use super::lanes::{self, Lanes};
use super::shared::Shared;
use super::state::State;
use super::stream::{Kind, Mark, StreamId};
use super::worker;

pub(super) struct Executable {
    plan: Arc<Plan>,
    /// Where the last replay ends.
    last: Option<Mark>,
}

struct Plan {
    nodes: Arc<[Node]>,
    lanes: Lanes,
    /// The streams of all lanes but the first, whose work runs on the stream of the replay.
    streams: Vec<StreamId>,
}

impl Plan {
    /// The stream of a lane in a replay on `home`.
    fn stream(&self, lane: usize, home: StreamId) -> StreamId {
        let own = lane.checked_sub(1).and_then(|place| self.streams.get(place));
        own.copied().unwrap_or(home)
    }
}

const REPLAY: &str = "Graph.replay";

impl State {
    /// Queues every node of a graph on `home` and the streams of its lanes. What is queued on `home` next
    /// comes after all of it; that place is returned.
    fn push_graph(&mut self, plan: &Plan, home: StreamId, former: Option<Mark>) -> Mark {
        if let Some(former) = former {
            self.push(home, Step::Await(former), None, None);
        }
        let start = self.end_of(home);
        for stream in &plan.streams {
            self.push(*stream, Step::Await(start), None, None);
        }
        // Failures of other lanes are told by this stream, for what covers the replay.
        let told_by = Mark { position: start.position + 1, ..start };
        let mut marks: Vec<Mark> = Vec::with_capacity(plan.nodes.len());
        for (node, lane) in plan.nodes.iter().zip(&plan.lanes.of) {
            let stream = plan.stream(*lane, home);
            let elsewhere: Vec<_> =
                node.after.iter().filter_map(|place| marks.get(*place)).copied().collect();
            for mark in elsewhere.into_iter().filter(|mark| mark.stream != stream) {
                self.push(stream, Step::Await(mark), None, None);
            }
            let told_by = (stream != home).then_some(told_by);
            marks.push(self.push(stream, Step::Do(node.task.clone()), Some(node.device), told_by));
        }
        for stream in &plan.streams {
            let end = self.end_of(*stream);
            self.push(home, Step::Await(end), None, None);
        }
        self.push(home, Step::Pass, None, None)
    }
}

impl Shared {
    pub(super) fn instantiate(&self, handle: GraphHandle) -> Result<GraphExecHandle> {
        let mut state = self.lock()?;
        let nodes = state.graphs.get(&handle.0).cloned();
        let nodes = nodes.ok_or_else(|| unknown("Graph.instantiate", handle.0, "a graph"))?;
        let lanes = lanes::cut(&nodes);
        let others = lanes.kinds.iter().skip(1);
        let streams =
            others.map(|(device, priority)| state.add_stream(*device, *priority, Kind::Lane)).collect();
        let raw = state.number();
        let plan = Arc::new(Plan { nodes, lanes, streams });
        state.executables.insert(raw, Executable { plan, last: None });
        Ok(GraphExecHandle(raw))
    }

    pub(super) fn replay(self: &Arc<Self>, handle: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        let mut state = self.lock()?;
        let capture = state.stream(stream, REPLAY)?.capture;
        let executable = state.executables.get(&handle.0).map(|found| (found.plan.clone(), found.last));
        let (plan, last) = executable.ok_or_else(|| unknown(REPLAY, handle.0, "an executable graph"))?;
        for node in plan.nodes.iter() {
            for device in [node.device].into_iter().chain(node.task.devices()) {
                state.check_not_lost(device, REPLAY)?;
            }
        }
        if let Some(capture) = capture {
            state.captures.open(capture, REPLAY)?.add_graph(stream.raw, &plan.nodes);
            return Ok(());
        }
        let home = stream.raw;
        for stream in plan.streams.iter().chain([&home]) {
            worker::ensure(self, &mut state, *stream)?;
        }
        let end = state.push_graph(&plan, home, last);
        if let Some(executable) = state.executables.get_mut(&handle.0) {
            executable.last = Some(end);
        }
        for stream in plan.streams.iter().chain([&home]) {
            state.settle(*stream);
        }
        Ok(())
    }

    pub(super) fn destroy_graph_exec(&self, handle: GraphExecHandle) {
        let Ok(mut state) = self.lock() else { return };
        if let Some(executable) = state.executables.remove(&handle.0) {
            executable.plan.streams.iter().for_each(|stream| state.destroy_stream(*stream));
            state.waste.add(executable);
        }
    }
}
