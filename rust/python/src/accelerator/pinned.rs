//! What is kept of pinned memory.

use interlock::accelerator::memory;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::detach::detach;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(empty_host_cache, module)?)?;
    module.add_function(wrap_pyfunction!(host_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(reset_peak_host_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(reset_accumulated_host_memory_stats, module)?)
}

/// Gives pinned memory back to the system that nothing uses, neither the program nor what is queued. Waits for
/// nothing that is queued. Does nothing before an accelerator is used.
#[pyfunction]
fn empty_host_cache(py: Python<'_>) {
    detach(py, memory::empty_host_cache);
}

/// What is counted of pinned memory, by name, in the order of the names. Zeros before an accelerator is used.
///
/// `allocations` are blocks that are in use or kept, `active_requests` those that are in use, by the program or by
/// what is queued; `allocated_bytes` and `active_bytes` are their bytes, after rounding. Each has `.current`, `.peak`,
/// `.allocated` (by how much it went up) and `.freed` (by how much it went down). `num_host_alloc` and
/// `num_host_free` are how many blocks were made and given back. `host_alloc_time` and `host_free_time` are how
/// long the driver took for that, in microseconds: `.total`, `.max`, `.min`, `.count` and `.avg`.
#[pyfunction]
fn host_memory_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let named = PyDict::new(py);
    for (name, number) in detach(py, memory::host_memory_stats).named() {
        named.set_item(name, number)?;
    }
    Ok(named)
}

/// Makes every `.peak` of `host_memory_stats` what there is now, and every `.max` and `.min` 0.
#[pyfunction]
fn reset_peak_host_memory_stats(py: Python<'_>) {
    detach(py, memory::reset_peak_host_memory_stats);
}

/// Makes every `.allocated`, `.freed`, `.total` and `.count` of `host_memory_stats` 0, and `num_host_alloc` and
/// `num_host_free`.
#[pyfunction]
fn reset_accumulated_host_memory_stats(py: Python<'_>) {
    detach(py, memory::reset_accumulated_host_memory_stats);
}
