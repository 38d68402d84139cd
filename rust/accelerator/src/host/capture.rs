//! Captures: streams that record what is queued instead of running it.

use std::collections::{BTreeMap, HashSet};
use std::thread::{self, ThreadId};

use super::command::Task;
use super::device;
use super::graph::Node;
use super::shared::Shared;
use super::state::State;
use super::stream::{Kind, StreamId};
use crate::driver::{CaptureMode, DeviceIndex, GraphHandle, StreamHandle};
use crate::{Error, Result};

pub(super) type CaptureId = u64;

pub(super) struct Capture {
    /// Where it began and has to end.
    origin: StreamId,
    mode: CaptureMode,
    /// That began it.
    thread: ThreadId,
    nodes: Vec<Node>,
    /// For each stream that takes part, what its next work comes after.
    tails: BTreeMap<StreamId, Vec<usize>>,
    /// The first thing that was done and can't be repeated.
    broken: Option<String>,
}

/// Work that a stream records.
pub(super) struct NewNode {
    pub(super) task: Task,
    pub(super) device: DeviceIndex,
    pub(super) priority: i32,
}

impl Capture {
    pub(super) fn tail_of(&self, stream: StreamId) -> Vec<usize> {
        self.tails.get(&stream).cloned().unwrap_or_default()
    }

    fn add(&mut self, stream: StreamId, new: NewNode) {
        let NewNode { task, device, priority } = new;
        let after = self.tail_of(stream);
        self.tails.insert(stream, vec![self.nodes.len()]);
        self.nodes.push(Node { task, device, priority, after });
    }

    /// Another graph, once, after what the stream recorded.
    pub(super) fn add_graph(&mut self, stream: StreamId, graph: &[Node]) {
        let before = self.tail_of(stream);
        let first = self.nodes.len();
        let followed: HashSet<usize> =
            graph.iter().flat_map(|node| &node.after).map(|place| place + first).collect();
        for node in graph {
            let mut node = node.clone();
            node.after.iter_mut().for_each(|place| *place += first);
            if node.after.is_empty() {
                node.after.clone_from(&before);
            }
            self.nodes.push(node);
        }
        let last: Vec<_> = (first..self.nodes.len()).filter(|place| !followed.contains(place)).collect();
        if !last.is_empty() {
            self.tails.insert(stream, last);
        }
    }

    /// What the stream records next comes after these nodes as well.
    fn join(&mut self, stream: StreamId, nodes: Vec<usize>) {
        let mut tail = self.tail_of(stream);
        tail.extend(nodes);
        tail.sort_unstable();
        tail.dedup();
        // What others of them come after needs no edge.
        if let [lowest, _, ..] = *tail {
            let first = tail.iter().filter_map(|place| self.nodes.get(*place));
            let implied = self.before(first.flat_map(|node| node.after.clone()).collect(), lowest);
            tail.retain(|place| !implied.contains(place));
        }
        self.tails.insert(stream, tail);
    }

    /// These nodes and all that they come after, down to `lowest`.
    fn before(&self, mut unseen: Vec<usize>, lowest: usize) -> HashSet<usize> {
        let mut seen = HashSet::new();
        while let Some(place) = unseen.pop() {
            if place >= lowest && seen.insert(place) {
                unseen.extend(self.nodes.get(place).into_iter().flat_map(|node| node.after.clone()));
            }
        }
        seen
    }

    /// A stream whose work the origin does not wait for.
    fn not_joined(&self) -> Option<StreamId> {
        let joined = self.before(self.tail_of(self.origin), 0);
        let is_left = |tail: &Vec<usize>| tail.iter().any(|place| !joined.contains(place));
        self.tails.iter().find(|(_, tail)| is_left(tail)).map(|(stream, _)| *stream)
    }

    fn refuses(&self, thread: ThreadId) -> bool {
        self.mode.refuses(self.thread == thread)
    }
}

fn refused(operation: &'static str, reason: impl Into<String>) -> Error {
    Error::Graph { operation, reason: reason.into() }
}

impl State {
    /// A capture that can still be repeated.
    pub(super) fn capture(&mut self, id: CaptureId, operation: &'static str) -> Result<&mut Capture> {
        let capture = self.captures.get_mut(&id);
        let capture = capture.ok_or_else(|| refused(operation, "the capture is over"))?;
        match &capture.broken {
            Some(reason) => Err(refused(operation, format!("the capture can't be repeated: {reason}"))),
            None => Ok(capture),
        }
    }

    /// Something was done that can't be repeated, if the capture is still open: its end will say so. Returns
    /// the error of whoever did it.
    pub(super) fn break_capture(&mut self, id: CaptureId, operation: &'static str, reason: &str) -> Error {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.broken.get_or_insert_with(|| format!("{operation} was called: {reason}"));
        }
        refused(operation, reason)
    }

    /// Fails where a capture forbids this thread what can't be repeated.
    pub(super) fn refuse_in_capture(&mut self, operation: &'static str) -> Result<()> {
        let thread = thread::current().id();
        let refusing = self.captures.iter().filter(|(_, capture)| capture.refuses(thread));
        let refusing: Vec<_> = refusing.map(|(id, _)| *id).collect();
        let mut refused = Ok(());
        for capture in refusing {
            let reason = "a stream captures, and a replay could not repeat it";
            refused = Err(self.break_capture(capture, operation, reason));
        }
        refused
    }

    pub(super) fn record_task(
        &mut self,
        capture: CaptureId,
        stream: StreamId,
        new: NewNode,
        operation: &'static str,
    ) -> Result<()> {
        match self.capture(capture, operation) {
            Ok(capture) => {
                capture.add(stream, new);
                Ok(())
            }
            Err(error) => {
                self.waste.add(new.task);
                Err(error)
            }
        }
    }

    /// A stream waits for an event of a capture, and so takes part in it from now on.
    pub(super) fn join_capture(
        &mut self,
        capture: CaptureId,
        id: StreamId,
        nodes: Vec<usize>,
        operation: &'static str,
    ) -> Result<()> {
        let Some(stream) = self.streams.get(&id) else { return Ok(()) };
        let why_not = match stream.capture {
            Some(own) if own != capture => Some("the event was recorded in another capture"),
            None if !self.captures.contains_key(&capture) => {
                Some("the event was recorded in a capture that is over")
            }
            None if stream.kind == Kind::Default => Some("a default stream can't take part in a capture"),
            _ => None,
        };
        if let Some(reason) = why_not {
            if let Some(own) = stream.capture {
                self.break_capture(own, operation, reason);
            }
            return Err(self.break_capture(capture, operation, reason));
        }
        self.capture(capture, operation)?.join(id, nodes);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.capture = Some(capture);
        }
        Ok(())
    }

    /// A stream goes that takes part; without its origin a capture can't end.
    pub(super) fn capture_lost_stream(&mut self, id: CaptureId, stream: StreamId) {
        if self.captures.get(&id).is_some_and(|capture| capture.origin == stream)
            && let Some(capture) = self.take_capture(id)
        {
            self.waste.add(capture);
        }
    }

    /// The capture is over: its streams run again what is queued.
    fn take_capture(&mut self, id: CaptureId) -> Option<Capture> {
        for stream in self.streams.values_mut().filter(|stream| stream.capture == Some(id)) {
            stream.capture = None;
        }
        self.captures.remove(&id)
    }
}

impl Shared {
    pub(super) fn begin_capture(&self, handle: StreamHandle, mode: CaptureMode) -> Result<()> {
        const OPERATION: &str = "Graph.capture_begin";
        let mut state = self.lock()?;
        let id = state.number();
        let stream = state.stream(handle, OPERATION)?;
        if stream.kind == Kind::Default {
            return Err(refused(OPERATION, "a default stream can't be captured"));
        }
        if stream.capture.is_some() {
            return Err(refused(OPERATION, "the stream takes part in a capture already"));
        }
        stream.capture = Some(id);
        let capture = Capture {
            origin: handle.native,
            mode,
            thread: thread::current().id(),
            nodes: Vec::new(),
            tails: BTreeMap::from([(handle.native, Vec::new())]),
            broken: None,
        };
        state.captures.insert(id, capture);
        Ok(())
    }

    pub(super) fn capture_of(&self, handle: StreamHandle) -> Result<Option<CaptureId>> {
        Ok(self.lock_leaving_waste()?.stream(handle, "Stream.is_capturing")?.capture)
    }

    pub(super) fn end_capture(&self, handle: StreamHandle) -> Result<GraphHandle> {
        const OPERATION: &str = "Graph.capture_end";
        let mut state = self.lock()?;
        // Also where the device is lost: the capture must be over.
        let lost = state.check_not_lost(handle.device, OPERATION);
        let capturing = state.streams.get(&handle.native).and_then(|stream| stream.capture);
        let Some(id) = capturing else {
            state.stream(handle, OPERATION)?;
            return Err(refused(OPERATION, "the stream does not capture"));
        };
        if state.captures.get(&id).is_some_and(|capture| capture.origin != handle.native) {
            return Err(refused(OPERATION, "the capture began on another stream, and ends only there"));
        }
        let Some(mut capture) = state.take_capture(id) else {
            return Err(refused(OPERATION, "the capture is over"));
        };
        let not_joined = capture.not_joined().map(|id| {
            let device = state.streams.get(&id).map(|stream| format!(" of {}", device::named(stream.device)));
            format!(
                "the stream {id}{} was not joined back: no stream waits for its last work",
                device.unwrap_or_default()
            )
        });
        let broken = capture.broken.take().or(not_joined);
        match (lost, broken) {
            (Ok(()), None) => {
                let native = state.number();
                state.graphs.insert(native, capture.nodes.into());
                Ok(GraphHandle(native))
            }
            (lost, broken) => {
                state.waste.add(capture);
                lost?;
                Err(refused(OPERATION, broken.unwrap_or_default()))
            }
        }
    }
}
