//! The function that is called with each registration, for the pytest plugin.

use interlock_core::base::mutex::Mutex;
use pyo3::prelude::*;

use crate::args::extract_callable;
use crate::deferred_drop::DeferredDrop;
use crate::detach::call_with;
use crate::registrations::at_end;

static OBSERVER: Mutex<Option<DeferredDrop>> = Mutex::new(None);

/// Adds `_observe_registrations` to the module of state.
pub(crate) fn register(state: &Bound<'_, PyModule>) -> PyResult<()> {
    at_end(|| {
        let observer = OBSERVER.lock().take();
        // Without the lock, because the destructor of the function may run code of the program.
        drop(observer);
    });
    // Not in `__all__`: private.
    state.setattr("_observe_registrations", wrap_pyfunction!(_observe_registrations, state)?)
}

/// Sets the function that is called with each registration: with the name of the function that registered, and the
/// object that it returns. None removes it. Returns the previous one.
#[pyfunction]
fn _observe_registrations<'py>(observer: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let what = "_observe_registrations: observer";
    let new = (!observer.is_none()).then(|| extract_callable(observer, what)).transpose()?;
    let old = std::mem::replace(&mut *OBSERVER.lock(), new);
    Ok(old.map(|old| old.bind(observer.py()).clone()))
}

/// Reports a registration to the observer and returns it.
pub(crate) fn observed<'py, T>(function: &str, registration: Bound<'py, T>) -> PyResult<Bound<'py, T>> {
    let observer = OBSERVER.lock().as_ref().map(|observer| observer.bind(registration.py()).clone());
    if let Some(observer) = observer {
        call_with(&observer, (function, registration.as_any()))?;
    }
    Ok(registration)
}
