//! Runs a Python script in this process and shares flags and modes with it.
//!
//! `cargo run -p embed_host -- examples/quickstart.py`
//!
//! `cargo run -p embed_host -- --example-driver examples/driver/devices.py`
//!
//! The second command selects the driver of `examples/driver` before the interpreter starts, so that the script uses
//! its devices. With `--example-kernel` the program registers a kernel that obeys the flag `miopen.immediate`, and
//! prints the choice that the script's assignment of the flag leads to.
//!
//! `cargo run -p embed_host -- --attention-kernel SCRIPT.py`
//!
//! This command registers the kernel of `examples/attention`, which the script can choose.
//!
//! `cargo run -p embed_host -- --call FUNCTION SCRIPT.py`
//!
//! After the script, this command calls one of its functions while Rust sets a mode with a guard, and a flag.
//!
//! `cargo run -p embed_host -- --end-interpreter SCRIPT.py`
//!
//! At last, this command ends the interpreter. Rust then uses a state that it has captured.
//!
//! The Python layer of interlock comes from the virtual environment `VIRTUAL_ENV`, or `.venv`, where `make install`
//! installs it. The program registers the extension module that it is linked with, so that Rust and Python share one
//! state.

#[path = "../../rust_host/src/environment.rs"]
mod environment;
mod kernel;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use example_driver::ExampleDriver;
use interlock::accelerator;
use interlock::autograd;
use interlock::backends::flags;
use interlock::state::ThreadState;
use interlock_python::_core;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("embed_host: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let mut option = |name: &str| {
        let is_first = arguments.first().is_some_and(|first| first == name);
        if is_first {
            arguments.remove(0);
        }
        is_first
    };
    let has_kernel = option("--example-kernel");
    if has_kernel {
        kernel::register()?;
    }
    if option("--example-driver") {
        // Selected, not only registered, because an environment variable may select another driver.
        accelerator::use_driver(ExampleDriver::new(2)?)?;
    }
    if option("--attention-kernel") {
        example_attention::register()?;
    }
    let ends_interpreter = option("--end-interpreter");
    let mut function = None;
    if option("--call") && !arguments.is_empty() {
        function = Some(arguments.remove(0).to_string_lossy().into_owned());
    }
    let usage = "usage: embed_host [--example-kernel] [--example-driver] [--attention-kernel] \
                 [--end-interpreter] [--call FUNCTION] SCRIPT.py";
    let script = arguments.first().ok_or(usage)?;
    let script = PathBuf::from(script);
    // Before the interpreter starts, so that `import interlock` uses this copy.
    pyo3::append_to_inittab!(_core);
    let environment = std::env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty());
    environment::start_interpreter(Path::new(&environment.unwrap_or_else(|| ".venv".into())))?;
    Python::attach(|py| -> PyResult<()> {
        let script = run_script(py, &script)?;
        if let Some(function) = &function {
            flags::CUDNN_BENCHMARK.set(true).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            let _mode = autograd::no_grad();
            script.get_item(function)?.call0()?;
        }
        println!("\nseen from Rust, in the same process:");
        println!("  mkldnn.deterministic, which the script assigned: {}", flags::MKLDNN_DETERMINISTIC.get());
        if has_kernel {
            println!("  the choice of a kernel: {}", kernel::explain());
        }
        py.run(c"import interlock; interlock.set_grad_enabled(False)", None, None)?;
        println!("  gradients on this thread, after Python turned them off: {}", autograd::is_grad_enabled());
        Ok(())
    })?;
    let elsewhere = std::thread::spawn(autograd::is_grad_enabled).join();
    println!("  gradients on another thread: {}", elsewhere.unwrap_or_default());
    if ends_interpreter {
        let state = Python::attach(|_py| ThreadState::capture());
        end_interpreter();
        let elsewhere = std::thread::spawn(move || state.run(autograd::is_grad_enabled)).join();
        println!("  gradients in the captured state, without Python: {}", elsewhere.unwrap_or(true));
    }
    Ok(())
}

fn end_interpreter() {
    // SAFETY: this thread has started the interpreter, and no other one uses it.
    let is_ended = unsafe {
        pyo3::ffi::PyGILState_Ensure();
        pyo3::ffi::Py_FinalizeEx() == 0
    };
    println!("  the interpreter has ended: {is_ended}");
}

/// Runs a file like `python FILE`, and returns its global names.
fn run_script<'py>(py: Python<'py>, script: &PathBuf) -> PyResult<Bound<'py, PyAny>> {
    py.import("sys")?.setattr("argv", vec![script])?;
    py.import("runpy")?.call_method1("run_path", (script, py.None(), "__main__"))
}
