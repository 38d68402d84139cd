//! Buffers that Python objects export through the buffer protocol.
//!
//! Arrays are read through their buffer and never through attributes, which a subclass may override.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::detach::attach;

/// A buffer that an object has exported, with its shape, strides and format. The exporter keeps the memory valid until
/// this is dropped.
///
/// Dropping it on a thread that cannot attach to the interpreter leaks the buffer.
pub(crate) struct PyBuffer {
    // Boxed, because exporters may store pointers into the structure.
    view: Box<ffi::Py_buffer>,
}

// SAFETY: the structure is only read, and `PyBuffer_Release` runs attached to the interpreter.
unsafe impl Send for PyBuffer {}
// SAFETY: shared access only reads the structure.
unsafe impl Sync for PyBuffer {}

impl PyBuffer {
    /// Requests a buffer with strides and format, read-only or writable.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the object is alive, and `view` is valid for writes.
        let failed = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, ffi::PyBUF_FULL_RO) };
        if failed != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        Ok(PyBuffer { view })
    }

    /// Returns the address of the element at index 0 of every dimension.
    pub fn pointer(&self) -> Option<NonNull<u8>> {
        NonNull::new(self.view.buf.cast())
    }

    /// Returns the size of all elements in bytes.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.view.len).unwrap_or(0)
    }

    /// Returns the size of an element in bytes.
    pub fn itemsize(&self) -> usize {
        usize::try_from(self.view.itemsize).unwrap_or(0)
    }

    /// Returns whether the memory must not be written.
    pub fn is_readonly(&self) -> bool {
        self.view.readonly != 0
    }

    /// Returns the type of the elements as a format string of the module `struct`.
    pub fn format(&self) -> &[u8] {
        if self.view.format.is_null() {
            return b"B";
        }
        // SAFETY: the exporter guarantees a C string that lives as long as the buffer.
        unsafe { CStr::from_ptr(self.view.format) }.to_bytes()
    }

    /// Returns the sizes of the dimensions.
    pub fn shape(&self) -> Vec<usize> {
        self.values(self.view.shape).iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect()
    }

    /// Returns the stride of each dimension in bytes.
    pub fn strides(&self) -> &[isize] {
        self.values(self.view.strides)
    }

    /// Returns whether the buffer has `suboffsets`: its elements are reached through pointers.
    pub fn is_indirect(&self) -> bool {
        self.values(self.view.suboffsets).iter().any(|&offset| offset >= 0)
    }

    fn values(&self, array: *const ffi::Py_ssize_t) -> &[isize] {
        let ndim = usize::try_from(self.view.ndim).unwrap_or(0);
        if array.is_null() || ndim == 0 {
            return &[];
        }
        // SAFETY: the exporter guarantees `ndim` values that live as long as the buffer.
        unsafe { std::slice::from_raw_parts(array, ndim) }
    }

    /// Returns whether the elements are contiguous, in row-major or column-major order.
    pub fn is_contiguous(&self) -> bool {
        // SAFETY: an exporter has filled the structure.
        unsafe { ffi::PyBuffer_IsContiguous(&raw const *self.view, b'A' as c_char) != 0 }
    }

    /// Copies all elements in row-major order.
    ///
    /// # Safety
    /// `target` is valid for writes of [`bytes`](Self::bytes) bytes, which no other thread uses.
    pub unsafe fn copy_to(&self, py: Python<'_>, target: *mut u8) -> PyResult<()> {
        // SAFETY: the caller guarantees that `target` is valid.
        let failed: c_int = unsafe {
            ffi::PyBuffer_ToContiguous(target.cast(), &raw const *self.view, self.view.len, b'C' as c_char)
        };
        if failed != 0 { Err(PyErr::fetch(py)) } else { Ok(()) }
    }
}

impl Drop for PyBuffer {
    fn drop(&mut self) {
        // SAFETY: the buffer was filled once and is released once, on an attached thread.
        let release = |_: Python<'_>| unsafe { ffi::PyBuffer_Release(&raw mut *self.view) };
        // Without an interpreter the buffer leaks.
        let _ = attach(release);
    }
}
