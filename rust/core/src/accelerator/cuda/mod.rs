//! NVIDIA devices, through cudarc: its driver module only, loaded while the program runs, with the
//! oldest bindings that have what we need.
//!
//! Nothing of cudarc is called before the [probe] has found a driver that has every function we call, as cudarc panics
//! where one is missing. Counting devices goes another way and does not start the driver.

mod counting;
mod driver;
mod nvml;
mod probe;
mod status;
mod visible;

use std::sync::Arc;

use once_cell::race::OnceBox;

use super::driver::Driver;
use driver::CudaDriver;
pub use status::{DriverStatus, Version};

/// The driver, of which a process has one.
pub(super) fn driver() -> Arc<dyn Driver> {
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static DRIVER: OnceBox<Arc<CudaDriver>> = OnceBox::new();
    DRIVER.get_or_init(Default::default).clone()
}
