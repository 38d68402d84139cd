//! Availability of NVIDIA's driver and its number of devices, determined without starting the driver if possible.

pub(crate) mod device_count;
mod nvml;
mod probe;
pub(crate) mod status;
mod visible_devices;
