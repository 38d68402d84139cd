//! Captures that are underway: what they keep, and what was done that can't be repeated.
//!
//! The driver ends a capture by itself when it is told to do something that can't be repeated. Where we know that
//! beforehand it is not told, so that the end of the capture says what it was.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::runs::Runs;
use crate::driver::{CaptureMode, Keeper, StreamHandle};
use crate::{Error, Result};

/// By the driver's numbers.
#[derive(Default)]
pub(super) struct Captures(Mutex<HashMap<u64, Capture>>);

pub(super) struct Capture {
    /// Where it began and has to end.
    pub(super) origin: StreamHandle,
    mode: CaptureMode,
    /// That began it.
    thread: ThreadId,
    /// What recorded work reaches.
    pub(super) keep: Vec<Keeper>,
    /// For functions that are recorded.
    pub(super) runs: Option<Arc<Runs>>,
    /// The first thing that was done and can't be repeated.
    pub(super) broken: Option<String>,
}

impl Capture {
    fn refuses(&self, thread: ThreadId) -> bool {
        self.mode.refuses(self.thread == thread)
    }

    /// The graph is another library's, and nobody tells us when it goes: what it reaches stays for good.
    pub(super) fn leave(self) {
        std::mem::forget(self.keep);
    }
}

/// The error of something that a capture stands against.
pub(super) fn refused(operation: &'static str, reason: impl Into<String>) -> Error {
    Error::Graph { operation, reason: reason.into() }
}

impl Captures {
    fn table(&self) -> MutexGuard<'_, HashMap<u64, Capture>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, number: u64, origin: StreamHandle, mode: CaptureMode) {
        let thread = thread::current().id();
        let capture = Capture { origin, mode, thread, keep: Vec::new(), runs: None, broken: None };
        // One that began there another library has ended, which has the graph now.
        if let Some(ended) = self.begun_on(origin).and_then(|ended| self.end(ended)) {
            ended.leave();
        }
        self.table().insert(number, capture);
    }

    /// The capture that began on a stream. The driver does not tell the number of one that an error has ended.
    pub(super) fn begun_on(&self, origin: StreamHandle) -> Option<u64> {
        self.table().iter().find(|(_, capture)| capture.origin == origin).map(|(number, _)| *number)
    }

    pub(super) fn any(&self) -> bool {
        !self.table().is_empty()
    }

    pub(super) fn is_underway(&self, number: u64) -> bool {
        self.table().contains_key(&number)
    }

    pub(super) fn end(&self, number: u64) -> Option<Capture> {
        self.table().remove(&number)
    }

    /// Fails on a thread on which the driver does not let a capture end, which goes on then.
    pub(super) fn refuse_to_end(&self, number: u64, operation: &'static str) -> Result<()> {
        let is_elsewhere = |capture: &Capture| {
            capture.mode != CaptureMode::Relaxed && capture.thread != thread::current().id()
        };
        if self.table().get(&number).is_some_and(is_elsewhere) {
            let reason = "a capture ends on the thread that began it, unless its mode is relaxed";
            return Err(refused(operation, reason));
        }
        Ok(())
    }

    /// Keeps what recorded work reaches as long as there is a graph that has it.
    pub(super) fn keep(&self, number: u64, keeper: Keeper) {
        match self.table().get_mut(&number) {
            Some(capture) => capture.keep.push(keeper),
            // The graph is another library's, and nobody tells us when it goes.
            None => std::mem::forget(keeper),
        }
    }

    /// The replays of what is being captured.
    pub(super) fn runs(&self, number: u64) -> Arc<Runs> {
        let mut table = self.table();
        let runs = table.get_mut(&number).map(|capture| capture.runs.get_or_insert_default().clone());
        runs.unwrap_or_default()
    }

    /// Fails where something was done that can't be repeated.
    pub(super) fn check(&self, number: u64, operation: &'static str) -> Result<()> {
        match self.table().get(&number).and_then(|capture| capture.broken.as_ref()) {
            Some(reason) => Err(refused(operation, format!("the capture can't be repeated: {reason}"))),
            None => Ok(()),
        }
    }

    /// Something was done that can't be repeated: the end of the capture will say so. Returns the error of whoever
    /// did it.
    pub(super) fn break_off(&self, number: u64, operation: &'static str, reason: &str) -> Error {
        if let Some(capture) = self.table().get_mut(&number) {
            capture.broken.get_or_insert_with(|| format!("{operation} was called: {reason}"));
        }
        refused(operation, reason)
    }

    /// Fails where a capture forbids this thread what can't be repeated.
    pub(super) fn refuse_waiting(&self, operation: &'static str) -> Result<()> {
        let thread = thread::current().id();
        let refusing: Vec<_> = {
            let table = self.table();
            table.iter().filter(|(_, capture)| capture.refuses(thread)).map(|(number, _)| *number).collect()
        };
        let reason = "a stream captures, and a replay could not repeat it";
        let refused = refusing.into_iter().map(|number| self.break_off(number, operation, reason));
        refused.last().map_or(Ok(()), Err)
    }
}
