//! Copies and fills in the order of streams.

use std::ptr::NonNull;
use std::sync::Arc;

use interlock::accelerator::memory::{self, CopyOperand, HostMemory};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use super::buffer::Buffer;
use crate::accelerator::integer::integer;
use crate::accelerator::stream;
use crate::detached::{detached, wait};
use crate::errors::IntoPyResult;
use crate::py_buffer::PyBuffer;
use crate::released::Released;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(copy_, module)?)?;
    module.add_function(wrap_pyfunction!(fill_, module)?)
}

/// One end of a copy: a `Buffer`, or an object that shows its bytes in one piece.
fn end_of(given: &Bound<'_, PyAny>, written: bool) -> PyResult<CopyOperand> {
    let py = given.py();
    if let Ok(buffer) = given.cast::<Buffer>() {
        return buffer.get().memory(py).map(CopyOperand::Device);
    }
    let view = PyMemoryView::from(given).map_err(|error| no_bytes(given, error))?;
    let bytes = PyBuffer::of(&view)?;
    if holds_objects(bytes.format()) {
        let message = "references to Python's objects are no bytes that can be copied";
        return Err(PyTypeError::new_err(message));
    }
    if !bytes.is_contiguous() {
        return Err(PyBufferError::new_err("the bytes of the object must lie in one piece"));
    }
    if written && bytes.is_readonly() {
        return Err(PyBufferError::new_err("the destination can only be read"));
    }
    let (pointer, length) = (bytes.pointer().map_or(std::ptr::null_mut(), NonNull::as_ptr), bytes.bytes());
    drop(bytes);
    // The view holds the memory.
    let keep = Arc::new(Released::new(view));
    // SAFETY: the view keeps the bytes where they are. That nobody else uses them meanwhile is the program's duty,
    // as it is among NumPy arrays.
    Ok(CopyOperand::Host(unsafe { HostMemory::new(pointer, length, Some(keep)) }))
}

/// Whether a format of the module struct, as buffers tell theirs, has references to objects. Names of fields stand
/// between colons.
fn holds_objects(format: &[u8]) -> bool {
    format.split(|byte| *byte == b':').step_by(2).any(|part| part.contains(&b'O'))
}

/// Says what is taken, of an object without bytes; another error of the object is its own.
fn no_bytes(given: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = given.py();
    if !error.is_instance_of::<PyTypeError>(py) {
        return error;
    }
    let class = given.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let message = format!(
        "accelerator.memory.copy_ takes a Buffer or an object with the buffer protocol, got a value of type {class}"
    );
    let refused = PyTypeError::new_err(message);
    refused.set_cause(py, Some(error));
    refused
}

/// Copies all bytes of `source` to `destination`, which has as many; at least one of them is a `Buffer`, the
/// other may be an object with the buffer protocol.
///
/// The copy is in the order of `stream`, which must be of the device of one of the buffers, and of no other
/// stream. Without one it is in the order of the current stream of the buffer's device; between two devices in
/// that of the source's, and it and the current stream of the destination's wait for each other. This waits until
/// the copy has been done, unless `non_blocking`: then the bytes must be left alone until the stream has passed.
/// Raises `ArgumentError` for different sizes or two objects that are no buffers, `DeviceError` for a stream of
/// another device, TypeError and BufferError for objects that don't show their bytes.
#[pyfunction]
#[pyo3(signature = (destination, source, *, non_blocking=false, stream=None))]
pub(super) fn copy_(
    destination: &Bound<'_, PyAny>,
    source: &Bound<'_, PyAny>,
    non_blocking: bool,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = destination.py();
    let (to, from) = (end_of(destination, true)?, end_of(source, false)?);
    let stream = stream::optional(stream)?;
    let queued_on =
        detached(py, || memory::copy(&to, &from, stream.as_ref(), !non_blocking)).into_py_result(py)?;
    if non_blocking { Ok(()) } else { wait(py, || queued_on.begin_wait().map(Some)) }
}

/// Sets every byte of a `Buffer` to `value`, from 0 to 255, in the order of `stream` or of the current stream of
/// the buffer's device. Returns at once. Raises `ArgumentError` for another number, `DeviceError` for a
/// stream of another device.
#[pyfunction]
#[pyo3(signature = (buffer, value, *, stream=None))]
pub(super) fn fill_(
    py: Python<'_>,
    buffer: &Bound<'_, Buffer>,
    value: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let value = integer(value, "the value of accelerator.memory.fill_", "0 to 255")?;
    let stream = stream::optional(stream)?;
    let memory = buffer.get().memory(py)?;
    detached(py, || memory.fill(value, stream.as_ref())).into_py_result(py)
}
