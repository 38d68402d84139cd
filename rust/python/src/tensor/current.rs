//! The core tensor of a Python object, which an assignment to `data` replaces while operations may read it.
//!
//! An operation borrows its operands, because a clone of each costs a tenth of a small operation, and it may detach from the
//! interpreter. So the object keeps the replaced handles until no operation reads it.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use interlock_core::base::mutex::Mutex;
use interlock_tensor::Tensor as CoreTensor;
use once_cell::race::OnceBox;
use pyo3::ffi;
use pyo3::prelude::*;

/// One thread at a time is attached: the header of objects has a count of references and a type, and no lock.
const HAS_GIL: bool = size_of::<ffi::PyObject>() == 2 * size_of::<usize>();

/// A handle of a tensor that can be replaced.
pub(super) struct Current {
    /// An owned handle. It is null while CPython creates the object, whose memory is zeros: to create the `__dict__` can start
    /// a garbage collection, which visits the object, or fail.
    tensor: AtomicPtr<()>,
    /// The number of [`TensorRef`] of this object.
    readers: AtomicUsize,
    /// Handles that readers may still use.
    replaced: OnceBox<Mutex<Vec<CoreTensor>>>,
}

impl Current {
    pub fn new(tensor: CoreTensor) -> Self {
        let tensor = AtomicPtr::new(tensor.into_raw());
        Current { tensor, readers: AtomicUsize::new(0), replaced: OnceBox::new() }
    }

    /// Returns the tensor. It remains valid if it is replaced.
    #[inline]
    pub fn read<'a>(&'a self, _py: Python<'_>) -> TensorRef<'a> {
        // Counted first: a thread that replaces the tensor drops the old one if it sees no reader afterwards.
        self.count_reader(1);
        let tensor = self.tensor.load(Ordering::SeqCst);
        // SAFETY: the handle is dropped after the last reader, which is counted, and the copy is never dropped.
        let tensor = ManuallyDrop::new(unsafe { CoreTensor::from_raw(tensor) });
        TensorRef { tensor, owner: self, attached: PhantomData }
    }

    /// Returns the tensor for the garbage collector, which calls objects while attached and without a token. An object that
    /// is being created has none yet.
    pub fn in_collection(&self) -> Option<TensorRef<'_>> {
        let is_created = !self.tensor.load(Ordering::Relaxed).is_null();
        // SAFETY: guaranteed by the garbage collector.
        is_created.then(|| self.read(unsafe { Python::assume_attached() }))
    }

    /// Returns the tensor, without handles that were replaced.
    pub fn into_inner(mut self) -> CoreTensor {
        let tensor = *self.tensor.get_mut();
        drop(std::mem::take(&mut self.replaced));
        std::mem::forget(self);
        // SAFETY: the pointer was owned.
        unsafe { CoreTensor::from_raw(tensor) }
    }

    /// Replaces the tensor. Operations that are running use the old one to their end.
    pub fn replace(&self, _py: Python<'_>, tensor: CoreTensor) {
        let replaced = self.replaced.get_or_init(Box::default);
        let old = self.tensor.swap(tensor.into_raw(), Ordering::SeqCst);
        // SAFETY: the pointer was owned by this object, whose pointer is another one now.
        let old = unsafe { CoreTensor::from_raw(old) };
        replaced.lock().push(old);
        self.drop_replaced();
    }

    /// Drops replaced handles, unless a reader may use one.
    #[cold]
    fn drop_replaced(&self) {
        let Some(replaced) = self.replaced.get() else { return };
        let mut replaced = replaced.lock();
        // A reader that is counted from now on does not see a handle of the list.
        let unused = match self.readers.load(Ordering::SeqCst) {
            0 => std::mem::take(&mut *replaced),
            _ => return,
        };
        drop(replaced);
        drop(unused);
    }

    /// Adds to the number of readers and returns the new number.
    #[inline]
    fn count_reader(&self, difference: isize) -> usize {
        if HAS_GIL {
            // An atomic addition costs as much as a clone of the handle.
            let readers = self.readers.load(Ordering::Relaxed).wrapping_add_signed(difference);
            self.readers.store(readers, Ordering::Relaxed);
            readers
        } else {
            let before = self.readers.fetch_add(difference.cast_unsigned(), Ordering::SeqCst);
            before.wrapping_add_signed(difference)
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let tensor = *self.tensor.get_mut();
        if !tensor.is_null() {
            // SAFETY: the pointer is owned, and readers borrow the object.
            drop(unsafe { CoreTensor::from_raw(tensor) });
        }
    }
}

/// A borrowed tensor of a Python object. It is created and dropped while attached to the interpreter, so it is not `Send`;
/// code that detaches uses the `&CoreTensor` in it.
pub(in crate::tensor) struct TensorRef<'a> {
    tensor: ManuallyDrop<CoreTensor>,
    owner: &'a Current,
    attached: PhantomData<*mut ()>,
}

impl Deref for TensorRef<'_> {
    type Target = CoreTensor;

    fn deref(&self) -> &CoreTensor {
        &self.tensor
    }
}

impl Drop for TensorRef<'_> {
    // Each argument of each operation is dropped in several places.
    #[inline(never)]
    fn drop(&mut self) {
        if self.owner.count_reader(-1) == 0 && self.owner.replaced.get().is_some() {
            self.owner.drop_replaced();
        }
    }
}
