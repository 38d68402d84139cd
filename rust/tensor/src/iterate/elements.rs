//! Launches of inner loops: on the threads of the CPU, or queued on the stream of a device.

use std::ops::Range;
use std::sync::Arc;

use interlock::accelerator::driver::Owners;
use interlock::accelerator::{HostFn, check_interrupts, current_stream};

use super::plan::{Plan, PlanOperand};
use super::run::Elements;
use crate::fallible_alloc::check_memory;
use crate::kernel::{
    THREADED_ELEMENTS, TILE, err_aliased, err_cross_device, for_each, kernel_arg, threads_on,
};
use crate::loops::ElementLoop;
use crate::shape::{Layout, checked_ndim, checked_numel};
use crate::storage::{KernelArg, Placement, RawSlice, Span, Storage};
use crate::{DType, Result, Tensor};

/// The number of elements from which on the thread is detached from the interpreter while they are computed.
const LONG: usize = 1 << 13;

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
    check_memory()?;
    checked_ndim(layout.shape.len())?;
    let count = checked_numel(&layout.shape, dtype.size())?;
    let storage = Storage::new(op, placement, count.saturating_mul(dtype.size()))?;
    let threads = threads_on(placement, count, THREADED_ELEMENTS);
    let elements = elements_of((&layout, dtype), sources);
    let launch = Launch { op, storage: &storage, is_new: true, threads };
    launch.run(elements, sources, element_loop)?;
    Ok(Tensor::new(storage, dtype, layout))
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
    let launch = Launch { op, storage: target.storage_handle(), is_new: false, threads };
    launch.run(elements, sources, element_loop)
}

fn elements_of((layout, dtype): (&Layout, DType), sources: &[&Tensor]) -> Elements {
    let strides: Vec<_> =
        sources.iter().map(|source| source.layout().broadcast_strides(&layout.shape)).collect();
    let target = PlanOperand { strides: &layout.strides, offset: layout.offset, size: dtype.size() };
    let (mut operands, mut dtypes) = (vec![target], vec![dtype]);
    for (source, strides) in sources.iter().zip(&strides) {
        operands.push(PlanOperand { strides, offset: source.storage_offset(), size: source.dtype().size() });
        dtypes.push(source.dtype());
    }
    Elements::new(Plan::new(layout, &operands), dtypes)
}

/// A loop over the memory of a target.
struct Launch<'a> {
    op: &'static str,
    storage: &'a Arc<Storage>,
    /// The storage is not visible to other threads, and not initialized.
    is_new: bool,
    threads: usize,
}

impl Launch<'_> {
    fn run(&self, elements: Elements, sources: &[&Tensor], element_loop: &dyn ElementLoop) -> Result<()> {
        if !self.storage.is_on_device() {
            return self.run_on_cpu(&elements, sources, element_loop);
        }
        if self.storage.nbytes() == 0 {
            Ok(())
        } else {
            self.enqueue(elements, sources, element_loop.shared())
        }
    }

    fn run_on_cpu(
        &self,
        elements: &Elements,
        sources: &[&Tensor],
        element_loop: &dyn ElementLoop,
    ) -> Result<()> {
        let err_device = || {
            let sources: Vec<_> = sources.iter().copied().map(Some).collect();
            err_cross_device(self.op, self.storage.device(), &sources)
        };
        let target = self.storage.raw_slice().ok_or_else(err_device)?;
        // SAFETY: a new storage is not visible to any other thread.
        let target = if self.is_new { unsafe { target.unlocked() } } else { target };
        let slices = sources.iter().map(|source| source.storage_handle().raw_slice());
        let slices: Vec<_> = slices.collect::<Option<_>>().ok_or_else(err_device)?;
        let count = elements.plan.numel();
        let (chunk, is_long) = if self.is_new { (CHUNK, count >= LONG) } else { (count, false) };
        let mut first = 0usize;
        // No lock is held between chunks, because a signal handler that runs there may use the same tensors.
        loop {
            let part = first..count.min(first.saturating_add(chunk));
            first = part.end;
            let mut done = Ok(());
            let compute =
                &mut |spans: &[Span]| done = self.compute(elements, element_loop, spans, part.clone());
            if !RawSlice::access(&[target], &slices, is_long, compute) {
                return Err(err_aliased(self.op));
            }
            done?;
            if first == count {
                return Ok(());
            }
            check_interrupts()?;
        }
    }

    /// Computes elements on several threads. The locks of the memory are held.
    fn compute(
        &self,
        elements: &Elements,
        element_loop: &dyn ElementLoop,
        spans: &[Span],
        part: Range<usize>,
    ) -> Result<()> {
        /// Memory that the threads of an operation use.
        struct Shared<'a>(&'a [Span]);
        // SAFETY: the locks are held until all threads have ended, and each writes elements of its own.
        unsafe impl Sync for Shared<'_> {}
        impl Shared<'_> {
            fn spans(&self) -> &[Span] {
                self.0
            }
        }

        if !elements.are_within(spans) {
            debug_assert!(false, "{}: elements are beyond their memory", self.op);
            return Err(err_aliased(self.op));
        }
        let shared = Shared(spans);
        let run = |range: Range<usize>| {
            // SAFETY: the elements are within the memory, whose locks are held; a target shares none with a source; and
            // ranges have different elements.
            unsafe { elements.run(element_loop, shared.spans(), range) };
            Ok(())
        };
        if self.threads == 1 {
            return run(part);
        }
        let tile = |number: usize| {
            let first = part.start + number * TILE;
            first..part.end.min(first + TILE)
        };
        for_each(self.threads, (0..part.len().div_ceil(TILE)).map(tile), &run)
    }

    /// Queues the loop on the current stream of the device of the target.
    fn enqueue(
        &self,
        elements: Elements,
        sources: &[&Tensor],
        element_loop: Arc<dyn ElementLoop>,
    ) -> Result<()> {
        let op = self.op;
        self.storage.current_process_bytes()?;
        let stream = current_stream(Some(self.storage.device()))?;
        let mut owners = Owners::default();
        let mut arg = |storage: &Arc<Storage>| kernel_arg(op, storage, &stream, &mut owners);
        let target = arg(self.storage)?;
        let sources = sources.iter().map(|source| arg(source.storage_handle()));
        let sources: Vec<_> = sources.collect::<Result<_>>()?;
        let work = HostFn::new(op, move || {
            let sources: Vec<_> = sources.iter().map(KernelArg::raw_slice).collect();
            let mut is_within = true;
            let is_done = RawSlice::access(&[target.raw_slice()], &sources, false, &mut |spans| {
                is_within = elements.are_within(spans);
                if is_within {
                    // SAFETY: the elements are within the memory, whose locks are held, and the target shares none with
                    // a source.
                    unsafe { elements.run(&*element_loop, spans, 0..elements.plan.numel()) };
                }
            });
            debug_assert!(is_within, "{op}: elements are beyond their memory");
            if is_done && is_within { Ok(()) } else { Err(crate::kernel::reason(op, &err_aliased(op))) }
        });
        Ok(stream.launch(work.with_owners(owners)).map_err(|error| error.during(op))?)
    }
}
