//! Devices, streams, events, graphs and memory.

mod config;
mod current;
mod device;
mod event;
mod exchange;
mod faults;
mod functions;
mod graph;
mod history;
mod integer;
mod memory;
mod pinned;
mod snapshot;
mod stream;

use pyo3::prelude::*;

pub(crate) use device::{Device, parse};
pub(crate) use exchange::{close as close_functions, forget as forget_functions, open as open_functions};
pub(crate) use memory::forget_callbacks;

use crate::submodule::submodule;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "accelerator")?;
    device::register(&module)?;
    current::register(&module)?;
    stream::register(&module)?;
    event::register(&module)?;
    graph::register(&module)?;
    functions::register(&module)?;
    memory::register(&module)?;
    pinned::register(&module)?;
    config::register(&module)?;
    history::register(&module)?;
    snapshot::register(&module)?;
    faults::register(&module)
}
