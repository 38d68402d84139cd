//! The placement of a tensor: pageable, pinned or device memory.

use interlock::accelerator::{Device, DeviceType, Stream, current_stream};

use crate::{DType, Error, Result};

/// The kind of memory that holds the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Pageable CPU memory.
    Cpu,
    /// Pinned (page-locked) CPU memory, which devices copy by DMA.
    Pinned,
    /// Memory of a device. A device without an index is the current device of its type.
    Device(Device),
}

impl From<Device> for Placement {
    fn from(device: Device) -> Self {
        if device.kind() == DeviceType::Cpu { Placement::Cpu } else { Placement::Device(device) }
    }
}

/// The element type and placement of a new tensor, as PyTorch's `TensorOptions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorOptions {
    /// The element type.
    pub dtype: DType,
    /// The kind of memory.
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

/// Returns the current stream of the device on which `op` creates a tensor.
pub(crate) fn current_stream_of(op: &'static str, device: Device) -> Result<Stream> {
    current_stream(Some(device)).map_err(|error| Error::from(error).during(op))
}
