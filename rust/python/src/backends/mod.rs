//! Bindings of `interlock.backends`: flag classes, scopes and functions.

mod api;
mod changes;
mod cpu;
mod flag;
mod flag_names;
mod flag_types;
mod libraries;
mod num_threads;
mod plan_cache;
mod python_parts;
mod scopes;
mod values;

use pyo3::prelude::*;

use crate::submodule::submodule;

pub(crate) use libraries::update_python_paths;
pub(crate) use scopes::{dict_of, scope_of};

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "backends")?;
    flag_types::register(&module)?;
    module.add_class::<scopes::FlagScope>()?;
    module.add_class::<scopes::FlagArguments>()?;
    module.add_class::<scopes::FreezeScope>()?;
    flag::register(&module)?;
    cpu::register(&module)?;
    libraries::register(&module)?;
    num_threads::register(&module)?;
    plan_cache::register(&module)?;
    changes::register(&module)?;
    api::register(&module)
}
