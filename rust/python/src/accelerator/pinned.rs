//! The cache of pinned memory.

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

/// Release cached pinned memory that neither the program nor queued work uses. Does not wait for queued work. Has no
/// effect before an accelerator is used.
#[pyfunction]
fn empty_host_cache(py: Python<'_>) {
    detach(py, memory::empty_host_cache);
}

/// Return the statistics of pinned memory as a dict, sorted by name. All are 0 before an accelerator is used.
///
/// `allocations` counts blocks in use or cached, `active_requests` blocks in use by the program or by queued work;
/// `allocated_bytes` and `active_bytes` are their bytes after rounding. Each has `.current`, `.peak`, `.allocated` (the
/// sum of increases) and `.freed` (the sum of decreases). `num_host_alloc` and `num_host_free` count the blocks that
/// the driver allocated and released. `host_alloc_time` and `host_free_time` are the durations of these calls in
/// microseconds: `.total`, `.max`, `.min`, `.count` and `.avg`.
#[pyfunction]
fn host_memory_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let named = PyDict::new(py);
    for (name, number) in detach(py, memory::host_memory_stats).named() {
        named.set_item(name, number)?;
    }
    Ok(named)
}

/// Set every `.peak` of `host_memory_stats` to the current amount, and every `.max` and `.min` to 0.
#[pyfunction]
fn reset_peak_host_memory_stats(py: Python<'_>) {
    detach(py, memory::reset_peak_host_memory_stats);
}

/// Set every `.allocated`, `.freed`, `.total` and `.count` of `host_memory_stats` to 0, and `num_host_alloc` and
/// `num_host_free`.
#[pyfunction]
fn reset_accumulated_host_memory_stats(py: Python<'_>) {
    detach(py, memory::reset_accumulated_host_memory_stats);
}
