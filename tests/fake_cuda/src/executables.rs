//! Executable graphs.

use std::collections::HashMap;
use std::ffi::c_ulonglong;
use std::sync::Arc;

use interlock_driver::{EventHandle, EventOptions, StreamHandle};

use crate::call::{Answer, Handle, Out, exported};
use crate::captures::Node;
use crate::errors::{CAPTURE_UNSUPPORTED, ILLEGAL_ADDRESS, INVALID_HANDLE, INVALID_VALUE};
use crate::fake::Fake;
use crate::state::State;
use crate::streams;

/// The supported flags: `AUTO_FREE_ON_LAUNCH` and `USE_NODE_PRIORITY`.
const FLAGS: c_ulonglong = 1 | 8;

/// An executable graph.
pub(crate) struct Executable {
    nodes: Arc<[Node]>,
    /// Streams of the host driver, one for each chain of nodes.
    streams: Vec<StreamHandle>,
    /// The index in `streams` of each node.
    stream_of: Vec<usize>,
    /// Recorded at the end of the latest replay, for which the next one waits.
    latest: Option<EventHandle>,
}

/// Temporary events of the host driver, which are destroyed when all waits for them are queued.
struct TempEvents<'a> {
    state: &'a State,
    events: Vec<EventHandle>,
}

impl TempEvents<'_> {
    fn record(&mut self, stream: StreamHandle) -> Answer<EventHandle> {
        let (driver, failed) = (&self.state.driver, |_| self.state.code(stream.device));
        let event = driver.create_event(stream.device, EventOptions::default()).map_err(failed)?;
        self.events.push(event);
        driver.record_event(event, stream).map_err(failed)?;
        Ok(event)
    }

    fn wait(&self, stream: StreamHandle, event: EventHandle) -> Answer {
        self.state.driver.wait_event(stream, event).map_err(|_| self.state.code(stream.device))
    }
}

impl Drop for TempEvents<'_> {
    fn drop(&mut self) {
        self.events.iter().for_each(|event| self.state.driver.destroy_event(*event));
    }
}

impl State {
    /// Creates an executable graph. Assigns a node to the stream of a dependency that is the last node there, or else
    /// to a new stream.
    fn instantiate(&self, nodes: Arc<[Node]>) -> Answer<Executable> {
        let mut executable =
            Executable { nodes: nodes.clone(), streams: Vec::new(), stream_of: Vec::new(), latest: None };
        // The stream of each node that is the last one there.
        let mut lasts = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            let fits = |stream: &usize| {
                executable.streams.get(*stream).is_some_and(|stream| stream.device == node.device)
            };
            let followed = node.after.iter().find(|before| lasts.get(*before).is_some_and(fits));
            let stream = match followed.and_then(|before| lasts.remove(before)) {
                Some(stream) => stream,
                None => {
                    let created =
                        self.driver.create_stream(node.device, streams::host_priority(node.priority));
                    executable.streams.push(created.map_err(|_| self.code(node.device))?);
                    executable.streams.len() - 1
                }
            };
            lasts.insert(index, stream);
            executable.stream_of.push(stream);
        }
        Ok(executable)
    }

    /// Queues a replay on a stream and returns the event at its end.
    fn replay(
        &self,
        fake: &'static Fake,
        executable: &Executable,
        stream: StreamHandle,
    ) -> Answer<EventHandle> {
        let mut events = TempEvents { state: self, events: Vec::new() };
        if let Some(latest) = executable.latest {
            events.wait(stream, latest)?;
        }
        let start = events.record(stream)?;
        for own in &executable.streams {
            events.wait(*own, start)?;
        }
        let stream_of = |index: usize| Some(*executable.streams.get(*executable.stream_of.get(index)?)?);
        let mut ends = Vec::new();
        for (index, node) in executable.nodes.iter().enumerate() {
            let own = stream_of(index).ok_or(INVALID_HANDLE)?;
            for before in node.after.iter().filter(|before| stream_of(**before) != Some(own)) {
                events.wait(own, *ends.get(*before).ok_or(INVALID_HANDLE)?)?;
            }
            self.run(fake, own, &node.operation)?;
            ends.push(events.record(own)?);
        }
        for end in ends {
            events.wait(stream, end)?;
        }
        events.record(stream)?;
        events.events.pop().ok_or(INVALID_HANDLE)
    }

    fn destroy_executable(&self, executable: &Executable) {
        executable.streams.iter().for_each(|stream| self.driver.destroy_stream(*stream));
        executable.latest.into_iter().for_each(|event| self.driver.destroy_event(event));
    }
}

exported! {
    /// Instantiates a graph.
    fn cuGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, flags: c_ulonglong) |fake| {
        let mut state = fake.state();
        executable.check()?;
        if flags & !FLAGS != 0 {
            return Err(INVALID_VALUE);
        }
        let nodes = state.graph(graph)?.nodes.clone();
        for node in nodes.iter() {
            state.check(node.device)?;
        }
        let instantiated = state.instantiate(nodes)?;
        let handle = state.new_handle();
        state.executables.insert(handle, instantiated);
        executable.put(handle)
    }

    /// Queues a replay of a graph. Breaks the device with an illegal address if memory of the graph was freed.
    fn cuGraphLaunch(executable: Handle, stream: Handle) |fake| {
        let mut state = fake.state();
        let name = state.stream_named(stream)?;
        let nodes = state.executables.get(&executable).ok_or(INVALID_HANDLE)?.nodes.clone();
        for node in nodes.iter() {
            state.check(node.device)?;
        }
        let found = state.stream(name)?;
        let (host, capture) = (found.host, found.capture);
        if let Some(capture) = capture {
            state.check_capture(capture)?;
            state.invalidate(capture);
            return Err(CAPTURE_UNSUPPORTED);
        }
        if nodes.iter().any(|node| state.check_operation(&node.operation).is_err()) {
            return state.break_device(host.device, ILLEGAL_ADDRESS);
        }
        let mut replayed = state.executables.remove(&executable).ok_or(INVALID_HANDLE)?;
        let queued = state.replay(fake, &replayed, host);
        if let Ok(end) = &queued
            && let Some(earlier) = replayed.latest.replace(*end)
        {
            state.driver.destroy_event(earlier);
        }
        state.executables.insert(executable, replayed);
        queued.map(drop)
    }

    /// Destroys an executable graph. Queued replays still run.
    fn cuGraphExecDestroy(executable: Handle) |fake| {
        let mut state = fake.state();
        let executable = state.executables.remove(&executable).ok_or(INVALID_HANDLE)?;
        state.destroy_executable(&executable);
        Ok(())
    }
}
