//! Finding the table of the interlock that is imported in this process.

use std::ffi::CStr;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::python::{Python, is_attached};
use crate::sys::{INTERLOCK_API_VERSION, InterlockApi};
use crate::{Error, ErrorCode, Result};

/// The table, once it was found. It is valid until the process exits.
static TABLE: AtomicPtr<InterlockApi> = AtomicPtr::new(null_mut());

/// Imports interlock and finds its table. Call it when the extension module is initialized, on a thread that is
/// attached to the interpreter; further calls have no effect.
///
/// # Errors
/// Fails with [`ErrorCode::Import`] if interlock cannot be imported or is too old, and on a thread that is not attached.
pub fn import() -> Result<()> {
    if try_api().is_some() {
        return Ok(());
    }
    if !is_attached() {
        return Err(import_error("import: the thread must be attached to a Python interpreter"));
    }
    let Some(python) = Python::find() else {
        return Err(import_error("import: this process has no Python interpreter"));
    };
    // SAFETY: the thread is attached.
    let table = unsafe { python.import_from(c"interlock", c"interlock._core._C_API") };
    match NonNull::new(table.cast::<InterlockApi>()) {
        // SAFETY: the capsule contains the table.
        Some(table) => unsafe { import_from(table) },
        // SAFETY: the thread is attached, and an exception is set.
        None => Err(import_error(&unsafe { python.take_exception() })),
    }
}

/// Uses a table that the caller has found, such as the pointer of the capsule `interlock._core._C_API`.
///
/// # Errors
/// Fails with [`ErrorCode::Import`] if the table has another version, or lacks entries that this crate calls.
///
/// # Safety
/// `table` points to the table of the interlock that is imported in this process.
pub unsafe fn import_from(table: NonNull<InterlockApi>) -> Result<()> {
    // SAFETY: guaranteed by the caller. The first fields are those of every version.
    let (version, size, release) = unsafe {
        let table = table.as_ptr();
        ((*table).version, (*table).size as usize, CStr::from_ptr((*table).release))
    };
    if version != INTERLOCK_API_VERSION || size < size_of::<InterlockApi>() {
        let (needed, release) = (env!("CARGO_PKG_VERSION"), release.to_string_lossy());
        return Err(import_error(&format!(
            "this extension needs interlock {needed} or newer with version {INTERLOCK_API_VERSION} of its table; \
             interlock {release} with version {version} is installed"
        )));
    }
    TABLE.store(table.as_ptr(), Ordering::Release);
    Ok(())
}

fn import_error(text: &str) -> Error {
    Error::new(ErrorCode::Import, text)
}

/// Returns the table, if it was found.
#[inline]
pub(crate) fn try_api() -> Option<&'static InterlockApi> {
    // SAFETY: the table is never freed.
    unsafe { TABLE.load(Ordering::Acquire).as_ref() }
}

/// Returns the table.
///
/// # Panics
/// Panics before [`import`] has succeeded.
#[inline]
pub(crate) fn api() -> &'static InterlockApi {
    match try_api() {
        Some(api) => api,
        None => not_imported(),
    }
}

#[cold]
#[inline(never)]
#[allow(
    clippy::panic,
    reason = "an extension that never imported interlock has a bug that no result can express"
)]
fn not_imported() -> ! {
    panic!("interlock_capi::import() must be called first, when the extension module is initialized");
}
