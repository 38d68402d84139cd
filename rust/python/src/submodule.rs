//! Submodules of the extension module that can be imported by name.

use pyo3::prelude::*;

/// Creates the submodule `name`, and adds it to its parent and to `sys.modules`.
pub(crate) fn submodule<'py>(parent: &Bound<'py, PyModule>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    let full_name = format!("{}.{name}", parent.name()?);
    let module = PyModule::new(parent.py(), &full_name)?;
    parent.add(name, &module)?;
    let modules = parent.py().import("sys")?.getattr("modules")?;
    modules.set_item(full_name, &module)?;
    Ok(module)
}
