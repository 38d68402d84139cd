//! The extension module `interlock._core`: converts, lets other threads run where it may block, calls
//! the crates below, converts back.
//!
//! A Rust program that embeds Python registers it before it starts the interpreter, with
//! `pyo3::append_to_inittab!(_core)`; the installed Python layer then binds to that copy.

use pyo3::prelude::*;

mod accelerator;
mod autograd;
mod backends;
mod call_site;
mod detached;
mod errors;
mod interpreter;
mod interrupt;
mod kept;
mod object;
mod py_buffer;
mod py_stack;
mod released;
mod scope_debug;
mod state;
mod submodule;
mod tensor;
mod whole;

/// The Rust side of interlock.
#[pymodule(name = "_core", module = "interlock", gil_used = false)]
pub mod _core {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        interpreter::refuse_a_second_copy(module.py())?;
        call_site::install_hook();
        detached::watch_the_end(module.py(), module)?;
        interrupt::end_waits_on_signals();
        autograd::register(module)?;
        backends::register(module)?;
        accelerator::register(module)?;
        state::register(module)?;
        tensor::register(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
