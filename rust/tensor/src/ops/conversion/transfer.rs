//! Copies between devices and the CPU.

use std::sync::Arc;

use interlock::accelerator::driver::Owners;
use interlock::accelerator::memory::{self, CopyOperand, DeviceBuffer, HostMemory};
use interlock::accelerator::{Device, Stream, current_stream};

use super::cast::copy_with_layout;
use crate::layout::Layout;
use crate::recording::NodeBuilder;
use crate::storage::{Bytes, Placement, Storage, TensorOptions, current_stream_of};
use crate::{DType, Error, ErrorKind, Result, Tensor, iterate};

impl Tensor {
    /// Records that work on `stream` uses the memory, like `torch.Tensor.record_stream`: after the memory is freed, it
    /// is reused only after the work that is queued there by then. Operations of this crate record their streams
    /// themselves; work of other libraries is not known.
    ///
    /// # Errors
    /// Fails for a tensor in memory of the CPU that is not pinned, which streams do not use.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        self.storage_handle().record_stream(stream)
    }

    /// Adds a description of the memory to the recorded history of its device; see
    /// [`DeviceBuffer::annotate`](interlock::accelerator::memory::DeviceBuffer::annotate).
    ///
    /// # Errors
    /// Fails for a tensor that is not on a device.
    pub fn annotate(&self, annotation: &str) -> Result<()> {
        match self.storage_handle().device_memory()? {
            Some(memory) => Ok(memory.annotate(annotation)?),
            None => Err(Error::value(
                "accelerator.memory.annotate",
                "memory",
                "be on a device",
                "a tensor of the CPU",
            )),
        }
    }

    /// Converts the elements to another placement and type: `torch.Tensor.to`. Returns the same tensor if nothing
    /// changes; `Placement::Cpu` accepts pinned memory as it is.
    ///
    /// A copy from or to a device is synchronous unless `non_blocking` is set. Then it is queued on the current
    /// stream, and a copy from a device is placed in pinned memory, whose contents are valid once the stream has
    /// completed it.
    pub fn to(&self, options: impl Into<TensorOptions>, non_blocking: bool) -> Result<Tensor> {
        let TensorOptions { dtype, placement } = options.into();
        let placement = resolve_index(placement)?;
        if self.is_in(placement) {
            return self.cast(dtype);
        }
        let out = match placement {
            Placement::Device(device)
                if self.is_pinned() && !(self.dtype() == dtype && self.layout().is_dense()) =>
            {
                convert_pinned(self.detach(), dtype, device, non_blocking)?
            }
            _ => to_placement("to", iterate::cast(&self.detach(), dtype)?, placement, non_blocking)?,
        };
        if !dtype.is_floating_point() {
            return Ok(out);
        }
        // The engine moves the gradient to the device and type of the input.
        NodeBuilder::record_linear("ToCopyBackward0", self, out, |gradient| Ok(gradient.clone()))
    }

    /// Copies the elements to pinned CPU memory. Returns the same tensor if it is pinned.
    pub fn pin_memory(&self) -> Result<Tensor> {
        Error::when(self.is_on_device(), || Error::on_device("pin_memory", self.device()))?;
        self.to((self.dtype(), Placement::Pinned), false).map_err(|error| error.during("pin_memory"))
    }

    /// Returns the elements on the CPU, without history. Waits for a copy from a device.
    pub(crate) fn to_cpu(&self) -> Result<Tensor> {
        if self.is_on_device() {
            to_placement("cpu", self.detach(), Placement::Cpu, false)
        } else {
            Ok(self.clone())
        }
    }

    fn is_in(&self, placement: Placement) -> bool {
        match placement {
            Placement::Cpu => !self.is_on_device(),
            Placement::Pinned => self.is_pinned(),
            Placement::Device(device) => self.device() == device,
        }
    }

    /// Returns whether this handle is the only reference to the tensor and its storage.
    pub(crate) fn is_uniquely_owned(&self) -> bool {
        self.handle_count() == 1 && self.owns_storage()
    }

    fn byte_offset(&self) -> usize {
        self.storage_offset().saturating_mul(self.dtype().size())
    }
}

/// Resolves a device without an index to the current device of its type.
fn resolve_index(placement: Placement) -> Result<Placement> {
    match placement {
        Placement::Device(device) if device.index().is_none() => {
            Ok(Placement::Device(current_stream_of("to", device)?.device()))
        }
        _ => Ok(placement),
    }
}

/// Copies a tensor without history to another placement, with the same strides if they are dense. It is new or an alias,
/// which no other thread resizes.
fn to_placement(
    op: &'static str,
    source: Tensor,
    placement: Placement,
    non_blocking: bool,
) -> Result<Tensor> {
    let source = if source.layout().is_dense() { source } else { source.detach().copy()? };
    let placement = match placement {
        // Only copies to pinned memory are asynchronous.
        Placement::Cpu if non_blocking => Placement::Pinned,
        placement => placement,
    };
    let bytes = source.numel().saturating_mul(source.dtype().size());
    let layout = Layout { offset: 0, ..source.layout().clone() };
    let dtype = source.dtype();
    if !source.is_on_device() && !matches!(placement, Placement::Device(_)) {
        let out = Tensor::zeros(&[source.numel()], (dtype, placement))?.alias(layout);
        iterate::copy_into("pin_memory", &out, &source)?;
        return Ok(out);
    }
    let storage = Storage::new("to", placement, bytes)?;
    copy_bytes(op, (&storage, 0), copy_if_shared(source)?, non_blocking)?;
    Ok(Tensor::new(storage, dtype, layout))
}

/// Copies a pageable source that the program may change while the device reads it.
fn copy_if_shared(source: Tensor) -> Result<Tensor> {
    let is_pageable = !source.is_on_device() && !source.is_pinned();
    if is_pageable && !source.is_uniquely_owned() {
        copy_with_layout(&source, source.layout())
    } else {
        Ok(source)
    }
}

/// Copies the bytes of a dense `source`, which is new or an alias, to an offset in `target`. At least one of them is on a device. A copy from or
/// to the CPU is synchronous unless `non_blocking` is set.
fn copy_bytes(
    op: &'static str,
    (target, start): (&Arc<Storage>, usize),
    source: Tensor,
    non_blocking: bool,
) -> Result<()> {
    let (from, to) = (source.storage_handle().current_process_bytes()?, target.current_process_bytes()?);
    let bytes = source.numel().saturating_mul(source.dtype().size());
    if bytes == 0 {
        // A view without elements may start beyond the storage.
        return Ok(());
    }
    let (device, involves_cpu) = match (from, to) {
        (Bytes::Device(from), Bytes::Device(_)) => (from.device(), false),
        (Bytes::Device(one), _) | (_, Bytes::Device(one)) => (one.device(), true),
        _ => (target.device(), true),
    };
    let stream = current_stream(Some(device))?;
    let blocking = involves_cpu && !non_blocking;
    Error::when(blocking && stream.is_capturing()?, || err_capturing(op, source.is_on_device()))?;
    let from = copy_operand(source.storage_handle(), source.byte_offset(), bytes, &stream)?;
    let to = copy_operand(target, start, bytes, &stream)?;
    let copy_stream = memory::copy(&to, &from, None, blocking)?;
    if blocking { Ok(copy_stream.synchronize()?) } else { Ok(()) }
}

/// Returns the error of a copy that waits, on a stream that captures a graph.
fn err_capturing(op: &'static str, reads_device: bool) -> Error {
    let message = if reads_device {
        let or_record = match op {
            "to" | "copy_" => ", or record the copy with Tensor::to and `non_blocking`",
            _ => "",
        };
        format!(
            "elements of a device tensor cannot be read while its stream captures a graph, because the captured work \
             has not run; read them after a replay{or_record}"
        )
    } else {
        "elements cannot be copied from the CPU while the stream captures a graph, because the copy waits; copy them \
         before the capture, or call Tensor::copy_from or Tensor::to with `non_blocking`"
            .to_owned()
    };
    Error::new(ErrorKind::Capture, op, message)
}

/// Returns a part of a storage as an operand of a copy on a stream.
fn copy_operand(storage: &Arc<Storage>, start: usize, bytes: usize, stream: &Stream) -> Result<CopyOperand> {
    let buffer = storage.bytes();
    let owners = match buffer {
        Bytes::Device(memory) => {
            return Ok(CopyOperand::Device(memory.slice(start..start.saturating_add(bytes))?));
        }
        Bytes::Pinned(memory) => memory.prepare_use(stream)?,
        Bytes::Cpu(_) | Bytes::Mapped(..) => Owners::until_completed(storage.clone()),
    };
    let pointer = buffer.pointer().wrapping_add(start);
    // SAFETY: `owners` own the bytes, which are a part of the storage. Pageable memory is not used by other code
    // meanwhile: it is a private copy, or is not visible to the program until the copy has completed. For pinned
    // memory the program guarantees this until the stream has completed the copy, as the documentation of
    // `non_blocking` requires.
    Ok(CopyOperand::Host(unsafe { HostMemory::new(pointer, bytes, owners) }))
}

/// Converts the elements of pinned memory to a tensor of a device, with the same order of dimensions in memory.
fn convert_pinned(source: Tensor, dtype: DType, device: Device, non_blocking: bool) -> Result<Tensor> {
    let op = "to";
    let values = in_stream_order(op, &source, device, non_blocking)?;
    if !values.is_on_device() {
        return to_placement(op, iterate::cast(&values, dtype)?, device.into(), non_blocking);
    }
    let out = if values.dtype() == dtype { values.copy()? } else { iterate::cast(&values, dtype)? };
    if non_blocking { Ok(out) } else { current_stream(Some(device))?.synchronize().map(|()| Ok(out))? }
}

/// Returns the elements of pinned memory as a kernel reads them that is queued on the current stream of `device`. If no
/// kernel can run there, it waits for the stream and returns a copy in pageable memory.
fn in_stream_order(op: &'static str, source: &Tensor, device: Device, non_blocking: bool) -> Result<Tensor> {
    let stream = current_stream(Some(device))?;
    let has_kernels = DeviceBuffer::on(&stream, 0)?.is_host_accessible();
    Error::when(!(non_blocking && has_kernels) && stream.is_capturing()?, || err_capturing(op, false))?;
    if has_kernels {
        return Ok(mapped(source, device));
    }
    stream.synchronize()?;
    copy_with_layout(source, source.layout())
}

/// Returns a tensor over the pinned memory of another one whose operations are queued on the streams of `device`.
fn mapped(pinned: &Tensor, device: Device) -> Tensor {
    Tensor::new(pinned.storage_handle().mapped(device), pinned.dtype(), pinned.layout().clone())
}

/// Writes the elements of `source`, which is broadcast and converted, to `target`. Does not increment the version.
pub(crate) fn copy_into(target: &Tensor, source: &Tensor, non_blocking: bool) -> Result<()> {
    let (op, here) = ("copy_", target.device());
    let same_shape = target.is_contiguous() && source.shape() == target.shape();
    let is_bytewise = same_shape && source.is_contiguous() && source.dtype() == target.dtype();
    let write = |values: &Tensor| iterate::copy_into(op, target, values);
    let queued;
    let source = if target.is_on_device() && source.is_pinned() && !is_bytewise {
        queued = in_stream_order(op, source, here, non_blocking)?;
        if queued.is_on_device() {
            write(&iterate::cast(&queued, target.dtype())?)?;
            return if non_blocking { Ok(()) } else { Ok(current_stream(Some(here))?.synchronize()?) };
        }
        &queued
    } else {
        source
    };
    // The value of pageable memory is fixed by the call.
    let is_number = source.ndim() == 0 && !source.is_on_device() && !source.is_pinned();
    if (source.device() == here || is_number) && !(same_shape && needs_byte_copy(target, source)) {
        return write(&iterate::cast(source, target.dtype())?);
    }
    let values = iterate::cast(&source.detach(), target.dtype())?;
    let is_queued = target.is_on_device() || (target.is_pinned() && non_blocking);
    if is_queued && same_shape {
        let values = copy_if_shared(values.contiguous()?)?;
        return copy_bytes(op, (target.storage_handle(), target.byte_offset()), values, non_blocking);
    }
    if is_queued && !target.is_on_device() && has_kernels(source) {
        return iterate::copy_into(op, &mapped(target, source.device()), &values);
    }
    write(&to_placement(op, values, here.into(), non_blocking && target.is_on_device())?)
}

/// Returns whether kernels can use the memory of a device tensor.
fn has_kernels(tensor: &Tensor) -> bool {
    matches!(tensor.storage_handle().bytes(), Bytes::Device(memory) if memory.is_host_accessible())
}

/// Returns whether only a byte copy is possible: between allocations of a device whose memory the CPU cannot access.
fn needs_byte_copy(target: &Tensor, source: &Tensor) -> bool {
    let (to, from) = (target.storage_handle(), source.storage_handle());
    let plain = target.dtype() == source.dtype() && source.is_contiguous() && !Arc::ptr_eq(to, from);
    plain && matches!(to.bytes(), Bytes::Device(memory) if memory.bytes() != 0 && memory.pointer().is_none())
}

/// Returns the tensor, or its copy on `device` if it is on another one.
pub(crate) fn to_device(device: Device, tensor: Tensor) -> Result<Tensor> {
    if tensor.device() == device { Ok(tensor) } else { tensor.to((tensor.dtype(), device), false) }
}
