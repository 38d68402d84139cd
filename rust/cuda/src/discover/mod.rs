//! Whether NVIDIA's driver can be used and how many devices it has, without starting it wherever that is possible.

pub(crate) mod device_count;
mod nvml;
mod probe;
pub(crate) mod status;
mod visible_devices;
