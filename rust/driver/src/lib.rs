//! The contract between interlock and devices: what a driver does, and nothing of what is built on it.
//!
//! Everything above a driver exists once for all of them: the current device, pools of streams, lifetimes,
//! messages, statistics. A driver counts devices, moves bytes, keeps streams in order and reports what failed.
//!
//! [`Driver`] describes devices of one type before they are used; [`Driver::start`] returns a [`DriverRuntime`], which
//! uses them.

#[doc(hidden)]
pub mod capture;
mod driver;
mod error;
mod exclusion;
mod handle;
#[cfg(test)]
mod mock;
mod oom;
mod ops;
mod properties;
mod runtime;
#[cfg(feature = "testing")]
pub mod testing;
#[doc(hidden)]
pub mod va_space;
mod wait;

pub use capture::CaptureMode;
pub use driver::Driver;
pub use error::{Error, Result};
pub use exclusion::{Access, ByteRange};
pub use handle::{Address, EventHandle, EventOptions, GraphExecHandle, GraphHandle, PoolId, StreamHandle};
pub use interlock_core::device::{Device, DeviceIndex, DeviceType};
pub use oom::{AllocatorState, OutOfMemory};
pub use ops::{Copy, CopyEndpoint, Fill, GraphDump, HostFn, KeepAlive};
pub use properties::{DeviceProperties, MemoryInfo, PriorityRange};
pub use runtime::DriverRuntime;
pub use wait::{SyncPoint, WaitPolicy, WaitTarget};
