//! Initialization and version of the driver.

use std::ffi::{c_int, c_uint};

use crate::call::{Out, exported};
use crate::errors::{INVALID_VALUE, STUB_LIBRARY};
use crate::{fake, settings};

exported! {
    /// Starts the driver in this process.
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        fake::start()
    }

    /// Returns the CUDA version of the driver, without starting it.
    fn cuDriverGetVersion(version: Out<c_int>) {
        if settings::is_stub() {
            return Err(STUB_LIBRARY);
        }
        version.put(settings::version())
    }
}
