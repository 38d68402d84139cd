//! Devices: contexts, properties, synchronization and peer access.

#[expect(clippy::module_inception, reason = "the file takes the type's name")]
pub(crate) mod device;
pub(crate) mod device_sync;
pub(crate) mod peer;
pub(crate) mod properties;
