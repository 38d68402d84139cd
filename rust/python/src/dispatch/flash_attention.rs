//! Implementations of flash attention that other libraries provide. One at a time is active in the process.

use std::collections::BTreeMap;

use interlock_core::base::mutex::Mutex;
use interlock_core::base::quote::quoted;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::args::extract_str;
use crate::deferred_drop::DeferredDrop;
use crate::detach::call_with;
use crate::errors::new_type_error;
use crate::registrations::at_end;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    at_end(forget);
    module.add_function(wrap_pyfunction!(register_flash_attention_impl, module)?)?;
    module.add_function(wrap_pyfunction!(activate_flash_attention_impl, module)?)?;
    module.add_function(wrap_pyfunction!(list_flash_attention_impls, module)?)?;
    module.add_function(wrap_pyfunction!(current_flash_attention_impl, module)?)?;
    // Not in `__all__`: private.
    module.setattr("_restore_flash_attention_impl", wrap_pyfunction!(_restore_flash_attention_impl, module)?)
}

static IMPLEMENTATIONS: Mutex<Implementations> =
    Mutex::new(Implementations { known: BTreeMap::new(), active: None });

struct Implementations {
    /// The functions that activate an implementation, by name.
    known: BTreeMap<String, DeferredDrop>,
    active: Option<Active>,
}

/// The active implementation, and the handle that deactivates it.
struct Active {
    name: String,
    handle: DeferredDrop,
}

/// Releases all functions and handles, before the interpreter is finalized.
fn forget() {
    let (known, active) = {
        let mut all = IMPLEMENTATIONS.lock();
        (std::mem::take(&mut all.known), all.active.take())
    };
    drop((known, active));
}

/// Calls `remove` of the handle of an implementation that is not active any more. If it raises, the implementation stays
/// active, unless another one is.
fn remove(py: Python<'_>, active: Active) -> PyResult<()> {
    let removed =
        active.handle.bind(py).getattr("remove").and_then(|remove| call_with(&remove, ()).map(drop));
    if removed.is_err() {
        let mut all = IMPLEMENTATIONS.lock();
        if all.active.is_none() {
            all.active = Some(active);
        }
    }
    removed
}

/// Register the function that activates an implementation of flash attention.
///
/// Args:
///     impl: The name. A function that was registered with it before is replaced.
///     register_fn: A function without required arguments, which `activate_flash_attention_impl` calls. It registers
///         kernels, usually with `dispatch.register_kernel(..., replaces="flash")`, and returns an object whose `remove`
///         removes them, such as the registered kernel; or None if they cannot be removed.
///
/// Raises:
///     TypeError: `impl` is not a str or `register_fn` is not callable.
///
/// Example:
///     >>> from interlock import dispatch
///     >>> from interlock.nn import attention
///     >>> def activate():
///     ...     kernel = lambda query, key, value, **options: NotImplemented
///     ...     name = "scaled_dot_product_attention"
///     ...     return dispatch.register_kernel(name, "mine", kernel, replaces="flash")
///     >>> attention.register_flash_attention_impl("mine", register_fn=activate)
///     >>> attention.activate_flash_attention_impl("mine")
///     >>> attention.current_flash_attention_impl()
///     'mine'
///     >>> attention.restore_flash_attention_impl()
#[pyfunction]
#[pyo3(signature = (r#impl, *, register_fn))]
fn register_flash_attention_impl(r#impl: &Bound<'_, PyAny>, register_fn: &Bound<'_, PyAny>) -> PyResult<()> {
    let name = extract_str(r#impl, "register_flash_attention_impl: impl")?.into_owned();
    if !register_fn.is_callable() {
        return Err(new_type_error("register_flash_attention_impl: register_fn", "callable", register_fn));
    }
    let replaced = IMPLEMENTATIONS.lock().known.insert(name, DeferredDrop::new(register_fn.clone()));
    // Without the lock, because the destructor of the function may run code of the program.
    drop(replaced);
    Ok(())
}

/// Activate an implementation of flash attention in the process, instead of the active one.
///
/// The active implementation is removed first. If the function of the new one raises, none is active.
///
/// Args:
///     impl: The name of a registered implementation. ``"FA3"`` and ``"FA4"`` import the package that contains them.
///
/// Raises:
///     ValueError: No implementation of this name is registered.
///     TypeError: `impl` is not a str.
///     ModuleNotFoundError: The package of ``"FA3"`` or ``"FA4"`` is not installed.
#[pyfunction]
fn activate_flash_attention_impl(py: Python<'_>, r#impl: &Bound<'_, PyAny>) -> PyResult<()> {
    let name = extract_str(r#impl, "activate_flash_attention_impl: impl")?.into_owned();
    let (function, names) = {
        let all = IMPLEMENTATIONS.lock();
        let function = all.known.get(&name).map(|function| function.bind(py).clone());
        (function, all.known.keys().map(|name| quoted(name)).collect::<Vec<_>>())
    };
    let Some(function) = function else {
        return Err(PyValueError::new_err(format!(
            "activate_flash_attention_impl: impl must be one of {}, got {}",
            names.join(", "),
            quoted(&name)
        )));
    };
    restore(py)?;
    let handle = call_with(&function, ())?;
    if handle.is_none() {
        return Ok(());
    }
    let handle = DeferredDrop::new(handle);
    let replaced = IMPLEMENTATIONS.lock().active.replace(Active { name, handle });
    // Another thread has activated one meanwhile.
    replaced.map_or(Ok(()), |replaced| remove(py, replaced))
}

/// Return the names of the registered implementations of flash attention, in alphabetical order.
#[pyfunction]
fn list_flash_attention_impls() -> Vec<String> {
    IMPLEMENTATIONS.lock().known.keys().cloned().collect()
}

/// Return the name of the active implementation of flash attention, or None for interlock's own kernels. An
/// implementation whose function returned None is not reported.
#[pyfunction]
fn current_flash_attention_impl() -> Option<String> {
    IMPLEMENTATIONS.lock().active.as_ref().map(|active| active.name.clone())
}

/// Removes the active implementation; returns whether there was one.
fn restore(py: Python<'_>) -> PyResult<bool> {
    let active = IMPLEMENTATIONS.lock().active.take();
    match active {
        Some(active) => remove(py, active).map(|()| true),
        None => Ok(false),
    }
}

/// Remove the active implementation of flash attention, and return whether there was one.
#[pyfunction]
fn _restore_flash_attention_impl(py: Python<'_>) -> PyResult<bool> {
    restore(py)
}
