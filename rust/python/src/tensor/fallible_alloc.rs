//! Allocations whose size depends on arguments. They raise an exception if memory runs out.

use interlock::accelerator::Device;
use interlock::accelerator::memory::OutOfMemory;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::exception;

/// Appends a value to a vector, or raises `OutOfMemoryError`.
pub(super) fn try_push<T>(py: Python<'_>, values: &mut Vec<T>, value: T) -> PyResult<()> {
    if values.try_reserve(1).is_err() {
        let bytes = values.len().saturating_add(1).saturating_mul(size_of::<T>());
        // Creating the exception needs some memory.
        values.clear();
        values.shrink_to_fit();
        return Err(exception(py, &OutOfMemory::error(Device::CPU, bytes)));
    }
    values.push(value);
    Ok(())
}

/// Collects the values of an iterator, which may be infinite, into a vector.
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

/// Returns a tuple of the items of an iterator, or raises MemoryError where PyO3's conversion would panic.
pub(super) fn try_tuple<'py>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let length = isize::try_from(items.len())?;
    // SAFETY: this thread is attached to the interpreter, and the result is a new reference or null.
    let tuple = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(length)) }?;
    for (index, item) in (0..length).zip(items) {
        // SAFETY: the tuple is new, has this index, and takes ownership of the reference.
        if unsafe { ffi::PyTuple_SetItem(tuple.as_ptr(), index, item?.into_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
    }
    Ok(tuple.cast_into()?)
}

/// Returns a `str`, or raises MemoryError where PyO3's conversion would panic.
pub(super) fn try_str<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let length = isize::try_from(text.len())?;
    // SAFETY: the text is that many bytes of UTF-8, and the result is a new reference or null.
    unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), length))
    }
}
