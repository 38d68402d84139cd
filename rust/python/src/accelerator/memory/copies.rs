//! Stream-ordered copies and fills.

use std::ptr::NonNull;
use std::sync::Arc;

use interlock::accelerator::Error;
use interlock::accelerator::driver::Owners;
use interlock::accelerator::memory::{self, CopyOperand, HostMemory};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use super::buffer::Buffer;
use crate::accelerator::stream;
use crate::args::extract_int;
use crate::deferred_drop::DeferredDrop;
use crate::detach::{detach, wait};
use crate::errors::{IntoPyResult, new_type_error};
use crate::py_buffer::PyBuffer;
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(copy_, module)?)?;
    module.add_function(wrap_pyfunction!(fill_, module)?)
}

/// Extracts an operand of a copy: a `Buffer`, or an object with a contiguous Python buffer. It is the argument
/// `argument` of `function`.
fn operand(function: &str, argument: &str, given: &Bound<'_, PyAny>, written: bool) -> PyResult<CopyOperand> {
    let py = given.py();
    if let Ok(buffer) = given.cast::<Buffer>() {
        return buffer.get().memory(py, function).map(CopyOperand::Device);
    }
    let what = format!("{function}: {argument}");
    let view = PyMemoryView::from(given).map_err(|error| new_buffer_error(&what, given, error))?;
    let bytes = PyBuffer::of(&view)?;
    if has_object_references(bytes.format()) {
        return Err(PyTypeError::new_err(format!("{what} must not contain references to Python objects")));
    }
    if !bytes.is_contiguous() {
        return Err(PyBufferError::new_err(format!("{what} must be contiguous")));
    }
    if written && bytes.is_readonly() {
        return Err(PyBufferError::new_err(format!("{what} must be writable, got a read-only buffer")));
    }
    let (pointer, length) = (bytes.pointer().map_or(std::ptr::null_mut(), NonNull::as_ptr), bytes.bytes());
    drop(bytes);
    // The view keeps the memory alive.
    let owners = Owners::until_completed(Arc::new(DeferredDrop::new_for_driver(view)));
    // SAFETY: the view keeps the bytes valid. The program must not use them during the copy, as with NumPy arrays.
    Ok(CopyOperand::Host(unsafe { HostMemory::new(pointer, length, owners) }))
}

/// Returns whether a buffer format of the `struct` module contains object references. Field names are between colons.
fn has_object_references(format: &[u8]) -> bool {
    format.split(|byte| *byte == b':').step_by(2).any(|part| part.contains(&b'O'))
}

/// Replaces the TypeError of an object without the buffer protocol; other errors of the object propagate.
fn new_buffer_error(what: &str, given: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = given.py();
    if !error.is_instance_of::<PyTypeError>(py) {
        return error;
    }
    let refused = new_type_error(what, "a Buffer or an object with the buffer protocol", given);
    refused.set_cause(py, Some(error));
    refused
}

/// Copy all bytes of `source` to `destination`. At least one of them is a `Buffer`; the other may be an object with the
/// buffer protocol.
///
/// Args:
///     destination: The object to write to, with the same size as `source`.
///     source: The object to read from.
///     non_blocking: Whether to return before the copy is done. The bytes must not be used until the stream has run it.
///     stream: The stream of the copy, on the device of a buffer. None means the current stream of the buffer's device;
///         between two devices the current stream of the source's device, which is synchronized with that of the
///         destination's device.
///
/// Raises:
///     ArgumentError: The sizes differ, or no operand is a `Buffer`.
///     DeviceError: The stream is on another device.
///     TypeError: An operand does not support the buffer protocol, or contains object references.
///     BufferError: An operand is not contiguous, or the destination is read-only.
///     BufferClosedError: A `Buffer` was closed.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> buffer, result = accelerator.memory.Buffer(4), bytearray(4)
///     >>> accelerator.memory.copy_(buffer, b"abcd")
///     >>> accelerator.memory.copy_(result, buffer)
///     >>> result
///     bytearray(b'abcd')
#[pyfunction]
#[pyo3(signature = (destination, source, *, non_blocking=false, stream=None))]
fn copy_(
    destination: &Bound<'_, PyAny>,
    source: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = switches::memory_copy_::non_blocking)] non_blocking: bool,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    copy("accelerator.memory.copy_", destination, source, non_blocking, stream)
}

/// Copies all bytes of `source` to `destination`. Errors name the function.
pub(super) fn copy(
    function: &'static str,
    destination: &Bound<'_, PyAny>,
    source: &Bound<'_, PyAny>,
    non_blocking: bool,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = destination.py();
    let to = operand(function, "destination", destination, true)?;
    let from = operand(function, "source", source, false)?;
    let stream = stream::optional(stream, function)?;
    let queued = detach(py, || memory::copy(&to, &from, stream.as_ref(), !non_blocking));
    let queued_on = queued.map_err(|error| error.during(function)).into_py_result(py)?;
    if non_blocking {
        return Ok(());
    }
    wait(py, || queued_on.begin_wait().map(Some).map_err(|error| error.during(function)))
}

/// Queue a fill of every byte of a `Buffer` with `value`.
///
/// Args:
///     buffer: The buffer.
///     value: The byte, from 0 to 255.
///     stream: The stream. None means the current stream of the buffer's device.
///
/// Raises:
///     ArgumentError: The value is out of range.
///     DeviceError: The stream is on another device.
///     BufferClosedError: The buffer was closed.
#[pyfunction]
#[pyo3(signature = (buffer, value, *, stream=None))]
pub(super) fn fill_(
    buffer: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let buffer = buffer
        .cast::<Buffer>()
        .map_err(|_| new_type_error("accelerator.memory.fill_: buffer", "a Buffer", buffer))?;
    fill(buffer, ["accelerator.memory.fill_", "accelerator.memory.fill_: value"], value, stream)
}

/// Queues a fill of a buffer. Errors name the operation and its argument `value`.
pub(super) fn fill(
    buffer: &Bound<'_, Buffer>,
    [operation, value_name]: [&'static str; 2],
    value: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = buffer.py();
    let value = extract_int(value, value_name, "from 0 to 255")?;
    let stream = stream::optional(stream, operation)?;
    let memory = buffer.get().memory(py, operation)?;
    let filled = detach(py, || memory.fill(value, stream.as_ref()));
    filled
        .map_err(|mut error| {
            if let Error::NoSuchDevice { name, .. } = &mut error {
                *name = format!("{operation}: stream");
            }
            error
        })
        .into_py_result(py)
}
