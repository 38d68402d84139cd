//! What is told where there is no room.

use std::fmt;

use super::super::{Device, PoolId};
use crate::Error;

/// A request that could not be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Where the memory was asked for.
    pub device: Device,
    /// How many bytes were asked for.
    pub requested: usize,
    /// How things stood with what is kept of the device's memory; `None` where nothing is kept.
    pub cache: Option<CacheState>,
}

/// How much of a device's memory was kept, and for what, when a request could not be served. In bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheState {
    /// What the request was rounded up to.
    pub rounded: usize,
    /// What is in use.
    pub allocated: u64,
    /// What was taken from the driver, in use or not.
    pub reserved: u64,
    /// The largest piece that is kept and not in use.
    pub largest_free: u64,
    /// How much may be reserved at most, if that is limited.
    pub limit: Option<u64>,
    /// What the driver has left, if it could be asked.
    pub free: Option<u64>,
    /// The id of the stream for which the memory was asked.
    pub stream: i64,
    /// The pool of a graph from which it was to come.
    pub pool: Option<PoolId>,
}

impl OutOfMemory {
    /// The error of memory that nobody keeps.
    pub fn error(device: Device, requested: usize) -> Error {
        Error::OutOfMemory(Box::new(OutOfMemory { device, requested, cache: None }))
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory on {}: could not allocate {} bytes", self.device, self.requested)
    }
}
