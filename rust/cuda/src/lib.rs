//! The CUDA driver: NVIDIA devices through the CUDA driver API.
//!
//! The crate uses the driver module of cudarc, which loads `libcuda.so.1` at run time, with the oldest bindings that
//! have every function that the crate calls. cudarc panics if a function is missing, so the probe (`discover`) checks
//! first that the library has all of them. Devices are counted through NVML, which does not start the driver.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod device;
mod discover;
mod driver;
mod graph;
mod memory;
mod runtime;
mod stream;
mod sys;

use std::sync::Arc;

use once_cell::race::OnceBox;

use driver::CudaDriver;
use interlock_driver::Driver;

/// Returns the driver, which is a singleton of the process.
pub fn driver() -> Arc<dyn Driver> {
    // Not a blocking cell: a child forked while another thread initializes it would wait forever.
    static DRIVER: OnceBox<Arc<CudaDriver>> = OnceBox::new();
    DRIVER.get_or_init(Default::default).clone()
}

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
