//! What a thread has to be told before it calls the driver, and what is put back afterwards.

use std::ptr;

use cudarc::driver::sys::{CUcontext, CUstreamCaptureMode};

use super::api;
use super::errors::{Code, check};

/// The primary context of a device. It is retained once and for the rest of the process: what is released when a
/// process ends is released by the driver, which knows better what is still in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context(u64);

impl Context {
    pub(super) fn of(pointer: CUcontext) -> Self {
        Context(pointer.expose_provenance() as u64)
    }

    pub(super) fn pointer(self) -> CUcontext {
        ptr::with_exposed_provenance_mut(self.0 as usize)
    }
}

/// A context is current on this thread, and what would end a capture of somebody else is allowed, until this is
/// dropped. Then the thread is as it was.
pub(super) struct Bound {
    /// The context that was current, if it was another one.
    before: Option<CUcontext>,
    mode: CUstreamCaptureMode,
}

impl Bound {
    pub(super) fn to(context: Context) -> Result<Self, Code> {
        let mut current = ptr::null_mut();
        // SAFETY: the pointer is valid.
        check(unsafe { api::cuCtxGetCurrent(&raw mut current) })?;
        let before = (Context::of(current) != context).then_some(current);
        if before.is_some() {
            // SAFETY: the context is retained for the rest of the process.
            check(unsafe { api::cuCtxSetCurrent(context.pointer()) })?;
        }
        // What this crate does is done above graphs: a graph keeps what it uses, so that memory may be given and
        // taken, and events asked, while any stream captures.
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is valid. It never fails for a mode that there is.
        unsafe { api::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
        Ok(Bound { before, mode })
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // Nobody could be told that this fails, and nothing depends on it but other libraries' state.
        // SAFETY: the mode is the one that the driver gave.
        unsafe { api::cuThreadExchangeStreamCaptureMode(&raw mut self.mode) };
        if let Some(before) = self.before {
            // SAFETY: the context was current, and whoever made it so still believes that it is.
            unsafe { api::cuCtxSetCurrent(before) };
        }
    }
}
