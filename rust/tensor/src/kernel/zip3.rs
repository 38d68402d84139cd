//! Elementwise kernels with three operands.

use std::marker::PhantomData;
use std::ops::Range;

use super::StridedIter;
use super::elementwise::{StridedRow, convert, iter_in_memory_order, range_of, take_row};
use super::launch::{PartedKernel, launch_several, on_device_of, threads_on};
use super::parallel::{THREADED_ELEMENTS, for_each_tile};
use crate::shape::Layout;
use crate::storage::Placement;
use crate::{DType, Element, Result, Tensor};

/// Applies `f` to the elements of three operands of one type.
struct Zip3<T, F> {
    iter: StridedIter<3>,
    threads: usize,
    f: F,
    element: PhantomData<fn() -> T>,
}

impl<T: Element, F: Fn(T, T, T) -> T + Send + Sync + 'static> PartedKernel<T, 1> for Zip3<T, F> {
    fn parts(&self) -> usize {
        1
    }

    fn chunk(&self) -> usize {
        1
    }

    fn run(&self, _: Range<usize>, [out]: [&mut [T]; 1], sources: &[&[T]]) -> Result<()> {
        let &[data_a, data_b, data_c] = sources else { return Ok(()) };
        let [step_a, step_b, step_c] = self.iter.row_strides;
        for_each_tile(self.threads, out, &|first, mut out| {
            self.iter.for_each_row_in(range_of(first, out), |[start_a, start_b, start_c], length| {
                let a = StridedRow::new(data_a, start_a, step_a, length);
                let b = StridedRow::new(data_b, start_b, step_b, length);
                let c = StridedRow::new(data_c, start_c, step_c, length);
                zip3_row(take_row(&mut out, length), [&a, &b, &c], &self.f);
            });
        })
    }
}

fn zip3_row<T: Element>(row: &mut [T], operands: [&StridedRow<'_, T>; 3], f: impl Fn(T, T, T) -> T) {
    if let [StridedRow::Slice(a), StridedRow::Slice(b), StridedRow::Slice(c)] = operands {
        return row
            .iter_mut()
            .zip(a.iter().zip(*b).zip(*c))
            .for_each(|(out, ((&a, &b), &c))| *out = f(a, b, c));
    }
    let [a, b, c] = operands.map(StridedRow::values);
    row.iter_mut().zip(a.zip(b).zip(c)).for_each(|(out, ((a, b), c))| *out = f(a, b, c));
}

/// Applies `f` to the elements of three operands that are broadcast to `shape`, in the type in which arithmetic is done.
/// The result is stored as `dtype`, in the memory order of the operands.
pub(crate) fn zip3<T: Element>(
    op: &'static str,
    (dtype, shape): (DType, &[usize]),
    operands: [&Tensor; 3],
    f: impl Fn(T, T, T) -> T + Send + Sync + 'static,
) -> Result<Tensor> {
    let on_device = operands.iter().find(|operand| operand.is_on_device());
    let placement = on_device.map_or(Placement::Cpu, |operand| operand.placement());
    let [a, b, c] = operands.map(|operand| convert(op, &*on_device_of(op, placement, operand)?, T::DTYPE));
    let sources = [a?, b?, c?];
    let layout = Layout::of_elementwise_result(shape, &operands.map(Tensor::layout));
    let strides = sources.each_ref().map(|source| source.layout().broadcast_strides(shape));
    let [a, b, c] = &strides;
    let [start_a, start_b, start_c] = sources.each_ref().map(Tensor::storage_offset);
    let iter = iter_in_memory_order(&layout, [(a, start_a), (b, start_b), (c, start_c)]);
    let threads = threads_on(placement, iter.numel(), THREADED_ELEMENTS);
    let count = iter.numel();
    let kernel = Zip3 { iter, threads, f, element: PhantomData };
    let [out] = launch_several::<T, 1>(op, placement, [&[count]], &sources.each_ref(), kernel)?;
    convert(op, &out.alias(layout), dtype)
}
