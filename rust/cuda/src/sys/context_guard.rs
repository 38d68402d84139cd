//! The state of a thread that calls the driver: its current context and its capture mode.

use std::ptr;

use cudarc::driver::sys::{CUcontext, CUstreamCaptureMode};

use super::api;
use super::error::{Code, check};

/// The primary context of a device. It is retained once and for the rest of the process: what is released when a
/// process ends is released by the driver, which knows better what is still in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context(u64);

impl Context {
    pub(crate) fn of(pointer: CUcontext) -> Self {
        Context(pointer.expose_provenance() as u64)
    }

    pub(crate) fn pointer(self) -> CUcontext {
        ptr::with_exposed_provenance_mut(self.0 as usize)
    }
}

/// Makes a context current on this thread until it is dropped. Each operation enters one guard, whatever number of
/// functions it calls.
pub(crate) struct ContextGuard {
    /// The context that was current, if it was another one.
    previous: Option<CUcontext>,
}

impl ContextGuard {
    /// # Errors
    /// Returns the driver's code if the context can't be made current.
    pub(crate) fn enter(context: Context) -> Result<Self, Code> {
        let mut current = ptr::null_mut();
        // SAFETY: the pointer is valid.
        check(unsafe { api::cuCtxGetCurrent(&raw mut current) })?;
        let previous = (Context::of(current) != context).then_some(current);
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
            // A failure could not be reported, and only the state of other libraries depends on the call.
            // SAFETY: the context was current, and the library that made it so still relies on it.
            unsafe { api::cuCtxSetCurrent(previous) };
        }
    }
}

/// Lets this thread call functions that could invalidate the captures of other libraries, until it is dropped.
///
/// The layer above the drivers ensures that a graph keeps what it uses, so memory may be allocated and freed, and events
/// queried, while any stream captures. Functions that only queue work on a stream are never forbidden, so they need no
/// guard.
pub(crate) struct RelaxedCapture {
    previous: CUstreamCaptureMode,
}

impl RelaxedCapture {
    pub(crate) fn enter() -> Self {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is valid. It never fails for a mode that exists.
        unsafe { api::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
        RelaxedCapture { previous: mode }
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        // SAFETY: the mode is the one that the driver returned.
        unsafe { api::cuThreadExchangeStreamCaptureMode(&raw mut self.previous) };
    }
}
