//! Executable graphs, whose chains are replayed on internal streams.

use std::sync::Arc;

use interlock_driver::{
    GraphExecHandle, GraphHandle, Result, StreamHandle, TimelinePoint, races, with_stack,
};

use crate::exec::chains::{self, StreamAssignment};
use crate::exec::command::{Command, Origin};
use crate::exec::inner::Inner;
use crate::object::err_released;
use crate::object::graph::Node;
use crate::object::stream::{StreamId, StreamKind};

pub(crate) struct GraphExec {
    plan: Arc<ReplayPlan>,
    /// The end of the last replay.
    last: Option<ReplayEnd>,
}

/// The end of a replay on its stream, and in the order of everything.
type ReplayEnd = (TimelinePoint, races::Point);

struct ReplayPlan {
    nodes: Arc<[Node]>,
    assignment: StreamAssignment,
    /// The streams of all chains but the first, which runs on the stream of the replay.
    streams: Vec<StreamId>,
}

impl ReplayPlan {
    /// Returns the stream of a chain in a replay on `launch_stream`.
    fn stream(&self, chain: usize, launch_stream: StreamId) -> StreamId {
        let own = chain.checked_sub(1).map(|index| self.streams.get(index).copied());
        debug_assert!(own != Some(None), "the chain {chain} has no stream");
        own.flatten().unwrap_or(launch_stream)
    }
}

const REPLAY: &str = "Graph.replay";

impl Inner {
    /// Queues every node of a graph on `launch_stream` and the streams of its chains. Later work on `launch_stream`
    /// runs after all of them. Returns the point at which the replay ends.
    fn push_graph(
        &mut self,
        plan: &ReplayPlan,
        launch_stream: StreamId,
        previous: Option<ReplayEnd>,
    ) -> ReplayEnd {
        if let Some(previous) = previous {
            self.push_wait(launch_stream, &previous);
        }
        let start = self.replay_end(launch_stream);
        for stream in &plan.streams {
            self.push_wait(*stream, &start);
        }
        let start = start.0;
        // Waits that cover the replay on the launch stream report the errors of the other streams.
        let reported_at = TimelinePoint { position: start.position + 1, ..start };
        let mut points: Vec<ReplayEnd> = Vec::with_capacity(plan.nodes.len());
        for (node, chain) in plan.nodes.iter().zip(&plan.assignment.chain_of) {
            let stream = plan.stream(*chain, launch_stream);
            debug_assert!(
                node.after.iter().all(|index| *index < points.len()),
                "a node before its dependency"
            );
            for point in node.after.iter().filter_map(|index| points.get(*index)) {
                if point.0.stream != stream {
                    self.push_wait(stream, point);
                }
            }
            let reported_at = (stream != launch_stream).then_some(reported_at);
            let origin = Origin { device: Some(node.device), reported_at, link: 0 };
            // The races of a replay are attributed to the calls that were captured.
            with_stack(node.stack.clone(), || self.push(stream, Command::Run(node.task.clone()), origin));
            points.push(self.replay_end(stream));
        }
        for stream in &plan.streams {
            let end = self.replay_end(*stream);
            self.push_wait(launch_stream, &end);
        }
        self.push(launch_stream, Command::Nop, Origin::default());
        self.replay_end(launch_stream)
    }

    /// Returns the point after all commands of a stream.
    fn replay_end(&self, stream: StreamId) -> ReplayEnd {
        (self.end_of(stream), races::end_of(self.handle_of(stream)))
    }

    /// Queues a wait for a point of a replay.
    fn push_wait(&mut self, stream: StreamId, (point, order): &ReplayEnd) {
        races::order_after(self.handle_of(stream), order);
        self.push(stream, Command::WaitFor(*point), Origin::default());
    }

    pub(crate) fn instantiate(&mut self, handle: GraphHandle) -> Result<GraphExecHandle> {
        let nodes = self.graphs.get(&handle.0).cloned();
        let nodes = nodes.ok_or_else(|| err_released("Graph.instantiate", handle.0, "a graph"))?;
        let assignment = chains::assign(&nodes);
        let others = assignment.streams.iter().skip(1);
        let streams = others
            .map(|(device, priority)| self.add_stream(*device, *priority, StreamKind::Replay))
            .collect();
        let raw = self.next_id();
        let plan = Arc::new(ReplayPlan { nodes, assignment, streams });
        self.executables.insert(raw, GraphExec { plan, last: None });
        Ok(GraphExecHandle(raw))
    }

    /// Queues a replay. `ensure_worker` starts the worker of a stream that has none.
    pub(crate) fn replay(
        &mut self,
        handle: GraphExecHandle,
        stream: StreamHandle,
        ensure_worker: impl Fn(&mut Inner, StreamId) -> Result<()>,
    ) -> Result<()> {
        let capture = self.stream(stream, REPLAY)?.capture();
        let executable =
            self.executables.get(&handle.0).map(|found| (found.plan.clone(), found.last.clone()));
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
        let launch_stream = stream.raw;
        for stream in plan.streams.iter().chain([&launch_stream]) {
            ensure_worker(self, *stream)?;
        }
        let end = self.push_graph(&plan, launch_stream, last);
        if let Some(executable) = self.executables.get_mut(&handle.0) {
            executable.last = Some(end);
        }
        for stream in plan.streams.iter().chain([&launch_stream]) {
            self.advance(*stream);
        }
        Ok(())
    }

    pub(crate) fn destroy_graph_exec(&mut self, handle: GraphExecHandle) {
        if let Some(executable) = self.executables.remove(&handle.0) {
            executable.plan.streams.iter().for_each(|stream| self.destroy_stream(*stream));
            self.defer_drop(executable);
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use interlock_driver::HostFn;

    use super::*;
    use crate::exec::command::Task;
    use crate::options::HostOptions;

    #[test]
    fn inconsistent_replays_fail_in_test_builds() {
        let fails = |after: Vec<usize>, chain: usize| {
            let mut inner = Inner::new(&HostOptions::default());
            let stream = inner.add_stream(0, 0, StreamKind::Created);
            let task = || Task::HostFn(HostFn::new("nothing", || Ok(())));
            let first = Node { task: task(), device: 0, priority: 0, after: Vec::new(), stack: None };
            let second = Node { task: task(), device: 0, priority: 0, after, stack: None };
            let assignment = StreamAssignment { chain_of: vec![0, chain], streams: vec![(0, 0)] };
            let plan = ReplayPlan { nodes: [first, second].into(), assignment, streams: Vec::new() };
            catch_unwind(AssertUnwindSafe(|| inner.push_graph(&plan, stream, None))).is_err()
        };
        assert!(!fails(vec![0], 0));
        // A dependency that was not queued before, and a chain without a stream.
        assert!(fails(vec![1], 0) && fails(vec![0], 1));
    }
}
