//! Instantiated graphs: each of their chains has a stream.

use std::sync::Arc;

use interlock_driver::{GraphExecHandle, GraphHandle, Result, StreamHandle};

use crate::exec::chains::{self, StreamAssignment};
use crate::exec::command::Command;
use crate::exec::inner::Inner;
use crate::object::err_released;
use crate::object::graph::Node;
use crate::object::stream::{StreamId, StreamKind, TimelinePoint};

pub(crate) struct GraphExec {
    plan: Arc<ReplayPlan>,
    /// Where the last replay ends.
    last: Option<TimelinePoint>,
}

struct ReplayPlan {
    nodes: Arc<[Node]>,
    lanes: StreamAssignment,
    /// The streams of all chains but the first, whose work runs on the stream of the replay.
    streams: Vec<StreamId>,
}

impl ReplayPlan {
    /// The stream of a lane in a replay on `home`.
    fn stream(&self, lane: usize, home: StreamId) -> StreamId {
        let own = lane.checked_sub(1).and_then(|place| self.streams.get(place));
        own.copied().unwrap_or(home)
    }
}

const REPLAY: &str = "Graph.replay";

impl Inner {
    /// Queues every node of a graph on `home` and the streams of its chains. What is queued on `home` next
    /// comes after all of it; that place is returned.
    fn push_graph(
        &mut self,
        plan: &ReplayPlan,
        home: StreamId,
        former: Option<TimelinePoint>,
    ) -> TimelinePoint {
        if let Some(former) = former {
            self.push(home, Command::WaitFor(former), None, None);
        }
        let start = self.end_of(home);
        for stream in &plan.streams {
            self.push(*stream, Command::WaitFor(start), None, None);
        }
        // Failures of other lanes are told by this stream, for what covers the replay.
        let reported_at = TimelinePoint { position: start.position + 1, ..start };
        let mut marks: Vec<TimelinePoint> = Vec::with_capacity(plan.nodes.len());
        for (node, lane) in plan.nodes.iter().zip(&plan.lanes.of) {
            let stream = plan.stream(*lane, home);
            let elsewhere: Vec<_> =
                node.after.iter().filter_map(|place| marks.get(*place)).copied().collect();
            for mark in elsewhere.into_iter().filter(|mark| mark.stream != stream) {
                self.push(stream, Command::WaitFor(mark), None, None);
            }
            let reported_at = (stream != home).then_some(reported_at);
            marks.push(self.push(stream, Command::Run(node.task.clone()), Some(node.device), reported_at));
        }
        for stream in &plan.streams {
            let end = self.end_of(*stream);
            self.push(home, Command::WaitFor(end), None, None);
        }
        self.push(home, Command::Nop, None, None)
    }

    pub(crate) fn instantiate(&mut self, handle: GraphHandle) -> Result<GraphExecHandle> {
        let nodes = self.graphs.get(&handle.0).cloned();
        let nodes = nodes.ok_or_else(|| err_released("Graph.instantiate", handle.0, "a graph"))?;
        let lanes = chains::assign(&nodes);
        let others = lanes.kinds.iter().skip(1);
        let streams = others
            .map(|(device, priority)| self.add_stream(*device, *priority, StreamKind::Replay))
            .collect();
        let raw = self.number();
        let plan = Arc::new(ReplayPlan { nodes, lanes, streams });
        self.executables.insert(raw, GraphExec { plan, last: None });
        Ok(GraphExecHandle(raw))
    }

    /// Queues a replay. `start_worker` starts the thread of a stream that has none.
    pub(crate) fn replay(
        &mut self,
        handle: GraphExecHandle,
        stream: StreamHandle,
        start_worker: impl Fn(&mut Inner, StreamId) -> Result<()>,
    ) -> Result<()> {
        let capture = self.stream(stream, REPLAY)?.capture;
        let executable = self.executables.get(&handle.0).map(|found| (found.plan.clone(), found.last));
        let (plan, last) = executable.ok_or_else(|| err_released(REPLAY, handle.0, "an executable graph"))?;
        for node in plan.nodes.iter() {
            for device in [node.device].into_iter().chain(node.task.devices()) {
                self.check_not_lost(device, REPLAY)?;
            }
        }
        if let Some(capture) = capture {
            self.captures.open(capture, REPLAY)?.add_graph(stream.raw, &plan.nodes);
            return Ok(());
        }
        let home = stream.raw;
        for stream in plan.streams.iter().chain([&home]) {
            start_worker(self, *stream)?;
        }
        let end = self.push_graph(&plan, home, last);
        if let Some(executable) = self.executables.get_mut(&handle.0) {
            executable.last = Some(end);
        }
        for stream in plan.streams.iter().chain([&home]) {
            self.advance(*stream);
        }
        Ok(())
    }

    pub(crate) fn destroy_graph_exec(&mut self, handle: GraphExecHandle) {
        if let Some(executable) = self.executables.remove(&handle.0) {
            executable.plan.streams.iter().for_each(|stream| self.destroy_stream(*stream));
            self.deferred_drops.add(executable);
        }
    }
}
