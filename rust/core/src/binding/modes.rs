//! Modes as bits, and mode objects of an interpreter.

use crate::Result;
pub use crate::modes::change::{ModeSetter, on_setters};
pub use crate::modes::guard::{enter_bits, write_bits};
use crate::modes::{ModeContext, ModeKind};
use crate::thread::carrier::PresentContext;

/// Creates a mode object as [`ModeContext::new`] does, for an interpreter that admits one thread at a time: an enter
/// and an exit then acquire no lock.
///
/// # Safety
/// No two threads use the object at the same time.
#[inline]
pub unsafe fn serialized_context(kind: ModeKind) -> ModeContext {
    // SAFETY: guaranteed by the caller.
    unsafe { ModeContext::new_serialized(kind) }
}

/// Enters a mode as [`ModeContext::try_enter`] does, for a caller that knows the context.
///
/// # Errors
/// Fails if the state of the context cannot be stored.
#[inline]
pub fn enter_present(mode: &ModeContext, context: impl FnOnce() -> Option<PresentContext>) -> Result<()> {
    mode.try_enter_present(context)
}
