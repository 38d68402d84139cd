//! Devices and their memory.

mod cuda;
mod device;
pub mod memory;

pub use cuda::DriverStatus;
pub use device::{Device, DeviceType};
