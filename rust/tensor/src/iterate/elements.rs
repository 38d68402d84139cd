//! Launches of inner loops: on the threads of the CPU, or queued on the stream of a device.

use std::ops::Range;

use interlock::accelerator::check_interrupts;

use super::launch::{Launch, Target, threads_on};
use super::parallel::{Shared, THREADED_ELEMENTS, TILE, for_each};
use super::plan::{Plan, PlanOperand};
use super::run::Elements;
use super::slices::new_tensor;
use crate::layout::Layout;
use crate::loops::{ElementLoop, convert};
use crate::storage::fallible_alloc::check_memory;
use crate::storage::{Placement, Span};
use crate::{DType, Error, Result, Tensor};

/// The number of elements from which on the thread is detached from the interpreter while they are computed.
pub(super) const LONG: usize = 1 << 13;

/// The number of elements of a new result that are computed between two checks for signals.
const CHUNK: usize = 1 << 24;

/// Returns a new tensor of the given dense layout and type, whose elements a loop computes from those of the sources, which
/// are broadcast.
pub(crate) fn new_result(
    op: &'static str,
    placement: Placement,
    (layout, dtype): (Layout, DType),
    sources: &[&Tensor],
    element_loop: &dyn ElementLoop,
) -> Result<Tensor> {
    let out = new_tensor(op, placement, layout, dtype)?;
    let threads = threads_on(placement, out.numel(), THREADED_ELEMENTS);
    let elements = elements_of((out.layout(), dtype), sources);
    let target = Target::new_result(out.storage_handle());
    let launch = Launch { op, targets: &[target], is_zeroed: false, sources };
    run(launch, threads, elements, element_loop)?;
    Ok(out)
}

/// Runs a loop over the elements of a target and of sources, which are broadcast and share no memory with it. The caller
/// increments the version counter.
pub(crate) fn into_target(
    op: &'static str,
    target: &Tensor,
    sources: &[&Tensor],
    element_loop: &dyn ElementLoop,
) -> Result<()> {
    check_memory()?;
    let layout = target.layout();
    // Tiles of other layouts may overlap.
    let work = if layout.is_contiguous() { target.numel() } else { 0 };
    let threads = threads_on(target.placement(), work, THREADED_ELEMENTS);
    let elements = elements_of((layout, target.dtype()), sources);
    let launch = Launch { op, targets: &[Target::of(target)], is_zeroed: false, sources };
    run(launch, threads, elements, element_loop)
}

/// Returns a new contiguous CPU tensor that consists of converted copies of tensors. Each part is a tensor with the position
/// of its first element in the result. The elements of all parts have these strides in the result.
pub(crate) fn new_of_parts(
    op: &'static str,
    (shape, dtype): (&[usize], DType),
    strides: &[usize],
    parts: &[(usize, &Tensor)],
) -> Result<Tensor> {
    /// The number of tensors whose locks are held at once.
    const GROUP: usize = 1 << 10;
    let out = new_tensor(op, Placement::Cpu, Layout::contiguous(shape), dtype)?;
    let target = Target::new_result(out.storage_handle());
    for parts in parts.chunks(GROUP) {
        let sources: Vec<&Tensor> = parts.iter().map(|(_, source)| *source).collect();
        let launch = Launch { op, targets: &[target], is_zeroed: false, sources: &sources };
        launch.run_on_cpu(target.is_long(), &mut |spans| {
            let Some((&target, spans)) = spans.split_first() else { return Ok(()) };
            parts.iter().zip(spans).try_for_each(|(&(offset, source), &span)| {
                let target_part = PlanOperand { strides, offset, size: dtype.size() };
                copy_part(op, (target_part, dtype), source, &[target, span])
            })
        })?;
        check_interrupts()?;
    }
    Ok(out)
}

/// Copies the elements of a tensor to a part of a target. The locks of both are held.
fn copy_part(
    op: &'static str,
    (target, dtype): (PlanOperand<'_>, DType),
    source: &Tensor,
    spans: &[Span; 2],
) -> Result<()> {
    let (layout, from) = (source.layout(), source.dtype());
    let operands =
        [target, PlanOperand { strides: &layout.strides, offset: layout.offset, size: from.size() }];
    let plan = match layout.is_contiguous() {
        true => Plan::new(layout, &operands),
        false => Plan::new(&Layout::contiguous(&layout.shape), &operands),
    };
    let count = plan.numel();
    let threads = threads_on(Placement::Cpu, count, THREADED_ELEMENTS);
    compute(op, threads, &Elements::new(plan, vec![dtype, from]), &convert(from, dtype), spans, 0..count)
}

fn elements_of((layout, dtype): (&Layout, DType), sources: &[&Tensor]) -> Elements {
    // Read once: another thread may resize the sources.
    let layouts: Vec<_> = sources.iter().map(|source| source.layout()).collect();
    let strides: Vec<_> = layouts.iter().map(|own| own.broadcast_strides(&layout.shape)).collect();
    let target = PlanOperand { strides: &layout.strides, offset: layout.offset, size: dtype.size() };
    let (mut operands, mut dtypes) = (vec![target], vec![dtype]);
    for (source, (own, strides)) in sources.iter().zip(layouts.iter().zip(&strides)) {
        operands.push(PlanOperand { strides, offset: own.offset, size: source.dtype().size() });
        dtypes.push(source.dtype());
    }
    Elements::new(Plan::new(layout, &operands), dtypes)
}

/// Runs a loop over the memory of a target and of sources.
fn run(launch: Launch<'_>, threads: usize, elements: Elements, element_loop: &dyn ElementLoop) -> Result<()> {
    let op = launch.op;
    let count = elements.plan.numel();
    if let Some(device) = launch.device() {
        let element_loop = element_loop.shared();
        return launch.enqueue(
            device,
            Box::new(move |spans| compute(op, 1, &elements, &*element_loop, spans, 0..count)),
        );
    }
    let is_new = launch.targets.iter().all(|target| target.is_new);
    let (chunk, is_long) = if is_new { (CHUNK, count >= LONG) } else { (count, false) };
    launch.run_in_chunks(is_long, (count, chunk), &mut |part, spans| {
        compute(op, threads, &elements, element_loop, spans, part)
    })
}

/// Computes elements on several threads. The locks of the memory are held.
fn compute(
    op: &'static str,
    threads: usize,
    elements: &Elements,
    element_loop: &dyn ElementLoop,
    spans: &[Span],
    part: Range<usize>,
) -> Result<()> {
    Error::when(!elements.are_within(spans), || Error::resized(op))?;
    // SAFETY: the locks are held until all threads have ended, and each writes elements of its own.
    let shared = unsafe { Shared::new(spans) };
    let run = |range: Range<usize>| {
        // SAFETY: the elements are within the memory, whose locks are held; a target shares none with a source; and
        // ranges have different elements.
        unsafe { elements.run(element_loop, shared.get(), range) };
        Ok(())
    };
    if threads == 1 {
        return run(part);
    }
    let tile = |number: usize| {
        let first = part.start + number * TILE;
        first..part.end.min(first + TILE)
    };
    for_each(threads, (0..part.len().div_ceil(TILE)).map(tile), &run)
}
