//! Devices, their streams, events and graphs, and their memory.
//!
//! A [`driver`] knows one type of device; everything else is there once for all drivers. Which driver a process
//! uses is [chosen](use_driver) or found, and fixed at first use. The current device and the current streams
//! are slots of the one thread state ([`crate::state`]): scopes decide them, a captured state carries them
//! along, tasks have their own.

mod captures;
pub mod cuda;
mod current;
mod device;
pub mod driver;
mod event;
mod graph;
pub mod host;
mod in_use;
mod interrupt;
pub mod memory;
mod registry;
mod stream;
#[cfg(test)]
pub(crate) mod testing;
mod waiting;

pub use crate::base::backoff::Backoff;
pub use cuda::{DriverStatus, Version};
pub use current::{
    PlaceScope, current_device, current_index, current_stream, default_device, device_guard, memory_info,
    properties, set_default_device, set_device, set_stream, synchronize, waiting,
};
pub use device::{Device, DeviceType};
pub use driver::{CaptureMode, EventOptions, HostFn, WaitPolicy, WaitTarget};
pub use event::Event;
pub use graph::{Graph, PoolId, new_pool};
pub use interrupt::{ask_while_waiting, check_interrupts};
pub use registry::{
    KnownDevices, current_accelerator, device_count, environment_came_too_late, known_devices,
    register_driver, required, use_driver, use_named, why_unavailable,
};
pub use stream::{Kind as StreamKind, Stream, priority_range};
pub use waiting::{Serving, Waiting};

/// Whether there is an accelerator with at least one device. Fixes nothing.
pub fn is_available() -> bool {
    why_unavailable().is_none()
}
