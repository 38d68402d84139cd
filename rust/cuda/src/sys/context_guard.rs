//! Guards of a thread's state in the driver: its current context and its capture mode.

use std::ptr;

use cudarc::driver::sys::{CUcontext, CUstreamCaptureMode};

use super::api;
use super::error::{Code, check};

/// The primary context of a device, retained for the rest of the process. The driver releases it when the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context(u64);

impl Context {
    pub(crate) fn new(pointer: CUcontext) -> Self {
        Context(pointer.expose_provenance() as u64)
    }

    pub(crate) fn pointer(self) -> CUcontext {
        ptr::with_exposed_provenance_mut(self.0 as usize)
    }
}

/// Makes a context current on this thread until it is dropped. Each operation enters one guard for all its driver
/// calls.
pub(crate) struct ContextGuard {
    /// The context that was current, if it was a different one.
    previous: Option<CUcontext>,
}

impl ContextGuard {
    /// # Errors
    /// Returns the driver's code if the context can't be made current.
    pub(crate) fn enter(context: Context) -> Result<Self, Code> {
        let mut current = ptr::null_mut();
        // SAFETY: the pointer is valid.
        check(unsafe { api::cuCtxGetCurrent(&raw mut current) })?;
        let previous = (Context::new(current) != context).then_some(current);
        if previous.is_some() {
            // SAFETY: the context is retained for the rest of the process.
            check(unsafe { api::cuCtxSetCurrent(context.pointer()) })?;
        }
        Ok(ContextGuard { previous })
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // An error could not be reported, and only other libraries depend on the call.
            // SAFETY: the context was current, and the library that made it current still relies on it.
            unsafe { api::cuCtxSetCurrent(previous) };
        }
    }
}

/// Sets the capture mode of this thread to relaxed until it is dropped: driver functions that are unsafe during a
/// capture then do not invalidate captures.
///
/// The accelerator layer ensures that a graph keeps its memory, so memory may be allocated and freed, and events
/// queried, while any stream captures. Functions that only queue work on a stream are never forbidden and need no
/// guard.
pub(crate) struct RelaxedCapture {
    previous: CUstreamCaptureMode,
}

impl RelaxedCapture {
    pub(crate) fn enter() -> Self {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is valid. The function does not fail for a valid mode.
        unsafe { api::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
        RelaxedCapture { previous: mode }
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        // SAFETY: the pointer is valid, and the driver returned the mode.
        unsafe { api::cuThreadExchangeStreamCaptureMode(&raw mut self.previous) };
    }
}
