//! Memory statistics.

use interlock::accelerator::memory::{self, Statistics};
use pyo3::prelude::*;

use crate::detach::detach;
use crate::device::query;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(empty_cache, module)?)?;
    module.add_function(wrap_pyfunction!(memory_allocated, module)?)?;
    module.add_function(wrap_pyfunction!(max_memory_allocated, module)?)?;
    module.add_function(wrap_pyfunction!(memory_reserved, module)?)?;
    module.add_function(wrap_pyfunction!(max_memory_reserved, module)?)?;
    module.add_function(wrap_pyfunction!(named_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(nested_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(reset_peak_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(reset_accumulated_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(largest_free_block, module)?)?;
    module.add_function(wrap_pyfunction!(fragmentation, module)?)
}

fn statistics(
    py: Python<'_>,
    device: Option<&Bound<'_, PyAny>>,
    operation: &'static str,
) -> PyResult<Statistics> {
    query(py, device, operation, memory::statistics)
}

/// Release the unused cached memory of all devices to the driver, after waiting for the work that is queued now. Ctrl-C
/// interrupts the wait. Has no effect while a graph is captured, and before a device is used.
#[pyfunction]
fn empty_cache(py: Python<'_>) -> PyResult<()> {
    detach(py, memory::empty_cache).into_py_result(py)
}

/// Return the bytes of allocated blocks on a device, after rounding; 0 before a device is used.
///
/// Args:
///     device_index: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> buffer = accelerator.memory.Buffer(1000)
///     >>> accelerator.memory_allocated(), accelerator.memory_reserved()
///     (1024, 2097152)
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn memory_allocated(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(statistics(py, device_index, "accelerator.memory.memory_allocated")?.allocated_bytes.all.current)
}

/// Return the maximum of `memory_allocated` in bytes since `reset_peak_memory_stats`.
///
/// Args:
///     device_index: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn max_memory_allocated(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(statistics(py, device_index, "accelerator.memory.max_memory_allocated")?.allocated_bytes.all.peak)
}

/// Return the bytes that the caching allocator has reserved on a device, allocated or cached.
///
/// Args:
///     device_index: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn memory_reserved(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(statistics(py, device_index, "accelerator.memory.memory_reserved")?.reserved_bytes.all.current)
}

/// Return the maximum of `memory_reserved` in bytes since `reset_peak_memory_stats`.
///
/// Args:
///     device_index: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn max_memory_reserved(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(statistics(py, device_index, "accelerator.memory.max_memory_reserved")?.reserved_bytes.all.peak)
}

/// Return the statistics of `memory_stats`, sorted by name.
#[pyfunction]
#[pyo3(signature = (device))]
fn named_statistics(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, i64)>> {
    Ok(statistics(py, device, "accelerator.memory.memory_stats")?.named())
}

/// Return the statistics of `memory_stats_as_nested_dict`, as `named_statistics` does.
#[pyfunction]
#[pyo3(signature = (device))]
fn nested_statistics(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, i64)>> {
    Ok(statistics(py, device, "accelerator.memory.memory_stats_as_nested_dict")?.named())
}

/// Set every peak of a device's `memory_stats` to the current amount.
///
/// Args:
///     device_index: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn reset_peak_memory_stats(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    query(py, device_index, "accelerator.memory.reset_peak_memory_stats", memory::reset_peak_statistics)
}

/// Set the sums and counts of a device's `memory_stats` to 0.
///
/// Args:
///     device_index: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn reset_accumulated_memory_stats(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    query(
        py,
        device_index,
        "accelerator.memory.reset_accumulated_memory_stats",
        memory::reset_accumulated_statistics,
    )
}

/// Return the size in bytes of the largest free block that an allocation for the current stream of a device can use
/// without a call of the driver; 0 if there is none. Blocks of other streams and of other memory pools do not count:
/// within `use_mem_pool` or a capture only those of its pool count.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn largest_free_block(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    query(py, device, "accelerator.memory.largest_free_block", memory::largest_free_block)
}

/// Return the fragmentation of the free blocks that an allocation for the current stream of a device can use: 0.0 for at
/// most one block, and close to 1.0 if the largest block is a small part of all of them.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn fragmentation(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
    query(py, device, "accelerator.memory.fragmentation", memory::fragmentation)
}
