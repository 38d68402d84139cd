//! Replays of a graph in which functions of this program run: whose turn it is.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::pooled_event::PooledEvent;
use super::stream::Stream;

/// The place that is told what fails in a replay.
pub(super) type Place = (Weak<Stream>, u64);

/// The replays of a graph, which follow each other: a function that fails is one of the replay that runs.
#[derive(Default)]
pub(super) struct Runs {
    /// The end of the replay that was queued last. Locked while another is queued.
    last: Mutex<Option<PooledEvent>>,
    told_by: Mutex<Option<Place>>,
}

impl Runs {
    pub(super) fn last(&self) -> MutexGuard<'_, Option<PooledEvent>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn told_by(&self) -> Option<Place> {
        self.told_by.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The beginning of a replay.
pub(super) struct Begins {
    pub(super) runs: Arc<Runs>,
    pub(super) told_by: Place,
}

impl Begins {
    /// What is handed to the driver together with [`begin`]. Whoever queues it sees to it that this stays.
    pub(super) fn data(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }
}

/// Called by the driver before the functions of a replay.
///
/// # Safety
/// `data` is that of [`Begins`] which stays until the work is over.
pub(super) unsafe extern "C" fn begin(data: *mut c_void) {
    // SAFETY: as the caller vouches. It only takes a lock under which nobody calls the driver.
    let begins: &Begins = unsafe { &*data.cast() };
    let told_by = begins.told_by.clone();
    *begins.runs.told_by.lock().unwrap_or_else(PoisonError::into_inner) = Some(told_by);
}
