//! The managed tensors of DLPack 1.x, and the capsules that contain them.
//!
//! A capsule owns a managed tensor until a consumer takes it, which renames the capsule. The tensor is freed by its
//! deleter, on any thread.

mod export;
#[cfg(feature = "tensor")]
mod import;

use std::ffi::{CStr, c_void};

pub(crate) use export::{Export, capsule, extract_pair};
#[cfg(feature = "tensor")]
pub(crate) use import::Imported;
use interlock::sys::InterlockTensor;

/// `DLManagedTensor`, from before version 1.
#[repr(C)]
struct Unversioned {
    tensor: InterlockTensor,
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
    tensor: InterlockTensor,
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

    fn tensor(&mut self) -> &mut InterlockTensor;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Managed for Unversioned {
    const NAME: &'static CStr = c"dltensor";
    const USED_NAME: &'static CStr = c"used_dltensor";

    fn tensor(&mut self) -> &mut InterlockTensor {
        &mut self.tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED_NAME: &'static CStr = c"used_dltensor_versioned";

    fn tensor(&mut self) -> &mut InterlockTensor {
        &mut self.tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}
