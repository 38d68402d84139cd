//! The warning about scopes of asyncio tasks that share the state of their thread.
//!
//! If a task awaits inside a scope, other tasks of the loop run in the scope, too. A scope that is exited while one that
//! was entered later is still open shows it, and costs a check only then. Scopes of other tasks that are entered and
//! exited in between do not show it; `INTERLOCK_DEBUG=1` reports them.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

use crate::{call_site, scope_debug};

/// Whether the warning was issued in this process.
static WARNED: AtomicBool = AtomicBool::new(false);

/// Warns, once per process, if this thread runs a task of an event loop with several tasks. Called after a scope was
/// exited while one that was entered later is still open.
#[cold]
pub(crate) fn warn_once(py: Python<'_>) -> PyResult<()> {
    if WARNED.load(Ordering::Relaxed) || !runs_one_of_several_tasks(py).unwrap_or(false) {
        return Ok(());
    }
    if WARNED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let here = call_site::current(py);
    let message = format!(
        "scopes of asyncio tasks of one event loop interleave: the scope that is exited at {here} was entered before \
         one that is still open, so each task has run in the scopes of the other; give each task a state of its own \
         with interlock.aio.run(main()), or with loop.set_task_factory(interlock.aio.task_factory())"
    );
    scope_debug::warn(py, &message, &here)
}

fn runs_one_of_several_tasks(py: Python<'_>) -> PyResult<bool> {
    // A program without asyncio runs no task, and must not import it for this.
    let modules = py.import("sys")?.getattr("modules")?;
    let asyncio = modules.call_method1("get", ("asyncio",))?;
    if asyncio.is_none() {
        return Ok(false);
    }
    let event_loop = asyncio.call_method0("_get_running_loop")?;
    if event_loop.is_none() || asyncio.call_method1("current_task", (&event_loop,))?.is_none() {
        return Ok(false);
    }
    Ok(asyncio.call_method1("all_tasks", (event_loop,))?.len()? > 1)
}
