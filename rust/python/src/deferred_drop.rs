//! Deferred drops of Python objects on threads that are not attached to the interpreter.
//!
//! PyO3 has a list for them behind a lock. A child that is forked while a stream's thread holds the lock would wait for
//! it forever, so this list is lock-free.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use interlock::base::mutex::Mutex;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

/// A reference that may be dropped on any thread.
pub(crate) struct DeferredDrop(ManuallyDrop<Py<PyAny>>);

struct Node {
    object: Py<PyAny>,
    next: *mut Node,
}

/// The dropped references whose objects are not released yet, newest first.
static DROPPED: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

impl DeferredDrop {
    pub(crate) fn new<T>(object: Bound<'_, T>) -> Self {
        DeferredDrop(ManuallyDrop::new(object.into_any().unbind()))
    }

    pub(crate) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.0.bind(py)
    }

    /// Visits the object for the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&*self.0)
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
        let object = unsafe { ManuallyDrop::take(&mut self.0) };
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
}

/// Releases the objects of all dropped references. Called by threads that have just attached.
#[inline]
pub(crate) fn drain(_py: Python<'_>) {
    if !DROPPED.load(Ordering::Relaxed).is_null() {
        drain_list();
    }
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
