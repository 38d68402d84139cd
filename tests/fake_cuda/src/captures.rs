//! The captures that are underway: recorded work, and the calls that invalidate a capture.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_uint};
use std::thread::{self, ThreadId};

use interlock_driver::DeviceIndex;

use crate::call::{Answer, Handle};
use crate::errors::{
    CAPTURE_IMPLICIT, CAPTURE_INVALIDATED, CAPTURE_ISOLATION, CAPTURE_MERGE, CAPTURE_UNJOINED,
    CAPTURE_UNSUPPORTED, INVALID_VALUE,
};
use crate::operations::Operation;
use crate::state::State;
use crate::streams::Stream;

/// The `CUstreamCaptureMode` of a capture or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Global,
    ThreadLocal,
    Relaxed,
}

thread_local! {
    /// The capture mode of this thread.
    pub(crate) static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

impl Mode {
    pub(crate) fn from_number(number: c_uint) -> Answer<Self> {
        let modes = [Mode::Global, Mode::ThreadLocal, Mode::Relaxed];
        modes.into_iter().find(|mode| *mode as c_uint == number).ok_or(INVALID_VALUE)
    }
}

/// A capture that is underway.
pub(crate) struct Capture {
    pub(crate) mode: Mode,
    /// The thread that began it.
    pub(crate) thread: ThreadId,
    /// The stream on which it began.
    pub(crate) origin: Handle,
    pub(crate) is_invalid: bool,
    pub(crate) nodes: Vec<Node>,
    /// The dependencies of the next node of each stream in the capture.
    ends: BTreeMap<Handle, BTreeSet<usize>>,
}

/// A node of a capture or graph.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) operation: Operation,
    pub(crate) device: DeviceIndex,
    pub(crate) priority: c_int,
    /// The indices of its dependencies, including redundant ones.
    pub(crate) after: BTreeSet<usize>,
}

impl Capture {
    pub(crate) fn new(mode: Mode, origin: Handle) -> Self {
        Capture {
            mode,
            thread: thread::current().id(),
            origin,
            is_invalid: false,
            nodes: Vec::new(),
            ends: BTreeMap::from([(origin, BTreeSet::new())]),
        }
    }

    /// Returns whether the capture forbids unsafe calls of a thread.
    fn forbids(&self, thread: ThreadId, mode: Mode) -> bool {
        if self.thread == thread {
            self.mode != Mode::Relaxed && mode != Mode::Relaxed
        } else {
            self.mode == Mode::Global && mode == Mode::Global
        }
    }

    /// Fails if the origin stream does not wait for all work of the other streams.
    pub(crate) fn check_joined(&self) -> Answer {
        let mut covered = BTreeSet::new();
        let mut unseen: Vec<_> = self.ends.get(&self.origin).into_iter().flatten().copied().collect();
        while let Some(node) = unseen.pop() {
            if covered.insert(node) {
                unseen.extend(self.nodes.get(node).into_iter().flat_map(|node| &node.after));
            }
        }
        let joined = self.ends.values().flatten().all(|node| covered.contains(node));
        if joined { Ok(()) } else { Err(CAPTURE_UNJOINED) }
    }
}

impl State {
    pub(crate) fn invalidate(&mut self, capture: u64) {
        if let Some(capture) = self.captures.get_mut(&capture) {
            capture.is_invalid = true;
        }
    }

    /// Fails if the capture was invalidated.
    pub(crate) fn check_capture(&self, capture: u64) -> Answer {
        let is_invalid = self.captures.get(&capture).is_none_or(|capture| capture.is_invalid);
        if is_invalid { Err(CAPTURE_INVALIDATED) } else { Ok(()) }
    }

    /// Invalidates the captures that forbid a call, and fails if there are any.
    fn refuse_for(&mut self, mut forbids: impl FnMut(&Capture) -> bool) -> Answer {
        let mut answer = Ok(());
        for capture in self.captures.values_mut() {
            if forbids(capture) {
                capture.is_invalid = true;
                answer = Err(CAPTURE_UNSUPPORTED);
            }
        }
        answer
    }

    /// Checks a call that is unsafe during captures.
    pub(crate) fn refuse_while_captured(&mut self) -> Answer {
        let (thread, mode) = (thread::current().id(), MODE.get());
        self.refuse_for(|capture| capture.forbids(thread, mode))
    }

    /// Checks a wait for a device. According to the programming guide, a device with a capturing stream can't be
    /// synchronized in any mode.
    pub(crate) fn refuse_where_captured(&mut self, device: DeviceIndex) -> Answer {
        let on_device = |stream: &&Stream| stream.device == device;
        let there: Vec<_> =
            self.streams.values().filter(on_device).filter_map(|stream| stream.capture).collect();
        let forbidden = self.refuse_while_captured();
        if there.is_empty() {
            return forbidden;
        }
        there.into_iter().for_each(|capture| self.invalidate(capture));
        Err(CAPTURE_UNSUPPORTED)
    }

    /// Checks a call for one stream that can't be recorded.
    pub(crate) fn refuse_on_capturing(&mut self, stream: Handle) -> Answer {
        let Some(capture) = self.stream(stream)?.capture else { return Ok(()) };
        self.check_capture(capture)?;
        self.invalidate(capture);
        Err(CAPTURE_UNSUPPORTED)
    }

    /// Returns the dependencies of the next node of a stream.
    pub(crate) fn end_in_capture(&self, capture: u64, stream: Handle) -> BTreeSet<usize> {
        let end = self.captures.get(&capture).and_then(|capture| capture.ends.get(&stream));
        end.cloned().unwrap_or_default()
    }

    /// Records work of a capturing stream.
    pub(crate) fn record(&mut self, id: u64, stream: Handle, operation: Operation) -> Answer {
        self.check_capture(id)?;
        let found = self.stream(stream)?;
        let (device, priority) = (found.device, found.priority);
        let capture = self.captures.get_mut(&id).ok_or(CAPTURE_INVALIDATED)?;
        let index = capture.nodes.len();
        let after = capture.ends.insert(stream, BTreeSet::from([index])).unwrap_or_default();
        capture.nodes.push(Node { operation, device, priority, after });
        Ok(())
    }

    /// Adds a stream to a capture because it waits for an event of the capture.
    pub(crate) fn join_capture(&mut self, id: u64, stream: Handle, nodes: BTreeSet<usize>) -> Answer {
        let found = self.stream(stream)?;
        let (is_default, own) = (found.is_default, found.capture);
        // The capture has ended, and work outside of a capture can't depend on its events.
        if !self.captures.contains_key(&id) {
            if let Some(own) = own {
                self.invalidate(own);
            }
            return Err(CAPTURE_ISOLATION);
        }
        self.check_capture(id)?;
        if is_default {
            self.invalidate(id);
            return Err(CAPTURE_IMPLICIT);
        }
        if let Some(own) = own.filter(|own| *own != id) {
            self.check_capture(own)?;
            self.invalidate(own);
            self.invalidate(id);
            return Err(CAPTURE_MERGE);
        }
        self.stream_mut(stream)?.capture = Some(id);
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.ends.entry(stream).or_default().extend(nodes);
        }
        Ok(())
    }

    /// Invalidates the capture of a stream that is being destroyed.
    pub(crate) fn leave_capture(&mut self, stream: Handle) {
        let Some(id) = self.streams.get_mut(&stream).and_then(|stream| stream.capture.take()) else { return };
        self.invalidate(id);
        // Only the origin stream could end the capture.
        if self.captures.get(&id).is_some_and(|capture| capture.origin == stream) {
            self.end_capture(id);
        }
    }

    /// Removes a capture; its streams run queued work again.
    pub(crate) fn end_capture(&mut self, id: u64) -> Option<Capture> {
        for stream in self.streams.values_mut().filter(|stream| stream.capture == Some(id)) {
            stream.capture = None;
        }
        self.captures.remove(&id)
    }
}
