//! The state on the threads of rayon, in the tasks of tokio and in those of asyncio.

use std::error::Error;

use interlock::autograd::{self, Mode};
use interlock::backends::FlagScope;
use interlock::backends::flags::CUDNN_BENCHMARK;
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

/// Returns whether gradients are recorded on a thread for blocking work, such as a call of Python, which has the state of
/// its task.
pub fn on_a_blocking_thread() -> Result<bool, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let no_grad = ThreadState::capture().with_mode(Mode::Grad, false);
    let task = no_grad.in_future(async {
        let state = ThreadState::capture();
        tokio::task::spawn_blocking(move || state.run(autograd::is_grad_enabled)).await
    });
    Ok(runtime.block_on(task)?)
}

/// A scope that a future holds while it waits. It may be dropped on any thread, unlike a guard, which is not `Send`.
struct HeldScope(FlagScope);

impl HeldScope {
    fn new(scope: FlagScope) -> interlock::Result<Self> {
        scope.try_enter()?;
        Ok(HeldScope(scope))
    }
}

impl Drop for HeldScope {
    fn drop(&mut self) {
        self.0.exit();
    }
}

/// Returns the value of a flag in a task with a scope that is open across an await: before, inside and after. Also returns the
/// value in another task of the thread while the scope is open.
pub fn in_a_scope_across_an_await() -> Result<([bool; 3], bool), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let state = ThreadState::capture();
        let task = tokio::spawn(state.in_future(around_a_scope()));
        tokio::task::yield_now().await;
        let other = tokio::spawn(state.in_future(async { CUDNN_BENCHMARK.get() })).await?;
        Ok((task.await??, other))
    })
}

async fn around_a_scope() -> interlock::Result<[bool; 3]> {
    let before = CUDNN_BENCHMARK.get();
    let held = HeldScope::new(CUDNN_BENCHMARK.scope(true)?)?;
    tokio::task::yield_now().await;
    let inside = CUDNN_BENCHMARK.get();
    // Also if the task is cancelled: a future is dropped in its own state.
    drop(held);
    Ok([before, inside, CUDNN_BENCHMARK.get()])
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
