//! The contract between this crate and devices: what a driver does, and nothing of what is built on it.
//!
//! Everything above a driver exists once for all of them: the current device, pools of streams, lifetimes,
//! messages, statistics. A driver counts devices, moves bytes, keeps streams in order and reports what failed.
//!
//! [`Driver`] describes devices of one type before they are used; [`Driver::start`] returns a [`DriverRuntime`], which
//! uses them.

pub(crate) mod capture;
#[expect(clippy::module_inception, reason = "the file takes the trait's name")]
mod driver;
mod handle;
mod ops;
mod properties;
mod runtime;
#[cfg(feature = "testing")]
pub mod testing;
pub(crate) mod va_space;
mod wait;

pub use capture::CaptureMode;
pub use driver::Driver;
pub use handle::{
    Address, DeviceIndex, EventHandle, EventOptions, GraphExecHandle, GraphHandle, StreamHandle,
};
pub use ops::{Copy, CopyEndpoint, Fill, GraphDump, HostFn, KeepAlive};
pub use properties::{DeviceProperties, MemoryInfo, PriorityRange};
pub use runtime::DriverRuntime;
pub use wait::{SyncPoint, WaitPolicy, WaitTarget};
