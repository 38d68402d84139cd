//! The names by which a driver knows its objects.

use std::fmt;

use interlock_core::device::DeviceIndex;

/// The id of a pool of memory that graphs share.
pub type PoolId = (u64, u64);

/// A stream as its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamHandle {
    /// The device whose work it orders.
    pub device: DeviceIndex,
    /// The handle that other libraries for these devices use: on NVIDIA's a `cudaStream_t`.
    pub raw: u64,
}

/// An event as its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventHandle {
    /// The device on whose streams it is recorded.
    pub device: DeviceIndex,
    /// The handle that other libraries for these devices use: on NVIDIA's a `cudaEvent_t`.
    pub raw: u64,
}

/// A captured graph as its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphHandle(pub u64);

/// An instantiated graph (`CUgraphExec`) as its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphExecHandle(pub u64);

/// An address in a device's memory, or in the memory of this program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({:#x})", self.0)
    }
}

/// What an event is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// It notes the time at which it is reached.
    pub timing: bool,
    /// A thread that waits for it sleeps until it is woken, instead of polling.
    pub blocking: bool,
    /// Other processes may open it.
    pub interprocess: bool,
}
