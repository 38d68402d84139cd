//! The extension module `interlock._core`. A binding converts its arguments, detaches from the interpreter if the call
//! may block, calls the crates below and converts the result.
//!
//! A Rust program that embeds Python registers the module with `pyo3::append_to_inittab!(_core)` before it initializes
//! the interpreter; the installed Python layer then uses that copy.

#![cfg_attr(
    not(feature = "tensor"),
    allow(dead_code, unused_imports, reason = "some helpers have only callers in the bindings of tensors")
)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

use interlock::backends::SourceLocation;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

mod accelerator;
mod advice;
mod args;
mod attached;
mod autograd;
mod backends;
mod call_site;
mod capi;
mod carried_contexts;
mod context;
mod deferred_drop;
mod detach;
mod device;
mod dispatch;
mod dlpack;
mod errors;
mod gil;
mod held_locks;
mod hooks;
mod host_callbacks;
mod loaded_libraries;
mod pending_exception;
mod py_buffer;
mod py_int;
mod py_stack;
mod python_cause;
mod qualified_name;
mod raise_later;
mod raw_types;
mod registration_observer;
mod registrations;
mod resumes;
mod scope_debug;
mod scope_group;
mod scope_warning;
mod shutdown;
mod signals;
mod single_instance;
mod state;
mod state_pickle;
mod submodule;
mod switches;
#[cfg(feature = "tensor")]
mod tensor;
mod thread_count;
mod traverse;
mod uninterrupted_exit;

/// The optional parts that were compiled in.
const FEATURES: &[&str] = if cfg!(feature = "tensor") { &["tensor"] } else { &[] };

/// The Rust side of interlock.
///
/// `gil_used`: a free-threaded build enables the GIL when it imports the module.
#[pymodule(name = "_core", module = "interlock", gil_used = true)]
pub mod _core {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        gil::ensure_enabled(module.py())?;
        let library = single_instance::ensure_single_instance(module.py())?;
        detach::install_wait_hooks();
        py_stack::install_stack_source();
        context::register(module.py())?;
        SourceLocation::set_provider(|| detach::attach(call_site::current));
        let stored = shutdown::StoredFunctions {
            open: host_callbacks::open,
            close: host_callbacks::close,
            forget: |py| {
                host_callbacks::forget(py);
                accelerator::forget_callbacks(py);
            },
        };
        shutdown::register_atexit(module.py(), module, stored)?;
        signals::install_signal_check();
        deferred_drop::register(module)?;
        autograd::register(module)?;
        backends::register(module)?;
        host_callbacks::register(&accelerator::register(module)?)?;
        state::register(module)?;
        hooks::register(module)?;
        dispatch::register(module)?;
        #[cfg(feature = "tensor")]
        tensor::register(module)?;
        module.add("LIBRARY", library)?;
        capi::register(module)?;
        module.add("__features__", PyTuple::new(module.py(), FEATURES)?)?;
        // Not in `__all__`: private.
        module.setattr("_detach_count", wrap_pyfunction!(detach::_detach_count, module)?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
