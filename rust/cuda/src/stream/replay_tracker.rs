//! The replays of a graph that contains host functions.

use std::ffi::c_void;
use std::sync::{Arc, MutexGuard, Weak};

use cudarc::driver::sys::CUstream;

use interlock_core::base::mutex::Mutex;

use super::event_pool::PooledEvent;
use super::progress::Progress;
use crate::sys::api;
use crate::sys::error::{Code, check};

/// The stream and the point that report the errors of a replay.
pub(crate) type ErrorPoint = (Weak<Progress>, u64);

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

    /// Queues [`begin_replay`], which runs once and drops `self`.
    pub(crate) fn enqueue(self, on: CUstream) -> Result<(), Code> {
        let data: *mut Self = Box::into_raw(Box::new(self));
        // SAFETY: the caller's stream is alive, and the function owns its argument.
        let queued = check(unsafe { api::cuLaunchHostFunc(on, Some(begin_replay), data.cast()) });
        if queued.is_err() {
            // SAFETY: the pointer came from the box, and the function was not queued.
            drop(unsafe { Box::from_raw(data) });
        }
        queued
    }
}

/// The `CUhostFn` that makes a replay the running one, before its host functions. Only takes a lock under which no
/// driver function is called.
///
/// # Safety
/// `data` came from [`ReplayBegin::enqueue`], and this is the only call with it.
unsafe extern "C" fn begin_replay(data: *mut c_void) {
    // SAFETY: the caller guarantees that the pointer came from a box that nothing else frees.
    let begin: Box<ReplayBegin> = unsafe { Box::from_raw(data.cast()) };
    let ReplayBegin { tracker, reported_at } = *begin;
    *tracker.reported_at.lock() = Some(reported_at);
}
