//! NVIDIA devices, through cudarc: its driver module only, loaded while the program runs, with the
//! oldest bindings that have what we need.
//!
//! Nothing of cudarc is called before the [probe] has found a driver that has every function we call, as cudarc panics
//! where one is missing. Counting devices goes another way and does not start the driver.

mod addresses;
mod api;
mod captures;
mod context;
mod copies;
mod counting;
mod device;
mod driver;
mod errors;
mod events;
mod functions;
mod gates;
mod graphs;
mod line;
mod memory;
mod nvml;
mod pooled_event;
mod probe;
mod properties;
mod runs;
mod runtime;
mod shape;
mod status;
mod stream;
mod streams;
mod visible;
mod waits;
mod whole_device;
mod work;

use std::sync::Arc;

use once_cell::race::OnceBox;

use super::driver::Driver;
use driver::CudaDriver;
pub use status::{DriverStatus, Version};

/// The driver, of which a process has one.
pub fn driver() -> Arc<dyn Driver> {
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static DRIVER: OnceBox<Arc<CudaDriver>> = OnceBox::new();
    DRIVER.get_or_init(Default::default).clone()
}
