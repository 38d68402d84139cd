//! Initialization and version of the driver.

use std::ffi::{c_int, c_uint};

use crate::call::{Out, exported};
use interlock_core::base::copies::Exemption;

use crate::errors::{INVALID_VALUE, STUB_LIBRARY};
use crate::{fake, settings};

/// This library has a copy of interlock's state on purpose: NVIDIA's library has none of the process's state either.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".note.interlock"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__interlock_x"))]
static EXEMPTION: Exemption = Exemption::new();

exported! {
    /// Starts the driver in this process.
    fn cuInit(flags: c_uint) {
        EXEMPTION.retain();
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
