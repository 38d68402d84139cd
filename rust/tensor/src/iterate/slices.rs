//! Launches of kernels that work on slices of elements.

use std::ops::Range;
use std::sync::Arc;

use interlock::accelerator::check_interrupts;

use super::launch::{LONG_RESULT, Launch, QueuedWork, Target};
use crate::dtype::Bool8;
use crate::layout::{Layout, checked_numel};
use crate::storage::fallible_alloc::check_memory;
use crate::storage::{Placement, Span, Storage, TensorOptions};
use crate::{DType, Element, Error, Result, Tensor};

/// The element type of a source that a kernel does not have.
pub(crate) type NoInput = Bool8;

/// Returns a new tensor, whose memory is not initialized.
pub(crate) fn new_tensor(
    op: &'static str,
    placement: Placement,
    layout: Layout,
    dtype: DType,
) -> Result<Tensor> {
    check_memory()?;
    let count = checked_numel(op, &layout.shape, dtype.size())?;
    let storage = Storage::new(op, placement, count.saturating_mul(dtype.size()))?;
    Ok(Tensor::new(storage, dtype, layout))
}

/// The elements of a tensor's memory that a kernel uses. It gets no others.
///
/// A launch proves at each acquisition of the locks that they exist: the kernel was made for a layout that another thread
/// may have replaced since.
#[derive(Clone, Copy)]
pub(crate) struct TensorPart<'a> {
    tensor: &'a Tensor,
    part: Part,
}

/// A number of elements from a position of a storage on.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    count: usize,
}

impl<'a> TensorPart<'a> {
    /// Returns the first `count` elements of a contiguous tensor.
    pub(crate) fn contiguous(tensor: &'a Tensor, count: usize) -> Self {
        TensorPart { tensor, part: Part { first: tensor.storage_offset(), count } }
    }

    /// Returns the elements of the storage of a tensor up to a position.
    pub(crate) fn up_to(tensor: &'a Tensor, count: usize) -> Self {
        TensorPart { tensor, part: Part { first: 0, count } }
    }
}

impl Part {
    /// Returns the elements.
    ///
    /// # Safety
    /// The memory is initialized, and a [`Launch`] passed it to the work that uses the slice.
    unsafe fn slice<'a, T: Element>(self, op: &'static str, span: Option<Span>) -> Result<&'a [T]> {
        let end = self.first.saturating_add(self.count);
        // The position of no elements is arbitrary, and may be beyond the memory.
        if self.count == 0 {
            return Ok(&[]);
        }
        // SAFETY: guaranteed by the caller.
        let elements: &[T] = unsafe { span.unwrap_or(Span::EMPTY).slice() };
        elements.get(self.first..end).ok_or_else(|| Error::resized(op))
    }
}

/// Returns an error unless a shape has `count` elements: another thread may have resized the tensor that it is of.
pub(crate) fn check_count(op: &'static str, shape: &[usize], count: usize) -> Result<()> {
    if checked_numel(op, shape, 1)? == count { Ok(()) } else { Err(Error::resized(op)) }
}

/// Returns the elements of a target and of the sources that are present.
///
/// # Safety
/// The memory is initialized, and a [`Launch`] passed it to the work that uses the slices.
unsafe fn slices<'a, T: Element, A: Element, B: Element>(
    op: &'static str,
    spans: &[Span],
    [a, b]: [Option<Part>; 2],
) -> Result<(&'a mut [T], &'a [A], &'a [B])> {
    let mut spans = spans.iter().copied();
    let out = spans.next().unwrap_or(Span::EMPTY);
    // SAFETY: guaranteed by the caller: a launch holds the locks, and its targets share no memory with other operands.
    unsafe {
        let a = a.map_or(Ok(&[][..]), |part| part.slice(op, spans.next()))?;
        let b = b.map_or(Ok(&[][..]), |part| part.slice(op, spans.next()))?;
        Ok((out.slice_mut(), a, b))
    }
}

/// Returns the tensors of sources.
fn tensors_of<'a>(sources: [Option<TensorPart<'a>>; 2]) -> [Option<&'a Tensor>; 2] {
    sources.map(|source| source.map(|source| source.tensor))
}

/// Returns the parts of sources.
fn parts_of(sources: [Option<TensorPart<'_>>; 2]) -> [Option<Part>; 2] {
    sources.map(|source| source.map(|source| source.part))
}

/// Work that is called at once, or moved to the queue of a device. The code around it is compiled once.
pub(super) trait Work {
    /// Runs the work on the memory of its operands.
    fn run(&self, spans: &[Span]) -> Result<()>;

    /// Moves the work out.
    fn queued(&mut self) -> Box<QueuedWork>;
}

/// Work until it is moved to a queue.
pub(super) struct Ready<F>(Option<F>);

impl<F: Fn(&[Span]) -> Result<()> + Send + Sync + 'static> Ready<F> {
    /// Creates work that can be run or moved.
    pub(super) fn new(work: F) -> Self {
        Ready(Some(work))
    }
}

impl<F: Fn(&[Span]) -> Result<()> + Send + Sync + 'static> Work for Ready<F> {
    fn run(&self, spans: &[Span]) -> Result<()> {
        debug_assert!(self.0.is_some(), "the work was moved to a queue");
        self.0.as_ref().map_or(Ok(()), |work| work(spans))
    }

    fn queued(&mut self) -> Box<QueuedWork> {
        debug_assert!(self.0.is_some(), "the work was moved to a queue");
        match self.0.take() {
            Some(work) => Box::new(work),
            None => Box::new(|_| Ok(())),
        }
    }
}

/// Returns work that runs `kernel` on the elements of a target and of the sources that are present.
fn work_of<T: Element, A: Element, B: Element, K>(
    op: &'static str,
    sources: [Option<TensorPart<'_>>; 2],
    kernel: K,
) -> impl Work + use<T, A, B, K>
where
    K: Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
{
    let parts = parts_of(sources);
    Ready::new(move |spans: &[Span]| {
        // SAFETY: these are the operands of the launch; a new target is zeroed.
        let (out, a, b) = unsafe { slices(op, spans, parts) }?;
        kernel(out, a, b)
    })
}

/// Runs work on the memory of a target and of sources, none of which shares memory with the target.
///
/// On a device the work is queued on the current stream. A graph that captured it can run it several times, so it owns
/// what it uses and computes the same result each time.
fn run(
    op: &'static str,
    target: Target<'_>,
    sources: [Option<&Tensor>; 2],
    work: &mut dyn Work,
) -> Result<()> {
    let sources: Vec<_> = sources.into_iter().flatten().collect();
    let launch = Launch { op, targets: &[target], is_zeroed: target.is_new, sources: &sources };
    match launch.device() {
        Some(device) => launch.enqueue(device, work.queued()),
        None => launch.run_on_cpu(target.is_long(), &mut |spans| work.run(spans)),
    }
}

/// Returns a new tensor, whose memory is zeroed before the work runs.
pub(super) fn new_result_of(
    op: &'static str,
    placement: Placement,
    (layout, dtype): (Layout, DType),
    sources: [Option<&Tensor>; 2],
    work: &mut dyn Work,
) -> Result<Tensor> {
    let out = new_tensor(op, placement, layout, dtype)?;
    run(op, Target::new_result(out.storage_handle()), sources, work)?;
    Ok(out)
}

/// Returns a new contiguous tensor of zeros.
pub(crate) fn launch_zeros(op: &'static str, options: TensorOptions, shape: &[usize]) -> Result<Tensor> {
    if options.placement == Placement::Cpu {
        return zeros_of_cpu(op, shape, options.dtype);
    }
    let result = (Layout::contiguous(shape), options.dtype);
    new_result_of(op, options.placement, result, [None; 2], &mut Ready::new(|_: &[Span]| Ok(())))
}

fn zeros_of_cpu(op: &'static str, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_memory()?;
    let bytes = checked_numel(op, shape, dtype.size())? * dtype.size();
    let storage = Storage::zeroed(bytes, bytes >= LONG_RESULT)?;
    Ok(Tensor::new(storage, dtype, Layout::contiguous(shape)))
}

/// Returns a new contiguous tensor that a kernel computes from two sources. Its memory is zeroed before the kernel
/// runs. Results of operations are placed on the device of the sources.
pub(crate) fn launch_binary<T: Element, A: Element, B: Element>(
    op: &'static str,
    placement: Placement,
    shape: &[usize],
    sources: [Option<TensorPart<'_>>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    launch_with_layout(op, placement, Layout::contiguous(shape), sources, kernel)
}

/// Like [`launch_binary`], with a dense layout for the result. The kernel writes the elements in memory order.
pub(crate) fn launch_with_layout<T: Element, A: Element, B: Element>(
    op: &'static str,
    placement: Placement,
    layout: Layout,
    sources: [Option<TensorPart<'_>>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    let mut work = work_of(op, sources, kernel);
    new_result_of(op, placement, (layout, T::DTYPE), tensors_of(sources), &mut work)
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
    sources: [Option<TensorPart<'_>>; 2],
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
    let out = new_tensor(op, placement, Layout::contiguous(shape), T::DTYPE)?;
    let target = Target::new_result(out.storage_handle());
    let parts = parts_of(sources);
    let sources: Vec<_> = tensors_of(sources).into_iter().flatten().collect();
    let mut launch = Launch { op, targets: &[target], is_zeroed: true, sources: &sources };
    loop {
        let mut is_last = false;
        launch.run_on_cpu(target.is_long(), &mut |spans| {
            // SAFETY: these are the operands of the launch, and the target was zeroed.
            let (out, a, b) = unsafe { slices(op, spans, parts) }?;
            is_last = kernel.run_chunk(work, out, a, b)?;
            Ok(())
        })?;
        if is_last {
            return Ok(out);
        }
        launch.is_zeroed = false;
        check_interrupts()?;
    }
}

/// A kernel with several results, which are computed part by part. The parts are numbered.
pub(crate) trait PartedKernel<T, const N: usize>: Send + Sync + 'static {
    /// Returns the number of parts.
    fn parts(&self) -> usize;

    /// Returns the number of parts between two checks for interrupts.
    fn chunk(&self) -> usize;

    /// Computes some parts of the results.
    fn run(&self, parts: Range<usize>, out: [&mut [T]; N], sources: &[&[T]]) -> Result<()>;
}

/// Returns new contiguous tensors that a kernel computes from sources of one element type, like [`launch_chunked`].
/// Memory that the kernel only works in is a result that the caller drops: on a device it belongs to the stream.
pub(crate) fn launch_several<T: Element, const N: usize>(
    op: &'static str,
    placement: Placement,
    shapes: [&[usize]; N],
    sources: &[TensorPart<'_>],
    kernel: impl PartedKernel<T, N>,
) -> Result<[Tensor; N]> {
    launch_parts(op, placement, shapes, sources, Arc::new(kernel))
}

fn launch_parts<T: Element, const N: usize>(
    op: &'static str,
    placement: Placement,
    shapes: [&[usize]; N],
    sources: &[TensorPart<'_>],
    kernel: Arc<dyn PartedKernel<T, N>>,
) -> Result<[Tensor; N]> {
    let mut results = Vec::with_capacity(N);
    for shape in shapes {
        results.push(new_tensor(op, placement, Layout::contiguous(shape), T::DTYPE)?);
    }
    let Ok(results) = <[Tensor; N]>::try_from(results) else { std::process::abort() };
    let targets = results.each_ref().map(|result| Target::new_result(result.storage_handle()));
    let source_parts: Vec<_> = sources.iter().map(|source| source.part).collect();
    let sources: Vec<_> = sources.iter().map(|source| source.tensor).collect();
    let launch = Launch { op, targets: &targets, is_zeroed: true, sources: &sources };
    let parts = kernel.parts();
    let run = move |kernel: &dyn PartedKernel<T, N>, part: Range<usize>, spans: &[Span]| {
        let (targets, sources) = spans.split_at_checked(N).unwrap_or((&[], spans));
        let mut targets = targets.iter().copied();
        // SAFETY: these are the operands of the launch, and the targets were zeroed.
        let targets = std::array::from_fn(|_| unsafe { targets.next().unwrap_or(Span::EMPTY).slice_mut() });
        let sources = source_parts.iter().zip(sources);
        // SAFETY: as for the targets.
        let sources = sources.map(|(part, source)| unsafe { part.slice(op, Some(*source)) });
        kernel.run(part, targets, &sources.collect::<Result<Vec<_>>>()?)
    };
    if let Some(device) = launch.device() {
        launch.enqueue(device, Box::new(move |spans| run(&*kernel, 0..parts, spans)))?;
        return Ok(results);
    }
    let is_long = targets.iter().any(Target::is_long);
    let chunk = kernel.chunk().max(1);
    launch.run_in_chunks(is_long, (parts, chunk), &mut |part, spans| run(&*kernel, part, spans))?;
    Ok(results)
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

/// Like [`launch_binary`], with one source, on whose device the result is.
pub(crate) fn launch_unary<T: Element, A: Element>(
    op: &'static str,
    shape: &[usize],
    source: TensorPart<'_>,
    kernel: impl Fn(&mut [T], &[A]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    launch_binary(
        op,
        source.tensor.placement(),
        shape,
        [Some(source), None],
        move |out: &mut [T], a: &[A], _: &[NoInput]| kernel(out, a),
    )
}

/// Runs a kernel that changes the memory of `target` and reads the memory of two sources, whose storages are different ones.
/// The caller increments the version counter.
pub(crate) fn launch_inplace_from<T: Element, A: Element, B: Element>(
    op: &'static str,
    target: TensorPart<'_>,
    sources: [TensorPart<'_>; 2],
    kernel: impl Fn(&mut [T], &[A], &[B]) -> Result<()> + Send + Sync + 'static,
) -> Result<()> {
    check_memory()?;
    let sources = sources.map(Some);
    let Part { first, count } = target.part;
    let mut work = work_of(op, sources, move |out: &mut [T], a: &[A], b: &[B]| {
        let out = out.get_mut(first..first.saturating_add(count)).ok_or_else(|| Error::resized(op))?;
        kernel(out, a, b)
    });
    run(op, Target::of(target.tensor), tensors_of(sources), &mut work)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use interlock_core::base::blocking::{self, Interpreter};

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
