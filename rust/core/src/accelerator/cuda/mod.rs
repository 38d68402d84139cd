//! NVIDIA devices.

mod probe;

pub use probe::DriverStatus;
