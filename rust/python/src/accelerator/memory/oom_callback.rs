//! Python callbacks for out-of-memory errors.

use std::sync::atomic::{AtomicUsize, Ordering};

use interlock::accelerator::Error;
use interlock::accelerator::memory::{self, OutOfMemory, Registration as CoreRegistration};
use interlock_core::base::mutex::Mutex;
use once_cell::race::OnceBox;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::deferred_drop::{self, DeferredDrop};
use crate::detach::{attach, call};
use crate::errors::{exception, new_type_error};
use crate::pending_exception;
use crate::registration_observer::observed;
use crate::registrations::{Registration, keep};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    static RECLAIM: OnceBox<CoreRegistration> = OnceBox::new();
    // Dropped Python objects that are not released yet may hold memory.
    RECLAIM.get_or_init(|| Box::new(memory::on_shortage(|_, _| release_dropped_objects())));
    module.add_function(wrap_pyfunction!(on_oom, module)?)
}

/// Releases the dropped objects on a thread that is not attached; returns whether there were any.
fn release_dropped_objects() -> bool {
    deferred_drop::is_pending() && attach(deferred_drop::drain).is_some()
}

/// The registered callbacks, stored here so that they can be released before the interpreter is finalized.
struct Callbacks {
    last: u64,
    functions: Vec<(u64, DeferredDrop)>,
}

/// Locked only by attached threads and briefly, so that it is never locked by another thread during a fork.
static CALLBACKS: Mutex<Callbacks> = Mutex::new(Callbacks { last: 0, functions: Vec::new() });

/// The number of callbacks, for threads that are not attached.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Calls `action` with the locked callbacks. It returns removed callbacks, which are dropped without the lock.
fn with_callbacks<T>(action: impl FnOnce(&mut Callbacks) -> T) -> T {
    let mut callbacks = CALLBACKS.lock();
    let result = action(&mut callbacks);
    COUNT.store(callbacks.functions.len(), Ordering::Relaxed);
    result
}

/// Releases all callbacks.
pub(crate) fn forget(_py: Python<'_>) {
    drop(with_callbacks(|callbacks| std::mem::take(&mut callbacks.functions)));
}

/// Calls the callbacks in order until one returns True to retry the allocation. Stores an exception of a callback,
/// which the allocation raises.
fn call_callbacks(oom: &OutOfMemory) -> bool {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let retry = attach(|py| {
        let functions: Vec<_> = with_callbacks(|callbacks| {
            callbacks.functions.iter().map(|(_, function)| function.bind(py).clone()).collect()
        });
        let oom = Error::OutOfMemory(Box::new(oom.clone()));
        let error = exception(py, &oom);
        for function in functions {
            match call(&function, error.value(py)) {
                Ok(answer) if answer.cast::<PyBool>().is_ok_and(|answer| answer.is_true()) => return true,
                Ok(_) => {}
                Err(raised) => {
                    // Errors are ignored: the exception is useful without its context.
                    let _ = add_context(py, &raised, &error);
                    pending_exception::stash(py, oom, raised);
                    return false;
                }
            }
        }
        false
    });
    retry.unwrap_or(false)
}

/// Sets `context` as the last `__context__` in the chain of an exception, unless the chain contains it.
fn add_context(py: Python<'_>, raised: &PyErr, context: &PyErr) -> PyResult<()> {
    /// A bound, because a program may have created a cycle.
    const MAX_LENGTH: usize = 1000;
    let context = context.value(py).as_any();
    let mut last = raised.value(py).as_any().clone();
    for _ in 0..MAX_LENGTH {
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

/// Register a callback for out-of-memory errors.
///
/// The callback runs on the allocating thread before the error is raised, and is not called for its own allocations. An
/// exception of the callback is raised by the allocation, with the `OutOfMemoryError` as its context.
///
/// Args:
///     callback: Called with the `OutOfMemoryError`. Return True to retry the allocation; remaining callbacks are
///         skipped.
///
/// Returns:
///     The registration. The callback is removed by its `remove` method, or at the end of a `with` block.
///
/// Raises:
///     TypeError: `callback` is not callable.
///
/// Example:
///     >>> from interlock import accelerator, errors
///     >>> accelerator.use("host", memory=1 << 20)
///     >>> failed = []
///     >>> with accelerator.memory.on_oom(lambda error: failed.append(error.requested)):
///     ...     try:
///     ...         accelerator.memory.Buffer(1 << 30)
///     ...     except errors.OutOfMemoryError:
///     ...         print(*failed)
///     1073741824
#[pyfunction]
#[pyo3(signature = (callback, /))]
fn on_oom(callback: Bound<'_, PyAny>) -> PyResult<Bound<'_, Registration>> {
    static REGISTRATION: OnceBox<CoreRegistration> = OnceBox::new();
    if !callback.is_callable() {
        return Err(new_type_error("accelerator.memory.on_oom: callback", "callable", &callback));
    }
    REGISTRATION.get_or_init(|| Box::new(memory::on_oom(call_callbacks)));
    let py = callback.py();
    let callback = DeferredDrop::new(callback);
    let number = with_callbacks(|callbacks| {
        callbacks.last += 1;
        callbacks.functions.push((callbacks.last, callback));
        callbacks.last
    });
    observed("interlock.accelerator.memory.on_oom", Bound::new(py, keep(Callback(number)))?)
}

/// Removes a callback when it is dropped.
struct Callback(u64);

impl Drop for Callback {
    fn drop(&mut self) {
        drop(with_callbacks(|callbacks| {
            let index = callbacks.functions.iter().position(|(number, _)| *number == self.0);
            index.map(|index| callbacks.functions.remove(index))
        }));
    }
}
