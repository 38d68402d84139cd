//! The entries for devices, streams, events and memory.

pub(crate) mod buffers;
pub(crate) mod devices;
pub(crate) mod events;
pub(crate) mod streams;
