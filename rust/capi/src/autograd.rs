//! Gradient modes of a thread: read with one load, changed by guards.

use std::cell::Cell;
use std::ptr::null;

use crate::Result;
use crate::error::check;
use crate::import::api;
use crate::state::ScopeGuard;
use crate::sys::*;

/// A mode of a thread.
///
/// ```no_run
/// use interlock_capi::autograd::{Mode, no_grad};
///
/// let guard = no_grad()?;
/// assert!(!Mode::Grad.is_on());
/// # drop(guard);
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// Operations record the autograd graph.
    Grad = INTERLOCK_MODE_GRAD,
    /// New tensors are inference tensors.
    Inference = INTERLOCK_MODE_INFERENCE,
    /// A backward pass may use other threads than the one that started it.
    Multithreading = INTERLOCK_MODE_MULTITHREADING,
    /// Views are tracked by replaying the operation that created them.
    ViewReplay = INTERLOCK_MODE_VIEW_REPLAY,
    /// An accumulated gradient is converted to the layout of its tensor.
    LayoutPolicy = INTERLOCK_MODE_LAYOUT_POLICY,
    /// Nodes store the stack of the operation that created them, and failing nodes report it.
    Anomaly = INTERLOCK_MODE_ANOMALY,
    /// Anomaly mode checks gradients for NaN.
    AnomalyCheckNan = INTERLOCK_MODE_ANOMALY_CHECK_NAN,
}

thread_local! {
    /// The address of this thread's mode word, once it has been read.
    static WORD: Cell<*const u8> = const { Cell::new(null()) };
}

#[inline]
fn word() -> u8 {
    let mut address = WORD.get();
    if address.is_null() {
        // SAFETY: the function accepts every call.
        address = unsafe { (api().mode_word_address)() };
        WORD.set(address);
    }
    // SAFETY: the word is this thread's, and is valid until the thread ends. Only this thread writes it.
    unsafe { address.read_volatile() }
}

impl Mode {
    /// Returns whether this mode is on for this thread: one load.
    #[inline]
    pub fn is_on(self) -> bool {
        word() & self as u8 != 0
    }

    /// Sets this mode on this thread until the guard is dropped.
    pub fn enter(self, on: bool) -> Result<ScopeGuard> {
        let bit = self as u8;
        ScopeGuard::new(|guard, error| {
            // SAFETY: both places are valid.
            unsafe { (api().modes_enter)(bit, if on { bit } else { 0 }, guard, error) }
        })
    }

    /// Writes this mode without a scope: in the innermost guard or scope that sets it, else for the context or the thread.
    pub fn set(self, on: bool) -> Result<()> {
        let bit = self as u8;
        // SAFETY: the place is valid.
        check(|error| unsafe { (api().modes_write)(bit, if on { bit } else { 0 }, error) })
    }
}

/// Returns whether operations of this thread record the autograd graph.
#[inline]
pub fn is_grad_enabled() -> bool {
    Mode::Grad.is_on()
}

/// Returns whether tensors that this thread creates are inference tensors.
#[inline]
pub fn is_inference_mode_enabled() -> bool {
    Mode::Inference.is_on()
}

/// Disables the recording of gradients until the guard is dropped.
pub fn no_grad() -> Result<ScopeGuard> {
    Mode::Grad.enter(false)
}

/// Enables the recording of gradients until the guard is dropped.
pub fn enable_grad() -> Result<ScopeGuard> {
    Mode::Grad.enter(true)
}

/// Enables or disables the recording of gradients until the guard is dropped.
pub fn set_grad_enabled(enabled: bool) -> Result<ScopeGuard> {
    Mode::Grad.enter(enabled)
}

/// Enables inference mode, or with `false` disables it inside such a block, until the guard is dropped.
pub fn inference_mode(enabled: bool) -> Result<ScopeGuard> {
    // SAFETY: both places are valid.
    ScopeGuard::new(|guard, error| unsafe { (api().inference_mode_enter)(enabled.into(), guard, error) })
}
