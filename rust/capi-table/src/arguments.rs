//! Conversion of pointers that other languages pass.

use std::ffi::c_void;

use interlock_core::base::raw_array::{max_count, slice_of};
use interlock_sys::*;

use crate::entry::{Failure, Result};
use crate::hooks::detached;

/// Returns the text of an argument.
///
/// # Safety
/// `text` is valid for its bytes during `'a`.
pub(crate) unsafe fn text<'a>(name: &str, text: InterlockText) -> Result<&'a str> {
    // SAFETY: guaranteed by the caller.
    unsafe { optional_text(name, text)? }.ok_or_else(|| Failure::argument(name, "text", "null"))
}

/// Returns the text of an argument, or `None` if it is null.
///
/// # Safety
/// `text` is null, or valid for its bytes during `'a`.
pub(crate) unsafe fn optional_text<'a>(name: &str, text: InterlockText) -> Result<Option<&'a str>> {
    if text.data.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    let bytes = unsafe { checked_slice(name, "bytes", text.data.cast::<u8>(), text.bytes)? };
    let valid = std::str::from_utf8(bytes);
    valid.map(Some).map_err(|_| Failure::argument(name, "UTF-8", "other bytes"))
}

/// Returns a view of a text that lives until the process exits.
pub(crate) fn static_text(text: &'static str) -> InterlockText {
    text_view(text)
}

/// Returns a view of a text, which is valid as long as the text.
pub(crate) fn text_view(text: &str) -> InterlockText {
    InterlockText { data: text.as_ptr().cast(), bytes: text.len() }
}

/// Returns the items of an array.
///
/// # Safety
/// `items` is valid for `count` items during `'a`, or `count` is 0.
pub(crate) unsafe fn array<'a, T>(name: &str, items: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(null(name));
    }
    // SAFETY: guaranteed by the caller.
    unsafe { checked_slice(name, "items", items, count) }
}

/// Returns the items of an array, unless they have more bytes than any array. A slice of so many items is undefined
/// behaviour, and aborts the process in a debug build.
///
/// # Safety
/// `items` is valid for `count` items during `'a`, unless these have more than `isize::MAX` bytes.
unsafe fn checked_slice<'a, T>(name: &str, unit: &str, items: *const T, count: usize) -> Result<&'a [T]> {
    // SAFETY: guaranteed by the caller.
    unsafe { slice_of(items, count) }.ok_or_else(|| {
        let allowed = format!("at most {} {unit}", max_count::<T>());
        Failure::argument(name, &allowed, count)
    })
}

/// Refuses a field that must be zero. A later version may give it a meaning.
pub(crate) fn check_zero(name: &str, field: u32) -> Result<()> {
    if field == 0 { Ok(()) } else { Err(Failure::argument(name, "0", field)) }
}

/// Returns a field that is 0 or 1.
pub(crate) fn flag_bit(name: &str, field: impl Into<i64>) -> Result<bool> {
    match field.into() {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Failure::argument(name, "0 or 1", other)),
    }
}

/// Returns the value that a pointer refers to.
///
/// # Safety
/// `pointer` is null, or valid during `'a`.
pub(crate) unsafe fn reference<'a, T>(name: &str, pointer: *const T) -> Result<&'a T> {
    // SAFETY: guaranteed by the caller.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

fn null(name: &str) -> Failure {
    Failure::argument(name, "a pointer", "null")
}

/// The type that a handle refers to.
///
/// # Safety
/// Each handle type has one target, and pointers to handles are made by [`Handle::store`] alone.
pub(crate) unsafe trait Handle {
    type Target: Send + Sync;

    /// Moves a value to the heap and stores its handle.
    ///
    /// # Safety
    /// `out` is null, or valid for a write.
    unsafe fn store(name: &str, out: *mut *mut Self, value: Self::Target) -> Result<()>
    where
        Self: Sized,
    {
        if out.is_null() {
            return Err(null(name));
        }
        // SAFETY: guaranteed by the caller.
        unsafe { write(name, out, Box::into_raw(Box::new(value)).cast()) }
    }

    /// Returns the value of a handle.
    ///
    /// # Safety
    /// `handle` is null, or a handle that is not freed during `'a`.
    unsafe fn target<'a>(name: &str, handle: *const Self) -> Result<&'a Self::Target>
    where
        Self: Sized,
    {
        // SAFETY: `store` has made the handle from such a value.
        unsafe { reference(name, handle.cast()) }
    }

    /// Drops the value of a handle; has no effect for null.
    ///
    /// # Safety
    /// `handle` is null, or a handle that is not used any more.
    unsafe fn free(handle: *mut Self)
    where
        Self: Sized,
    {
        if !handle.is_null() {
            // SAFETY: `store` has made the handle from a box, and the caller has no other use for it.
            drop(unsafe { Box::from_raw(handle.cast::<Self::Target>()) });
        }
    }

    /// Drops the value of a handle detached from the interpreter, because that may block.
    ///
    /// # Safety
    /// As for [`Handle::free`].
    unsafe fn free_detached(handle: *mut Self)
    where
        Self: Sized,
    {
        if !handle.is_null() {
            // SAFETY: as in `free`.
            let owned = unsafe { Box::from_raw(handle.cast::<Self::Target>()) };
            detached(move || drop(owned));
        }
    }
}

/// Writes a result.
///
/// # Safety
/// `out` is null, or valid for a write.
pub(crate) unsafe fn write<T>(name: &str, out: *mut T, value: T) -> Result<()> {
    if out.is_null() {
        return Err(null(name));
    }
    // SAFETY: guaranteed by the caller.
    unsafe { out.write(value) };
    Ok(())
}

/// A struct that begins with its size in bytes, so that it can grow.
///
/// # Safety
/// The type is `repr(C)` and plain data, and its first field is a `u32` with the size.
pub(crate) unsafe trait Sized32: Copy {
    /// The size in version 1 of the table.
    const FIRST_SIZE: usize;
}

/// Checks the size that the caller has set. A later release may have a larger struct.
///
/// # Safety
/// `pointer` is null, or valid for reads of its size.
pub(crate) unsafe fn check_size<T: Sized32>(name: &str, pointer: *const T) -> Result<usize> {
    // SAFETY: the struct begins with its size.
    let size = *unsafe { reference(name, pointer.cast::<u32>())? } as usize;
    if size < T::FIRST_SIZE {
        let allowed = format!("at least {} bytes", T::FIRST_SIZE);
        return Err(Failure::argument(&format!("{name}.size"), &allowed, size));
    }
    Ok(size)
}

/// Writes a result into a struct of the caller, as far as the caller knows its fields.
///
/// # Safety
/// `out` is null, or valid for writes of the size that its first field states.
pub(crate) unsafe fn write_sized<T: Sized32>(name: &str, out: *mut T, value: &T) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let size = unsafe { check_size(name, out.cast_const())? }.min(size_of::<T>());
    const HEAD: usize = size_of::<u32>();
    // SAFETY: both are valid for the size, and `value` is not in the caller's memory.
    unsafe {
        let (from, to) = (std::ptr::from_ref(value).cast::<u8>(), out.cast::<u8>());
        std::ptr::copy_nonoverlapping(from.add(HEAD), to.add(HEAD), size - HEAD);
    }
    Ok(())
}

/// Returns a struct of the caller. Fields that the caller does not know are zero.
///
/// # Safety
/// `pointer` is null, or valid for reads of the size that its first field states. All zeros are a valid `T`.
pub(crate) unsafe fn read_sized<T: Sized32>(name: &str, pointer: *const T) -> Result<T> {
    // SAFETY: guaranteed by the caller.
    let size = unsafe { check_size(name, pointer)? }.min(size_of::<T>());
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: both are valid for the size, and zeros are valid for the rest.
    unsafe {
        std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), size);
        Ok(value.assume_init())
    }
}

/// Work of the caller, which is dropped with its data.
#[derive(Debug)]
pub(crate) struct Work {
    run: unsafe extern "C" fn(*mut c_void, *mut InterlockError) -> i32,
    owned: OwnedData,
}

/// Data of the caller, with the function that releases it.
#[derive(Debug)]
pub(crate) struct OwnedData {
    pub(crate) data: *mut c_void,
    pub(crate) drop: InterlockDrop,
}

// SAFETY: the contracts of `InterlockWork` and of registrations permit calls of the functions on any thread.
unsafe impl Send for OwnedData {}
// SAFETY: as above; `Work::run` is called by one thread at a time or by several, as `HostFn` is.
unsafe impl Sync for OwnedData {}

impl Drop for OwnedData {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // SAFETY: the contract of `InterlockWork`: the data is released once.
            unsafe { drop(self.data) };
        }
    }
}

impl Work {
    /// Takes the work over.
    ///
    /// # Safety
    /// The functions and the data fulfil the contract of `InterlockWork`.
    pub(crate) unsafe fn new(work: InterlockWork) -> Result<Self> {
        let owned = OwnedData { data: work.data, drop: work.drop };
        let run = work.run.ok_or_else(|| null("stream_launch: work.run"))?;
        Ok(Work { run, owned })
    }

    /// Calls the function.
    ///
    /// # Errors
    /// Returns the code and text that it reports.
    pub(crate) fn run(&self) -> Result<()> {
        let mut error = crate::entry::empty_error();
        // SAFETY: the contract of `InterlockWork`.
        let code = unsafe { (self.run)(self.owned.data, &raw mut error) };
        if code == INTERLOCK_OK {
            return Ok(());
        }
        // SAFETY: the error is ours.
        let text = unsafe { crate::entry::read_error(&raw const error) }.map(|(_, text)| text);
        let text = text.filter(|text| !text.is_empty()).unwrap_or_else(|| format!("it returned {code}"));
        Err(Failure::from_callback(code, text))
    }
}
