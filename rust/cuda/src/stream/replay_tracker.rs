//! The replays of a graph in which functions of this program run.

use std::ffi::c_void;
use std::sync::{Arc, MutexGuard, Weak};

use interlock_core::base::mutex::Mutex;

use super::event_pool::PooledEvent;
use super::stream::Stream;

/// The point that reports the errors of a replay.
pub(crate) type ErrorPoint = (Weak<Stream>, u64);

/// The replays of a graph, which follow each other: a function that fails belongs to the replay that runs.
#[derive(Default)]
pub(crate) struct ReplayTracker {
    /// The end of the replay that was queued last. Locked while another is queued.
    last: Mutex<Option<PooledEvent>>,
    reported_at: Mutex<Option<ErrorPoint>>,
}

impl ReplayTracker {
    pub(crate) fn lock_last(&self) -> MutexGuard<'_, Option<PooledEvent>> {
        self.last.lock()
    }

    /// Returns the point that reports the errors of the replay that runs.
    pub(crate) fn reported_at(&self) -> Option<ErrorPoint> {
        self.reported_at.lock().clone()
    }
}

/// The beginning of a replay.
pub(crate) struct ReplayBegin {
    tracker: Arc<ReplayTracker>,
    reported_at: ErrorPoint,
}

impl ReplayBegin {
    pub(crate) fn new(tracker: Arc<ReplayTracker>, reported_at: ErrorPoint) -> Self {
        ReplayBegin { tracker, reported_at }
    }

    /// Returns the argument of [`begin_replay`]. The caller that queues it keeps this alive.
    pub(crate) fn data(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }
}

/// Runs on the driver's thread before the functions of a replay.
///
/// # Safety
/// `data` is that of a [`ReplayBegin`] which stays until the work is over.
pub(crate) unsafe extern "C" fn begin_replay(data: *mut c_void) {
    // SAFETY: as the caller guarantees. It only takes a lock under which no function of the driver is called.
    let begin: &ReplayBegin = unsafe { &*data.cast() };
    let reported_at = begin.reported_at.clone();
    *begin.tracker.reported_at.lock() = Some(reported_at);
}
