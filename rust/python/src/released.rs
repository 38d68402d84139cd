//! Python objects that are let go on threads which are not attached to the interpreter.
//!
//! PyO3 keeps them behind a lock until a thread is attached. A child that is forked while a stream's thread holds
//! that lock would wait for it for ever. So they are put on a list without a lock here.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::prelude::*;

/// A reference that may be dropped on any thread.
pub(crate) struct Released(ManuallyDrop<Py<PyAny>>);

struct Node {
    object: Py<PyAny>,
    next: *mut Node,
}

/// What was dropped and is still counted as a reference, the last first.
static DROPPED: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

impl Released {
    pub(crate) fn new<T>(object: Bound<'_, T>) -> Self {
        Released(ManuallyDrop::new(object.into_any().unbind()))
    }

    pub(crate) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.0.bind(py)
    }
}

impl Drop for Released {
    fn drop(&mut self) {
        // SAFETY: nobody uses it after this.
        let object = unsafe { ManuallyDrop::take(&mut self.0) };
        let node = Box::into_raw(Box::new(Node { object, next: ptr::null_mut() }));
        let mut next = DROPPED.load(Ordering::Relaxed);
        loop {
            // SAFETY: nobody else has seen the node.
            unsafe { (*node).next = next };
            match DROPPED.compare_exchange_weak(next, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => next = other,
            }
        }
    }
}

/// Lets go what was dropped; called wherever this thread is attached anyway.
#[inline]
pub(crate) fn let_go(_py: Python<'_>) {
    if !DROPPED.load(Ordering::Relaxed).is_null() {
        let_go_now();
    }
}

#[cold]
fn let_go_now() {
    let mut next = DROPPED.swap(ptr::null_mut(), Ordering::Acquire);
    while !next.is_null() {
        // SAFETY: every node was made by `Box::into_raw`, and this thread took the whole list for itself.
        let node = unsafe { Box::from_raw(next) };
        next = node.next;
        // The thread is attached: this may run code of Python's, which may drop more.
        drop(node.object);
    }
}
