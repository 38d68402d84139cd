//! Functions of the program that interlock calls until they are removed.

use std::any::Any;

use interlock_core::base::mutex::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The registered objects, so that they can be released before the interpreter is finalized.
static REGISTERED: Mutex<Registered> = Mutex::new(Registered { last: 0, all: Vec::new() });

struct Registered {
    last: u64,
    all: Vec<(u64, Box<dyn Any + Send>)>,
}

/// The functions of other modules that release what they store.
static AT_END: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

/// Calls a function when all functions are released, before the interpreter is finalized.
pub(crate) fn at_end(release: fn()) {
    AT_END.lock().push(release);
}

/// Releases all functions.
pub(crate) fn forget() {
    let releases = AT_END.lock().clone();
    releases.into_iter().for_each(|release| release());
    let all = std::mem::take(&mut REGISTERED.lock().all);
    drop(all);
}

/// Refuses the enter of a registration that has ended, whose block would have no effect.
pub(crate) fn err_if_removed(is_registered: bool, class: &str, what: &str) -> PyResult<()> {
    if is_registered {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!("{class}.__enter__: {what} was removed; register it again")))
}

/// A function that interlock calls. `with registration:` removes it at the end of the block.
#[pyclass(frozen, module = "interlock.state")]
pub(crate) struct Registration(u64);

#[pymethods]
impl Registration {
    /// Whether the function was not removed.
    #[getter]
    fn is_registered(&self) -> bool {
        REGISTERED.lock().all.iter().any(|(number, _)| *number == self.0)
    }

    /// Remove the function. Has no effect if it was removed before.
    fn remove(&self) {
        let mut registered = REGISTERED.lock();
        let index = registered.all.iter().position(|(number, _)| *number == self.0);
        let removed = index.map(|index| registered.all.remove(index));
        drop(registered);
        // Without the lock, because the destructor of the function may run code of the program.
        drop(removed);
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        err_if_removed(slf.get().is_registered(), "Registration", "the function")?;
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.remove();
    }
}

/// Keeps what removes a function when it is dropped, until the registration is removed.
pub(crate) fn keep(registration: impl Any + Send) -> Registration {
    let mut registered = REGISTERED.lock();
    registered.last += 1;
    let number = registered.last;
    registered.all.push((number, Box::new(registration)));
    Registration(number)
}
