//! Captures that this process has begun, and what their graphs own.

use std::sync::{Arc, MutexGuard};

use interlock_core::base::mutex::Mutex;
use interlock_driver::capture::{CaptureId, Captures};
use interlock_driver::{CaptureMode, KeepAlive, StreamHandle};

use crate::stream::replay_tracker::ReplayTracker;

/// What a capture records besides the driver's graph.
#[derive(Default)]
pub(crate) struct CapturedWork {
    /// Owners of what the recorded work uses.
    keep_alive: Vec<KeepAlive>,
    /// The replays, if functions of this program are recorded.
    replays: Option<Arc<ReplayTracker>>,
}

impl CapturedWork {
    /// Leaks the owners: the graph belongs to another library, which does not report when it is destroyed.
    pub(crate) fn leak_resources(self) {
        std::mem::forget(self.keep_alive);
    }

    /// Returns the tracker of the replays, if functions of this program are recorded.
    pub(crate) fn replays(&self) -> Option<&Arc<ReplayTracker>> {
        self.replays.as_ref()
    }
}

/// The captures behind a lock, under which no user code runs.
#[derive(Default)]
pub(crate) struct CaptureTable(Mutex<Captures<CapturedWork>>);

impl CaptureTable {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Captures<CapturedWork>> {
        self.0.lock()
    }

    /// Adds a capture. Another library has ended the one that began on this stream before, and has its graph.
    pub(crate) fn begin(&self, id: CaptureId, origin: StreamHandle, mode: CaptureMode) {
        let mut captures = self.lock();
        let stale = captures.by_origin(origin).and_then(|stale| captures.end(stale));
        captures.begin(id, origin, mode, CapturedWork::default());
        drop(captures);
        if let Some(stale) = stale {
            stale.content.leak_resources();
        }
    }

    /// Keeps what recorded work uses until no graph has the work.
    pub(crate) fn retain(&self, id: CaptureId, keep_alive: KeepAlive) {
        match self.lock().content_mut(id) {
            Some(work) => work.keep_alive.push(keep_alive),
            // The graph belongs to another library, which does not report when it is destroyed.
            None => std::mem::forget(keep_alive),
        }
    }

    /// Returns the tracker of the replays of what is being captured.
    pub(crate) fn replays(&self, id: CaptureId) -> Arc<ReplayTracker> {
        let mut captures = self.lock();
        let replays = captures.content_mut(id).map(|work| work.replays.get_or_insert_default().clone());
        replays.unwrap_or_default()
    }
}
