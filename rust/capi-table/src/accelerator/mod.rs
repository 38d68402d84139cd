//! The entries for devices and streams.

pub(crate) mod devices;
pub(crate) mod streams;
