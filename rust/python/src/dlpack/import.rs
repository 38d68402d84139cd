//! Managed tensors that other libraries have exported.

use std::ptr::NonNull;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::{IS_COPY, IS_READ_ONLY, Managed, Unversioned, Versioned};
use interlock::sys::{InterlockDType, InterlockTensor, InterlockTensorDevice};

use crate::detach::attach;

/// The newest major version whose structures are known.
const MAJOR: u32 = 1;

/// The managed tensor of a capsule, which the producer keeps valid until this is dropped.
///
/// Dropping it on a thread that cannot attach to the interpreter leaks the tensor.
pub(crate) struct Imported(Owned);

enum Owned {
    Unversioned(NonNull<Unversioned>),
    Versioned(NonNull<Versioned>),
}

// SAFETY: the structures are only read, and a deleter may be called on any thread.
unsafe impl Send for Imported {}
// SAFETY: shared access only reads the structures.
unsafe impl Sync for Imported {}

impl Imported {
    /// Takes the managed tensor of a capsule, which cannot be consumed again.
    ///
    /// # Safety
    /// A capsule with one of DLPack's names contains the structure that DLPack defines for that name.
    pub unsafe fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(capsule) = capsule.cast::<PyCapsule>() else {
            return Err(PyBufferError::new_err(format!(
                "from_dlpack: __dlpack__ must return a capsule, got {}",
                crate::errors::type_name(capsule)
            )));
        };
        let imported = if let Some(managed) = consume::<Versioned>(capsule) {
            Imported(Owned::Versioned(managed))
        } else if let Some(managed) = consume::<Unversioned>(capsule) {
            Imported(Owned::Unversioned(managed))
        } else {
            return Err(PyBufferError::new_err(
                "from_dlpack: the capsule must contain a DLPack tensor that was not consumed",
            ));
        };
        imported.check()?;
        Ok(imported)
    }

    fn check(&self) -> PyResult<()> {
        if let Owned::Versioned(managed) = &self.0 {
            // SAFETY: the caller of `take` guarantees the structure, whose first fields are the same in every version.
            let major = unsafe { managed.as_ref().major };
            if major > MAJOR {
                return Err(PyBufferError::new_err(format!(
                    "from_dlpack: the version of DLPack must be at most {MAJOR}, got {major}"
                )));
            }
        }
        let tensor = self.tensor();
        let has_sizes = tensor.ndim == 0 || (tensor.ndim > 0 && !tensor.shape.is_null());
        if has_sizes {
            Ok(())
        } else {
            Err(PyBufferError::new_err("from_dlpack: the tensor must have a shape"))
        }
    }

    fn tensor(&self) -> &InterlockTensor {
        // SAFETY: the caller of `take` guarantees the structure, and the producer keeps it until the deleter runs.
        unsafe {
            match &self.0 {
                Owned::Unversioned(managed) => &managed.as_ref().tensor,
                Owned::Versioned(managed) => &managed.as_ref().tensor,
            }
        }
    }

    /// Returns the device.
    pub fn device(&self) -> InterlockTensorDevice {
        self.tensor().device
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> InterlockDType {
        self.tensor().dtype
    }

    /// Returns the address of the first element.
    pub fn pointer(&self) -> Option<NonNull<u8>> {
        let tensor = self.tensor();
        let offset = usize::try_from(tensor.byte_offset).ok()?;
        NonNull::new(tensor.data.cast::<u8>().wrapping_add(offset))
    }

    /// Returns whether the consumer must not write.
    pub fn is_read_only(&self) -> bool {
        self.flags() & IS_READ_ONLY != 0
    }

    fn flags(&self) -> u64 {
        match &self.0 {
            Owned::Unversioned(_) => 0,
            // SAFETY: as in `tensor`.
            Owned::Versioned(managed) => unsafe { managed.as_ref().flags },
        }
    }

    /// Returns whether the producer has copied the memory for this import.
    pub fn is_copy(&self) -> bool {
        self.flags() & IS_COPY != 0
    }

    /// Returns the sizes.
    pub fn shape(&self) -> &[i64] {
        self.array(self.tensor().shape).unwrap_or_default()
    }

    /// Returns the strides in elements, or `None` for row-major order.
    pub fn strides(&self) -> Option<&[i64]> {
        self.array(self.tensor().strides)
    }

    fn array(&self, array: *mut i64) -> Option<&[i64]> {
        let count = usize::try_from(self.tensor().ndim).unwrap_or(0);
        // SAFETY: the producer guarantees an element for each dimension unless the pointer is null.
        (!array.is_null()).then(|| unsafe { std::slice::from_raw_parts(array, count) })
    }
}

/// Takes the managed tensor of a capsule with the name of `T`.
fn consume<T: Managed>(capsule: &Bound<'_, PyCapsule>) -> Option<NonNull<T>> {
    let object = capsule.as_ptr();
    // SAFETY: it is a capsule and the names are static; the pointer is read only if the name matches.
    unsafe {
        if ffi::PyCapsule_IsValid(object, T::NAME.as_ptr()) != 1 {
            return None;
        }
        let managed = NonNull::new(ffi::PyCapsule_GetPointer(object, T::NAME.as_ptr()).cast::<T>())?;
        // The destructor of the capsule does nothing from now on.
        (ffi::PyCapsule_SetName(object, T::USED_NAME.as_ptr()) == 0).then_some(managed)
    }
}

/// Calls the deleter of a managed tensor.
///
/// # Safety
/// The tensor was consumed and is not used afterwards.
unsafe fn delete<T: Managed>(managed: NonNull<T>) {
    // SAFETY: the caller guarantees that the tensor exists, and calls this once.
    unsafe {
        if let Some(deleter) = managed.as_ref().deleter() {
            deleter(managed.as_ptr());
        }
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        // Deleters of extension modules release Python objects. Without an interpreter the tensor leaks.
        let _ = attach(|_| match self.0 {
            // SAFETY: the tensor was consumed by `take`, and this is its only release.
            Owned::Unversioned(managed) => unsafe { delete(managed) },
            // SAFETY: as above.
            Owned::Versioned(managed) => unsafe { delete(managed) },
        });
    }
}
