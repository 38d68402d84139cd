//! Device memory: buffers, copies, statistics and limits.

mod buffer;
mod copies;
pub(crate) mod interop;
mod limits;
mod memory_tracker;
mod oom_callback;
mod statistics;

use pyo3::prelude::*;

pub(crate) use oom_callback::forget as forget_callbacks;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    buffer::register(module)?;
    copies::register(module)?;
    statistics::register(module)?;
    limits::register(module)?;
    memory_tracker::register(module)?;
    oom_callback::register(module)
}
