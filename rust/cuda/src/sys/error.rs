//! Result codes of the driver.

use std::ffi::{CStr, c_char};
use std::ptr;

use cudarc::driver::sys::CUresult;

use super::api;

/// An error code: any `CUresult` but `CUDA_SUCCESS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(CUresult);

/// Returns the code of a driver call that failed.
pub(crate) fn check(result: CUresult) -> Result<(), Code> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(Code(result)) }
}

/// Passes a pointer to `initial` to a driver function and returns the value that the function writes.
pub(crate) fn read<T>(initial: T, query: impl FnOnce(*mut T) -> CUresult) -> Result<T, Code> {
    let mut value = initial;
    check(query(&raw mut value)).map(|()| value)
}

impl Code {
    pub(crate) const NOT_SUPPORTED: Code = Code(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    pub(crate) const INVALID_HANDLE: Code = Code(CUresult::CUDA_ERROR_INVALID_HANDLE);
    pub(crate) const ILLEGAL_STATE: Code = Code(CUresult::CUDA_ERROR_ILLEGAL_STATE);
    pub(crate) const NOT_READY: Code = Code(CUresult::CUDA_ERROR_NOT_READY);
    pub(crate) const TOO_MANY_PEERS: Code = Code(CUresult::CUDA_ERROR_TOO_MANY_PEERS);
    pub(crate) const PEER_ACCESS_ALREADY_ENABLED: Code =
        Code(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);

    /// Returns the `CUresult`.
    pub(crate) fn result(self) -> CUresult {
        self.0
    }

    /// Returns the value of the `CUresult`.
    pub(crate) fn number(self) -> i32 {
        self.0 as i32
    }

    /// Returns whether the code is `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn is_out_of_memory(self) -> bool {
        self.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY
    }

    /// Returns whether the code is one of the `CUDA_ERROR_STREAM_CAPTURE` codes.
    pub(crate) fn is_capture_error(self) -> bool {
        (CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED as u32
            ..=CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD as u32)
            .contains(&(self.0 as u32))
    }

    /// Returns whether the error is sticky: it leaves the context unusable, and every later call fails as well.
    pub(crate) fn is_sticky(self) -> bool {
        /// `CUDA_ERROR_CONTAINED` and `CUDA_ERROR_TENSOR_MEMORY_LEAK`, which the bindings lack.
        const NEWER: [i32; 2] = [226, 721];
        NEWER.contains(&self.number())
            || matches!(
                self.0,
                CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
                    | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
                    | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
                    | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
                    | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
                    | CUresult::CUDA_ERROR_ASSERT
                    | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
                    | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
                    | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
                    | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
                    | CUresult::CUDA_ERROR_INVALID_PC
                    | CUresult::CUDA_ERROR_LAUNCH_FAILED
                    | CUresult::CUDA_ERROR_SYSTEM_NOT_READY
                    | CUresult::CUDA_ERROR_EXTERNAL_DEVICE
                    | CUresult::CUDA_ERROR_UNKNOWN
            )
    }

    /// Returns the name of the code and the driver's description.
    pub(crate) fn describe(self) -> String {
        let (name, text) = (self.text(api::cuGetErrorName), self.text(api::cuGetErrorString));
        match (name, text) {
            (Some(name), Some(text)) => format!("{name}: {text}"),
            (Some(name), None) => name,
            _ => "an error that the driver does not name".to_owned(),
        }
    }

    fn text(self, query: unsafe fn(CUresult, *mut *const c_char) -> CUresult) -> Option<String> {
        let mut text = ptr::null();
        // SAFETY: the pointer is valid, and both functions may be called at any time.
        check(unsafe { query(self.0, &raw mut text) }).ok()?;
        if text.is_null() {
            return None;
        }
        // SAFETY: the driver returns static strings that end with a NUL.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sticky_excludes_an_unavailable_device() {
        assert!(!Code(CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE).is_sticky());
        assert!(Code(CUresult::CUDA_ERROR_EXTERNAL_DEVICE).is_sticky());
    }
}
