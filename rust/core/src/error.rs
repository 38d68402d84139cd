//! What can go wrong, with the data that a message needs.

use std::fmt;

use crate::accelerator::{Device, DeviceType};

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Nothing has changed when one of these is returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No device type has this name.
    UnknownDeviceType {
        /// The name given.
        given: String,
    },
    /// A device index that is malformed or out of range.
    DeviceIndex {
        /// The text or number given.
        given: String,
    },
    /// An allocator could not serve a request.
    OutOfMemory {
        /// Where the memory was asked for.
        device: Device,
        /// How many bytes were asked for.
        requested: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownDeviceType { given } => {
                let known: Vec<_> = DeviceType::ALL.iter().map(|kind| kind.name()).collect();
                write!(f, "unknown device type {given:?}; known types: {}", known.join(", "))
            }
            Error::DeviceIndex { given } => write!(
                f,
                "invalid device index in {given:?}; an index is a number from 0 to {} without sign or leading zeros",
                Device::MAX_INDEX
            ),
            Error::OutOfMemory { device, requested } => {
                write!(f, "out of memory on {device}: could not allocate {requested} bytes")
            }
        }
    }
}

impl std::error::Error for Error {}
