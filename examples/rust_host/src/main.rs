//! Serves requests with a Python function, each with modes and flags of its own, which Rust sets.
//!
//! `cargo run -p rust_host -- ENVIRONMENT`: a virtual environment in which interlock is installed.

mod changes;
mod environment;
mod pools;

use std::error::Error;
use std::path::Path;
use std::thread;

use interlock::autograd;
use interlock::backends::flags::CUDNN_BENCHMARK;
use interlock::state::{ThreadState, effective_values};
use interlock_python::_core;
use pyo3::prelude::*;
use pyo3::types::PyModule;

const HANDLER: &std::ffi::CStr = c"
import interlock
from interlock import backends

def handle(name):
    grad, benchmark = interlock.is_grad_enabled(), backends.cudnn.benchmark
    backends.cudnn.deterministic = True
    return f'{name}: gradients {grad}, cudnn.benchmark {benchmark}'
";

fn main() -> Result<(), Box<dyn Error>> {
    let environment = std::env::args_os().nth(1).ok_or("usage: rust_host ENVIRONMENT")?;
    // Before the interpreter starts, so that `import interlock` binds to the copy in this program.
    pyo3::append_to_inittab!(_core);
    environment::start_interpreter(Path::new(&environment))?;
    let handler = Python::attach(|py| -> PyResult<Py<PyAny>> {
        Ok(PyModule::from_code(py, HANDLER, c"handler.py", c"handler")?.getattr("handle")?.unbind())
    })?;

    // Guards and scopes belong to this thread; Python code that it runs obeys them.
    let no_grad = autograd::no_grad();
    let benchmark = CUDNN_BENCHMARK.scope(true)?;
    let guard = benchmark.guard();
    println!("{}", serve(&handler, "inference")?);
    println!("{}", effective_values());
    // A thread starts without them, unless it applies the state of another one.
    let state = ThreadState::capture();
    let of_threads = thread::scope(|threads| {
        let plain = threads.spawn(|| serve(&handler, "thread"));
        let carried = threads.spawn(|| state.run(|| serve(&handler, "thread with the state")));
        [plain.join(), carried.join()]
    });
    for served in of_threads {
        println!("{}", served.map_err(|_| "a thread panicked")??);
    }
    println!("rayon: gradients {:?}", pools::on_rayon()?);
    drop((guard, no_grad));
    println!("{}", serve(&handler, "training")?);
    println!("tokio: gradients {:?}", pools::on_tokio()?);
    println!("tokio, blocking work: gradients {}", pools::on_a_blocking_thread()?);
    println!("tokio, cudnn.benchmark: {:?}", pools::in_a_scope_across_an_await()?);
    println!("asyncio: gradients {:?}", pools::on_asyncio()?);

    println!("thread counts of the engine: {:?}", changes::follow_num_threads()?);
    // What Python writes, Rust reads.
    println!("cudnn.deterministic: {}", interlock::backends::flags::CUDNN_DETERMINISTIC.get());
    Ok(())
}

/// Calls the Python function.
fn serve(handler: &Py<PyAny>, name: &str) -> PyResult<String> {
    Python::attach(|py| handler.call1(py, (name,))?.extract(py))
}
