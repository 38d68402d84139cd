//! The structures of DLPack 1.x, and capsules that contain them.

use std::ffi::{CStr, c_void};
use std::ptr;

use interlock::accelerator::memory::DeviceBuffer;
use pyo3::ffi;
use pyo3::prelude::*;

#[repr(C)]
struct Device {
    kind: i32,
    index: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

impl DataType {
    /// `uint8`.
    const BYTE: DataType = DataType { code: 1, bits: 8, lanes: 1 };
}

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    dimensions: i32,
    data_type: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`, from before version 1.
#[repr(C)]
struct Unversioned {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: Tensor,
}

/// `DLPACK_FLAG_BITMASK_IS_COPIED`.
const IS_COPY: u64 = 2;

/// The managed tensor that a capsule points to.
trait Managed: Sized {
    /// The name of a capsule whose tensor was not consumed.
    const NAME: &'static CStr;

    fn of(tensor: Tensor, is_copy: bool) -> Self;
    fn tensor(&mut self) -> &mut Tensor;
}

impl Managed for Unversioned {
    const NAME: &'static CStr = c"dltensor";

    fn of(tensor: Tensor, _is_copy: bool) -> Self {
        Unversioned { tensor, context: ptr::null_mut(), deleter: Some(delete::<Self>) }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";

    fn of(tensor: Tensor, is_copy: bool) -> Self {
        let flags = if is_copy { IS_COPY } else { 0 };
        Versioned {
            major: 1,
            minor: 0,
            context: ptr::null_mut(),
            deleter: Some(delete::<Self>),
            flags,
            tensor,
        }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

/// A managed tensor with its shape and memory. The consumer may free it on any thread, attached or not, so it owns no
/// Python objects.
#[repr(C)]
struct Exported<T> {
    /// The first field, so that its address is the address of the struct.
    managed: T,
    shape: i64,
    stride: i64,
    _memory: DeviceBuffer,
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

/// Creates a capsule of the bytes, in a version that `max_version` allows.
pub(super) fn capsule<'py>(
    py: Python<'py>,
    memory: DeviceBuffer,
    device: (i32, i32),
    max_version: Option<(u32, u32)>,
    is_copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match max_version {
        Some((1.., _)) => capsule_of::<Versioned>(py, memory, device, is_copy),
        _ => capsule_of::<Unversioned>(py, memory, device, is_copy),
    }
}

fn capsule_of<'py, T: Managed>(
    py: Python<'py>,
    memory: DeviceBuffer,
    (kind, index): (i32, i32),
    is_copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = Tensor {
        data: ptr::with_exposed_provenance_mut(usize::try_from(memory.address().0)?),
        device: Device { kind, index },
        dimensions: 1,
        data_type: DataType::BYTE,
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let shape = i64::try_from(memory.bytes())?;
    let managed = T::of(tensor, is_copy);
    let exported = Box::into_raw(Box::new(Exported { managed, shape, stride: 1, _memory: memory }));
    // SAFETY: the box was just created and is not shared; it refers to itself and does not move.
    unsafe {
        let (shape, stride) = (&raw mut (*exported).shape, &raw mut (*exported).stride);
        let tensor = (*exported).managed.tensor();
        (tensor.shape, tensor.strides) = (shape, stride);
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
