//! What `INTERLOCK_DEBUG=1` says of scopes: which are open where nobody expects them, and where they were
//! entered.

use interlock::backends::{SourceLocation, writes_are_traced};
use interlock::state::Scope;
use interlock::state::scope_trace::{self, ExitOrder};
use pyo3::prelude::*;

use crate::call_site;

/// Whether anything of this is to be done.
#[inline]
pub(crate) fn is_on() -> bool {
    writes_are_traced()
}

/// Warns of scopes that are open on this thread while the generator or coroutine that entered them is
/// suspended: what runs now runs in their state.
pub(crate) fn warn_suspended_scopes(py: Python<'_>) -> PyResult<()> {
    if !is_on() {
        return Ok(());
    }
    for entered in scope_trace::newly_suspended(&running_frames(py)) {
        let here = call_site::current(py);
        let message = format!(
            "the scope entered at {entered} is open at {here} too, while the generator or coroutine that \
             entered it is suspended; decorate that function, or give tasks a state of their own with \
             interlock.aio"
        );
        warn(py, &message, &here)?;
    }
    Ok(())
}

/// Enters a scope, and notes where. Nothing is entered if a warning about other scopes is an error.
pub(crate) fn enter(py: Python<'_>, scope: &Scope, enter: impl FnOnce()) -> PyResult<()> {
    warn_suspended_scopes(py)?;
    enter();
    if is_on() {
        let frame = call_site::user_frame(py);
        let suspendable = frame.filter(|frame| may_be_suspended(frame).unwrap_or(false));
        scope_trace::note_enter(scope, call_site::current(py), suspendable.map(|frame| frame.as_ptr() as usize));
    }
    Ok(())
}

/// Leaves a scope, and warns where that is odd.
pub(crate) fn exit(py: Python<'_>, scope: &Scope) -> PyResult<()> {
    scope.exit();
    if !is_on() {
        return Ok(());
    }
    let here = call_site::current(py);
    match scope_trace::note_exit(scope) {
        ExitOrder::InOrder => Ok(()),
        ExitOrder::OutOfOrder { entered, later } => {
            let message = format!(
                "the scope entered at {entered} is left at {here}, before the one entered later at {later}, \
                 which stays open"
            );
            warn(py, &message, &here)
        }
        ExitOrder::Elsewhere { entered } => {
            let message = format!(
                "the scope entered at {entered} is left at {here} by another thread or task; it ends \
                 where it was entered, with the next scope or write there"
            );
            warn(py, &message, &here)
        }
    }
}

fn warn(py: Python<'_>, message: &str, at: &SourceLocation) -> PyResult<()> {
    let class = py.import("interlock.errors")?.getattr("ScopeWarning")?;
    let (file, line) = match at {
        SourceLocation::Foreign { file, line } => (&**file, *line),
        SourceLocation::Rust(location) => (location.file(), location.line()),
    };
    py.import("warnings")?.call_method1("warn_explicit", (message, class, file, line))?;
    Ok(())
}

/// The addresses of the frames that run on this thread, the innermost first.
fn running_frames(py: Python<'_>) -> Vec<usize> {
    let innermost = call_site::innermost_frame(py);
    let frames = std::iter::successors(innermost, |frame| call_site::caller_of(frame));
    frames.map(|frame| frame.as_ptr() as usize).collect()
}

/// Whether the frame is a generator's or coroutine's, and not of one that is suspended with scopes open on
/// purpose: by `contextlib.contextmanager` and its like, and as a fixture of pytest.
fn may_be_suspended(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    // As `inspect` names them: CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR.
    const SUSPENDABLE: u32 = 0x20 | 0x80 | 0x200;
    let flags: u32 = frame.getattr("f_code")?.getattr("co_flags")?.extract()?;
    let on_purpose = |caller: Bound<'_, PyAny>| {
        call_site::module_of(&caller).is_some_and(|name| name == "contextlib" || name.starts_with("_pytest."))
    };
    Ok(flags & SUSPENDABLE != 0 && !call_site::caller_of(frame).is_some_and(on_purpose))
}
