//! The carrier of contexts: the state of each `contextvars.Context` is the value of one `ContextVar`, which Python copies
//! and switches with the context (PEP 567).
//!
//! The functions of CPython for contexts are looked up by name: the stable ABI lacks them, and every version exports them
//! with the signatures below.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use interlock::accelerator::{self, Device};
use interlock::autograd::Mode;
use interlock::backends::{FlagSpec, MatmulPrecision, Value};
use interlock::state::Scope;
use interlock_core::binding::thread::{self as binding, Carrier, Receipt, State};
use libloading::os::unix::Library;
use pyo3::exceptions::{PyImportError, PyRuntimeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{PyTraverseError, PyVisit};

use crate::attached::is_attached;
use crate::raw_types::{Header, HeapType, ObjectMemory};
use crate::{carried_contexts, traverse};

/// The value of the variable, if its layers own objects that a garbage collector visits.
#[pyclass(frozen, module = "interlock._core")]
pub(crate) struct OwningState(pub(crate) State);

/// The value of the variable otherwise. Nearly every scope makes one, so it is no class of PyO3, and no collector tracks
/// it.
#[repr(C)]
struct PlainState {
    header: Header,
    state: State,
}

static PLAIN_STATES: ObjectMemory = ObjectMemory::new(size_of::<PlainState>());

impl PlainState {
    fn class(py: Python<'_>) -> PyResult<Py<PyType>> {
        // SAFETY: the function is a destructor.
        let class = unsafe {
            HeapType::new("interlock._core.PlainState", size_of::<PlainState>())?
                .slot(ffi::Py_tp_dealloc, Self::deallocate as ffi::destructor as *mut c_void)
                .without_constructor()
        };
        Ok(class.build(py, &py.get_type::<PyAny>())?.unbind())
    }

    unsafe extern "C" fn deallocate(object: *mut ffi::PyObject) {
        // SAFETY: the interpreter calls this once, with the last reference to an object of `Variable::value_of`.
        unsafe {
            (&raw mut (*object.cast::<PlainState>()).state).drop_in_place();
            PLAIN_STATES.free(object);
        }
    }
}

/// The variable, with the functions that access it.
struct Variable {
    object: Py<PyAny>,
    plain_state: Py<PyType>,
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
    binding::set_carrier(&ContextVar);
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
    unsafe extern "C" fn on_switch(_event: c_int, context: *mut ffi::PyObject) -> c_int {
        // SAFETY: the interpreter calls this on an attached thread, with a context or None.
        let context = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), context) };
        // Before hooks of modes: what they change belongs to the context that is current now.
        let carried = carried_contexts::on_switch(&context);
        sync(context.py());
        match carried {
            Ok(()) => 0,
            Err(error) => {
                error.restore(context.py());
                -1
            }
        }
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
                plain_state: PlainState::class(py)?,
                get: function(c"PyContextVar_Get")?,
                set: function(c"PyContextVar_Set")?,
                reset: function(c"PyContextVar_Reset")?,
            })
        }
    }

    /// Calls `read` with the state in the current context; returns `None` if the variable is unset.
    #[inline]
    fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&State) -> R) -> Option<R> {
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
        // SAFETY: both are live objects.
        if unsafe { ffi::Py_TYPE(value.as_ptr()).cast() } == self.plain_state.as_ptr() {
            // SAFETY: instances of the class are made by `value_of`; `value` keeps this one alive.
            return Some(read(unsafe { &(*value.as_ptr().cast::<PlainState>()).state }));
        }
        // A program can find the variable in a context, and set it to anything.
        value.cast::<OwningState>().ok().map(|value| read(&value.get().0))
    }

    /// Returns an object with a state.
    fn value_of<'py>(&self, py: Python<'py>, state: &State) -> PyResult<Bound<'py, PyAny>> {
        if state.has_objects() {
            return Ok(Bound::new(py, OwningState(state.clone()))?.into_any());
        }
        // SAFETY: this thread is attached, the class has this size, and the state is written before other code can access
        // the object.
        unsafe {
            let object = PLAIN_STATES.allocate(self.plain_state.as_ptr().cast());
            let object = Bound::from_owned_ptr_or_err(py, object)?;
            (&raw mut (*object.as_ptr().cast::<PlainState>()).state).write(state.clone());
            Ok(object)
        }
    }

    fn set<'py>(&self, py: Python<'py>, state: &State) -> PyResult<Bound<'py, PyAny>> {
        let value = self.value_of(py, state)?;
        // SAFETY: this thread is attached, and both objects live; the token is a new reference.
        unsafe { Bound::from_owned_ptr_or_err(py, (self.set)(self.object.as_ptr(), value.as_ptr())) }
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

/// Drops the reference of a receipt, on any thread.
///
/// # Safety
/// The caller owns a reference to the token.
unsafe fn drop_token(token: NonNull<c_void>) {
    // SAFETY: guaranteed by the caller. The drop does not need the interpreter that the constructor asks for: it is
    // deferred on a thread that is not attached.
    let token = unsafe { Bound::from_owned_ptr(Python::assume_attached(), token.as_ptr().cast()) };
    drop(token.unbind());
}

impl Carrier for ContextVar {
    fn is_at_hand(&self) -> bool {
        is_attached() && variable().is_some()
    }

    fn knows_thread(&self) -> bool {
        // SAFETY: the function only reads a variable.
        unsafe { !ffi::PyGILState_GetThisThreadState().is_null() }
    }

    fn reports_switches(&self) -> bool {
        WATCHER.load(Ordering::Relaxed) >= 0
    }

    unsafe fn serial(&self) -> Option<u64> {
        // SAFETY: the caller guarantees that this thread is attached.
        let py = unsafe { Python::assume_attached() };
        variable()?.read(py, State::serial)
    }

    unsafe fn load(&self) -> Option<State> {
        // SAFETY: the caller guarantees that this thread is attached.
        let py = unsafe { Python::assume_attached() };
        variable()?.read(py, State::clone)
    }

    unsafe fn store(&self, state: &State) -> Option<Receipt> {
        // SAFETY: the caller guarantees that this thread is attached.
        let py = unsafe { Python::assume_attached() };
        // It fails only if memory runs out, and the caller reports that.
        let token = variable()?.set(py, state).ok()?;
        // SAFETY: any thread may drop the reference.
        NonNull::new(token.into_ptr().cast()).map(|token| unsafe { Receipt::new(token, drop_token) })
    }

    unsafe fn revoke(&self, receipt: Receipt) -> bool {
        // SAFETY: the caller guarantees that this thread is attached; the receipt owned a reference to its token.
        let (py, token) = unsafe {
            let py = Python::assume_attached();
            (py, Bound::from_owned_ptr(py, receipt.into_object().as_ptr().cast()))
        };
        variable().is_some_and(|variable| variable.reset(py, &token))
    }
}

/// Visits the tokens of the layers that a scope has open in contexts: each refers to its context, which may refer to the
/// object of the scope.
pub(crate) fn traverse_scope(scope: &Scope, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    let mut result = Ok(());
    let visit_token = |receipt: &Receipt| {
        if result.is_ok() {
            let token = receipt.object().cast::<ffi::PyObject>();
            // SAFETY: the receipt owns a reference, which this borrows as a `Py`, whose layout is that of a pointer.
            result = visit.call(unsafe { &*(&raw const token).cast::<Py<PyAny>>() });
        }
    };
    traverse::traverse(|| binding::visit_receipts(scope, visit_token));
    result
}

/// The proof that this thread has looked at the state of the current context. Bindings read thread state through it.
#[derive(Clone, Copy)]
pub(crate) struct Synced<'py>(PhantomData<Python<'py>>);

/// Looks at the state of the current context.
#[inline]
pub(crate) fn sync(py: Python<'_>) -> Synced<'_> {
    let look_at = |state: &State| {
        if !binding::has_seen(state.serial()) {
            binding::look_at(state);
        }
    };
    if variable().and_then(|variable| variable.read(py, look_at)).is_none() {
        look_at(&State::EMPTY);
    }
    Synced(PhantomData)
}

/// Begins the defaults of the process in the current context: hides its state until [`end_defaults`] is called with the
/// result there.
pub(crate) fn begin_defaults(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let missing = || PyRuntimeError::new_err("interlock is not initialized in this interpreter");
    let token = variable().ok_or_else(missing)?.set(py, &State::EMPTY)?;
    sync(py);
    Ok(token)
}

/// Restores the state that `begin_defaults` has hidden. Returns false, and changes nothing, in another context.
pub(crate) fn end_defaults(py: Python<'_>, token: &Bound<'_, PyAny>) -> bool {
    let is_restored = variable().is_some_and(|variable| variable.reset(py, token));
    sync(py);
    is_restored
}

/// Drops what this thread has seen of its context if the interpreter does not know the thread: the context has ended with
/// the attachment.
pub(crate) fn leave_if_foreign() {
    if !ContextVar.knows_thread() {
        binding::leave_context();
    }
}

impl Synced<'_> {
    /// Returns the index of the current device if this process uses a driver.
    pub(crate) fn current_device_index(self) -> Option<u8> {
        accelerator::current_index()
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
