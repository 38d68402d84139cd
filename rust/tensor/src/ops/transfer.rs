//! From device to device.

use std::sync::Arc;

use interlock::accelerator::driver::KeepAlive;
use interlock::accelerator::memory::{self, CopyOperand, HostMemory};
use interlock::accelerator::{Device, Stream, current_stream};

use crate::autograd::Record;
use crate::dtype::dispatch;
use crate::shape::Layout;
use crate::storage::{Memory, Options, Place, Storage, stream_of};
use crate::{Error, Result, Tensor, kernel};

impl Tensor {
    /// The elements in another place and as another type; the same tensor if nothing changes. `Place::Cpu` also
    /// stands for pinned memory that the tensor is in.
    ///
    /// This waits for a copy from or to a device, unless it is `non_blocking`: then the copy is queued on the
    /// current stream, and what comes from a device lies in pinned memory and is there once the stream has passed.
    pub fn to(&self, options: impl Into<Options>, non_blocking: bool) -> Result<Tensor> {
        let Options { dtype, place } = options.into();
        let place = resolved(place)?;
        if self.lies_in(place) {
            return self.cast(dtype);
        }
        let out = moved(kernel::cast(&self.detached(), dtype)?, place, non_blocking)?;
        if let Some(record) = Record::new("ToCopyBackward0", &[self])?
            && dtype.is_floating_point()
        {
            // The engine brings the gradient to the device and the type of the input.
            record.finish(&out, |_, gradient| Ok(vec![Some(gradient.clone())]));
        }
        Ok(out)
    }

    /// The elements in memory of the processor that devices reach without a detour; the same tensor if they are.
    pub fn pin_memory(&self) -> Result<Tensor> {
        if self.is_on_device() {
            return Err(Error::OnDevice { what: "memory that can be pinned", device: self.device() });
        }
        self.to((self.dtype(), Place::Pinned), false)
    }

    /// The elements here, without history: it waits for those of a device.
    pub(crate) fn fetched(&self) -> Result<Tensor> {
        if self.is_on_device() { moved(self.detached(), Place::Cpu, false) } else { Ok(self.clone()) }
    }

    fn lies_in(&self, place: Place) -> bool {
        match place {
            Place::Cpu => !self.is_on_device(),
            Place::Pinned => self.is_pinned(),
            Place::Device(device) => self.device() == device,
        }
    }

    /// Whether nothing else can see the memory.
    pub(crate) fn is_private(&self) -> bool {
        self.handles() == 1 && self.owns_memory()
    }

    fn byte_offset(&self) -> usize {
        self.storage_offset().saturating_mul(self.dtype().size())
    }
}

/// A place with an index.
fn resolved(place: Place) -> Result<Place> {
    match place {
        Place::Device(device) if device.index().is_none() => Ok(Place::Device(stream_of(device)?.device())),
        _ => Ok(place),
    }
}

/// The elements of a tensor without history in another place, with the same strides if they leave no gaps.
fn moved(source: Tensor, place: Place, non_blocking: bool) -> Result<Tensor> {
    let source = if source.layout().is_dense() { source } else { source.detached().copy()? };
    let place = match place {
        // Only what lies in pinned memory comes without waiting.
        Place::Cpu if non_blocking => Place::Pinned,
        place => place,
    };
    let bytes = source.numel().saturating_mul(source.dtype().size());
    let layout = Layout { offset: 0, ..source.layout().clone() };
    let dtype = source.dtype();
    if !source.is_on_device() && !matches!(place, Place::Device(_)) {
        let out = Tensor::zeros(&[source.numel()], (dtype, place))?.alias(layout);
        dispatch!(dtype, T => kernel::update("pin_memory", &out, &source, |_: T, value: T| value))?;
        return Ok(out);
    }
    let storage = Storage::new(place, bytes)?;
    copy_bytes((&storage, 0), staged(source)?, non_blocking)?;
    Ok(Tensor::new(storage, dtype, layout))
}

/// A source of bytes that a device reads later, when the program may be changing its own.
fn staged(source: Tensor) -> Result<Tensor> {
    let pageable = matches!(source.storage_handle().memory(), Memory::Cpu(_));
    if pageable && !source.is_private() {
        super::copy_with_layout(&source, source.layout())
    } else {
        Ok(source)
    }
}

/// Copies the elements of `source`, which leave no gaps, to a place in `target`; at least one of both is on a
/// device. A copy from or to the processor is waited for, unless it is `non_blocking`.
fn copy_bytes((target, start): (&Arc<Storage>, usize), source: Tensor, non_blocking: bool) -> Result<()> {
    let (from, to) = (source.storage_handle().of_this_process()?, target.of_this_process()?);
    let bytes = source.numel().saturating_mul(source.dtype().size());
    if bytes == 0 {
        // A view without elements may start beyond the memory.
        return Ok(());
    }
    let (device, one_is_here) = match (from, to) {
        (Memory::Device(from), Memory::Device(_)) => (from.device(), false),
        (Memory::Device(one), _) | (_, Memory::Device(one)) => (one.device(), true),
        _ => (target.device(), true),
    };
    let stream = current_stream(Some(device))?;
    let from = end(source.storage_handle(), source.byte_offset(), bytes, &stream)?;
    let to = end(target, start, bytes, &stream)?;
    let awaited = one_is_here && !non_blocking;
    let queued_on = memory::copy(&to, &from, None, awaited)?;
    if awaited { Ok(queued_on.synchronize()?) } else { Ok(()) }
}

/// A part of a storage as one end of a copy on a stream.
fn end(storage: &Arc<Storage>, start: usize, bytes: usize, stream: &Stream) -> Result<CopyOperand> {
    let keep_alive = match storage.memory() {
        Memory::Device(memory) => {
            return Ok(CopyOperand::Device(memory.slice(start..start.saturating_add(bytes))?));
        }
        Memory::Pinned(memory) => memory.prepare_use(stream)?,
        Memory::Cpu(_) => Some(storage.clone() as KeepAlive),
    };
    let pointer = storage.pointer().wrapping_add(start);
    // SAFETY: the keeper owns the bytes, which are a part of the storage. Those of pageable memory nobody else
    // uses: they are a copy, or not given out before the copy has been waited for. Pinned memory is the program's
    // to leave alone until the stream has passed, as the documentation of `non_blocking` says.
    Ok(CopyOperand::Host(unsafe { HostMemory::new(pointer, bytes, keep_alive) }))
}

/// Writes the elements of `source`, which broadcasts and is converted, to `target`. Raises no version.
pub(super) fn copy_into(target: &Tensor, source: &Tensor, non_blocking: bool) -> Result<()> {
    let (op, here) = ("copy_", target.device());
    let same_shape = target.is_contiguous() && source.shape() == target.shape();
    let is_number = source.ndim() == 0 && !source.is_on_device();
    let write = |values: &Tensor| dispatch!(target.dtype(), T => kernel::update(op, target, values, |_: T, value: T| value));
    if (source.device() == here || is_number) && !(same_shape && is_out_of_reach(target, source)) {
        return write(&kernel::cast(source, target.dtype())?);
    }
    let values = kernel::cast(&source.detached(), target.dtype())?;
    let is_pinned = matches!(target.storage_handle().memory(), Memory::Pinned(_));
    if same_shape && (target.is_on_device() || (is_pinned && non_blocking)) {
        let values = staged(values.contiguous()?)?;
        return copy_bytes((target.storage_handle(), target.byte_offset()), values, non_blocking);
    }
    write(&moved(values, here.into(), non_blocking && target.is_on_device())?)
}

/// Whether a copy of bytes can do what no kernel can: between memories of a device that the processor does not reach.
fn is_out_of_reach(target: &Tensor, source: &Tensor) -> bool {
    let (to, from) = (target.storage_handle(), source.storage_handle());
    let plain = target.dtype() == source.dtype() && source.is_contiguous() && !Arc::ptr_eq(to, from);
    plain
        && matches!(to.memory(), Memory::Device(memory) if memory.bytes() != 0 && memory.pointer().is_none())
}

/// A tensor, or its copy on a device if it is not there.
pub(crate) fn at(device: Device, tensor: Tensor) -> Result<Tensor> {
    if tensor.device() == device { Ok(tensor) } else { tensor.to((tensor.dtype(), device), false) }
}
