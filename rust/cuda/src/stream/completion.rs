//! Waits for an event on a worker thread, which blocks in the driver: the driver's wait has no timeout and cannot be
//! interrupted.

use std::sync::Arc;
use std::time::Duration;

use interlock_core::base::mutex::{Condvar, Mutex};

use super::event_pool::PooledEvent;
use super::workers::WORKERS;
use crate::sys::context_guard::{Context, ContextGuard, RelaxedCapture};

/// Whether a worker thread has waited for an event.
#[derive(Default)]
pub(crate) struct Completion {
    has_ended: Mutex<bool>,
    ended: Condvar,
}

impl Completion {
    /// Begins to wait for the last record of an event on a worker thread. Without a thread, the wait has ended.
    pub(super) fn begin(event: Arc<PooledEvent>, context: Context) -> Arc<Self> {
        let completion = Arc::new(Completion::default());
        let shared = completion.clone();
        let wait = move || {
            if let Ok(_context) = ContextGuard::enter(context) {
                let _relaxed = RelaxedCapture::enter();
                // The threads that wait query the event afterwards, and report its error.
                let _ = event.synchronize();
            }
            // Dropped first: it returns to its pool, which makes no driver call.
            drop(event);
            shared.end();
        };
        if WORKERS.dispatch(Box::new(wait)).is_err() {
            completion.end();
        }
        completion
    }

    fn end(&self) {
        *self.has_ended.lock() = true;
        self.ended.notify_all();
    }

    /// Waits until the worker thread has returned from the driver; returns false on timeout.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let is_waiting = |has_ended: &mut bool| !*has_ended;
        *self.ended.wait_timeout_while(self.has_ended.lock(), timeout, is_waiting)
    }
}
