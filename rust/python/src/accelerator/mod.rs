//! The module `interlock._core.accelerator`: devices, streams, events, graphs and memory.

mod allocator_config;
mod callback_queue;
mod current_device;
mod errors;
mod event;
mod fault_injection;
mod graph;
mod history;
mod host_callbacks;
mod mem_pool;
pub(crate) mod memory;
mod pinned;
mod snapshot;
pub(crate) mod stream;

use pyo3::prelude::*;

use crate::device;
pub(crate) use crate::device::{Device, optional as optional_device, parse};
use crate::shutdown::StoredFunctions;
use crate::submodule::submodule;

/// The Python functions that this module stores, for the end of the interpreter.
pub(crate) const STORED_FUNCTIONS: StoredFunctions = StoredFunctions {
    open: callback_queue::open,
    close: callback_queue::close,
    forget: |py| {
        callback_queue::forget(py);
        memory::forget_callbacks(py);
    },
};

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "accelerator")?;
    device::register(&module)?;
    current_device::register(&module)?;
    stream::register(&module)?;
    event::register(&module)?;
    graph::register(&module)?;
    mem_pool::register(&module)?;
    host_callbacks::register(&module)?;
    memory::register(&module)?;
    pinned::register(&module)?;
    allocator_config::register(&module)?;
    history::register(&module)?;
    snapshot::register(&module)?;
    fault_injection::register(&module)
}
