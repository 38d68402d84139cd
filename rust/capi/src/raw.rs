//! Conversions to and from the types of the C interface.

use std::ffi::{c_char, c_void};

use crate::sys::{InterlockError, InterlockText, InterlockWork};
use crate::{Error, ErrorCode, error};

/// Returns a view of a text.
pub(crate) fn text(text: &str) -> InterlockText {
    InterlockText { data: text.as_ptr().cast::<c_char>(), bytes: text.len() }
}

/// Returns a view of a text, or null.
pub(crate) fn optional_text(given: Option<&str>) -> InterlockText {
    given.map_or(InterlockText { data: std::ptr::null(), bytes: 0 }, text)
}

/// Returns the text of a view; empty for null.
///
/// # Safety
/// The view is null, or valid during `'a`.
pub(crate) unsafe fn str_of<'a>(view: InterlockText) -> &'a str {
    if view.data.is_null() {
        return "";
    }
    // SAFETY: guaranteed by the caller. interlock passes UTF-8.
    let bytes = unsafe { std::slice::from_raw_parts(view.data.cast::<u8>(), view.bytes) };
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// A function of the caller, as work.
pub(crate) type Closure = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Returns work that calls a function.
pub(crate) fn work(run: Closure) -> InterlockWork {
    let data = Box::into_raw(Box::new(run)).cast::<c_void>();
    InterlockWork { run: Some(run_closure), data, drop: Some(drop_closure) }
}

unsafe extern "C" fn run_closure(data: *mut c_void, place: *mut InterlockError) -> i32 {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    // SAFETY: `work` has passed this pointer, and the work is not dropped yet.
    let run = unsafe { &*data.cast::<Closure>() };
    let failure = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return crate::sys::INTERLOCK_OK,
        Ok(Err(reason)) => reason,
        Err(payload) => {
            // Its destructor may panic, too.
            std::mem::forget(payload);
            "the function panicked".to_owned()
        }
    };
    let error = Error::new(ErrorCode::Other, failure);
    // SAFETY: the contract of `InterlockRun`: the error is null, or has room for the whole struct.
    if let Some(place) = unsafe { place.as_mut() } {
        place.code = error.code() as i32;
        error::fill_text(&mut place.text, &error.to_string());
    }
    error.code() as i32
}

unsafe extern "C" fn drop_closure(data: *mut c_void) {
    // SAFETY: `work` has made the pointer, and the work is dropped once.
    let owned = unsafe { Box::from_raw(data.cast::<Closure>()) };
    if let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(owned))) {
        std::mem::forget(payload);
    }
}
