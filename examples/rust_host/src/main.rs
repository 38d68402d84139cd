//! Serves requests with a Python function, each with modes and flags of its own, which Rust sets.
//!
//! `cargo run -p rust_host -- SITE_PACKAGES`: the folder of packages in which interlock is installed.

mod pools;

use std::error::Error;
use std::thread;

use interlock::autograd;
use interlock::backends::flags::CUDNN_BENCHMARK;
use interlock::state::ThreadState;
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
    let packages = std::env::args().nth(1).ok_or("usage: rust_host SITE_PACKAGES")?;
    // Before the interpreter starts, so that `import interlock` binds to the copy in this program.
    pyo3::append_to_inittab!(_core);
    Python::initialize();
    let handler = Python::attach(|py| -> PyResult<Py<PyAny>> {
        py.import("site")?.call_method1("addsitedir", (packages,))?;
        Ok(PyModule::from_code(py, HANDLER, c"handler.py", c"handler")?.getattr("handle")?.unbind())
    })?;

    // Guards and scopes belong to this thread; Python code that it runs obeys them.
    let no_grad = autograd::no_grad();
    let benchmark = CUDNN_BENCHMARK.scope(true)?;
    let guard = benchmark.guard();
    println!("{}", serve(&handler, "inference")?);
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
    println!("asyncio: gradients {:?}", pools::on_asyncio()?);

    // What Python writes, Rust reads.
    println!("cudnn.deterministic: {}", interlock::backends::flags::CUDNN_DETERMINISTIC.get());
    Ok(())
}

/// Calls the Python function.
fn serve(handler: &Py<PyAny>, name: &str) -> PyResult<String> {
    Python::attach(|py| handler.call1(py, (name,))?.extract(py))
}
