//! The replays of a graph that contains host functions.

use std::ffi::c_void;
use std::sync::{Arc, MutexGuard, Weak};

use interlock_core::base::mutex::Mutex;

use super::event_pool::PooledEvent;
use super::stream::Stream;

/// The stream and the point that report the errors of a replay.
pub(crate) type ErrorPoint = (Weak<Stream>, u64);

/// Orders the replays of a graph, so that an error of a host function belongs to the replay that is running.
#[derive(Default)]
pub(crate) struct ReplayTracker {
    /// Recorded after the replay that was queued last. Locked while a replay is queued.
    last: Mutex<Option<PooledEvent>>,
    reported_at: Mutex<Option<ErrorPoint>>,
}

impl ReplayTracker {
    pub(crate) fn lock_last(&self) -> MutexGuard<'_, Option<PooledEvent>> {
        self.last.lock()
    }

    /// Returns the point that reports the errors of the running replay.
    pub(crate) fn reported_at(&self) -> Option<ErrorPoint> {
        self.reported_at.lock().clone()
    }
}

/// The argument of [`begin_replay`].
pub(crate) struct ReplayBegin {
    tracker: Arc<ReplayTracker>,
    reported_at: ErrorPoint,
}

impl ReplayBegin {
    pub(crate) fn new(tracker: Arc<ReplayTracker>, reported_at: ErrorPoint) -> Self {
        ReplayBegin { tracker, reported_at }
    }

    /// Returns the argument for [`begin_replay`]. The caller keeps `self` alive while the call is queued.
    pub(crate) fn data(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }
}

/// The `CUhostFn` that makes a replay the running one, before its host functions. Only takes a lock under which no
/// driver function is called.
///
/// # Safety
/// `data` came from [`ReplayBegin::data`], and the `ReplayBegin` lives until this function returns.
pub(crate) unsafe extern "C" fn begin_replay(data: *mut c_void) {
    // SAFETY: the caller guarantees that the pointer is valid.
    let begin: &ReplayBegin = unsafe { &*data.cast() };
    let reported_at = begin.reported_at.clone();
    *begin.tracker.reported_at.lock() = Some(reported_at);
}
