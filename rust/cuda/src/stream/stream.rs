//! A stream of the driver: its handle and its submit lock.

use std::ops::Deref;
use std::ptr;
use std::sync::{Arc, MutexGuard};

use cudarc::driver::sys::{CUstream, CUstreamCaptureStatus};

use interlock_core::base::mutex::Mutex;
use interlock_driver::capture::CaptureId;
use interlock_driver::{KeepAlive, Result, StreamHandle};

use super::event_pool::{EventPool, PooledEvent};
use super::progress::Progress;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::sys::api;

/// The handle of the default stream of every device (the null stream).
pub(crate) const DEFAULT: u64 = 0;

/// The id of every invalidated capture: the driver does not report its own.
pub(crate) const INVALIDATED_CAPTURE: CaptureId = 0;

/// A stream of the driver. A stream that this driver created is destroyed when this is dropped, so a call that has
/// looked it up may use it even if another thread destroys it meanwhile. Queued work still runs.
pub(crate) struct Stream {
    handle: StreamHandle,
    /// Whether another library created the stream.
    is_external: bool,
    device: Arc<CudaDevice>,
    submit_lock: Mutex<()>,
    progress: Arc<Progress>,
}

/// The guard of a stream's submit lock.
pub(crate) type SubmitGuard<'a> = MutexGuard<'a, ()>;

impl Stream {
    pub(super) fn new(
        id: u64,
        handle: StreamHandle,
        is_external: bool,
        device: Arc<CudaDevice>,
        events: Arc<EventPool>,
    ) -> Self {
        let progress = Arc::new(Progress::new(id, device.clone(), events));
        Stream { handle, is_external, device, submit_lock: Mutex::default(), progress }
    }

    pub(crate) fn handle(&self) -> StreamHandle {
        self.handle
    }

    pub(crate) fn device(&self) -> &Arc<CudaDevice> {
        &self.device
    }

    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    pub(crate) fn is_external(&self) -> bool {
        self.is_external
    }

    /// Returns whether this is the default stream of its device.
    pub(crate) fn is_default(&self) -> bool {
        self.handle.raw == DEFAULT
    }

    /// Returns the driver's pointer, which is valid as long as this object.
    pub(crate) fn raw(&self) -> CUstream {
        ptr::with_exposed_provenance_mut(self.handle.raw as usize)
    }

    /// Excludes other threads from queueing work, and from beginning or ending a capture of this stream.
    pub(crate) fn lock_submit(&self) -> SubmitGuard<'_> {
        self.submit_lock.lock()
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

    /// Records an event for a new point after all queued work, and returns the point, or the capture of the stream,
    /// whose work has no points.
    pub(crate) fn signal(&self, op: &DeviceOp<'_>) -> Result<Result<u64, CaptureId>> {
        let _submit = self.lock_submit();
        match self.capture_id(op)? {
            Some(capture) => Ok(Err(capture)),
            None => self.progress.signal(op, self.raw()).map(Ok),
        }
    }

    /// Keeps owners alive until all queued work has completed, which `event` signals. Returns whether the timeline
    /// should be polled. The caller holds the submit lock, and the stream does not capture.
    pub(crate) fn retain(&self, op: &DeviceOp<'_>, event: PooledEvent, owners: Vec<KeepAlive>) -> bool {
        /// The number of pending points from which the timeline is polled.
        const MAX_PENDING: usize = 32;
        self.progress.retain(op, self.raw(), event, owners) >= MAX_PENDING
    }

    /// Returns whether all queued work has completed.
    pub(crate) fn query(&self, op: &DeviceOp<'_>) -> Result<bool> {
        // SAFETY: the stream is alive.
        let is_idle = op.is_ready(unsafe { api::cuStreamQuery(self.raw()) })?;
        self.poll(op)?;
        Ok(is_idle)
    }
}

impl Deref for Stream {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.is_external && !self.is_default() {
            let device = self.progress.device();
            // SAFETY: the driver created the stream, and no other thread has a reference to this object.
            device.destroy("destroying a Stream", || unsafe { api::cuStreamDestroy_v2(self.raw()) });
        }
    }
}
