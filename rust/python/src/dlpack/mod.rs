//! The structures of DLPack 1.x, and the capsules that contain them.
//!
//! A capsule owns a managed tensor until a consumer takes it, which renames the capsule. The tensor is freed by its
//! deleter, on any thread.

mod export;
mod import;

use std::ffi::{CStr, c_void};

pub(crate) use export::{Export, capsule};
pub(crate) use import::Imported;

/// The type and index of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub kind: i32,
    pub index: i32,
}

impl Device {
    /// `kDLCPU`.
    pub const CPU: Device = Device { kind: 1, index: 0 };
    /// `kDLCUDA`.
    pub const CUDA_KIND: i32 = 2;
    /// `kDLCUDAHost`: pinned memory, which the CPU can access.
    const CUDA_HOST_KIND: i32 = 3;

    /// Returns whether the CPU can access the memory of the device.
    pub fn is_host(self) -> bool {
        [Device::CPU.kind, Device::CUDA_HOST_KIND].contains(&self.kind)
    }
}

/// The type of an element: a code, the number of bits, and the number of lanes of a vector.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

impl DataType {
    /// `kDLInt`, `kDLUInt`, `kDLFloat`, `kDLBfloat` and `kDLBool`.
    pub const INT: u8 = 0;
    pub const UINT: u8 = 1;
    pub const FLOAT: u8 = 2;
    pub const BFLOAT: u8 = 4;
    pub const BOOL: u8 = 6;

    pub const fn new(code: u8, bits: u8) -> Self {
        DataType { code, bits, lanes: 1 }
    }
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

/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const IS_READ_ONLY: u64 = 1;
/// `DLPACK_FLAG_BITMASK_IS_COPIED`.
const IS_COPY: u64 = 2;

/// The managed tensor that a capsule points to.
trait Managed: Sized {
    /// The name of a capsule whose tensor was not consumed.
    const NAME: &'static CStr;
    /// The name that a consumer gives it.
    const USED_NAME: &'static CStr;

    fn tensor(&mut self) -> &mut Tensor;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Managed for Unversioned {
    const NAME: &'static CStr = c"dltensor";
    const USED_NAME: &'static CStr = c"used_dltensor";

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED_NAME: &'static CStr = c"used_dltensor_versioned";

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}
