//! Warns once per process if scopes of two asyncio tasks overlap, because the tasks of an event loop without
//! `interlock.aio` share the state of their thread.
//!
//! Two steps detect it, so that entering a scope and exiting it in order cost nothing. A task exits a scope below
//! another one: then the latter is watched. It may belong to the same task, for example if a generator of that task
//! opened it, so the warning waits for the watched scope to be exited, by another task.

use interlock::backends::SourceLocation;
use interlock::base::sync::{RelaxedBool, TryLock};
use interlock::state::{Scope, ScopeId};
use pyo3::prelude::*;

use crate::call_site;
use crate::scope_warning::warn;

/// A scope that was open when a task exited one below it.
struct Watched {
    scope: ScopeId,
    /// The address of the task that exited the scope below. It identifies the task: the task that entered the watched
    /// scope existed then, so it has another address unless it is the same task.
    task: usize,
    name: String,
    /// The line that exited the scope below.
    site: SourceLocation,
}

static WATCHED: TryLock<Option<Watched>> = TryLock::new(None);

/// Whether a scope is watched.
static IS_WATCHING: RelaxedBool = RelaxedBool::new(false);

static HAS_WARNED: RelaxedBool = RelaxedBool::new(false);

/// Returns whether every exit must be passed to [`after_exit`], and not only those out of order.
#[inline]
pub(crate) fn is_watching() -> bool {
    IS_WATCHING.get()
}

/// Handles the exit of a scope; `above` is the result of [`Scope::exit_and_report`].
#[inline]
pub(crate) fn after_exit(py: Python<'_>, scope: &Scope, above: Option<ScopeId>) -> PyResult<()> {
    if above.is_none() && !is_watching() {
        return Ok(());
    }
    after_noted_exit(py, scope, above)
}

#[cold]
#[inline(never)]
fn after_noted_exit(py: Python<'_>, scope: &Scope, above: Option<ScopeId>) -> PyResult<()> {
    // First, because it costs little: a watched scope that is never exited must not slow down the exits of others.
    let watched = take_watched(scope);
    if (watched.is_none() && above.is_none()) || HAS_WARNED.get() {
        return Ok(());
    }
    let Some(task) = current_task(py) else { return Ok(()) };
    let here = call_site::current(py);
    if let Some(watched) = watched.filter(|watched| watched.task != task.as_ptr().addr()) {
        HAS_WARNED.set(true);
        return warn(py, &message(&watched, &name_of(&task), &here), &here);
    }
    let Some(scope) = above else { return Ok(()) };
    // Before the lock: a method of the task is called.
    let new = Watched { scope, task: task.as_ptr().addr(), name: name_of(&task), site: here };
    if let Some(mut watched) = WATCHED.try_lock() {
        *watched = Some(new);
        IS_WATCHING.set(true);
    }
    Ok(())
}

/// Ends the watch if it is for this scope.
fn take_watched(scope: &Scope) -> Option<Watched> {
    let mut watched = WATCHED.try_lock()?;
    let found = watched.take_if(|watched| watched.scope == scope.id())?;
    IS_WATCHING.set(false);
    Some(found)
}

fn message(watched: &Watched, name: &str, here: &SourceLocation) -> String {
    format!(
        "scopes of two asyncio tasks overlap, so each task also had modes or flags of the other: {} exited a scope at \
         {} while one that {name} exits at {here} was open; give each task its own state with interlock.aio.run, or \
         with loop.set_task_factory(interlock.aio.task_factory()) before the tasks are created. This is reported once",
        watched.name, watched.site
    )
}

/// Returns the asyncio task that runs on this thread, without importing asyncio.
fn current_task(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    let modules = py.import("sys").ok()?.getattr("modules").ok()?;
    let asyncio = modules.get_item("asyncio").ok()?;
    // `current_task` raises an exception without a running loop.
    let running_loop = asyncio.call_method0("_get_running_loop").ok().filter(|found| !found.is_none())?;
    let task = asyncio.call_method1("current_task", (running_loop,)).ok()?;
    (!task.is_none()).then_some(task)
}

fn name_of(task: &Bound<'_, PyAny>) -> String {
    let name = task.call_method0("get_name").and_then(|name| name.extract());
    name.unwrap_or_else(|_| "a task".into())
}
