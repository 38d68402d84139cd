//! Functions of Python that are asked where a request for memory can't be served.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use interlock::accelerator::Error;
use interlock::accelerator::memory::{self, OutOfMemory, Registration as Asked};
use once_cell::race::OnceBox;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use crate::deferred_drop::DeferredDrop;
use crate::detach::{attach, call};
use crate::errors::exception;
use crate::pending_exception;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Registration>()?;
    module.add_function(wrap_pyfunction!(on_oom, module)?)
}

/// Every function that is registered, so that it can be let go before the interpreter ends.
struct Callbacks {
    last: u64,
    functions: Vec<(u64, DeferredDrop)>,
}

/// Locked only by threads that are attached, and for a few steps: a fork never finds it locked by another thread.
static CALLBACKS: Mutex<Callbacks> = Mutex::new(Callbacks { last: 0, functions: Vec::new() });

/// How many there are, for threads that are not attached.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Does something with the functions; those that have to go are returned, so that they go without the lock.
fn with_callbacks<T>(act: impl FnOnce(&mut Callbacks) -> T) -> T {
    let mut callbacks: MutexGuard<'_, _> = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
    let result = act(&mut callbacks);
    COUNT.store(callbacks.functions.len(), Ordering::Relaxed);
    result
}

/// Lets every function go.
pub(crate) fn forget(_py: Python<'_>) {
    drop(with_callbacks(|callbacks| std::mem::take(&mut callbacks.functions)));
}

/// Asks the functions in turn until one says that it is worth while to try once more. What one raises is kept.
fn ask(told: &OutOfMemory) -> bool {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let again = attach(|py| {
        let functions: Vec<_> = with_callbacks(|callbacks| {
            callbacks.functions.iter().map(|(_, function)| function.bind(py).clone()).collect()
        });
        let told = Error::OutOfMemory(Box::new(told.clone()));
        let error = exception(py, &told);
        for function in functions {
            match call(&function, error.value(py)) {
                Ok(answer) if answer.cast::<PyBool>().is_ok_and(|answer| answer.is_true()) => return true,
                Ok(_) => {}
                Err(raised) => {
                    // Without it the exception still says what happened.
                    let _ = add_context(py, &raised, &error);
                    pending_exception::stash(py, told, raised);
                    return false;
                }
            }
        }
        false
    });
    again.unwrap_or(false)
}

/// Says that an exception was raised where another was dealt with, unless it is told already.
fn add_context(py: Python<'_>, raised: &PyErr, context: &PyErr) -> PyResult<()> {
    /// A program may have tied exceptions in a circle.
    const LONGEST: usize = 1000;
    let context = context.value(py).as_any();
    let mut last = raised.value(py).as_any().clone();
    for _ in 0..LONGEST {
        if last.is(context) {
            return Ok(());
        }
        let next = last.getattr("__context__")?;
        if next.is_none() {
            return last.setattr("__context__", context);
        }
        last = next;
    }
    Ok(())
}

/// Has `callback` called with the `OutOfMemoryError` where a device has no room for what was asked, before that is
/// raised. It returns True if it is worth while to try once more, because it let something go; nothing else is asked
/// then.
///
/// It runs on the thread that allocates; what it allocates itself does not ask again. What it raises is raised by the
/// allocation, with the `OutOfMemoryError` as its context. It stays registered until the object that this returns is
/// removed, or the `with` block is left.
#[pyfunction]
#[pyo3(signature = (callback, /))]
fn on_oom(callback: Bound<'_, PyAny>) -> PyResult<Registration> {
    static ASKED: OnceBox<Asked> = OnceBox::new();
    if !callback.is_callable() {
        let class = callback.get_type().name()?;
        let message = format!("accelerator.memory.on_oom takes a function, got a value of type {class}");
        return Err(PyTypeError::new_err(message));
    }
    ASKED.get_or_init(|| Box::new(memory::on_oom(ask)));
    let callback = DeferredDrop::new(callback);
    Ok(Registration(with_callbacks(|callbacks| {
        callbacks.last += 1;
        callbacks.functions.push((callbacks.last, callback));
        callbacks.last
    })))
}

/// A function that is asked where memory is short, until it is removed.
#[pyclass(frozen, module = "interlock.accelerator.memory")]
struct Registration(u64);

#[pymethods]
impl Registration {
    /// The function is not asked any more. Does nothing where it was removed before.
    fn remove(&self) {
        drop(with_callbacks(|callbacks| {
            let place = callbacks.functions.iter().position(|(number, _)| *number == self.0);
            place.map(|place| callbacks.functions.remove(place))
        }));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.remove();
    }
}
