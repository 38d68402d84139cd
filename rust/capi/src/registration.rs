//! Functions of the caller that interlock calls until they are removed.

use std::ptr::NonNull;

use crate::Result;
use crate::import::api;
use crate::raw::handle;
use crate::sys::*;

/// A function of the caller, or a value that it registered, which is removed when this is dropped. A call on another
/// thread that has begun may still run then.
///
/// ```no_run
/// use interlock_capi::{Registration, autograd};
///
/// let registration: Registration = autograd::on_change(|change| println!("{change:?}"))?;
/// registration.keep();
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[must_use = "the function is removed when this is dropped"]
#[derive(Debug)]
pub struct Registration(NonNull<InterlockRegistration>);

// SAFETY: the contract of the handle.
unsafe impl Send for Registration {}
// SAFETY: the contract of the handle.
unsafe impl Sync for Registration {}

impl Registration {
    pub(crate) fn new(
        register: impl FnOnce(*mut *mut InterlockRegistration, *mut InterlockError) -> i32,
    ) -> Result<Self> {
        handle(register).map(Registration)
    }

    /// Keeps the function until the process exits.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the handle.
        unsafe { (api().registration_free)(self.0.as_ptr()) };
    }
}
