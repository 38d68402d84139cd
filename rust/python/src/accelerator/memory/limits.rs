//! How much memory this process may take.

use interlock::accelerator::memory::{self, Limit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyString};

use crate::accelerator::{device, integer};
use crate::detach::detach;
use crate::errors::IntoPyResult;
use crate::py_int;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_limit, module)?)?;
    module.add_function(wrap_pyfunction!(get_limit, module)?)?;
    module.add_function(wrap_pyfunction!(set_cache_limit, module)?)?;
    module.add_function(wrap_pyfunction!(get_cache_limit, module)?)
}

/// A limit as an argument. An int is a number of bytes, 1 too; a float is a fraction, 1.0 too.
fn limit_of(given: &Bound<'_, PyAny>) -> PyResult<Option<Limit>> {
    let py = given.py();
    if given.is_none() {
        return Ok(None);
    }
    if let Ok(text) = given.cast::<PyString>() {
        return text.to_cow()?.parse::<Limit>().into_py_result(py).map(Some);
    }
    if let Ok(fraction) = given.cast::<PyFloat>() {
        return Limit::fraction(fraction.value()).into_py_result(py).map(Some);
    }
    if given.is_instance_of::<PyBool>() || !py_int::has_index(given) {
        let class = given.get_type().name()?;
        let message = format!("a memory limit takes {}, got a value of type {class}", Limit::ALLOWED);
        return Err(PyTypeError::new_err(message));
    }
    integer::integer(given, "a memory limit", Limit::ALLOWED).map(Limit::Bytes).map(Some)
}

/// Says how much of a device's memory this process may take from the driver, in use or kept: a number of bytes (an
/// int), a part of all (a float from 0.0 to 1.0, or a str such as "90%"), or None for all of it.
///
/// Returns the limit that was in force, in bytes, or None. What is taken already stays, also beyond the limit. No
/// device, or one without an index, is the current one. Raises `ArgumentError` for a limit out of range,
/// `NoAcceleratorError` without an accelerator.
#[pyfunction]
#[pyo3(signature = (limit, device=None))]
fn set_limit(limit: &Bound<'_, PyAny>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let (py, limit) = (limit.py(), limit_of(limit)?);
    let device = device::optional(device)?;
    detach(py, || memory::set_limit(limit, device)).into_py_result(py)
}

/// The limit of a device in bytes, or None where there is none.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn get_limit(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let device = device::asked_about(device)?;
    detach(py, || memory::limit(device)).into_py_result(py)
}

/// Says how much of a device's memory may be kept that nobody uses, as `set_limit` does; None for any number. What is
/// kept beyond goes back to the driver, the longest unused first, once streams have got past it. Returns the limit
/// that was in force, in bytes, or None.
#[pyfunction]
#[pyo3(signature = (limit, device=None))]
fn set_cache_limit(limit: &Bound<'_, PyAny>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let (py, limit) = (limit.py(), limit_of(limit)?);
    let device = device::optional(device)?;
    detach(py, || memory::set_cache_limit(limit, device)).into_py_result(py)
}

/// The limit of what is kept of a device's memory, in bytes, or None where there is none.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn get_cache_limit(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let device = device::asked_about(device)?;
    detach(py, || memory::cache_limit(device)).into_py_result(py)
}
