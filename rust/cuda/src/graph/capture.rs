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

    /// Keeps an owner alive as long as a graph contains the recorded work.
    pub(crate) fn retain(&self, id: CaptureId, keep_alive: KeepAlive) {
        match self.lock().content_mut(id) {
            Some(resources) => resources.keep_alive.push(keep_alive),
            // The graph belongs to another library, which does not report its destruction.
            None => std::mem::forget(keep_alive),
        }
    }

    /// Returns the tracker of the replays of the graph that is being captured.
    pub(crate) fn replays(&self, id: CaptureId) -> Arc<ReplayTracker> {
        let mut captures = self.lock();
        let resources = captures.content_mut(id);
        resources.map(|resources| resources.replays.get_or_insert_default().clone()).unwrap_or_default()
    }
}
