//! Memory of devices.

mod buffer;
mod copies;
mod dlpack;
mod export;
mod limits;
mod on_oom;
mod scope;
mod statistics;

use pyo3::prelude::*;

pub(crate) use on_oom::forget as forget_callbacks;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    buffer::register(module)?;
    copies::register(module)?;
    statistics::register(module)?;
    limits::register(module)?;
    scope::register(module)?;
    on_oom::register(module)
}
