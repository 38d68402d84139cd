//! How much memory is used, and what is kept of it.

use interlock::accelerator::memory::{self, Statistics};
use pyo3::prelude::*;

use crate::accelerator::device;
use crate::detach::detach;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(empty_cache, module)?)?;
    module.add_function(wrap_pyfunction!(memory_allocated, module)?)?;
    module.add_function(wrap_pyfunction!(max_memory_allocated, module)?)?;
    module.add_function(wrap_pyfunction!(memory_reserved, module)?)?;
    module.add_function(wrap_pyfunction!(max_memory_reserved, module)?)?;
    module.add_function(wrap_pyfunction!(named_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(reset_peak_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(reset_accumulated_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(largest_free_block, module)?)?;
    module.add_function(wrap_pyfunction!(fragmentation, module)?)
}

fn statistics(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Statistics> {
    let device = device::asked_about(device)?;
    detach(py, || memory::statistics(device)).into_py_result(py)
}

/// Gives memory that is kept and not in use back to the driver, of all devices, once the work that is queued now has
/// been done; waits for that. Ctrl-C ends the wait. Does nothing while a graph is captured, and where no device has
/// been used.
#[pyfunction]
fn empty_cache(py: Python<'_>) -> PyResult<()> {
    detach(py, memory::empty_cache).into_py_result(py)
}

/// The bytes of a device's memory that are in use, in pieces as they were rounded. 0 where no device has been used.
/// No device, or one without an index, is the current one; raises `DeviceError` for what is no device of the
/// accelerator.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn memory_allocated(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(statistics(py, device_index)?.allocated_bytes.all.current)
}

/// The most that `memory_allocated` was since `reset_peak_memory_stats`.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn max_memory_allocated(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(statistics(py, device_index)?.allocated_bytes.all.peak)
}

/// The bytes of a device's memory that were taken from the driver, in use or kept. As `memory_allocated`.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn memory_reserved(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(statistics(py, device_index)?.reserved_bytes.all.current)
}

/// The most that `memory_reserved` was since `reset_peak_memory_stats`.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn max_memory_reserved(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(statistics(py, device_index)?.reserved_bytes.all.peak)
}

/// What `memory_stats` tells, in the order of the names.
#[pyfunction]
#[pyo3(signature = (device))]
fn named_statistics(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, i64)>> {
    Ok(statistics(py, device)?.named())
}

/// Makes every peak of a device's statistics what there is now. As `memory_allocated`.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn reset_peak_memory_stats(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let device = device::asked_about(device_index)?;
    detach(py, || memory::reset_peak_statistics(device)).into_py_result(py)
}

/// Counts anew what is allocated and freed on a device, and how often something happens. As `memory_allocated`.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn reset_accumulated_memory_stats(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let device = device::asked_about(device_index)?;
    detach(py, || memory::reset_accumulated_statistics(device)).into_py_result(py)
}

/// The bytes of the largest piece that is kept and not in use: what can be allocated for its stream without asking
/// the driver. As `memory_allocated`.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn largest_free_block(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    let device = device::asked_about(device)?;
    detach(py, || memory::largest_free_block(device)).into_py_result(py)
}

/// In how small pieces the memory lies that is kept and not in use: 0.0 where it is one piece or none, close to 1.0
/// where the largest piece is a small part of all. As `memory_allocated`.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn fragmentation(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
    let device = device::asked_about(device)?;
    detach(py, || memory::fragmentation(device)).into_py_result(py)
}
