//! Running a kernel: at once on the processor, in the order of a stream on a device.

use std::borrow::Cow;
use std::sync::Arc;

use interlock::accelerator::{Device, HostFn, Stream, check_interrupts, current_stream};

use crate::element::Truth;
use crate::room::check_memory;
use crate::shape::{Layout, checked_ndim, checked_numel};
use crate::storage::{Options, Place, Reach, Span, Storage};
use crate::{Element, Error, Result, Tensor};

/// What a kernel reads where it has fewer than two sources.
pub(crate) type Nothing = Truth;

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
        return if storage.bytes() == 0 { Ok(()) } else { queue(op, target, sources, kernel) };
    }
    here(op, target, sources, kernel)?
}

/// Calls `kernel` at once, on memory of the processor. The locks of the memory are held meanwhile.
fn here<T: Element, A: Element, B: Element, R>(
    op: &'static str,
    Target { storage, fresh }: Target<'_>,
    sources: [Option<&Tensor>; 2],
    kernel: impl FnOnce(&mut [T], &[A], &[B]) -> R,
) -> Result<R> {
    let [Some(span), Some(a), Some(b)] = [
        storage.span(),
        sources[0].map_or(Some(Span::EMPTY), |it| it.storage_handle().span()),
        sources[1].map_or(Some(Span::EMPTY), |it| it.storage_handle().span()),
    ] else {
        return Err(apart(op, storage.device(), &sources));
    };
    // SAFETY: a fresh storage is not visible to any other thread.
    let span = if fresh { unsafe { span.unlocked() } } else { span };
    span.write(fresh, [a, b], kernel).ok_or_else(|| shared(op))
}

fn queue<T: Element, A: Element, B: Element>(
    op: &'static str,
    Target { storage, fresh }: Target<'_>,
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<()> {
    storage.of_this_process()?;
    let stream = current_stream(Some(storage.device()))?;
    let reach = |storage: &Arc<Storage>| reach(op, storage, &stream);
    let source = |source: Option<&Tensor>| source.map(|source| reach(source.storage_handle())).transpose();
    let [a, b] = sources;
    let (target, a, b) = (reach(storage)?, source(a)?, source(b)?);
    let work = HostFn::new(op, move || {
        let [a, b] = [&a, &b].map(|source| source.as_ref().map_or(Span::EMPTY, Reach::span));
        let done = target.span().write(fresh, [a, b], |out, a, b| kernel(out, a, b));
        done.unwrap_or_else(|| Err(shared(op))).map_err(|error| error.to_string())
    });
    Ok(stream.launch(work).map_err(|error| error.during(op))?)
}

fn reach(op: &'static str, storage: &Arc<Storage>, stream: &Stream) -> Result<Reach> {
    let refused = || interlock::accelerator::Error::Unsupported { operation: op, device: storage.device() };
    Ok(storage.reach(stream)?.ok_or_else(refused)?)
}

/// The error of a source that would change while it is read.
fn shared(op: &'static str) -> Error {
    Error::Value { op, message: "source and target share memory".to_owned() }
}

/// The error of sources that don't lie where the result does.
fn apart(op: &'static str, device: Device, sources: &[Option<&Tensor>]) -> Error {
    let other = sources.iter().flatten().map(|source| source.device()).find(|other| *other != device);
    Error::Devices { op, left: device, right: other.unwrap_or(device) }
}

/// Where an operation on both runs.
pub(crate) fn place_of(a: &Tensor, b: &Tensor) -> Place {
    if a.is_on_device() { a.place() } else { b.place() }
}

/// `source` as work in a place may read it: there, or a number in memory of the processor, as it is now.
pub(crate) fn beside<'a>(op: &'static str, place: Place, source: &'a Tensor) -> Result<Cow<'a, Tensor>> {
    let on = match (place, source.is_on_device()) {
        (Place::Cpu | Place::Pinned, false) => return Ok(Cow::Borrowed(source)),
        (Place::Device(device), true) if source.device() == device => return Ok(Cow::Borrowed(source)),
        (Place::Device(_), false) if source.ndim() == 0 => {
            return source.detached().contiguous_copy().map(Cow::Owned);
        }
        (Place::Device(device), _) => device,
        (Place::Cpu | Place::Pinned, true) => Device::CPU,
    };
    Err(Error::Devices { op, left: on, right: source.device() })
}

/// A new contiguous tensor that a kernel writes from two sources; it is zero before. Where it is the result of
/// an operation it lies where the sources do.
pub(crate) fn build<T: Element, A: Element, B: Element>(
    op: &'static str,
    place: Place,
    shape: &[usize],
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    checked_ndim(shape.len())?;
    build_as(op, place, Layout::contiguous(shape), sources, kernel)
}

/// As [`build`], for a tensor of a dense layout. The kernel writes the elements in the order in which they are in memory.
pub(crate) fn build_as<T: Element, A: Element, B: Element>(
    op: &'static str,
    place: Place,
    layout: Layout,
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    check_memory()?;
    let count = checked_numel(&layout.shape, size_of::<T>())?;
    let storage = Storage::new(place, count.saturating_mul(size_of::<T>()))?;
    run(op, Target { storage: &storage, fresh: true }, sources, kernel)?;
    Ok(Tensor::new(storage, T::DTYPE, layout))
}

/// Long work on the elements of a new tensor, in parts between which an interrupt of the host can end it.
pub(crate) trait Parts<T, A, B>: Clone + Send + Sync + 'static {
    /// Does the next part of about `work` operations; returns whether that was the last one.
    fn next(&mut self, work: usize, out: &mut [T], a: &[A], b: &[B]) -> Result<bool>;
}

/// As [`build`], for work that may take long. On the processor it is done in parts of about `work` operations, and no
/// lock is held between them, because the host may run a signal handler there that uses the same tensors.
pub(crate) fn build_in_parts<T: Element, A: Element, B: Element>(
    op: &'static str,
    place: Place,
    shape: &[usize],
    sources: [Option<&Tensor>; 2],
    work: usize,
    mut parts: impl Parts<T, A, B>,
) -> Result<Tensor> {
    if let Place::Device(_) = place {
        return build(op, place, shape, sources, move |out: &mut [T], a: &[A], b: &[B]| {
            let mut parts = parts.clone();
            while !parts.next(usize::MAX, out, a, b)? {}
            Ok(())
        });
    }
    check_memory()?;
    let count = checked_numel(shape, size_of::<T>())?;
    let storage = Storage::new(place, count.saturating_mul(size_of::<T>()))?;
    let mut fresh = true;
    while !here(op, Target { storage: &storage, fresh }, sources, |out: &mut [T], a: &[A], b: &[B]| {
        parts.next(work, out, a, b)
    })?? {
        fresh = false;
        check_interrupts()?;
    }
    Ok(Tensor::new(storage, T::DTYPE, Layout::contiguous(shape)))
}

/// As [`build`], from nothing.
pub(crate) fn make<T: Element>(
    op: &'static str,
    options: Options,
    shape: &[usize],
    kernel: impl Fn(&mut [T]) + Send + Sync + 'static,
) -> Result<Tensor> {
    build(op, options.place, shape, [None; 2], move |out: &mut [T], _: &[Nothing], _: &[Nothing]| {
        kernel(out);
        Ok(())
    })
}

/// As [`build`], from one source.
pub(crate) fn build_from<T: Element, A: Element>(
    op: &'static str,
    shape: &[usize],
    source: &Tensor,
    kernel: impl Fn(&mut [T], &[A]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    build(op, source.place(), shape, [Some(source), None], move |out: &mut [T], a: &[A], _: &[Nothing]| {
        kernel(out, a)
    })
}

/// Changes the memory of `target` by a kernel that reads that of `source`, which is another. Raises no version: the
/// caller does.
pub(crate) fn change<T: Element, A: Element>(
    op: &'static str,
    target: &Tensor,
    source: &Tensor,
    kernel: impl Fn(&mut [T], &[A]) + Send + Sync + 'static,
) -> Result<()> {
    check_memory()?;
    let target = Target { storage: target.storage_handle(), fresh: false };
    run(op, target, [Some(source), None], move |out: &mut [T], a: &[A], _: &[Nothing]| {
        kernel(out, a);
        Ok(())
    })
}
