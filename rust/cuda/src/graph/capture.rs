//! The captures that are underway, and the resources of their graphs.

use std::sync::{Arc, MutexGuard};

use interlock_core::base::mutex::Mutex;
use interlock_driver::capture::{CaptureId, Captures};
use interlock_driver::{CaptureMode, KeepAlive, StreamHandle};

use crate::stream::replay_tracker::ReplayTracker;

/// Resources of a captured graph, which the executable graph and its replays share.
#[derive(Default)]
pub(crate) struct GraphResources {
    /// Owners of the memory and functions that the recorded work uses.
    keep_alive: Vec<KeepAlive>,
    /// Present if the graph contains host functions.
    replays: Option<Arc<ReplayTracker>>,
}

impl GraphResources {
    /// Leaks the owners: the graph belongs to another library, which does not report its destruction.
    pub(crate) fn leak(self) {
        std::mem::forget(self.keep_alive);
    }

    /// Keeps owners alive as long as the graph contains the recorded work.
    pub(super) fn retain(&mut self, owners: Vec<KeepAlive>) {
        self.keep_alive.extend(owners);
    }

    /// Returns the tracker of the replays for a host function that is being recorded.
    pub(super) fn replays_or_new(&mut self) -> Arc<ReplayTracker> {
        self.replays.get_or_insert_default().clone()
    }

    /// Returns the tracker of the replays, if the graph contains host functions.
    pub(crate) fn replays(&self) -> Option<&Arc<ReplayTracker>> {
        self.replays.as_ref()
    }
}

/// The captures behind a lock. No user code runs while it is locked.
#[derive(Default)]
pub(crate) struct CaptureTable(Mutex<Captures<GraphResources>>);

impl CaptureTable {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Captures<GraphResources>> {
        self.0.lock()
    }

    /// Adds a capture. An earlier capture of the stream that is still listed was ended by another library, which owns
    /// its graph.
    pub(crate) fn begin(&self, id: CaptureId, origin: StreamHandle, mode: CaptureMode) {
        let mut captures = self.lock();
        let stale = captures.by_origin(origin).and_then(|stale| captures.end(stale));
        captures.begin(id, origin, mode, GraphResources::default());
        drop(captures);
        if let Some(stale) = stale {
            stale.content.leak();
        }
    }
}
