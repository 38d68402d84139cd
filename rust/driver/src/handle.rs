//! Handles of a driver's objects.

use std::fmt;

use interlock_core::device::DeviceIndex;

/// The id of a private memory pool of graphs (PyTorch's `MempoolId_t`).
pub type PoolId = (u64, u64);

/// The driver's handle of a stream.
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
    /// The handle that other libraries for these devices use: for CUDA a `cudaStream_t`.
    pub raw: u64,
}

/// The driver's handle of an event.
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
    /// The handle that other libraries for these devices use: for CUDA a `cudaEvent_t`.
    pub raw: u64,
}

/// The driver's handle of a captured graph.
///
/// ```
/// use interlock_driver::{DriverRuntime, GraphExecHandle, GraphHandle, Result};
///
/// fn compile(runtime: &dyn DriverRuntime, graph: GraphHandle) -> Result<GraphExecHandle> {
///     let exec = runtime.instantiate(graph)?;
///     runtime.destroy_graph(graph);
///     Ok(exec)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphHandle(pub u64);

/// The driver's handle of an instantiated graph (`CUgraphExec`).
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
    /// Whether the event records the time of its completion.
    pub timing: bool,
    /// Whether waiting threads sleep until they are woken, instead of polling (`cudaEventBlockingSync`).
    pub blocking: bool,
    /// Whether other processes can import it.
    pub interprocess: bool,
}
