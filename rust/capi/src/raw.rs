//! Conversions to and from the types of the C interface.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};

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

/// Returns the items of an array.
///
/// # Safety
/// `items` is valid for `count` items during `'a`, or `count` is 0.
pub(crate) unsafe fn items<'a, T>(items: *const T, count: usize) -> &'a [T] {
    // SAFETY: guaranteed by the caller.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(items, count) } }
}

/// Calls a function of the table that stores a handle.
pub(crate) fn handle<T>(
    create: impl FnOnce(*mut *mut T, *mut InterlockError) -> i32,
) -> crate::Result<NonNull<T>> {
    let mut created = null_mut();
    error::check(|error| create(&raw mut created, error))?;
    // Never null after success.
    NonNull::new(created).ok_or_else(|| Error::new(ErrorCode::Panic, "interlock returned no handle"))
}

/// Moves a value of the caller into data for interlock, which [`drop_owned`] releases.
pub(crate) fn owned<T>(value: T) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}

/// Releases data.
///
/// # Safety
/// [`owned`] has returned the data for a value of this type, and nothing uses it any more.
pub(crate) unsafe extern "C" fn drop_owned<T>(data: *mut c_void) {
    // SAFETY: guaranteed by the caller.
    let value = unsafe { Box::from_raw(data.cast::<T>()) };
    caught(|| drop(value));
}

/// Calls a function of the caller, which must not unwind into C; `None` if it panicked.
pub(crate) fn caught<R>(function: impl FnOnce() -> R) -> Option<R> {
    // The destructor of a payload may panic, too.
    catch_unwind(AssertUnwindSafe(function)).map_err(std::mem::forget).ok()
}

/// A function of the caller, as work.
pub(crate) type Closure = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Returns work that calls a function.
pub(crate) fn work(run: Closure) -> InterlockWork {
    InterlockWork { run: Some(run_closure), data: owned(run), drop: Some(drop_owned::<Closure>) }
}

unsafe extern "C" fn run_closure(data: *mut c_void, out: *mut InterlockError) -> i32 {
    // SAFETY: `work` has passed this pointer, and the work is not dropped yet.
    let run = unsafe { &*data.cast::<Closure>() };
    let failure = match caught(run) {
        Some(Ok(())) => return crate::sys::INTERLOCK_OK,
        Some(Err(reason)) => reason,
        None => "the function panicked".to_owned(),
    };
    let error = Error::new(ErrorCode::Other, failure);
    // SAFETY: the contract of `InterlockRun`: the error is null, or has room for the whole struct.
    if let Some(out) = unsafe { out.as_mut() } {
        out.code = error.code() as i32;
        error::fill_text(&mut out.text, &error.to_string());
    }
    error.code() as i32
}
