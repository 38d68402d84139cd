//! NVIDIA devices, through cudarc: its driver module only, loaded while the program runs, with the oldest bindings that
//! have every function that is called.
//!
//! No function of cudarc is called before the probe (`discover`) has found a driver that has all of them, as cudarc
//! panics where one is missing. Counting devices goes another way and does not start the driver.

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

/// Returns the driver, of which a process has one.
pub fn driver() -> Arc<dyn Driver> {
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static DRIVER: OnceBox<Arc<CudaDriver>> = OnceBox::new();
    DRIVER.get_or_init(Default::default).clone()
}
