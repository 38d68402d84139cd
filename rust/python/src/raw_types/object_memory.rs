//! The memory of objects that no garbage collector tracks.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;

/// Allocates the objects of one size, and keeps the memory of the last one that was freed: a scope makes and frees two
/// objects, and each call of Python's allocator takes as long as a few atomic operations.
///
/// The functions are called on attached threads, which the GIL admits one at a time (`gil::ensure_enabled`).
pub(crate) struct ObjectMemory {
    kept: AtomicPtr<ffi::PyObject>,
    size: usize,
}

impl ObjectMemory {
    pub(crate) const fn new(size: usize) -> Self {
        ObjectMemory { kept: AtomicPtr::new(ptr::null_mut()), size }
    }

    /// Returns an object of a class, which the caller initializes after the header; null, with an error set, if memory
    /// runs out.
    ///
    /// # Safety
    /// This thread is attached, and `class` is a class of this size without garbage collection.
    #[inline]
    pub(crate) unsafe fn allocate(&self, class: *mut ffi::PyTypeObject) -> *mut ffi::PyObject {
        let kept = self.kept.load(Ordering::Relaxed);
        // SAFETY: guaranteed by the caller; the memory has the size of the class, and only the new object uses it.
        unsafe {
            if !kept.is_null() {
                self.kept.store(ptr::null_mut(), Ordering::Relaxed);
                return ffi::PyObject_Init(kept, class);
            }
            let memory = ffi::PyObject_Malloc(self.size).cast::<ffi::PyObject>();
            if memory.is_null() { ffi::PyErr_NoMemory() } else { ffi::PyObject_Init(memory, class) }
        }
    }

    /// Frees the memory of an object, and drops its reference to its class.
    ///
    /// # Safety
    /// This thread is attached, and owns the object, which [`allocate`](ObjectMemory::allocate) has made.
    #[inline]
    pub(crate) unsafe fn free(&self, object: *mut ffi::PyObject) {
        // SAFETY: guaranteed by the caller; an instance of a heap type owns a reference to it.
        unsafe {
            let class = ffi::Py_TYPE(object);
            if self.kept.load(Ordering::Relaxed).is_null() {
                self.kept.store(object, Ordering::Relaxed);
            } else {
                ffi::PyObject_Free(object.cast());
            }
            ffi::Py_DECREF(class.cast());
        }
    }
}
