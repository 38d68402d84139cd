//! Flags: the classes that give modules their attributes, scopes, and functions.

mod convert;
mod cpu;
mod flag;
mod functions;
mod libraries;
mod names;
mod namespace;
mod plan_cache;
mod scopes;

use pyo3::prelude::*;

use crate::submodule::submodule;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "backends")?;
    namespace::register(&module)?;
    module.add_class::<scopes::FlagScope>()?;
    module.add_class::<scopes::FlagArguments>()?;
    module.add_class::<scopes::FreezeScope>()?;
    flag::register(&module)?;
    cpu::register(&module)?;
    libraries::register(&module)?;
    plan_cache::register(&module)?;
    functions::register(&module)
}
