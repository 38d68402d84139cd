//! Guards of a thread's state in the driver: its current context and its capture mode.

use std::cell::Cell;
use std::ptr;

use cudarc::driver::sys::{CUcontext, CUresult, CUstreamCaptureMode};

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
    /// Whether the context was pushed onto the stack of this thread, because another one or none was current.
    is_pushed: bool,
}

thread_local! {
    /// Whether the last guard that compared found another context, or none. Later ones then push theirs without a
    /// comparison, which is one call less, and also correct if the context has become current.
    static IS_FOREIGN: Cell<bool> = const { Cell::new(false) };
}

impl ContextGuard {
    /// # Errors
    /// Returns the driver's code if the context can't be made current.
    pub(crate) fn enter(context: Context) -> Result<Self, Code> {
        // Not accessible while the thread ends.
        if !IS_FOREIGN.try_with(Cell::get).unwrap_or(true) {
            let mut current = ptr::null_mut();
            // SAFETY: the pointer is valid.
            let queried = unsafe { api::cuCtxGetCurrent(&raw mut current) };
            if queried == CUresult::CUDA_SUCCESS && Context::new(current) == context {
                return Ok(ContextGuard { is_pushed: false });
            }
            let _ = IS_FOREIGN.try_with(|is_foreign| is_foreign.set(true));
        }
        // SAFETY: the context is retained for the rest of the process.
        match unsafe { api::cuCtxPushCurrent_v2(context.pointer()) } {
            CUresult::CUDA_SUCCESS => Ok(ContextGuard { is_pushed: true }),
            failed => check(failed).map(|()| ContextGuard { is_pushed: true }),
        }
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        if self.is_pushed {
            let mut popped = ptr::null_mut();
            // An error could not be reported, and only other libraries depend on the call.
            // SAFETY: the pointer is valid, and guards of a thread are dropped in the reverse order.
            unsafe { api::cuCtxPopCurrent_v2(&raw mut popped) };
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
