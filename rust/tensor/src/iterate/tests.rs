//! Random layouts and dtypes, compared with a naive loop over indices. Guard bytes lie around the memory of each operand.

use fastrand::Rng;

use super::plan::{Plan, PlanOperand};
use super::run::Elements;
use crate::dtype::dispatch;
use crate::layout::Layout;
use crate::loops::{self, ElementLoop};
use crate::storage::Span;
use crate::{DType, Element};

const GUARD: usize = 64;
const GUARD_BYTE: u8 = 0xa5;

/// The memory of an operand and where its elements are.
struct Memory {
    dtype: DType,
    layout: Layout,
    /// With guard bytes on both sides.
    bytes: Vec<u8>,
    /// The distance of the memory from the alignment of its elements.
    shift: usize,
}

impl Memory {
    /// Returns memory for a layout and a random type, with random elements.
    fn random(generator: &mut Rng, layout: Layout) -> Self {
        let dtype = DType::ALL[generator.usize(..DType::ALL.len())];
        Memory::of(generator, dtype, layout)
    }

    /// Returns memory for a layout and a type, with random elements.
    fn of(generator: &mut Rng, dtype: DType, layout: Layout) -> Self {
        let count = layout.required_len().unwrap();
        let shift = if generator.bool() { 0 } else { generator.usize(..dtype.size()) };
        // The allocation itself may have any alignment.
        let mut bytes = vec![GUARD_BYTE; count * dtype.size() + 2 * GUARD + 16];
        let at = bytes.as_ptr().addr() + GUARD;
        let shift = at.next_multiple_of(8) - at + shift;
        let start = GUARD + shift;
        for index in 0..count {
            let number = generator.i64(-100..100) as f64 / 4.0;
            let element = &mut bytes[start + index * dtype.size()..][..dtype.size()];
            store(dtype, element, number);
        }
        Memory { dtype, layout, bytes, shift }
    }

    fn range(&self) -> std::ops::Range<usize> {
        let start = GUARD + self.shift;
        start..start + self.layout.required_len().unwrap() * self.dtype.size()
    }

    fn span(&mut self) -> Span {
        let range = self.range();
        Span { pointer: self.bytes[range.clone()].as_mut_ptr(), bytes: range.len() }
    }

    /// Returns the bytes of the element with these indices.
    fn element(&self, indices: &[usize]) -> std::ops::Range<usize> {
        let at = indices.iter().zip(&self.layout.strides).fold(self.layout.offset, |at, (i, s)| at + i * s);
        let start = GUARD + self.shift + at * self.dtype.size();
        start..start + self.dtype.size()
    }

    fn operand(&self) -> PlanOperand<'_> {
        PlanOperand { strides: &self.layout.strides, offset: self.layout.offset, size: self.dtype.size() }
    }
}

fn load(dtype: DType, bytes: &[u8]) -> f64 {
    // SAFETY: there are as many bytes, and every bit pattern is an element.
    dispatch!(dtype, T => unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }.cast::<f64>())
}

fn store(dtype: DType, bytes: &mut [u8], number: f64) {
    // SAFETY: there are as many bytes.
    dispatch!(dtype, T => unsafe { bytes.as_mut_ptr().cast::<T>().write_unaligned(number.cast::<T>()) });
}

/// Returns strides without overlap for a shape, with gaps, in any order of the dimensions.
fn distinct_strides(generator: &mut Rng, shape: &[usize], has_gaps: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    generator.shuffle(&mut order);
    let mut strides = vec![0; shape.len()];
    let mut step = 1;
    for dim in order {
        strides[dim] = step;
        step *= shape[dim] + if has_gaps { generator.usize(..3) } else { 0 };
    }
    strides
}

/// Calls `visit` with all indices of a shape.
fn for_each_index(shape: &[usize], visit: &mut dyn FnMut(&[usize])) {
    let mut indices = vec![0; shape.len()];
    for number in 0..shape.iter().product() {
        let mut rest: usize = number;
        for (index, size) in indices.iter_mut().zip(shape).rev() {
            *index = rest % size;
            rest /= size;
        }
        visit(&indices);
    }
}

/// Compares a loop over random operands with a naive one. `expected` gets the element of the target and the sources. Elements
/// of the target may share memory if the target `overlaps`.
fn compare(
    generator: &mut Rng,
    element_loop: &dyn ElementLoop,
    overlaps: bool,
    expected: fn(f64, &[f64]) -> f64,
) {
    let sizes = if generator.bool() { 1..5 } else { 1..40 };
    let shape: Vec<usize> = (0..generator.usize(0..4)).map(|_| generator.usize(sizes.clone())).collect();
    let is_dense = !overlaps && generator.bool();
    let mut strides = distinct_strides(generator, &shape, !is_dense);
    if overlaps {
        strides.iter_mut().for_each(|stride| *stride *= generator.usize(..2));
    }
    let target = Layout { shape: shape.clone(), strides, offset: generator.usize(..5) };
    // Sums of float64 do not depend on the order.
    let mut memory = vec![if overlaps {
        Memory::of(generator, DType::Float64, target)
    } else {
        Memory::random(generator, target)
    }];
    for _ in 1..element_loop.dtypes().len() {
        let strides = match generator.usize(..4) {
            0 => distinct_strides(generator, &shape, true),
            // Expanded, or with overlaps.
            1 => shape.iter().map(|_| generator.usize(..3)).collect(),
            // Expanded along some dimensions.
            2 => memory[0].layout.strides.iter().map(|stride| stride * generator.usize(..2)).collect(),
            _ => memory[0].layout.strides.clone(),
        };
        let layout = Layout { shape: shape.clone(), strides, offset: generator.usize(..5) };
        memory.push(Memory::random(generator, layout));
    }
    let mut naive = memory[0].bytes.clone();
    for_each_index(&shape, &mut |indices| {
        let sources: Vec<f64> = memory[1..]
            .iter()
            .map(|source| load(source.dtype, &source.bytes[source.element(indices)]))
            .collect();
        let at = memory[0].element(indices);
        let before = load(memory[0].dtype, &naive[at.clone()]);
        store(memory[0].dtype, &mut naive[at], expected(before, &sources));
    });
    let order =
        if is_dense { Layout { offset: 0, ..memory[0].layout.clone() } } else { Layout::contiguous(&shape) };
    let operands: Vec<_> = memory.iter().map(Memory::operand).collect();
    let plan = Plan::new(&order, &operands);
    let count = plan.numel();
    let elements = Elements::new(plan, memory.iter().map(|memory| memory.dtype).collect());
    let before: Vec<_> = memory[1..].iter().map(|source| source.bytes.clone()).collect();
    let spans: Vec<_> = memory.iter_mut().map(Memory::span).collect();
    assert!(elements.are_within(&spans));
    let short = Span { bytes: spans[0].bytes - 1, ..spans[0] };
    assert!(!elements.are_within(&[&[short], &spans[1..]].concat()));
    let cut = generator.usize(..=count);
    // SAFETY: the elements are within the memory, which this thread alone uses; it is initialized.
    unsafe {
        elements.run(element_loop, &spans, 0..cut);
        elements.run(element_loop, &spans, cut..count);
    }
    let names = memory.iter().map(|memory| (memory.dtype, &memory.layout, memory.shift)).collect::<Vec<_>>();
    assert!(memory[0].bytes == naive, "{names:?}");
    assert!(memory[1..].iter().map(|source| &source.bytes).eq(&before), "a source has changed: {names:?}");
}

#[test]
fn loops_over_random_operands_agree_with_naive_ones() {
    let mut generator = Rng::with_seed(11);
    for _ in 0..if cfg!(debug_assertions) { 300 } else { 20_000 } {
        let g = &mut generator;
        compare(g, &loops::map(|x: f64| x + 1.0), false, |_, x| x[0] + 1.0);
        compare(g, &loops::zip(|x: f64, y: f64| x - 2.0 * y), false, |_, x| x[0] - 2.0 * x[1]);
        compare(g, &loops::zip3(|x: f64, y: f64, z: f64| x + y - z), false, |_, x| x[0] + x[1] - x[2]);
        compare(g, &loops::update(|before: f64, x: f64| before * 2.0 - x), false, |before, x| {
            before * 2.0 - x[0]
        });
        let within = loops::map_within(|x: f64| x + 1.0, |x| x < 20.0, |x| x - 1.0);
        compare(g, &within, false, |_, x| if x[0] < 20.0 { x[0] + 1.0 } else { x[0] - 1.0 });
        compare(g, &loops::update(|before: f64, x: f64| before + x), true, |before, x| before + x[0]);
    }
}
