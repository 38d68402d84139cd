//! Gradient modes of a thread: read with one load, changed by guards.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null;

use crate::error::check;
use crate::import::api;
use crate::raw::{caught, drop_owned, owned};
use crate::state::ScopeGuard;
use crate::sys::*;
use crate::{Registration, Result};

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
#[non_exhaustive]
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

    /// Writes this mode without a scope: in the innermost guard or scope that sets it, else for the context or the
    /// thread.
    pub fn set(self, on: bool) -> Result<()> {
        let bit = self as u8;
        // SAFETY: the out pointer is valid.
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

/// Which modes are set on a thread, before and after a change.
///
/// ```no_run
/// use interlock_capi::autograd::{Mode, on_change};
///
/// let registration = on_change(|change| match change.set(Mode::Grad) {
///     Some(is_on) => println!("gradients are set {is_on}, before {:?}", change.was_set(Mode::Grad)),
///     None => println!("nothing sets gradients"),
/// })?;
/// # drop(registration);
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeChange {
    old: SetModes,
    new: SetModes,
}

/// The modes that are set: the bits of the modes that are set, and of those that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SetModes {
    mask: u8,
    on: u8,
}

impl SetModes {
    fn get(self, mode: Mode) -> Option<bool> {
        let bit = mode as u8;
        (self.mask & bit != 0).then_some(self.on & bit != 0)
    }
}

impl ModeChange {
    /// Returns whether a scope, a write or the process set the mode on or off before; `None` if nothing set it.
    pub fn was_set(&self, mode: Mode) -> Option<bool> {
        self.old.get(mode)
    }

    /// Returns whether a scope, a write or the process sets the mode on or off now; `None` if nothing sets it.
    pub fn set(&self, mode: Mode) -> Option<bool> {
        self.new.get(mode)
    }
}

/// Registers a function that is called on a thread after its modes have changed, until the registration is dropped:
/// when a scope or guard is entered or exited, a mode is written, or the thread switches to another context or task. A
/// thread that has modes set already reports them as a change from none.
///
/// The function is called outside of all locks. It may read modes and set those of another library; changes that it
/// makes here itself are reported after it returns. If it panics, the panic hook prints that, and the change counts as
/// reported.
pub fn on_change<F: Fn(&ModeChange) + Send + Sync + 'static>(hook: F) -> Result<Registration> {
    let data = owned(hook);
    // SAFETY: the functions are those of the data, which the call owns, and the places are valid.
    Registration::new(|out, error| unsafe {
        (api().modes_on_change)(Some(call_hook::<F>), data, Some(drop_owned::<F>), out, error)
    })
}

unsafe extern "C" fn call_hook<F: Fn(&ModeChange)>(
    data: *mut c_void,
    old_mask: u8,
    old_modes: u8,
    new_mask: u8,
    new_modes: u8,
) {
    // SAFETY: `on_change` has passed the data.
    let hook = unsafe { &*data.cast::<F>() };
    let old = SetModes { mask: old_mask, on: old_modes };
    let new = SetModes { mask: new_mask, on: new_modes };
    caught(|| hook(&ModeChange { old, new }));
}
