//! Capsules of memory of this process.

use std::any::Any;
use std::ffi::c_void;
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;

use super::{IS_COPY, Managed, Unversioned, Versioned};
use crate::args::extract_int_pair;
use interlock::sys::{InterlockDType, InterlockTensor, InterlockTensorDevice};

/// Memory to export.
pub(crate) struct Export {
    /// The address of the first element, on the device.
    pub address: u64,
    pub device: InterlockTensorDevice,
    pub dtype: InterlockDType,
    pub shape: Vec<i64>,
    /// The strides, in elements.
    pub strides: Vec<i64>,
    /// Whether the memory was copied for the consumer.
    pub is_copy: bool,
    /// Keeps the memory valid. The consumer may free it on any thread, attached or not, so it owns no Python objects.
    pub owner: Box<dyn Any + Send + Sync>,
}

/// A managed tensor with its shape and memory.
#[repr(C)]
struct Exported<T> {
    /// The first field, so that its address is the address of the struct.
    managed: T,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _owner: Box<dyn Any + Send + Sync>,
}

/// A managed tensor that is created for an export.
trait Exportable: Managed {
    fn of(tensor: InterlockTensor, is_copy: bool) -> Self;
}

impl Exportable for Unversioned {
    fn of(tensor: InterlockTensor, _is_copy: bool) -> Self {
        Unversioned { tensor, context: ptr::null_mut(), deleter: Some(delete::<Self>) }
    }
}

impl Exportable for Versioned {
    fn of(tensor: InterlockTensor, is_copy: bool) -> Self {
        let flags = if is_copy { IS_COPY } else { 0 };
        let (context, deleter) = (ptr::null_mut(), Some(delete::<Self> as unsafe extern "C" fn(*mut Self)));
        Versioned { major: 1, minor: 0, context, deleter, flags, tensor }
    }
}

/// Frees an exported tensor.
///
/// # Safety
/// `managed` is the first field of an `Exported` from `Box::into_raw`, and is not used afterwards.
unsafe extern "C" fn delete<T>(managed: *mut T) {
    // SAFETY: `managed` is the first field of the box, because the struct is `repr(C)`.
    drop(unsafe { Box::from_raw(managed.cast::<Exported<T>>()) });
}

/// Frees the tensor of a capsule unless a consumer has taken it, which renames the capsule.
///
/// # Safety
/// `capsule` was created by `capsule_of::<T>` and is being deallocated.
unsafe extern "C" fn destroy<T: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: it is a capsule, and one with this name still contains its box.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast::<T>());
        }
    }
}

/// Extracts `max_version` or `dl_device` of `__dlpack__`.
pub(crate) fn extract_pair<T: TryFrom<i128>>(
    given: Option<&Bound<'_, PyAny>>,
    name: &str,
) -> PyResult<Option<(T, T)>> {
    given.map(|given| extract_int_pair(given, name, "a tuple of two ints or None")).transpose()
}

/// Creates a capsule of memory, in a version that `max_version` allows.
pub(crate) fn capsule(
    py: Python<'_>,
    export: Export,
    max_version: Option<(u32, u32)>,
) -> PyResult<Bound<'_, PyAny>> {
    match max_version {
        Some((1.., _)) => capsule_of::<Versioned>(py, export),
        _ => capsule_of::<Unversioned>(py, export),
    }
}

fn capsule_of<T: Exportable>(py: Python<'_>, export: Export) -> PyResult<Bound<'_, PyAny>> {
    let Export { address, device, dtype, shape, strides, is_copy, owner } = export;
    let data: *mut c_void = ptr::with_exposed_provenance_mut(usize::try_from(address)?);
    let ndim = i32::try_from(shape.len())?;
    let (no_shape, no_strides) = (ptr::null_mut(), ptr::null_mut());
    let tensor =
        InterlockTensor { data, device, ndim, dtype, shape: no_shape, strides: no_strides, byte_offset: 0 };
    let managed = T::of(tensor, is_copy);
    let exported = Box::into_raw(Box::new(Exported { managed, shape, strides, _owner: owner }));
    // SAFETY: the box was just created and is not shared; it refers to its own vectors, which do not change.
    unsafe {
        let (shape, strides) = ((*exported).shape.as_mut_ptr(), (*exported).strides.as_mut_ptr());
        let tensor = (*exported).managed.tensor();
        (tensor.shape, tensor.strides) = (shape, strides);
    }
    // SAFETY: the name is static, and `destroy` matches the content of the capsule.
    let capsule = unsafe { ffi::PyCapsule_New(exported.cast(), T::NAME.as_ptr(), Some(destroy::<T>)) };
    if capsule.is_null() {
        // SAFETY: no capsule owns it.
        unsafe { delete(exported.cast::<T>()) };
    }
    // SAFETY: it is a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}
