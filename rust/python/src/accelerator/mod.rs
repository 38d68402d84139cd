//! The module `interlock._core.accelerator`: devices, streams, events, graphs and memory.

mod allocator_config;
mod current_device;
mod errors;
mod event;
mod fault;
mod fault_injection;
mod graph;
mod history;
mod mem_pool;
pub(crate) mod memory;
mod pinned;
mod races;
mod snapshot;
pub(crate) mod stream;
mod stream_names;
mod trace;

use pyo3::prelude::*;

use crate::device;
pub(crate) use crate::device::{Device, optional as optional_device, parse};
use crate::submodule::submodule;
pub(crate) use memory::forget_callbacks;

/// Registers the module and returns it.
pub(crate) fn register<'py>(parent: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyModule>> {
    let module = submodule(parent, "accelerator")?;
    device::register(&module)?;
    current_device::register(&module)?;
    stream::register(&module)?;
    event::register(&module)?;
    graph::register(&module)?;
    mem_pool::register(&module)?;
    memory::register(&module)?;
    pinned::register(&module)?;
    allocator_config::register(&module)?;
    history::register(&module)?;
    snapshot::register(&module)?;
    fault_injection::register(&module)?;
    races::register(&module)?;
    trace::register(&module)?;
    Ok(module)
}
