//! The extension module `interlock._core`.

use pyo3::prelude::*;

#[pymodule(name = "_core", module = "interlock", gil_used = false)]
mod core_module {}
