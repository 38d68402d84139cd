//! The module `interlock._core.accelerator`: devices, streams, events, graphs and memory.

mod allocator_config;
mod callback_queue;
mod current_device;
mod device;
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

pub(crate) use callback_queue::{
    close as close_functions, forget as forget_functions, open as open_functions,
};
pub(crate) use device::{Device, optional as optional_device, parse, parse_index};
pub(crate) use memory::forget_callbacks;

use crate::submodule::submodule;

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
