//! The placement of a tensor: pageable, pinned or device memory.

use interlock::accelerator::Error;
use interlock::accelerator::{Device, DeviceType, Stream, current_stream};

use crate::{DType, Result};

/// Where the elements of a tensor lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In memory of the processor.
    Cpu,
    /// In memory of the processor that devices reach without a detour.
    Pinned,
    /// On a device; without an index, on the current one of its type.
    Device(Device),
}

impl From<Device> for Placement {
    fn from(device: Device) -> Self {
        if device.kind() == DeviceType::Cpu { Placement::Cpu } else { Placement::Device(device) }
    }
}

/// What a new tensor is: its element type, and where it lies if that is not the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorOptions {
    /// The type of the elements.
    pub dtype: DType,
    /// Where they lie.
    pub placement: Placement,
}

impl From<DType> for TensorOptions {
    fn from(dtype: DType) -> Self {
        TensorOptions { dtype, placement: Placement::Cpu }
    }
}

impl<P: Into<Placement>> From<(DType, P)> for TensorOptions {
    fn from((dtype, placement): (DType, P)) -> Self {
        TensorOptions { dtype, placement: placement.into() }
    }
}

/// The current stream of a device on which a tensor is to be.
pub(crate) fn current_stream_of(device: Device) -> Result<Stream> {
    let named = |error| match error {
        Error::NoAccelerator { reason, .. } => {
            Error::NoAccelerator { operation: "a tensor on a device", reason }
        }
        Error::NoSuchDevice { given, allowed, .. } => {
            Error::NoSuchDevice { name: "a tensor on a device".to_owned(), given, allowed }
        }
        other => other,
    };
    Ok(current_stream(Some(device)).map_err(named)?)
}
