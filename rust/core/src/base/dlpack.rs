//! The structures of DLPack 1.x that describe a tensor.
//!
//! Source: `dlpack.h`, whose layout does not change within a major version.

use std::ffi::c_void;

/// `DLDeviceType` of CPU memory.
pub const CPU: i32 = 1;
/// `DLDeviceType` of CUDA memory.
pub const CUDA: i32 = 2;
/// `DLDeviceType` of pinned memory of CUDA, which the CPU can access.
pub const CUDA_HOST: i32 = 3;
/// `DLDeviceType` of devices that an extension defines.
pub const EXTENSION: i32 = 12;

/// `DLDevice`: a device type and an index.
///
/// ```
/// use interlock_core::base::dlpack::{CUDA, DLDevice};
///
/// assert_eq!(size_of::<DLDevice>(), 8);
/// assert_ne!(DLDevice::CPU, DLDevice { device_type: CUDA, device_id: 0 });
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// The type, such as [`CPU`].
    pub device_type: i32,
    /// The index.
    pub device_id: i32,
}

impl DLDevice {
    /// The CPU.
    pub const CPU: DLDevice = DLDevice { device_type: CPU, device_id: 0 };

    /// Returns whether the CPU can access the memory of the device.
    pub fn is_host(self) -> bool {
        [CPU, CUDA_HOST].contains(&self.device_type)
    }
}

/// `DLDataType`: the type of the elements.
///
/// ```
/// use interlock_core::base::dlpack::DLDataType;
///
/// assert_eq!(size_of::<DLDataType>(), 4);
/// assert_eq!(DLDataType::float(32), DLDataType { code: 2, bits: 32, lanes: 1 });
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// `DLDataTypeCode`.
    pub code: u8,
    /// The number of bits of an element.
    pub bits: u8,
    /// The number of lanes of a vector type; 1 for all tensors of interlock.
    pub lanes: u16,
}

impl DLDataType {
    /// Signed integers.
    pub const fn int(bits: u8) -> Self {
        DLDataType { code: 0, bits, lanes: 1 }
    }

    /// Unsigned integers.
    pub const fn uint(bits: u8) -> Self {
        DLDataType { code: 1, bits, lanes: 1 }
    }

    /// Floating-point numbers of IEEE 754.
    pub const fn float(bits: u8) -> Self {
        DLDataType { code: 2, bits, lanes: 1 }
    }

    /// bfloat16.
    pub const BFLOAT16: DLDataType = DLDataType { code: 4, bits: 16, lanes: 1 };

    /// Bools of one byte.
    pub const BOOL: DLDataType = DLDataType { code: 6, bits: 8, lanes: 1 };
}

/// `DLTensor`: a strided array, without ownership of its memory.
///
/// ```
/// use std::ptr;
///
/// use interlock_core::base::dlpack::{DLDataType, DLDevice, DLTensor};
///
/// let (mut elements, mut shape) = ([1f32, 2.0], [2i64]);
/// let tensor = DLTensor {
///     data: elements.as_mut_ptr().cast(),
///     device: DLDevice::CPU,
///     ndim: 1,
///     dtype: DLDataType::float(32),
///     shape: shape.as_mut_ptr(),
///     strides: ptr::null_mut(),
///     byte_offset: 0,
/// };
/// assert_eq!(size_of_val(&tensor), 48);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The address of the memory on the device.
    pub data: *mut c_void,
    /// The device of the memory.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// The sizes of the dimensions.
    pub shape: *mut i64,
    /// The strides in elements; null if the elements are contiguous in row-major order.
    pub strides: *mut i64,
    /// The offset of the first element in bytes.
    pub byte_offset: u64,
}
