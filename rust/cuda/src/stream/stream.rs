//! A stream: its submission lock, timeline and asynchronous error.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use cudarc::driver::sys::{CUresult, CUstream, CUstreamCaptureStatus};

use interlock_core::base::catch::drop_catching_panic;
use interlock_core::base::mutex::Mutex;
use interlock_driver::capture::CaptureId;
use interlock_driver::{Error, KeepAlive, Result, StreamHandle};

use super::event_pool::{EventPool, PooledEvent};
use super::timeline::Timeline;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::sys::api;
use crate::sys::error::{Code, check};

/// The number of pending points from which [`Stream::retain`] polls the timeline.
const MAX_PENDING: usize = 32;

/// The handle of the default stream of every device (the null stream).
pub(crate) const DEFAULT: u64 = 0;

/// The id of every invalidated capture: the driver does not report its own.
const INVALIDATED_CAPTURE: CaptureId = 0;

/// A stream of the driver.
pub(crate) struct Stream {
    /// Unique in the process, unlike the handle, which the driver reuses after the stream is destroyed.
    id: u64,
    handle: StreamHandle,
    /// Whether another library created the stream.
    is_external: bool,
    device: Arc<CudaDevice>,
    events: Arc<EventPool>,
    submit_lock: Mutex<()>,
    timeline: Mutex<Timeline>,
    async_error: Mutex<Option<AsyncError>>,
}

/// The guard of a stream's submit lock, which excludes other threads from queueing work.
pub(crate) type SubmitGuard<'a> = MutexGuard<'a, ()>;

/// An error of a host function that no wait has reported yet.
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

/// Returns the driver's pointer of a stream.
pub(crate) fn raw(handle: StreamHandle) -> CUstream {
    ptr::with_exposed_provenance_mut(handle.raw as usize)
}

impl Stream {
    pub(crate) fn new(
        id: u64,
        handle: StreamHandle,
        is_external: bool,
        device: Arc<CudaDevice>,
        events: Arc<EventPool>,
    ) -> Self {
        let (submit_lock, timeline, async_error) = Default::default();
        Stream { id, handle, is_external, device, events, submit_lock, timeline, async_error }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn handle(&self) -> StreamHandle {
        self.handle
    }

    pub(crate) fn is_external(&self) -> bool {
        self.is_external
    }

    /// Returns whether this is the default stream of its device.
    pub(crate) fn is_default(&self) -> bool {
        self.handle.raw == DEFAULT
    }

    pub(crate) fn device(&self) -> &Arc<CudaDevice> {
        &self.device
    }

    pub(crate) fn raw(&self) -> CUstream {
        raw(self.handle)
    }

    /// Excludes other threads from queueing work until the guard is dropped, so that no work is queued between a host
    /// function and the wait for its semaphore.
    pub(crate) fn lock_submit(&self) -> SubmitGuard<'_> {
        self.submit_lock.lock()
    }

    /// Queues work with one driver call.
    pub(crate) fn submit(&self, op: &DeviceOp<'_>, act: impl FnOnce(CUstream) -> CUresult) -> Result<()> {
        let _submit = self.lock_submit();
        op.check(act(self.raw()))
    }

    /// Returns the capture that the stream takes part in.
    pub(crate) fn capture_id(&self, op: &DeviceOp<'_>) -> Result<Option<CaptureId>> {
        // The driver refuses to query the default stream while a blocking stream captures.
        if self.is_default() {
            return Ok(None);
        }
        let (mut status, mut id) = (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, 0);
        let unused = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointers are valid or null, and the function writes nothing to null pointers.
        op.check(unsafe {
            api::cuStreamGetCaptureInfo_v2(
                self.raw(),
                &raw mut status,
                &raw mut id,
                unused.0,
                unused.1,
                unused.2,
            )
        })?;
        Ok(match status {
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => None,
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE => Some(id),
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED => Some(INVALIDATED_CAPTURE),
        })
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

    /// Records an event after all queued work.
    pub(crate) fn record(&self, op: &DeviceOp<'_>) -> Result<PooledEvent> {
        PooledEvent::record(&self.events, op, self.raw())
    }

    /// Records an event for a new point after all queued work, and returns the point.
    pub(crate) fn signal(&self, op: &DeviceOp<'_>) -> Result<u64> {
        let mut timeline = self.timeline.lock();
        Ok(timeline.signal(self.record(op)?))
    }

    /// Keeps an owner alive until all queued work has completed.
    pub(crate) fn retain(&self, op: &DeviceOp<'_>, keep_alive: KeepAlive) -> Result<()> {
        let signaled = {
            let mut timeline = self.timeline.lock();
            self.record(op).map(|event| {
                let point = timeline.signal(event);
                timeline.retain(point, keep_alive.clone());
                timeline.pending()
            })
        };
        match signaled {
            Ok(pending) if pending < MAX_PENDING => Ok(()),
            Ok(_) => self.poll(op),
            Err(error) => {
                // Leaked: the completion of the queued work can't be detected without an event.
                std::mem::forget(keep_alive);
                Err(error)
            }
        }
    }

    /// Returns whether a point has completed, and drops the owners that were retained for completed work.
    pub(crate) fn has_completed(&self, op: &DeviceOp<'_>, point: u64) -> Result<bool> {
        self.poll(op)?;
        Ok(self.timeline.lock().has_completed(point))
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

    /// Returns whether all queued work has completed.
    pub(crate) fn query(&self, op: &DeviceOp<'_>) -> Result<bool> {
        // SAFETY: the stream is alive.
        let is_idle = op.is_ready(unsafe { api::cuStreamQuery(self.raw()) })?;
        self.poll(op)?;
        Ok(is_idle)
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
