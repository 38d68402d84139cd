//! Running a kernel: at once on the processor, in the order of a stream on a device.

use std::borrow::Cow;
use std::sync::Arc;

use interlock::accelerator::{Device, HostFn, Stream, check_interrupts, current_stream};

use crate::element::Bool8;
use crate::fallible_alloc::check_memory;
use crate::shape::{Layout, checked_ndim, checked_numel};
use crate::storage::{KernelArg, Placement, RawSlice, Storage, TensorOptions};
use crate::{Element, Error, Result, Tensor};

/// What a kernel reads where it has fewer than two sources.
pub(crate) type NoInput = Bool8;

/// What a kernel writes.
#[derive(Clone, Copy)]
struct Target<'a> {
    storage: &'a Arc<Storage>,
    /// Nobody else has it, and it is zero before the kernel.
    fresh: bool,
}

/// Runs `kernel` on the whole memory of a target and of two sources, none of which shares memory with the target.
///
/// On a device it is queued on the current stream, where it may run again when a graph is replayed. So it owns what
/// it needs, and does the same each time.
fn run<T: Element, A: Element, B: Element>(
    op: &'static str,
    target: Target<'_>,
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<()> {
    let storage = target.storage;
    if storage.is_on_device() {
        return if storage.nbytes() == 0 { Ok(()) } else { enqueue(op, target, sources, kernel) };
    }
    run_on_cpu(op, target, sources, kernel)?
}

/// Calls `kernel` at once, on memory of the processor. The locks of the memory are held meanwhile.
fn run_on_cpu<T: Element, A: Element, B: Element, R>(
    op: &'static str,
    Target { storage, fresh }: Target<'_>,
    sources: [Option<&Tensor>; 2],
    kernel: impl FnOnce(&mut [T], &[A], &[B]) -> R,
) -> Result<R> {
    let [Some(slice), Some(a), Some(b)] = [
        storage.raw_slice(),
        sources[0].map_or(Some(RawSlice::EMPTY), |it| it.storage_handle().raw_slice()),
        sources[1].map_or(Some(RawSlice::EMPTY), |it| it.storage_handle().raw_slice()),
    ] else {
        return Err(err_cross_device(op, storage.device(), &sources));
    };
    // SAFETY: a fresh storage is not visible to any other thread.
    let slice = if fresh { unsafe { slice.unlocked() } } else { slice };
    slice.write(fresh, [a, b], kernel).ok_or_else(|| err_aliased(op))
}

fn enqueue<T: Element, A: Element, B: Element>(
    op: &'static str,
    Target { storage, fresh }: Target<'_>,
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<()> {
    storage.current_process_bytes()?;
    let stream = current_stream(Some(storage.device()))?;
    let arg = |storage: &Arc<Storage>| kernel_arg(op, storage, &stream);
    let source = |source: Option<&Tensor>| source.map(|source| arg(source.storage_handle())).transpose();
    let [a, b] = sources;
    let (target, a, b) = (arg(storage)?, source(a)?, source(b)?);
    let work = HostFn::new(op, move || {
        let [a, b] = [&a, &b].map(|source| source.as_ref().map_or(RawSlice::EMPTY, KernelArg::raw_slice));
        let done = target.raw_slice().write(fresh, [a, b], |out, a, b| kernel(out, a, b));
        done.unwrap_or_else(|| Err(err_aliased(op))).map_err(|error| error.to_string())
    });
    Ok(stream.launch(work).map_err(|error| error.during(op))?)
}

fn kernel_arg(op: &'static str, storage: &Arc<Storage>, stream: &Stream) -> Result<KernelArg> {
    let refused = || interlock::accelerator::Error::Unsupported { operation: op, device: storage.device() };
    Ok(storage.kernel_arg(stream)?.ok_or_else(refused)?)
}

/// The error of a source that would change while it is read.
fn err_aliased(op: &'static str) -> Error {
    Error::Value { op, message: "source and target share memory".to_owned() }
}

/// The error of sources that don't lie where the result does.
fn err_cross_device(op: &'static str, device: Device, sources: &[Option<&Tensor>]) -> Error {
    let other = sources.iter().flatten().map(|source| source.device()).find(|other| *other != device);
    Error::Devices { op, left: device, right: other.unwrap_or(device) }
}

/// Where an operation on both runs.
pub(crate) fn result_placement(a: &Tensor, b: &Tensor) -> Placement {
    if a.is_on_device() { a.placement() } else { b.placement() }
}

/// `source` as work in a placement may read it: there, or a number in memory of the processor, as it is now.
pub(crate) fn on_device_of<'a>(
    op: &'static str,
    placement: Placement,
    source: &'a Tensor,
) -> Result<Cow<'a, Tensor>> {
    let on = match (placement, source.is_on_device()) {
        (Placement::Cpu | Placement::Pinned, false) => return Ok(Cow::Borrowed(source)),
        (Placement::Device(device), true) if source.device() == device => return Ok(Cow::Borrowed(source)),
        (Placement::Device(_), false) if source.ndim() == 0 => {
            return source.detach().contiguous_copy().map(Cow::Owned);
        }
        (Placement::Device(device), _) => device,
        (Placement::Cpu | Placement::Pinned, true) => Device::CPU,
    };
    Err(Error::Devices { op, left: on, right: source.device() })
}

/// A new contiguous tensor that a kernel writes from two sources; it is zero before. Where it is the result of
/// an operation it lies where the sources do.
pub(crate) fn launch_binary<T: Element, A: Element, B: Element>(
    op: &'static str,
    placement: Placement,
    shape: &[usize],
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    checked_ndim(shape.len())?;
    launch_with_layout(op, placement, Layout::contiguous(shape), sources, kernel)
}

/// As [`build`], for a tensor of a dense layout. The kernel writes the elements in the order in which they are in memory.
pub(crate) fn launch_with_layout<T: Element, A: Element, B: Element>(
    op: &'static str,
    placement: Placement,
    layout: Layout,
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    check_memory()?;
    let count = checked_numel(&layout.shape, size_of::<T>())?;
    let storage = Storage::new(placement, count.saturating_mul(size_of::<T>()))?;
    run(op, Target { storage: &storage, fresh: true }, sources, kernel)?;
    Ok(Tensor::new(storage, T::DTYPE, layout))
}

/// Long work on the elements of a new tensor, in parts between which an interrupt of the host can end it.
pub(crate) trait ChunkedKernel<T, A, B>: Clone + Send + Sync + 'static {
    /// Does the next part of about `work` operations; returns whether that was the last one.
    fn run_chunk(&mut self, work: usize, out: &mut [T], a: &[A], b: &[B]) -> Result<bool>;
}

/// As [`build`], for work that may take long. On the processor it is done in parts of about `work` operations, and no
/// lock is held between them, because the host may run a signal handler there that uses the same tensors.
pub(crate) fn launch_chunked<T: Element, A: Element, B: Element>(
    op: &'static str,
    placement: Placement,
    shape: &[usize],
    sources: [Option<&Tensor>; 2],
    work: usize,
    mut kernel: impl ChunkedKernel<T, A, B>,
) -> Result<Tensor> {
    if let Placement::Device(_) = placement {
        return launch_binary(op, placement, shape, sources, move |out: &mut [T], a: &[A], b: &[B]| {
            let mut kernel = kernel.clone();
            while !kernel.run_chunk(usize::MAX, out, a, b)? {}
            Ok(())
        });
    }
    check_memory()?;
    let count = checked_numel(shape, size_of::<T>())?;
    let storage = Storage::new(placement, count.saturating_mul(size_of::<T>()))?;
    let mut fresh = true;
    while !run_on_cpu(
        op,
        Target { storage: &storage, fresh },
        sources,
        |out: &mut [T], a: &[A], b: &[B]| kernel.run_chunk(work, out, a, b),
    )?? {
        fresh = false;
        check_interrupts()?;
    }
    Ok(Tensor::new(storage, T::DTYPE, Layout::contiguous(shape)))
}

/// As [`build`], from nothing.
pub(crate) fn launch_nullary<T: Element>(
    op: &'static str,
    options: TensorOptions,
    shape: &[usize],
    kernel: impl Fn(&mut [T]) + Send + Sync + 'static,
) -> Result<Tensor> {
    launch_binary(
        op,
        options.placement,
        shape,
        [None; 2],
        move |out: &mut [T], _: &[NoInput], _: &[NoInput]| {
            kernel(out);
            Ok(())
        },
    )
}

/// As [`build`], from one source.
pub(crate) fn launch_unary<T: Element, A: Element>(
    op: &'static str,
    shape: &[usize],
    source: &Tensor,
    kernel: impl Fn(&mut [T], &[A]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    launch_binary(
        op,
        source.placement(),
        shape,
        [Some(source), None],
        move |out: &mut [T], a: &[A], _: &[NoInput]| kernel(out, a),
    )
}

/// Changes the memory of `target` by a kernel that reads that of `source`, which is another. Raises no version: the
/// caller does.
pub(crate) fn launch_inplace<T: Element, A: Element>(
    op: &'static str,
    target: &Tensor,
    source: &Tensor,
    kernel: impl Fn(&mut [T], &[A]) + Send + Sync + 'static,
) -> Result<()> {
    check_memory()?;
    let target = Target { storage: target.storage_handle(), fresh: false };
    run(op, target, [Some(source), None], move |out: &mut [T], a: &[A], _: &[NoInput]| {
        kernel(out, a);
        Ok(())
    })
}
