//! The state on the threads of rayon, in the tasks of tokio and in those of asyncio.

use std::error::Error;

use interlock::autograd;
use interlock::state::{self, ThreadState};
use pyo3::prelude::*;
use pyo3::types::PyModule;

/// Returns whether gradients are recorded on this thread, and on a thread of a rayon pool that has its state.
pub fn on_rayon() -> Result<(bool, bool), Box<dyn Error>> {
    let state = ThreadState::capture();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        // Once a thread, below all scopes that its work enters.
        .start_handler(move |_| state.install().unwrap_or_else(|error| eprintln!("{error}")))
        .build()?;
    Ok((autograd::is_grad_enabled(), pool.install(autograd::is_grad_enabled)))
}

/// Returns whether two tasks of one thread record gradients: one is spawned under `no_grad`, the other one after it.
pub fn on_tokio() -> Result<(bool, bool), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let inference = {
            let _no_grad = autograd::no_grad();
            tokio::spawn(ThreadState::capture().in_future(is_grad_enabled_later()))
        };
        let training = tokio::spawn(ThreadState::capture().in_future(is_grad_enabled_later()));
        Ok((inference.await?, training.await?))
    })
}

async fn is_grad_enabled_later() -> bool {
    tokio::task::yield_now().await;
    autograd::is_grad_enabled()
}

const TASKS: &std::ffi::CStr = c"
import asyncio
import interlock

async def task(read_in_rust, grad):
    with interlock.set_grad_enabled(grad):
        await asyncio.sleep(0)  # the other task runs
        return read_in_rust()

async def main(read_in_rust):
    return await asyncio.gather(task(read_in_rust, False), task(read_in_rust, True))

def run(read_in_rust):
    return tuple(asyncio.run(main(read_in_rust)))
";

/// Returns whether two tasks of asyncio record gradients, as Rust reads it: one has disabled them.
pub fn on_asyncio() -> PyResult<(bool, bool)> {
    Python::attach(|py| {
        let tasks = PyModule::from_code(py, TASKS, c"tasks.py", c"tasks")?;
        tasks.getattr("run")?.call1((wrap_pyfunction!(read_in_rust, py)?,))?.extract()
    })
}

/// Called by each task. Before Python 3.14, this thread has last seen the context of the other one.
#[pyfunction]
fn read_in_rust() -> bool {
    state::sync();
    autograd::is_grad_enabled()
}
