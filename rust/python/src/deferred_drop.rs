//! Drops of Python objects that core objects own, on threads that may not be attached to the interpreter.
//!
//! PyO3 has a list for them behind a lock. A child that is forked while a stream's thread holds the lock would wait for
//! it forever, so this list is lock-free.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use interlock_core::base::mutex::Mutex;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit, ffi};

use crate::attached::is_attached;

/// A reference that may be dropped on any thread. On an attached thread this releases the object at once, so it may run
/// Python code. On other threads the object is released by the next [`drain`]: the end of an operation, a garbage
/// collection, or an allocation that fails.
pub(crate) struct DeferredDrop {
    object: ManuallyDrop<Py<PyAny>>,
    /// Whether an attached thread releases the object at once.
    is_immediate: bool,
}

struct Node {
    object: Py<PyAny>,
    next: *mut Node,
}

/// The dropped references whose objects are not released yet, newest first.
static DROPPED: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

impl DeferredDrop {
    pub(crate) fn new<T>(object: Bound<'_, T>) -> Self {
        DeferredDrop::with(object, true)
    }

    /// Creates a reference whose drop runs no Python code on any thread, for owners that may drop it while they hold a
    /// lock, such as a driver.
    pub(crate) fn new_for_driver<T>(object: Bound<'_, T>) -> Self {
        DeferredDrop::with(object, false)
    }

    fn with<T>(object: Bound<'_, T>, is_immediate: bool) -> Self {
        DeferredDrop { object: ManuallyDrop::new(object.into_any().unbind()), is_immediate }
    }

    pub(crate) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }

    /// Returns whether both refer to one object.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.object.is(&*other.object)
    }

    /// Visits the object for the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&*self.object)
    }
}

/// A reference that a garbage collector may clear. It is None afterwards.
pub(crate) struct Clearable(Mutex<Option<DeferredDrop>>);

impl Clearable {
    pub(crate) fn new<T>(object: Bound<'_, T>) -> Self {
        Clearable(Mutex::new(Some(DeferredDrop::new(object))))
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let object = self.0.lock();
        object.as_ref().map_or_else(|| py.None().into_bound(py), |object| object.bind(py).clone())
    }

    /// Visits the object for the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.lock().as_ref().map_or(Ok(()), |object| object.traverse(visit))
    }

    pub(crate) fn clear(&self) {
        let object = self.0.lock().take();
        drop(object);
    }
}

impl Drop for DeferredDrop {
    fn drop(&mut self) {
        // SAFETY: the field is not used after `drop`.
        let object = unsafe { ManuallyDrop::take(&mut self.object) };
        if self.is_immediate && is_attached() {
            // SAFETY: this thread is attached, and owns the reference. PyO3 would defer the release on a thread that
            // another module has attached.
            return unsafe { ffi::Py_DecRef(object.into_ptr()) };
        }
        defer(object);
    }
}

fn defer(object: Py<PyAny>) {
    let node = Box::into_raw(Box::new(Node { object, next: ptr::null_mut() }));
    let mut next = DROPPED.load(Ordering::Relaxed);
    loop {
        // SAFETY: no other thread has seen the node yet.
        unsafe { (*node).next = next };
        match DROPPED.compare_exchange_weak(next, node, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) => next = other,
        }
    }
}

/// Releases the objects of all references that detached threads have dropped. Called by threads that have just attached.
#[inline]
pub(crate) fn drain(_py: Python<'_>) {
    if is_pending() {
        drain_list();
    }
}

/// Returns whether objects of dropped references wait for [`drain`].
pub(crate) fn is_pending() -> bool {
    !DROPPED.load(Ordering::Relaxed).is_null()
}

#[cold]
fn drain_list() {
    let mut next = DROPPED.swap(ptr::null_mut(), Ordering::Acquire);
    while !next.is_null() {
        // SAFETY: `Box::into_raw` created the node, and this thread has taken the whole list.
        let node = unsafe { Box::from_raw(next) };
        next = node.next;
        // May run Python code, which may drop more references.
        drop(node.object);
    }
}

/// Makes each garbage collection release the objects, before it searches for cycles and after it.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let callback = wrap_pyfunction!(_on_collection, module)?;
    py.import("gc")?.getattr("callbacks")?.call_method1("append", (callback,)).map(drop)
}

/// Release the objects that core objects on other threads have owned. A callback of `gc.callbacks`.
#[pyfunction]
fn _on_collection(py: Python<'_>, _phase: &Bound<'_, PyAny>, _info: &Bound<'_, PyAny>) {
    drain(py);
}
