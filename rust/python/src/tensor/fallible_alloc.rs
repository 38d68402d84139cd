//! Memory whose size depends on what a program hands in: an exception where there is no room.

use interlock::accelerator::Device;
use interlock::accelerator::memory::OutOfMemory;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::exception;

/// Appends a value, or raises `OutOfMemoryError`.
pub(super) fn try_push<T>(py: Python<'_>, values: &mut Vec<T>, value: T) -> PyResult<()> {
    if values.try_reserve(1).is_err() {
        let bytes = values.len().saturating_add(1).saturating_mul(size_of::<T>());
        // The error itself needs some room.
        values.clear();
        values.shrink_to_fit();
        return Err(exception(py, &OutOfMemory::error(Device::CPU, bytes)));
    }
    values.push(value);
    Ok(())
}

/// Collects the values of an iterator, which may have no end.
pub(super) fn try_collect<T>(
    py: Python<'_>,
    values: impl IntoIterator<Item = PyResult<T>>,
) -> PyResult<Vec<T>> {
    let mut collected = Vec::new();
    for value in values {
        try_push(py, &mut collected, value?)?;
    }
    Ok(collected)
}

/// A tuple of as many items as the iterator yields, or MemoryError where PyO3's own would panic.
pub(super) fn try_tuple<'py>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let length = isize::try_from(items.len())?;
    // SAFETY: this thread is attached to the interpreter, and what comes back is a new reference or null.
    let tuple = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(length)) }?;
    for (index, item) in (0..length).zip(items) {
        // SAFETY: the tuple is new, has that index, and takes over the reference.
        if unsafe { ffi::PyTuple_SetItem(tuple.as_ptr(), index, item?.into_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
    }
    Ok(tuple.cast_into()?)
}

/// A `str`, or MemoryError where PyO3's own would panic.
pub(super) fn try_str<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let length = isize::try_from(text.len())?;
    // SAFETY: the text is that many bytes of UTF-8, and what comes back is a new reference or null.
    unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), length))
    }
}
