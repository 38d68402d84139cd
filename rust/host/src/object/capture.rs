//! Stream capture: recording of queued work into a graph, instead of execution.

use std::collections::{BTreeMap, HashSet};

use interlock_driver::capture::{self, CaptureId, Ended, refused};
use interlock_driver::{CaptureMode, DeviceIndex, GraphHandle, Result, StreamHandle, current_stack};

use crate::exec::command::Task;
use crate::exec::inner::Inner;
use crate::object::device;
use crate::object::graph::Node;
use crate::object::stream::{Stream, StreamId, StreamKind};

/// The nodes that a capture has recorded.
pub(crate) struct Recording {
    nodes: Vec<Node>,
    /// For each stream in the capture, the dependencies of its next node.
    tails: BTreeMap<StreamId, Vec<usize>>,
}

impl Recording {
    /// Creates a recording that starts on a stream.
    fn new(origin: StreamId) -> Self {
        Recording { nodes: Vec::new(), tails: BTreeMap::from([(origin, Vec::new())]) }
    }

    /// Returns the dependencies of the next node of a stream in the capture.
    pub(crate) fn tail_of(&self, stream: StreamId) -> Vec<usize> {
        debug_assert!(self.tails.contains_key(&stream), "the stream {stream} is not in the capture");
        self.tails.get(&stream).cloned().unwrap_or_default()
    }

    fn add(&mut self, stream: StreamId, task: Task, device: DeviceIndex, priority: i32) {
        let after = self.tail_of(stream);
        self.tails.insert(stream, vec![self.nodes.len()]);
        self.nodes.push(Node { task, device, priority, after, stack: current_stack() });
    }

    /// Appends the nodes of another graph after the work that the stream recorded.
    pub(crate) fn add_graph(&mut self, stream: StreamId, graph: &[Node]) {
        let before = self.tail_of(stream);
        let first = self.nodes.len();
        let followed: HashSet<usize> =
            graph.iter().flat_map(|node| &node.after).map(|index| index + first).collect();
        for node in graph {
            let mut node = node.clone();
            node.after.iter_mut().for_each(|index| *index += first);
            if node.after.is_empty() {
                node.after.clone_from(&before);
            }
            self.nodes.push(node);
        }
        let last: Vec<_> = (first..self.nodes.len()).filter(|index| !followed.contains(index)).collect();
        if !last.is_empty() {
            self.tails.insert(stream, last);
        }
    }

    /// Adds dependencies of the next node that the stream records.
    fn join(&mut self, stream: StreamId, nodes: Vec<usize>) {
        // A stream that joins the capture has recorded nothing.
        let mut tail = self.tails.get(&stream).cloned().unwrap_or_default();
        tail.extend(nodes);
        tail.sort_unstable();
        tail.dedup();
        // A node on which another dependency depends needs no edge.
        if let [lowest, _, ..] = *tail {
            let first = tail.iter().filter_map(|index| self.nodes.get(*index));
            let implied = self.before(first.flat_map(|node| node.after.clone()).collect(), lowest);
            tail.retain(|index| !implied.contains(index));
        }
        self.tails.insert(stream, tail);
    }

    /// Returns these nodes and all nodes that they depend on, down to the index `lowest`.
    fn before(&self, mut unseen: Vec<usize>, lowest: usize) -> HashSet<usize> {
        let mut seen = HashSet::new();
        while let Some(index) = unseen.pop() {
            if index >= lowest && seen.insert(index) {
                unseen.extend(self.nodes.get(index).into_iter().flat_map(|node| node.after.clone()));
            }
        }
        seen
    }

    /// Returns a stream whose last work the origin does not wait for.
    fn unjoined_stream(&self, origin: StreamId) -> Option<StreamId> {
        let joined = self.before(self.tail_of(origin), 0);
        let is_unjoined = |tail: &Vec<usize>| tail.iter().any(|index| !joined.contains(index));
        self.tails.iter().find(|(_, tail)| is_unjoined(tail)).map(|(stream, _)| *stream)
    }
}

impl Inner {
    pub(crate) fn record_task(
        &mut self,
        capture: CaptureId,
        stream: StreamHandle,
        task: Task,
        operation: &'static str,
    ) -> Result<()> {
        let stream_state = self.streams.get(&stream.raw);
        debug_assert!(stream_state.is_some(), "work for the stream {}, which was destroyed", stream.raw);
        let priority = stream_state.map_or(0, Stream::priority);
        match self.captures.open(capture, operation) {
            Ok(recording) => {
                recording.add(stream.raw, task, stream.device, priority);
                Ok(())
            }
            Err(error) => {
                self.defer_drop(task);
                Err(error)
            }
        }
    }

    /// Adds a stream to a capture because it waits for an event of the capture.
    pub(crate) fn join_capture(
        &mut self,
        capture: CaptureId,
        id: StreamId,
        nodes: Vec<usize>,
        operation: &'static str,
    ) -> Result<()> {
        let Some(stream) = self.streams.get(&id) else { return Ok(()) };
        let (own, is_default) = (stream.capture(), stream.kind() == StreamKind::Default);
        self.captures.check_wait(own, is_default, Some(capture), operation)?;
        self.captures.open(capture, operation)?.join(id, nodes);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.set_capture(Some(capture));
        }
        Ok(())
    }

    /// Discards the capture that began on a destroyed stream: only that stream could end it.
    pub(crate) fn on_stream_destroyed(&mut self, id: CaptureId, stream: StreamHandle) {
        if self.captures.by_origin(stream) == Some(id)
            && let Some(capture) = self.take_capture(id)
        {
            self.defer_drop(capture.content);
        }
    }

    /// Removes a capture; its streams run queued work again.
    fn take_capture(&mut self, id: CaptureId) -> Option<Ended<Recording>> {
        for stream in self.streams.values_mut().filter(|stream| stream.capture() == Some(id)) {
            stream.set_capture(None);
        }
        self.captures.end(id)
    }

    pub(crate) fn begin_capture(&mut self, handle: StreamHandle, mode: CaptureMode) -> Result<CaptureId> {
        const OPERATION: &str = "Graph.capture_begin";
        let id = self.next_id();
        let stream = self.stream(handle, OPERATION)?;
        capture::check_begin(stream.kind() == StreamKind::Default, stream.capture(), OPERATION)?;
        stream.set_capture(Some(id));
        self.captures.begin(id, handle, mode, Recording::new(handle.raw));
        Ok(id)
    }

    pub(crate) fn capture_id(&mut self, handle: StreamHandle) -> Result<Option<CaptureId>> {
        Ok(self.stream(handle, "Stream.is_capturing")?.capture())
    }

    pub(crate) fn end_capture(&mut self, handle: StreamHandle) -> Result<GraphHandle> {
        const OPERATION: &str = "Graph.capture_end";
        // The capture ends even if the device is lost.
        let lost = self.check_not_lost(handle.device, OPERATION);
        let current = self.streams.get(&handle.raw).and_then(Stream::capture);
        if current.is_none() {
            self.stream(handle, OPERATION)?;
        }
        let id = self.captures.check_end(handle, || Ok(current), OPERATION)?;
        let Some(Ended { content, invalidated_by }) = self.take_capture(id) else {
            return Err(refused(OPERATION, "the capture has ended"));
        };
        let unjoined = content.unjoined_stream(handle.raw).map(|id| {
            let device =
                self.streams.get(&id).map(|stream| format!(" of {}", device::named(stream.device())));
            format!(
                "the stream with native_handle {id}{} was not joined back: no stream waits for its last work",
                device.unwrap_or_default()
            )
        });
        let error = match (lost, invalidated_by, unjoined) {
            (Err(lost), ..) => lost,
            (Ok(()), Some(reason), _) => capture::err_invalidated(OPERATION, &reason),
            (Ok(()), None, Some(reason)) => refused(OPERATION, reason),
            (Ok(()), None, None) => {
                let raw = self.next_id();
                self.graphs.insert(raw, content.nodes.into());
                return Ok(GraphHandle(raw));
            }
        };
        self.defer_drop(content);
        Err(error)
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn streams_outside_of_a_capture_fail_in_test_builds() {
        assert!(Recording::new(1).tail_of(1).is_empty());
        assert!(catch_unwind(|| Recording::new(1).tail_of(2)).is_err());
    }
}
