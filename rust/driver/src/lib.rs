//! The driver interface: the contract between interlock and a type of devices.
//!
//! A driver reports devices, allocates memory, queues work on streams in order and reports errors. Features above that
//! are implemented once for all drivers: the current device, pools of streams, caching allocators, lifetimes and
//! messages.
//!
//! [`Driver`] describes devices of one type before they are used; [`Driver::start`] returns a [`DriverRuntime`], which
//! uses them.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod activity;
mod byte_range;
pub mod capture;
mod driver;
mod error;
mod exclusion;
mod failure;
mod handle;
#[cfg(test)]
mod mock;
mod oom;
mod ops;
mod properties;
pub mod races;
mod runtime;
mod stack;
#[cfg(feature = "testing")]
pub mod testing;
pub mod va_space;
mod wait;

pub use byte_range::ByteRange;
pub use capture::{CaptureId, CaptureMode};
pub use driver::Driver;
pub use error::{Error, Result};
pub use exclusion::Access;
pub use failure::{Cause, Failure};
pub use handle::{Address, EventHandle, EventOptions, GraphExecHandle, GraphHandle, PoolId, StreamHandle};
pub use interlock_core::device::{Device, DeviceIndex, DeviceType};
pub use oom::{AllocatorState, OutOfMemory};
pub use ops::{Copy, CopyEndpoint, Fill, GraphDump, HostFn, KeepAlive, Owners};
pub use properties::{DeviceProperties, MemoryInfo, PriorityRange};
pub use runtime::DriverRuntime;
pub use stack::{Frame, Stack, StackUser, current_stack, set_stack_source, stacks_are_used, with_stack};
pub use wait::{SyncPoint, TimelinePoint, WaitPoint, WaitPolicy, WaitTarget};

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
