//! The progress of a stream, which outlives the stream of the driver: its timeline and its asynchronous error.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUstream;

use interlock_core::base::catch::drop_catching_panic;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{DeviceIndex, Error, KeepAlive, Result, WaitPolicy};

use super::event_pool::{EventPool, PooledEvent};
use super::timeline::Timeline;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::sys::error::{Code, check};

/// The timeline and the asynchronous error of a stream.
pub(crate) struct Progress {
    /// Unique in the process, unlike the handle, which the driver reuses after the stream is destroyed.
    id: u64,
    device: Arc<CudaDevice>,
    events: Arc<EventPool>,
    timeline: Mutex<Timeline>,
    async_error: Mutex<Option<AsyncError>>,
}

/// An error of queued work that no wait has reported yet.
pub(crate) struct AsyncError {
    /// Increases with the time of the error.
    order: u64,
    point: u64,
    error: Error,
}

impl AsyncError {
    pub(crate) fn new(point: u64, error: Error) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        AsyncError { order: NEXT.fetch_add(1, Ordering::Relaxed), point, error }
    }
}

impl Progress {
    pub(super) fn new(id: u64, device: Arc<CudaDevice>, events: Arc<EventPool>) -> Self {
        Progress { id, device, events, timeline: Mutex::default(), async_error: Mutex::default() }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn device(&self) -> &Arc<CudaDevice> {
        &self.device
    }

    pub(crate) fn device_index(&self) -> DeviceIndex {
        self.device.index()
    }

    /// Returns an event that is not recorded.
    pub(crate) fn acquire_event(&self, op: &DeviceOp<'_>) -> Result<PooledEvent> {
        PooledEvent::acquire(&self.events, op)
    }

    /// Advances the timeline and returns the point for the work that is queued next.
    pub(crate) fn next_point(&self) -> u64 {
        self.timeline.lock().advance()
    }

    /// Returns the point of the work that was queued last.
    pub(crate) fn submitted(&self) -> u64 {
        self.timeline.lock().submitted()
    }

    /// Returns the last point that an event signals.
    pub(crate) fn last_signaled(&self) -> u64 {
        self.timeline.lock().last_signaled()
    }

    /// Records an event for a new point after all queued work, and returns the point. The caller holds the submit lock
    /// of the stream `on`, which does not capture.
    pub(super) fn signal(&self, op: &DeviceOp<'_>, on: CUstream) -> Result<u64> {
        let event = self.acquire_event(op)?;
        let mut timeline = self.timeline.lock();
        op.check(event.record(on))?;
        Ok(timeline.signal(event))
    }

    /// Adds a point for an event that was recorded after all queued work of the stream, which does not capture.
    pub(crate) fn signal_at(&self, event: PooledEvent) {
        self.timeline.lock().signal(event);
    }

    /// Keeps owners alive until all queued work has completed, which `event` signals, and returns the number of pending
    /// points. The caller holds the submit lock of the stream `on`, which does not capture.
    ///
    /// The work is queued, so an error of the record is stored as an asynchronous error.
    pub(super) fn retain(
        &self,
        op: &DeviceOp<'_>,
        on: CUstream,
        event: PooledEvent,
        owners: Vec<KeepAlive>,
    ) -> usize {
        let mut timeline = self.timeline.lock();
        match op.check(event.record(on)) {
            Ok(()) => {
                let point = timeline.signal(event);
                timeline.retain(point, owners);
                timeline.pending()
            }
            Err(error) => {
                // Leaked: the completion of the queued work can't be detected without an event.
                std::mem::forget(owners);
                self.store_error(AsyncError::new(timeline.advance(), error));
                0
            }
        }
    }

    /// Returns whether a point has completed, and drops the owners that were retained for completed work.
    pub(crate) fn has_completed(&self, op: &DeviceOp<'_>, point: u64) -> Result<bool> {
        self.poll(op)?;
        Ok(self.timeline.lock().has_completed(point))
    }

    /// Waits until a point that an event signals has completed; returns false on timeout.
    ///
    /// The first wait for an event polls it briefly. Then a worker thread blocks in the driver, and the waiting threads
    /// sleep until it returns.
    pub(crate) fn wait(&self, op: &DeviceOp<'_>, point: u64, policy: WaitPolicy) -> Result<bool> {
        /// The time of polling before a thread sleeps.
        const SPIN_FOR: Duration = Duration::from_micros(50);
        if !policy.blocking {
            return policy.poll_until(|| self.has_completed(op, point));
        }
        let began = Instant::now();
        if !self.timeline.lock().is_awaited(point) {
            let spin = WaitPolicy { timeout: policy.timeout.min(SPIN_FOR), blocking: false };
            if spin.poll_until(|| self.has_completed(op, point))? {
                return Ok(true);
            }
        }
        let context = self.device.context("a wait")?;
        let left = || policy.timeout.saturating_sub(began.elapsed());
        let completion =
            if left().is_zero() { None } else { self.timeline.lock().completion(point, context) };
        let has_ended = completion.is_some_and(|completion| completion.wait(left()));
        let has_completed = self.has_completed(op, point)?;
        if has_completed || !has_ended {
            return Ok(has_completed);
        }
        // The wait of the worker thread has failed, and the event reports no error.
        WaitPolicy { timeout: left(), ..policy }.poll_until(|| self.has_completed(op, point))
    }

    /// Queries the pending points in order, and drops the owners that were retained for completed work.
    pub(crate) fn poll(&self, op: &DeviceOp<'_>) -> Result<()> {
        let _relaxed = op.relax();
        let (result, completed) = {
            let mut timeline = self.timeline.lock();
            let mut result = Ok(());
            while let Some(event) = timeline.first_pending() {
                result = check(event.query());
                if result.is_err() {
                    break;
                }
                timeline.complete_first();
            }
            (result, timeline.drain_completed())
        };
        // Without the lock: destructors may call the driver.
        completed.into_iter().for_each(drop_catching_panic);
        match result {
            Ok(()) | Err(Code::NOT_READY) => Ok(()),
            Err(code) => Err(op.error(code)),
        }
    }

    /// Returns whether no signaled point is pending.
    pub(crate) fn is_idle(&self) -> bool {
        self.timeline.lock().pending() == 0
    }

    /// Returns whether the stream has no pending point, and so no retained owner, and no unreported error.
    pub(crate) fn is_reclaimable(&self) -> bool {
        self.is_idle() && self.async_error.lock().is_none()
    }

    /// Stores an asynchronous error, unless one is stored already: later errors are often consequences of it.
    pub(crate) fn store_error(&self, error: AsyncError) {
        self.async_error.lock().get_or_insert(error);
    }

    /// Returns the order of the stored error among all errors of the process.
    pub(crate) fn error_order(&self) -> Option<u64> {
        self.async_error.lock().as_ref().map(|error| error.order)
    }

    /// Takes and returns the stored error, if it occurred at or before a point.
    pub(crate) fn take_error(&self, up_to: u64) -> Result<()> {
        let mut stored = self.async_error.lock();
        if stored.as_ref().is_none_or(|error| error.point > up_to) {
            return Ok(());
        }
        stored.take().map_or(Ok(()), |error| Err(error.error))
    }
}
