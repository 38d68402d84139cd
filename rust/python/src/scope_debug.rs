//! The warnings of `INTERLOCK_DEBUG=1` about scopes that are open or exited unexpectedly, with the lines that entered
//! them.

use std::fmt;

use interlock::backends::{SourceLocation, writes_are_traced};
use interlock::state::Scope;
use interlock_core::binding::thread::{self as binding, Entered, Exit, ExitOrder};
use pyo3::prelude::*;

use crate::call_site;
use crate::context::{Synced, sync};
use crate::errors::{IntoPyResult, ToPyErr, new_exception};
use crate::raise_later;
use crate::scope_warning::warn;

/// Returns whether scopes are traced.
#[inline]
pub(crate) fn is_on() -> bool {
    writes_are_traced()
}

/// Fails unless `what` is recorded. An empty result would mean that there is nothing.
pub(crate) fn check_traced(py: Python<'_>, what: &str) -> PyResult<()> {
    if is_on() {
        return Ok(());
    }
    let message = format!("{what} are recorded only if the process is started with INTERLOCK_DEBUG=1");
    Err(new_exception(py, "NotTracedError", message))
}

/// Looks at the state of the current context. Warns about scopes that are open in it while the generator that
/// entered them is suspended: other code then runs in their state.
pub(crate) fn warn_suspended_scopes(py: Python<'_>) -> PyResult<Synced<'_>> {
    let synced = sync(py);
    if is_on() {
        warn_newly_suspended(py)?;
    }
    Ok(synced)
}

#[cold]
#[inline(never)]
fn warn_newly_suspended(py: Python<'_>) -> PyResult<()> {
    for entered in binding::newly_suspended(&running_frames(py)) {
        let here = call_site::current(py);
        let message = format!(
            "the scope of {} entered {} is open here, while the generator that entered it is suspended; decorate that \
             function, or run it in a context of its own",
            entered.name,
            At(&entered.site, &here)
        );
        warn(py, &message, &here)?;
    }
    Ok(())
}

/// Enters a scope and records the line, and a name for messages. Has no effect if a warning about other scopes raises, or a
/// function that is called is interrupted.
pub(crate) fn enter<E: ToPyErr>(
    py: Python<'_>,
    scope: &Scope,
    name: impl FnOnce() -> String,
    enter: impl FnOnce() -> Result<(), E>,
) -> PyResult<()> {
    raise_later::forget();
    warn_suspended_scopes(py)?;
    enter().into_py_result(py)?;
    exit_if_interrupted(py, scope)?;
    if is_on() {
        record_enter(py, scope, name());
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn record_enter(py: Python<'_>, scope: &Scope, name: String) {
    let frame = call_site::user_frame(py);
    let suspendable = frame.filter(|frame| may_be_suspended(frame).unwrap_or(false));
    let entered = Entered { name: name.into(), site: call_site::current(py) };
    binding::trace_enter(scope, entered, suspendable.map(|frame| frame.as_ptr() as usize));
}

/// Exits a scope that is entered now if an exception was raised later, and returns that. From CPython 3.14 on the interpreter
/// would raise it before `with` knows that the scope is open.
#[inline]
pub(crate) fn exit_if_interrupted(py: Python<'_>, scope: &Scope) -> PyResult<()> {
    if !raise_later::is_used() {
        return Ok(());
    }
    let Some(interrupt) = raise_later::take(py) else { return Ok(()) };
    binding::exit_and_report(scope);
    Err(interrupt)
}

/// Exits a scope. With `INTERLOCK_DEBUG=1`, warns if the scope is not open, or if the exit is out of order or in another
/// context.
#[inline]
pub(crate) fn exit(py: Python<'_>, scope: &Scope, name: impl FnOnce() -> String) -> PyResult<()> {
    let exit = binding::exit_and_report(scope);
    if is_on() { warn_unexpected_exit(py, exit, &name()) } else { Ok(()) }
}

/// Warns with `INTERLOCK_DEBUG=1` about the exit of a scope that is not open.
pub(crate) fn warn_not_open(py: Python<'_>, name: &str) -> PyResult<()> {
    if !is_on() {
        return Ok(());
    }
    let message = format!(
        "the scope of {name} is exited here and is not open: it was not entered, or was exited before; the exit has no \
         effect"
    );
    warn(py, &message, &call_site::current(py))
}

#[cold]
#[inline(never)]
fn warn_unexpected_exit(py: Python<'_>, exit: Exit, name: &str) -> PyResult<()> {
    let here = call_site::current(py);
    match exit.trace() {
        ExitOrder::InOrder => Ok(()),
        ExitOrder::NotOpen => warn_not_open(py, name),
        ExitOrder::OutOfOrder { entered, later } => {
            let message = format!(
                "the scope of {} entered {} is exited here, before that of {} entered later {}, which stays open",
                entered.name,
                At(&entered.site, &here),
                later.name,
                At(&later.site, &here)
            );
            warn(py, &message, &here)
        }
        ExitOrder::Elsewhere { entered } => {
            let message = format!(
                "the scope of {} entered {} is exited here in another context or thread; it ends wherever it is open",
                entered.name,
                At(&entered.site, &here)
            );
            warn(py, &message, &here)
        }
    }
}

/// Displays where a scope was entered, in a warning that is issued at the second line.
struct At<'a>(&'a SourceLocation, &'a SourceLocation);

impl fmt::Display for At<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let At(entered, here) = self;
        if entered == here { formatter.write_str("on this line") } else { write!(formatter, "at {entered}") }
    }
}

/// Returns the addresses of the frames on this thread's stack, innermost first.
fn running_frames(py: Python<'_>) -> Vec<usize> {
    let innermost = call_site::innermost_frame(py);
    let frames = std::iter::successors(innermost, |frame| call_site::caller_of(frame));
    frames.map(|frame| frame.as_ptr() as usize).collect()
}

/// Returns whether the frame belongs to a generator, except one that `contextlib` or pytest suspends with
/// open scopes on purpose.
fn may_be_suspended(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    // CO_GENERATOR and CO_ASYNC_GENERATOR of `inspect`. A task has a context of its own, so what sees the scope of a
    // suspended coroutine has inherited it.
    const SUSPENDABLE: u32 = 0x20 | 0x200;
    let flags: u32 = frame.getattr("f_code")?.getattr("co_flags")?.extract()?;
    let on_purpose = |caller: Bound<'_, PyAny>| {
        call_site::module_of(&caller).is_some_and(|name| name == "contextlib" || name.starts_with("_pytest."))
    };
    Ok(flags & SUSPENDABLE != 0 && !call_site::caller_of(frame).is_some_and(on_purpose))
}
