//! Devices, their streams, events and graphs, and their memory.
//!
//! A [`driver`] knows one type of device; everything else is there once for all drivers. Which driver a process
//! uses is [chosen](use_driver) or found, and fixed at first use. The current device and the current streams
//! are slots of the one thread state ([`interlock_core::thread`]): scopes decide them, a captured state carries them
//! along, tasks have their own.

mod accelerator;
mod builtin;
mod current;
mod event;
mod graph;
mod graph_pools;
mod interrupt;
pub mod memory;
mod plan_cache;
mod registry;
mod stream;
mod wait;

pub use current::{
    PlaceScope, current_device, current_index, current_stream, default_device, device_guard, memory_info,
    properties, set_default_device, set_device, set_stream, synchronize, waiting,
};
pub use event::Event;
pub use graph::{Graph, new_pool};
pub use interlock_core::base::backoff::Backoff;
#[doc(inline)]
pub use interlock_core::device::{Device, DeviceIndex, DeviceType};
#[cfg(feature = "cuda")]
pub use interlock_cuda as cuda;
pub use interlock_driver as driver;
#[doc(inline)]
pub use interlock_driver::{
    CaptureMode, Error, EventOptions, HostFn, PoolId, Result, WaitPolicy, WaitTarget,
};
#[cfg(feature = "host")]
pub use interlock_host as host;
pub use interrupt::{ask_while_waiting, check_interrupts};
pub use plan_cache::PlanCache;
pub use registry::{
    KnownDevices, current_accelerator, device_count, environment_came_too_late, known_devices,
    register_driver, required, use_driver, use_named, why_unavailable,
};
pub use stream::{Kind as StreamKind, Stream, priority_range, streams_of};
pub use wait::{Serving, Waiting};

/// Whether there is an accelerator with at least one device. Fixes nothing.
pub fn is_available() -> bool {
    why_unavailable().is_none()
}
