//! Graphs that are ready to be replayed.

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

/// Bits of how a graph may be made ready: freeing what it allocates before a replay, and priorities of nodes.
const FLAGS: c_ulonglong = 1 | 8;

pub(crate) struct Executable {
    nodes: Arc<[Node]>,
    /// Streams of the host driver: what is on different ones runs at the same time.
    lanes: Vec<StreamHandle>,
    /// The lane of each node.
    lane_of: Vec<usize>,
    /// The end of the latest replay: the next begins after it, on whichever stream.
    latest: Option<EventHandle>,
}

/// Places in streams of the host driver that are needed until everything that waits for them is queued.
struct Marks<'a> {
    state: &'a State,
    events: Vec<EventHandle>,
}

impl Marks<'_> {
    fn mark(&mut self, stream: StreamHandle) -> Answer<EventHandle> {
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

impl Drop for Marks<'_> {
    fn drop(&mut self) {
        self.events.iter().for_each(|event| self.state.driver.destroy_event(*event));
    }
}

impl State {
    /// A node goes on the lane of one that it comes after and that nothing follows yet there, or on a new one.
    fn executable(&self, nodes: Arc<[Node]>) -> Answer<Executable> {
        let mut executable =
            Executable { nodes: nodes.clone(), lanes: Vec::new(), lane_of: Vec::new(), latest: None };
        // The lane that each node is the last one of.
        let mut lasts = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            let fits =
                |lane: &usize| executable.lanes.get(*lane).is_some_and(|lane| lane.device == node.device);
            let followed = node.after.iter().find(|before| lasts.get(*before).is_some_and(fits));
            let lane = match followed.and_then(|before| lasts.remove(before)) {
                Some(lane) => lane,
                None => {
                    let made = self.driver.create_stream(node.device, streams::host_priority(node.priority));
                    executable.lanes.push(made.map_err(|_| self.code(node.device))?);
                    executable.lanes.len() - 1
                }
            };
            lasts.insert(place, lane);
            executable.lane_of.push(lane);
        }
        Ok(executable)
    }

    /// Queues all nodes between what is on the stream and what will be; returns the end.
    fn replay(
        &self,
        fake: &'static Fake,
        executable: &Executable,
        stream: StreamHandle,
    ) -> Answer<EventHandle> {
        let mut marks = Marks { state: self, events: Vec::new() };
        if let Some(latest) = executable.latest {
            marks.wait(stream, latest)?;
        }
        let start = marks.mark(stream)?;
        for lane in &executable.lanes {
            marks.wait(*lane, start)?;
        }
        let lane_of = |place: usize| Some(*executable.lanes.get(*executable.lane_of.get(place)?)?);
        let mut ends = Vec::new();
        for (place, node) in executable.nodes.iter().enumerate() {
            let lane = lane_of(place).ok_or(INVALID_HANDLE)?;
            for before in node.after.iter().filter(|before| lane_of(**before) != Some(lane)) {
                marks.wait(lane, *ends.get(*before).ok_or(INVALID_HANDLE)?)?;
            }
            self.run(fake, lane, &node.operation)?;
            ends.push(marks.mark(lane)?);
        }
        for end in ends {
            marks.wait(stream, end)?;
        }
        marks.mark(stream)?;
        // The last one is kept.
        marks.events.pop().ok_or(INVALID_HANDLE)
    }

    fn let_go(&self, executable: &Executable) {
        executable.lanes.iter().for_each(|lane| self.driver.destroy_stream(*lane));
        executable.latest.into_iter().for_each(|event| self.driver.destroy_event(event));
    }
}

exported! {
    /// Makes a graph ready to be replayed.
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
        let made = state.executable(nodes)?;
        let handle = state.number();
        state.executables.insert(handle, made);
        executable.put(handle)
    }

    /// Queues the work of a graph. What it reaches must still be there: else the device breaks, as it does when work
    /// reaches memory that is gone.
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

    /// Lets an executable go; replays that are queued still run.
    fn cuGraphExecDestroy(executable: Handle) |fake| {
        let mut state = fake.state();
        let gone = state.executables.remove(&executable).ok_or(INVALID_HANDLE)?;
        state.let_go(&gone);
        Ok(())
    }
}
