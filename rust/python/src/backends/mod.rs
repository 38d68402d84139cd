//! Flags: the classes that give modules their attributes, scopes, and functions.

mod values;
mod cpu;
mod flag;
mod api;
mod libraries;
mod flag_names;
mod flag_types;
mod plan_cache;
mod scopes;

use pyo3::prelude::*;

use crate::submodule::submodule;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "backends")?;
    flag_types::register(&module)?;
    module.add_class::<scopes::FlagScope>()?;
    module.add_class::<scopes::FlagArguments>()?;
    module.add_class::<scopes::FreezeScope>()?;
    flag::register(&module)?;
    cpu::register(&module)?;
    libraries::register(&module)?;
    plan_cache::register(&module)?;
    api::register(&module)
}
