//! The names by which a driver knows its objects.

use std::fmt;

use interlock_core::device::DeviceIndex;

/// The id of a pool of memory that graphs share.
pub type PoolId = (u64, u64);

/// A stream as its driver knows it.
///
/// ```
/// use interlock_driver::{StreamHandle, WaitTarget};
///
/// // A driver chooses `raw`: here the index of the stream in a table.
/// let stream = StreamHandle { device: 1, raw: 7 };
/// assert_eq!(WaitTarget::Stream(stream).device(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamHandle {
    /// The device whose work it orders.
    pub device: DeviceIndex,
    /// The handle that other libraries for these devices use: on NVIDIA's a `cudaStream_t`.
    pub raw: u64,
}

/// An event as its driver knows it.
///
/// ```
/// use interlock_driver::{DriverRuntime, EventHandle, EventOptions, Result, StreamHandle};
///
/// fn record_new(runtime: &dyn DriverRuntime, stream: StreamHandle) -> Result<EventHandle> {
///     let event = runtime.create_event(stream.device, EventOptions::default())?;
///     runtime.record_event(event, stream)?;
///     Ok(event)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventHandle {
    /// The device on whose streams it is recorded.
    pub device: DeviceIndex,
    /// The handle that other libraries for these devices use: on NVIDIA's a `cudaEvent_t`.
    pub raw: u64,
}

/// A captured graph as its driver knows it.
///
/// ```
/// use interlock_driver::{DriverRuntime, GraphExecHandle, GraphHandle, Result};
///
/// fn compile(runtime: &dyn DriverRuntime, graph: GraphHandle) -> Result<GraphExecHandle> {
///     let executable = runtime.instantiate(graph)?;
///     runtime.destroy_graph(graph);
///     Ok(executable)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphHandle(pub u64);

/// An instantiated graph (`CUgraphExec`) as its driver knows it.
///
/// ```
/// use interlock_driver::{DriverRuntime, GraphExecHandle, Result, StreamHandle};
///
/// fn replay_twice(runtime: &dyn DriverRuntime, graph: GraphExecHandle, stream: StreamHandle) -> Result<()> {
///     runtime.replay(graph, stream)?;
///     runtime.replay(graph, stream)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphExecHandle(pub u64);

/// An address in a device's memory, or in the memory of this program.
///
/// ```
/// use interlock_driver::Address;
///
/// let base = Address(0x1000);
/// assert_eq!(Address(base.0 + 64), Address(0x1040));
/// assert_eq!(format!("{base:?}"), "Address(0x1000)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({:#x})", self.0)
    }
}

/// Options of an event.
///
/// ```
/// use interlock_driver::EventOptions;
///
/// let timed = EventOptions { timing: true, ..EventOptions::default() };
/// assert!(timed.timing && !timed.blocking);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// It notes the time at which it is reached.
    pub timing: bool,
    /// A thread that waits for it sleeps until it is woken, instead of polling.
    pub blocking: bool,
    /// Other processes may open it.
    pub interprocess: bool,
}
