//! Launch of kernels: synchronously on the CPU, queued on a stream for devices.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use interlock::accelerator::driver::Owners;
use interlock::accelerator::{Device, HostFn, Stream, check_interrupts, current_stream};
use interlock::num_threads;

use crate::element::Bool8;
use crate::fallible_alloc::check_memory;
use crate::shape::{Layout, checked_ndim, checked_numel};
use crate::storage::{KernelArg, Placement, RawSlice, Storage, TensorOptions};
use crate::{Element, Error, Result, Tensor};

/// The element type of a source that a kernel does not have.
pub(crate) type NoInput = Bool8;

/// The storage that a kernel writes.
#[derive(Clone, Copy)]
struct Target<'a> {
    storage: &'a Arc<Storage>,
    /// The storage is not visible to other threads.
    fresh: bool,
    /// Its bytes are zeroed before the kernel runs.
    zeroed: bool,
}

impl<'a> Target<'a> {
    /// Returns a new storage, whose bytes are zeroed.
    fn new_result(storage: &'a Arc<Storage>) -> Self {
        Target { storage, fresh: true, zeroed: true }
    }

    /// Returns the storage of a tensor that is changed in place.
    fn of(tensor: &'a Tensor) -> Self {
        Target { storage: tensor.storage_handle(), fresh: false, zeroed: false }
    }
}

/// Runs `kernel` on the whole memory of a target and of two sources, none of which shares memory with the target.
///
/// On a device the kernel is queued on the current stream. A graph that captured it can run it several times, so the
/// kernel owns what it uses and computes the same result each time.
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

/// Calls `kernel` synchronously on CPU memory while the locks of all storages are held.
fn run_on_cpu<T: Element, A: Element, B: Element, R>(
    op: &'static str,
    Target { storage, fresh, zeroed }: Target<'_>,
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
    slice.write(zeroed, [a, b], kernel).ok_or_else(|| err_aliased(op))
}

/// Queues `kernel` on the current stream of the device of the target.
fn enqueue<T: Element, A: Element, B: Element>(
    op: &'static str,
    Target { storage, zeroed, .. }: Target<'_>,
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<()> {
    storage.current_process_bytes()?;
    let stream = current_stream(Some(storage.device()))?;
    let mut owners = Owners::default();
    let mut arg = |storage: &Arc<Storage>| kernel_arg(op, storage, &stream, &mut owners);
    let [a, b] = sources;
    let target = arg(storage)?;
    let mut source = |source: Option<&Tensor>| source.map(|source| arg(source.storage_handle())).transpose();
    let (a, b) = (source(a)?, source(b)?);
    let work = HostFn::new(op, move || {
        let [a, b] = [&a, &b].map(|source| source.as_ref().map_or(RawSlice::EMPTY, KernelArg::raw_slice));
        let done = target.raw_slice().write(zeroed, [a, b], |out, a, b| kernel(out, a, b));
        done.unwrap_or_else(|| Err(err_aliased(op))).map_err(|error| reason(op, &error))
    });
    Ok(stream.launch(work.with_owners(owners)).map_err(|error| error.during(op))?)
}

/// Returns the message of an error of a kernel without the name of the operation, which the stream reports.
pub(crate) fn reason(op: &str, error: &Error) -> String {
    let message = error.to_string();
    let without = message.strip_prefix(op).and_then(|rest| rest.strip_prefix(": "));
    without.map(str::to_owned).unwrap_or(message)
}

/// Returns a storage as a kernel argument, or `Unsupported` if the CPU cannot access its memory. Adds its owners.
pub(crate) fn kernel_arg(
    op: &'static str,
    storage: &Arc<Storage>,
    stream: &Stream,
    owners: &mut Owners,
) -> Result<KernelArg> {
    let refused = || interlock::accelerator::Error::Unsupported { operation: op, device: storage.device() };
    Ok(storage.kernel_arg(stream, owners)?.ok_or_else(refused)?)
}

/// Returns the error for a source that shares memory with the target.
pub(crate) fn err_aliased(op: &'static str) -> Error {
    Error::Aliased { op, argument: "the result" }
}

/// Returns the error for sources that are not on the device of the result.
pub(crate) fn err_cross_device(op: &'static str, device: Device, sources: &[Option<&Tensor>]) -> Error {
    let other = sources.iter().flatten().map(|source| source.device()).find(|other| *other != device);
    Error::Devices { op, left: device, right: other.unwrap_or(device) }
}

/// Returns the number of threads for a kernel with this amount of work: one if it is less than `least`, and one on
/// devices, whose streams run on their own threads.
pub(crate) fn threads_on(placement: Placement, work: usize, least: usize) -> usize {
    match placement {
        Placement::Cpu | Placement::Pinned if work >= least => num_threads().get(),
        _ => 1,
    }
}

/// Returns the placement of the result of an operation on two tensors.
pub(crate) fn result_placement(a: &Tensor, b: &Tensor) -> Placement {
    if a.is_on_device() { a.placement() } else { b.placement() }
}

/// Returns `source` as a kernel with this placement can read it: unchanged if it is there, or a copy of a CPU tensor
/// without dimensions, whose value is fixed when the operation is called.
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

/// Returns a new contiguous tensor that a kernel computes from two sources. Its memory is zeroed before the kernel
/// runs. Results of operations are placed on the device of the sources.
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

/// Like [`launch_binary`], with a dense layout for the result. The kernel writes the elements in memory order.
pub(crate) fn launch_with_layout<T: Element, A: Element, B: Element>(
    op: &'static str,
    placement: Placement,
    layout: Layout,
    sources: [Option<&Tensor>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    check_memory()?;
    let count = checked_numel(&layout.shape, size_of::<T>())?;
    let storage = Storage::new(op, placement, count.saturating_mul(size_of::<T>()))?;
    run(op, Target::new_result(&storage), sources, kernel)?;
    Ok(Tensor::new(storage, T::DTYPE, layout))
}

/// A long-running kernel that is divided into chunks. The host program can interrupt it between two chunks.
pub(crate) trait ChunkedKernel<T, A, B>: Clone + Send + Sync + 'static {
    /// Runs the next chunk of about `work` operations. Returns whether it was the last one.
    fn run_chunk(&mut self, work: usize, out: &mut [T], a: &[A], b: &[B]) -> Result<bool>;
}

/// Like [`launch_binary`], for kernels that may run for long. On the CPU the kernel runs in chunks of about `work`
/// operations. No lock is held between chunks, because a signal handler that runs there may use the same tensors.
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
    let storage = Storage::new(op, placement, count.saturating_mul(size_of::<T>()))?;
    let mut target = Target::new_result(&storage);
    while !run_on_cpu(op, target, sources, |out: &mut [T], a: &[A], b: &[B]| {
        kernel.run_chunk(work, out, a, b)
    })?? {
        target.zeroed = false;
        check_interrupts()?;
    }
    Ok(Tensor::new(storage, T::DTYPE, Layout::contiguous(shape)))
}

/// A kernel with several results, which are computed part by part. The parts are numbered.
pub(super) trait PartedKernel<T, const N: usize>: Send + Sync + 'static {
    /// Returns the number of parts.
    fn parts(&self) -> usize;

    /// Returns the number of parts between two checks for interrupts.
    fn chunk(&self) -> usize;

    /// Computes some parts of the results.
    fn run(&self, parts: Range<usize>, out: [&mut [T]; N], sources: &[&[T]]) -> Result<()>;
}

/// Returns new contiguous tensors that a kernel computes from sources of one element type, like [`launch_chunked`].
/// Memory that the kernel only works in is a result that the caller drops: on a device it belongs to the stream.
pub(super) fn launch_several<T: Element, const N: usize>(
    op: &'static str,
    placement: Placement,
    shapes: [&[usize]; N],
    sources: &[&Tensor],
    kernel: impl PartedKernel<T, N>,
) -> Result<[Tensor; N]> {
    check_memory()?;
    let build = |shape: &[usize]| -> Result<Tensor> {
        let count = checked_numel(shape, size_of::<T>())?;
        let storage = Storage::new(op, placement, count.saturating_mul(size_of::<T>()))?;
        Ok(Tensor::new(storage, T::DTYPE, Layout::contiguous(shape)))
    };
    let mut results = Vec::with_capacity(N);
    for shape in shapes {
        results.push(build(shape)?);
    }
    let Ok(results) = <[Tensor; N]>::try_from(results) else { return Err(err_aliased(op)) };
    let parts = kernel.parts();
    if let Placement::Device(device) = placement {
        let stream = current_stream(Some(device))?;
        let mut owners = Owners::default();
        let mut arg = |tensor: &Tensor| kernel_arg(op, tensor.storage_handle(), &stream, &mut owners);
        let mut targets = Vec::with_capacity(N);
        for result in &results {
            targets.push(arg(result)?);
        }
        let sources = sources.iter().map(|source| arg(source)).collect::<Result<Vec<_>>>()?;
        let work = HostFn::new(op, move || {
            let sources: Vec<_> = sources.iter().map(KernelArg::raw_slice).collect();
            let slices =
                std::array::from_fn(|at| targets.get(at).map_or(RawSlice::EMPTY, KernelArg::raw_slice));
            let run = |out: [&mut [T]; N], sources: &[&[T]]| kernel.run(0..parts, out, sources);
            let done = RawSlice::write_several(slices, true, &sources, run);
            done.unwrap_or_else(|| Err(err_aliased(op))).map_err(|error| reason(op, &error))
        });
        stream.launch(work.with_owners(owners)).map_err(|error| error.during(op))?;
        return Ok(results);
    }
    let sources = sources.iter().map(|source| {
        let err_device = || err_cross_device(op, Device::CPU, &[Some(*source)]);
        source.storage_handle().raw_slice().ok_or_else(err_device)
    });
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let slices = results.each_ref().map(|result| {
        let slice = result.storage_handle().raw_slice().unwrap_or(RawSlice::EMPTY);
        // SAFETY: the results are not visible to any other thread.
        unsafe { slice.unlocked() }
    });
    let mut next = 0usize;
    loop {
        let part = next..next.saturating_add(kernel.chunk().max(1)).min(parts);
        let (zeroed, is_last, end) = (next == 0, part.end == parts, part.end);
        let run = |out: [&mut [T]; N], sources: &[&[T]]| kernel.run(part, out, sources);
        RawSlice::write_several(slices, zeroed, &sources, run).unwrap_or_else(|| Err(err_aliased(op)))?;
        if is_last {
            return Ok(results);
        }
        next = end;
        check_interrupts()?;
    }
}

/// Like [`launch_binary`], without sources.
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

/// Like [`launch_binary`], with one source.
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

/// Runs a kernel that changes the memory of `target` and reads that of two sources, which are different storages. The caller
/// increments the version counter.
pub(crate) fn launch_inplace_from<T: Element, A: Element, B: Element>(
    op: &'static str,
    target: &Tensor,
    [a, b]: [&Tensor; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<()> {
    check_memory()?;
    run(op, Target::of(target), [Some(a), Some(b)], kernel)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use interlock::base::blocking::{self, Interpreter};

    use super::*;

    thread_local! {
        static DETACHES: Cell<usize> = const { Cell::new(0) };
    }

    /// Returns how often `work` detaches from the interpreter.
    fn detaches(work: impl FnOnce()) -> usize {
        let interpreter = Interpreter {
            must_detach: || true,
            detach: |work| {
                DETACHES.set(DETACHES.get() + 1);
                work();
            },
        };
        // SAFETY: `detach` calls its argument once.
        unsafe { blocking::set_interpreter(interpreter) };
        DETACHES.set(0);
        work();
        DETACHES.get()
    }

    /// A kernel of three chunks or parts.
    #[derive(Clone)]
    struct Three(usize);

    impl ChunkedKernel<f64, NoInput, NoInput> for Three {
        fn run_chunk(&mut self, _: usize, _: &mut [f64], _: &[NoInput], _: &[NoInput]) -> Result<bool> {
            self.0 += 1;
            Ok(self.0 == 3)
        }
    }

    impl PartedKernel<f64, 1> for Three {
        fn parts(&self) -> usize {
            3
        }

        fn chunk(&self) -> usize {
            1
        }

        fn run(&self, _: Range<usize>, _: [&mut [f64]; 1], _: &[&[f64]]) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_chunk_of_a_large_result_detaches() {
        for (size, expected) in [(100, 0), (10_000, 3)] {
            let shape = [size];
            let chunked =
                || launch_chunked("a test", Placement::Cpu, &shape, [None; 2], 1, Three(0)).map(drop);
            assert_eq!(detaches(|| chunked().unwrap()), expected);
            let parted = || launch_several("a test", Placement::Cpu, [&shape], &[], Three(0)).map(drop);
            assert_eq!(detaches(|| parted().unwrap()), expected);
        }
    }
}
