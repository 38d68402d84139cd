//! The carrier of contexts: the state of each `contextvars.Context` is the value of one `ContextVar`, which Python copies
//! and switches with the context (PEP 567).
//!
//! The functions of CPython for contexts are looked up by name: the stable ABI lacks them, and every version exports them
//! with the signatures below.

use std::any::Any;
use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use interlock::accelerator::{self, Device};
use interlock::autograd::Mode;
use interlock::backends::{FlagSpec, MatmulPrecision, Value};
use interlock::state::Scope;
use interlock::state::internal::{self, Carrier, Receipt, State};
use libloading::os::unix::Library;
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::attached::is_attached;
use crate::traverse;

/// The value of the variable.
#[pyclass(frozen, module = "interlock._core")]
pub(crate) struct ContextState(pub(crate) State);

/// The variable, with the functions that access it.
struct Variable {
    object: Py<PyAny>,
    get: unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject, *mut *mut ffi::PyObject) -> c_int,
    set: unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject,
    reset: unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int,
}

/// The variable of the interpreter; null before the module is initialized. A program may finalize an interpreter and
/// initialize another one, so the variable is replaced, and none is freed.
static VARIABLE: AtomicPtr<Variable> = AtomicPtr::new(ptr::null_mut());

#[inline]
fn variable() -> Option<&'static Variable> {
    // SAFETY: the pointer is null, or that of a leaked box.
    unsafe { VARIABLE.load(Ordering::Acquire).as_ref() }
}

/// Creates the variable and installs the carrier.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    let variable = Box::leak(Box::new(Variable::new(py)?));
    // A look at a variable that is set is faster: CPython caches its value.
    variable.set(py, &State::EMPTY)?;
    VARIABLE.store(variable, Ordering::Release);
    internal::set_carrier(&ContextVar);
    watch(py);
    Ok(())
}

/// The id of the watcher that CPython 3.14 and newer call after each switch of contexts; -1 if there is none.
static WATCHER: AtomicI32 = AtomicI32::new(-1);

/// Keeps what this thread has seen of its context in step with switches. Before CPython 3.14, and if the eight watchers
/// of the interpreter are in use, bindings look on entry only.
fn watch(py: Python<'_>) {
    type Callback = unsafe extern "C" fn(c_int, *mut ffi::PyObject) -> c_int;
    type Add = unsafe extern "C" fn(Callback) -> c_int;
    unsafe extern "C" fn on_switch(_event: c_int, _context: *mut ffi::PyObject) -> c_int {
        // SAFETY: the interpreter calls this on an attached thread.
        sync(unsafe { Python::assume_attached() });
        0
    }
    // SAFETY: the signature is that of CPython's `context.h`.
    let Ok(add) = (unsafe { function::<Add>(c"PyContext_AddWatcher") }) else { return };
    // SAFETY: this thread is attached, and the callback lives as long as the process.
    let id = unsafe { add(on_switch) };
    if id < 0 {
        drop(PyErr::take(py));
    } else {
        WATCHER.store(id, Ordering::Relaxed);
    }
}

/// Ends the watch, before the interpreter finalizes.
pub(crate) fn unwatch(py: Python<'_>) {
    type Clear = unsafe extern "C" fn(c_int) -> c_int;
    let id = WATCHER.swap(-1, Ordering::Relaxed);
    if id < 0 {
        return;
    }
    // SAFETY: as in `watch`; the id is that of the watcher.
    let is_cleared =
        unsafe { function::<Clear>(c"PyContext_ClearWatcher").is_ok_and(|clear| clear(id) == 0) };
    if !is_cleared {
        drop(PyErr::take(py));
    }
}

/// Returns a function of CPython.
///
/// # Safety
/// The function has this type.
unsafe fn function<T: Copy>(name: &CStr) -> PyResult<T> {
    // SAFETY: guaranteed by the caller.
    let found = unsafe { Library::this().get::<T>(name.to_bytes_with_nul()) };
    let missing = || PyImportError::new_err(format!("this interpreter lacks {}", name.to_string_lossy()));
    found.map(|found| *found).map_err(|_| missing())
}

impl Variable {
    fn new(py: Python<'_>) -> PyResult<Self> {
        type New = unsafe extern "C" fn(*const c_char, *mut ffi::PyObject) -> *mut ffi::PyObject;
        // SAFETY: the signatures are those of CPython's `context.h`; the variable is a new reference.
        unsafe {
            let new: New = function(c"PyContextVar_New")?;
            let object = Bound::from_owned_ptr_or_err(py, new(c"interlock.state".as_ptr(), ptr::null_mut()))?;
            Ok(Variable {
                object: object.unbind(),
                get: function(c"PyContextVar_Get")?,
                set: function(c"PyContextVar_Set")?,
                reset: function(c"PyContextVar_Reset")?,
            })
        }
    }

    /// Returns the value in the current context; `None` if it is unset.
    #[inline]
    fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, ContextState>> {
        let mut value = ptr::null_mut();
        // SAFETY: this thread is attached, the variable lives, and the value is a new reference or null.
        let value = unsafe {
            if (self.get)(self.object.as_ptr(), ptr::null_mut(), &raw mut value) < 0 {
                // Only if memory runs out.
                drop(PyErr::take(py));
                return None;
            }
            Bound::from_owned_ptr_or_opt(py, value)?
        };
        value.cast_into().ok()
    }

    fn set(&self, py: Python<'_>, state: &State) -> PyResult<Py<PyAny>> {
        let value = Bound::new(py, ContextState(state.clone()))?;
        // SAFETY: this thread is attached, and both objects live; the token is a new reference.
        let token = unsafe {
            let token = (self.set)(self.object.as_ptr(), value.as_ptr());
            Bound::from_owned_ptr_or_err(py, token)?
        };
        Ok(token.unbind())
    }

    fn reset(&self, py: Python<'_>, token: &Bound<'_, PyAny>) -> bool {
        // SAFETY: this thread is attached.
        let is_pending = unsafe { !ffi::PyErr_Occurred().is_null() };
        let pending = if is_pending { PyErr::take(py) } else { None };
        // SAFETY: this thread is attached, and both objects live.
        let is_reset = unsafe { (self.reset)(self.object.as_ptr(), token.as_ptr()) } == 0;
        if !is_reset {
            // ValueError: the token is of another context.
            drop(PyErr::take(py));
        }
        if let Some(pending) = pending {
            pending.restore(py);
        }
        is_reset
    }
}

struct ContextVar;

impl Carrier for ContextVar {
    #[inline]
    fn load(&self) -> Option<State> {
        if !is_attached() {
            return None;
        }
        // SAFETY: this thread is attached.
        let py = unsafe { Python::assume_attached() };
        let value = variable()?.get(py);
        Some(value.map_or(State::EMPTY, |value| value.get().0.clone()))
    }

    fn store(&self, state: &State) -> Option<Receipt> {
        if !is_attached() {
            return None;
        }
        // SAFETY: this thread is attached.
        let py = unsafe { Python::assume_attached() };
        let variable = variable()?;
        // So that revoking the store leaves a value: the variable is never unset again.
        if variable.get(py).is_none() {
            variable.set(py, &State::EMPTY).ok()?;
        }
        // It fails only if memory runs out, and the caller reports that.
        Some(Box::new(variable.set(py, state).ok()?))
    }

    fn revoke(&self, receipt: Receipt) -> bool {
        let Ok(token) = receipt.downcast::<Py<PyAny>>() else { return false };
        if !is_attached() {
            return false;
        }
        // SAFETY: this thread is attached.
        let py = unsafe { Python::assume_attached() };
        // Bound, so that it is dropped at once.
        let token = token.into_bound(py);
        variable().is_some_and(|variable| variable.reset(py, &token))
    }
}

/// Visits the tokens of the layers that a scope has open in contexts: each refers to its context, which may refer to the
/// object of the scope.
pub(crate) fn traverse_scope(scope: &Scope, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    let mut result = Ok(());
    let visit_token = |receipt: &(dyn Any + Send + Sync)| {
        if let (Ok(()), Some(token)) = (&result, receipt.downcast_ref::<Py<PyAny>>()) {
            result = visit.call(token);
        }
    };
    traverse::traverse(|| scope.visit_receipts(visit_token));
    result
}

/// The proof that this thread has looked at the state of the current context. Bindings read thread state through it.
#[derive(Clone, Copy)]
pub(crate) struct Synced<'py>(PhantomData<Python<'py>>);

/// Looks at the state of the current context.
#[inline]
pub(crate) fn sync(py: Python<'_>) -> Synced<'_> {
    let value = variable().and_then(|variable| variable.get(py));
    let current = value.as_ref().map_or(&State::EMPTY, |value| &value.get().0);
    if !internal::has_seen(current.serial()) {
        internal::look_at(current);
    }
    Synced(PhantomData)
}

/// Drops what this thread has seen of its context if the interpreter does not know the thread: the context has ended with
/// the attachment.
pub(crate) fn leave_if_foreign() {
    // SAFETY: the function only reads a variable.
    if unsafe { ffi::PyGILState_GetThisThreadState() }.is_null() {
        internal::leave_context();
    }
}

impl Synced<'_> {
    /// Returns the index of the current device if this process uses a driver.
    pub(crate) fn current_device_index(self) -> Option<u8> {
        accelerator::internal::current_index()
    }

    pub(crate) fn default_device(self) -> Device {
        accelerator::default_device()
    }

    pub(crate) fn matmul_precision(self) -> MatmulPrecision {
        MatmulPrecision::get()
    }

    pub(crate) fn is_on(self, mode: Mode) -> bool {
        mode.is_on()
    }

    /// Returns the active value of a flag.
    #[inline]
    pub(crate) fn read(self, flag: &FlagSpec) -> Value {
        flag.read()
    }
}
