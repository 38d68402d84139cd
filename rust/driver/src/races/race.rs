//! Reports of races.

use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use super::access::{Access, AccessKind, Moment, Work};
use crate::{Frame, StreamHandle};

/// One access of a [`Race`].
///
/// ```
/// use interlock_driver::races::RacingAccess;
///
/// fn size(access: &RacingAccess) -> usize {
///     access.bytes.len()
/// }
/// # let _ = size;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RacingAccess {
    /// The work that accesses the bytes.
    pub work: Work,
    /// What it does with them.
    pub kind: AccessKind,
    /// The addresses of the bytes.
    pub bytes: Range<usize>,
}

/// Two accesses of the same bytes that nothing orders, one of which changes them.
///
/// ```
/// use interlock_driver::races::{Race, RaceDetector};
///
/// fn print(detector: &RaceDetector) {
///     for race in detector.races() {
///         println!("{race}");
///     }
/// }
/// # print(&RaceDetector::start());
/// ```
#[derive(Clone, Debug)]
pub struct Race {
    /// The access that was queued first.
    pub first: RacingAccess,
    /// The access that nothing orders with it.
    pub second: RacingAccess,
    /// The allocation of the memory, if it was observed.
    pub allocation: Option<RacingAccess>,
    /// How often work of these lines raced.
    pub count: usize,
    /// The last work that raced, which is counted once, however its bytes are split.
    last: Arc<Moment>,
}

/// What makes two races alike: the operations and lines.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct RaceKey([AccessLine; 2]);

/// The operation, the kind and the line of an access.
type AccessLine = (Arc<str>, AccessKind, Option<(Arc<str>, u32)>);

impl RaceKey {
    pub fn of(first: &Access, second: &Access) -> Self {
        RaceKey([first, second].map(|access| line_of(&access.moment.work, access.kind)))
    }
}

fn line_of(work: &Work, kind: AccessKind) -> AccessLine {
    (work.operation.clone(), kind, work.frame().map(|frame| (frame.file.clone(), frame.line)))
}

impl Work {
    /// Describes work of this thread, or work that it queues on a stream.
    pub(super) fn new(operation: &str, stream: Option<StreamHandle>) -> Self {
        let thread = std::thread::current().name().map(Arc::from);
        Work { operation: operation.into(), stack: crate::current_stack(), stream, thread }
    }

    /// Returns the line of the program that queued or did it.
    pub fn frame(&self) -> Option<&Frame> {
        self.stack.as_deref().and_then(<[Frame]>::first)
    }
}

impl Race {
    pub(super) fn new(first: &Access, second: &Access, allocation: Option<&Arc<Access>>) -> Self {
        let last = second.moment.clone();
        let [first, second] = [first, second].map(RacingAccess::of);
        let allocation = allocation.map(|access| RacingAccess::of(access));
        Race { first, second, allocation, count: 1, last }
    }

    pub(super) fn key(&self) -> RaceKey {
        RaceKey([&self.first, &self.second].map(|access| line_of(&access.work, access.kind)))
    }

    /// Counts a race that is like this one.
    pub(super) fn repeat(&mut self, second: &Access) {
        if !Arc::ptr_eq(&self.last, &second.moment) {
            self.last = second.moment.clone();
            self.count = self.count.saturating_add(1);
        }
    }

    /// Returns the bytes that both accesses use.
    pub fn bytes(&self) -> Range<usize> {
        self.first.bytes.start.max(self.second.bytes.start)..self.first.bytes.end.min(self.second.bytes.end)
    }

    /// Says which order is missing. `name` returns the name of a stream.
    pub fn missing(&self, name: &dyn Fn(StreamHandle) -> String) -> String {
        let Race { first, second, .. } = self;
        if first.kind == AccessKind::Release {
            let user = second.work_of(name);
            return format!("{user} began after the memory was freed: keep its owner until then");
        }
        for (next, user) in [(first, second), (second, first)] {
            if next.kind == AccessKind::Allocation {
                let (next, work) = (next.owner(name), user.work_of(name));
                return format!(
                    "the memory was freed and reused for {next} while {work} may still use it: call record_stream with \
                     its stream before the memory is freed"
                );
            }
        }
        match (first.work.stream, second.work.stream) {
            (Some(_), Some(_)) => {
                // The advice names no stream, because it may be destroyed.
                let (work, after) = (first.work_of(name), second.owner(name));
                format!(
                    "{after} does not wait for {work}: record an event on its stream after it and let the other \
                     stream wait for the event, or call wait_stream"
                )
            }
            (queued, _) => {
                let queued = if queued.is_some() { first } else { second }.work_of(name);
                format!(
                    "the program does not wait for {queued}: synchronize the stream, or an event after it, first"
                )
            }
        }
    }

    /// Returns the report. `name` returns the name of a stream.
    pub fn report(&self, name: &dyn Fn(StreamHandle) -> String) -> String {
        let bytes = self.bytes();
        let mut text = format!("race on {} bytes at {:#x}", bytes.len(), bytes.start);
        if self.count > 1 {
            // Writing to a string does not fail.
            let _ = write!(text, ", found {} times", self.count);
        }
        for (place, access) in [("first", &self.first), ("second", &self.second)] {
            let _ = write!(
                text,
                "\n{place}: {} {} {} bytes at {:#x}",
                access.work_of(name),
                access.kind.verb(),
                access.bytes.len(),
                access.bytes.start
            );
            write_stack(&mut text, &access.work);
        }
        if let Some(allocation) = &self.allocation {
            let _ = write!(
                text,
                "\nallocated: {} bytes at {:#x} for {}",
                allocation.bytes.len(),
                allocation.bytes.start,
                allocation.owner(name)
            );
            write_stack(&mut text, &allocation.work);
        }
        let _ = write!(text, "\nmissing: {}", self.missing(name));
        text
    }
}

impl RacingAccess {
    /// Returns the operation with its stream, or the thread that does it.
    fn work_of(&self, name: &dyn Fn(StreamHandle) -> String) -> String {
        match self.work.stream {
            Some(stream) => format!("{} ({})", self.work.operation, name(stream)),
            None => self.owner(name),
        }
    }

    /// Returns the stream or the thread that the access belongs to.
    pub fn owner(&self, name: &dyn Fn(StreamHandle) -> String) -> String {
        match (self.work.stream, &self.work.thread) {
            (Some(stream), _) => name(stream),
            (None, Some(thread)) => format!("the thread {thread}"),
            (None, None) => "the program".to_owned(),
        }
    }
}

fn write_stack(text: &mut String, work: &Work) {
    for frame in work.stack.iter().flat_map(|stack| stack.iter()) {
        let _ = write!(text, "\n    {}:{} in {}", frame.file, frame.line, frame.name);
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            |stream: StreamHandle| format!("the stream {:#x} of the device {}", stream.raw, stream.device);
        f.write_str(&self.report(&name))
    }
}
