//! Captures that this process has begun, and what their graphs have to own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::runs::Runs;
use crate::accelerator::driver::capture::{CaptureId, Captures};
use crate::accelerator::driver::{CaptureMode, KeepAlive, StreamHandle};

/// What a capture records besides the driver's graph.
#[derive(Default)]
pub(super) struct CapturedWork {
    /// Owners of what the recorded work uses.
    keep_alive: Vec<KeepAlive>,
    /// The replays, if functions of this program are recorded.
    runs: Option<Arc<Runs>>,
}

impl CapturedWork {
    /// Leaks the owners: the graph belongs to another library, which does not report when it is destroyed.
    pub(super) fn leak(self) {
        std::mem::forget(self.keep_alive);
    }

    /// Returns the owners and the replays.
    pub(super) fn into_parts(self) -> (Vec<KeepAlive>, Option<Arc<Runs>>) {
        (self.keep_alive, self.runs)
    }
}

/// The captures behind a lock, under which no user code runs.
#[derive(Default)]
pub(super) struct CaptureTable(Mutex<Captures<CapturedWork>>);

impl CaptureTable {
    pub(super) fn lock(&self) -> MutexGuard<'_, Captures<CapturedWork>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a capture. Another library has ended the one that began on this stream before, and has its graph.
    pub(super) fn begin(&self, id: CaptureId, origin: StreamHandle, mode: CaptureMode) {
        let mut captures = self.lock();
        let stale = captures.by_origin(origin).and_then(|stale| captures.end(stale));
        captures.begin(id, origin, mode, CapturedWork::default());
        drop(captures);
        if let Some(stale) = stale {
            stale.content.leak();
        }
    }

    /// Keeps what recorded work uses until no graph has the work.
    pub(super) fn keep(&self, id: CaptureId, keep_alive: KeepAlive) {
        match self.lock().content_mut(id) {
            Some(work) => work.keep_alive.push(keep_alive),
            // The graph belongs to another library, which does not report when it is destroyed.
            None => std::mem::forget(keep_alive),
        }
    }

    /// Returns the replays of what is being captured.
    pub(super) fn runs(&self, id: CaptureId) -> Arc<Runs> {
        let mut captures = self.lock();
        let runs = captures.content_mut(id).map(|work| work.runs.get_or_insert_default().clone());
        runs.unwrap_or_default()
    }
}
