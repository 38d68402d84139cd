//! Devices, their streams, events and graphs, and their memory.
//!
//! A [`driver`] implements one type of device; this crate implements streams, events, graphs and the allocators for all
//! drivers. The driver of a process is [selected](use_driver) or detected, and fixed at first use. The current device
//! and the current streams are slots of the thread state ([`interlock_core::thread`]), so that scopes set them,
//! captured states contain them, and each task has its own.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod accelerator;
mod allocators;
mod builtin;
mod create;
mod current;
mod device;
mod event;
mod graph;
#[cfg(feature = "host")]
mod held_objects;
mod interrupt;
mod mem_pool;
pub mod memory;
mod plan_cache;
mod private_pools;
mod registry;
mod started;
mod stream;
mod timed_tasks;
mod trace;
mod wait;

pub use allocators::MemPoolOptions;
pub use create::priority_range;
pub use current::{
    DeviceScope, begin_wait, current_device, current_index, current_stream, default_device, device_guard,
    memory_info, properties, resolve_device, set_default_device, set_device, set_stream, stray_contexts,
    synchronize,
};
pub use event::Event;
pub use graph::Graph;
#[cfg(feature = "host")]
pub use held_objects::{HeldObjects, held_objects};
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
pub use interrupt::{check_interrupts, set_interrupt_check};
pub use mem_pool::{MemPool, MemPoolGuard, MemPoolScope};
pub use plan_cache::{CachedPlan, PlanCache, PlanKey};
pub use private_pools::new_pool;
pub use registry::{
    KnownDevices, current_accelerator, device_count, known_devices, parse_device, register_driver, required,
    stale_env_warning, started_device_type, unavailable_reason, use_driver, use_named,
};
pub use stream::{Stream, StreamKind, streams_of};
pub use trace::{RecordedTrace, Trace};
pub use wait::{HostFnScope, Wait, is_in_host_fn};

/// Returns whether an accelerator with at least one device is available. Does not fix the driver.
pub fn is_available() -> bool {
    unavailable_reason().is_none()
}

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
