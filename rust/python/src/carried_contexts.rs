//! Carried values of contexts, from CPython 3.14 on: a context has values of its own, which are those of the thread while
//! it is the current one.
//!
//! The interpreter reports which context is current after each switch. Contexts are entered and exited like calls, so each
//! thread has a stack of them. The values of a context are the value of a `ContextVar` in it. Nothing reports when a context is
//! copied. A copy begins with what its original had when this thread suspended it: a task of asyncio begins after its creator
//! was suspended. Where the original runs, or was suspended by another thread, it begins with the values of the thread.

use std::cell::{Cell, RefCell};
use std::thread::{self, ThreadId};

use interlock_core::base::mutex::Mutex;
use interlock_core::binding::thread::CarriedValues;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

/// The values of a context when it was last suspended.
#[pyclass(frozen, module = "interlock._core.state")]
struct ContextValues {
    /// The context; `None` for the one that was current at the first switch. Copies of it have other objects.
    context: Option<Py<PyWeakrefReference>>,
    suspended: Mutex<Suspended>,
}

struct Suspended {
    by: ThreadId,
    values: CarriedValues,
}

/// A context that this thread has entered.
struct Entered {
    /// The context, which lives while it is entered; `None` for the one that was current at the first switch.
    context: Option<Py<PyAny>>,
    values: Py<ContextValues>,
}

thread_local! {
    /// The contexts that this thread has entered, the current one last. Empty before the first switch with carried values.
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };

    /// Whether this file enters a context, which is no switch of the program.
    static IS_TESTING: Cell<bool> = const { Cell::new(false) };
}

static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let new = || {
        let class = py.import("contextvars")?.getattr("ContextVar")?;
        Ok(class.call1(("interlock.carried",))?.unbind())
    };
    VARIABLE.get_or_try_init(py, new).map(|variable| variable.bind(py))
}

/// Saves the values of the context that was current, and restores those of the one that is now. `context` is None where a
/// thread ends.
pub(crate) fn on_switch(context: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = context.py();
    if IS_TESTING.get() {
        return Ok(());
    }
    let present = CarriedValues::save();
    let mut entered = ENTERED.take();
    if present.are_none() || context.is_none() {
        return Ok(());
    }
    if entered.is_empty() {
        entered
            .push(Entered { context: None, values: Py::new(py, ContextValues::new(None, present.clone()))? });
    }
    if let Some(left) = entered.last() {
        let suspended = Suspended::here(present.clone());
        let replaced = std::mem::replace(&mut *left.values.get().suspended.lock(), suspended);
        drop(replaced);
    }
    if is_exit(&entered, context) {
        entered.pop();
        if let Some(below) = entered.last_mut() {
            below.context = Some(context.clone().unbind());
        }
    } else {
        let values = values_of(context, &entered, present.clone())?;
        entered.push(Entered { context: Some(context.clone().unbind()), values });
    }
    let values = entered.last().map(|current| current.values.get().values());
    ENTERED.set(entered);
    if let Some(values) = values {
        values.replace(&present);
    }
    Ok(())
}

/// Returns whether the switch to `context` has exited the last context.
fn is_exit(entered: &[Entered], context: &Bound<'_, PyAny>) -> bool {
    let [.., below, last] = entered else { return false };
    match (&below.context, &last.context) {
        (Some(below), _) => below.is(context),
        // Not known yet. A context that is entered cannot be entered again.
        (None, Some(last)) => !is_entered(last.bind(context.py())),
        (None, None) => false,
    }
}

fn is_entered(context: &Bound<'_, PyAny>) -> bool {
    let py = context.py();
    IS_TESTING.set(true);
    let result = context.call_method1(intern!(py, "run"), (py.get_type::<PyAny>(),));
    IS_TESTING.set(false);
    result.is_err()
}

/// Returns the values of a context that is entered now above others; at first those of its original, or of the thread.
fn values_of(
    context: &Bound<'_, PyAny>,
    entered: &[Entered],
    present: CarriedValues,
) -> PyResult<Py<ContextValues>> {
    let py = context.py();
    let variable = variable(py)?;
    let found = variable.call_method1(intern!(py, "get"), (py.None(),))?;
    let first = match found.cast::<ContextValues>() {
        Ok(found) if found.get().is_of(context) => return Ok(found.clone().unbind()),
        Ok(original) if entered.iter().any(|entered| entered.values.is(original)) => present,
        Ok(original) => original.get().suspended_here().unwrap_or(present),
        Err(_) => present,
    };
    let weak = PyWeakrefReference::new(context)?;
    let values = Bound::new(py, ContextValues::new(Some(weak.unbind()), first))?;
    variable.call_method1(intern!(py, "set"), (&values,))?;
    Ok(values.unbind())
}

impl ContextValues {
    fn new(context: Option<Py<PyWeakrefReference>>, values: CarriedValues) -> Self {
        ContextValues { context, suspended: Mutex::new(Suspended::here(values)) }
    }

    fn values(&self) -> CarriedValues {
        self.suspended.lock().values.clone()
    }

    /// Returns the values if this thread has suspended the context.
    fn suspended_here(&self) -> Option<CarriedValues> {
        let suspended = self.suspended.lock();
        (suspended.by == thread::current().id()).then(|| suspended.values.clone())
    }

    fn is_of(&self, context: &Bound<'_, PyAny>) -> bool {
        let own = self.context.as_ref().and_then(|own| own.bind(context.py()).upgrade());
        own.is_some_and(|own| own.is(context))
    }
}

impl Suspended {
    fn here(values: CarriedValues) -> Self {
        Suspended { by: thread::current().id(), values }
    }
}
