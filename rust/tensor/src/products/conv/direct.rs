//! Convolutions as loops over lines of images. They need no scratch memory and suit depthwise convolutions.

use std::ops::Range;

use super::{ConvGeometry, ConvPass, area, chunk, elements_of, part};
use crate::iterate::parts::{rest, rest_mut, source};
use crate::iterate::{PartedKernel, launch_several, parallel, threads_on};
use crate::products::matmul::{MatmulElement, THREADED_WORK};
use crate::{Element, Result, Tensor};

/// Computes a pass. A part is a channel of an image, or a filter of the gradient of the weight.
struct Direct {
    geometry: ConvGeometry,
    pass: ConvPass,
    threads: usize,
}

/// A line of the image and the line of the output that a tap connects.
struct Line {
    /// The first element in the plane of the input.
    input: usize,
    /// The first element in the plane of the output.
    output: usize,
    length: usize,
}

/// Calls `work` with the lines that a tap of the kernel connects.
fn for_each_line(g: &ConvGeometry, [row, column]: [usize; 2], work: &mut dyn FnMut(Line)) {
    let ([_, width], [_, output_width], inside) = (g.input, g.output, g.inside(1, column));
    if inside.is_empty() {
        return;
    }
    for line in g.inside(0, row) {
        let input = g.source(0, row, line).saturating_mul(width);
        work(Line {
            input: input.saturating_add(g.source(1, column, inside.start)),
            output: line.saturating_mul(output_width).saturating_add(inside.start),
            length: inside.len(),
        });
    }
}

/// Returns `length` elements of every `step`-th position from `start` on.
fn strided<T>(data: &[T], start: usize, step: usize, length: usize) -> impl Iterator<Item = &T> {
    rest(data, start).iter().step_by(step).take(length)
}

/// Adds the products of a factor and a line to another line. One of them may have gaps.
fn add_scaled<T: Element>(
    (out, to, to_step): (&mut [T], usize, usize),
    (data, from, from_step): (&[T], usize, usize),
    length: usize,
    factor: T,
) {
    let out = rest_mut(out, to);
    match (out.get_mut(..length), part(data, from, length)) {
        (Some(out), data) if (to_step, from_step) == (1, 1) => {
            out.iter_mut().zip(data).for_each(|(out, value)| *out = out.plus(factor.times(*value)));
        }
        _ => {
            let values = strided(data, from, from_step, length);
            out.iter_mut().step_by(to_step).zip(values).for_each(|(out, value)| {
                *out = out.plus(factor.times(*value));
            });
        }
    }
}

impl Direct {
    /// Returns the number of parts of the result, and the elements of each.
    fn division(&self) -> [usize; 2] {
        let shape = self.geometry.result_shape(self.pass);
        let (of_parts, of_elements) =
            shape.split_at(if self.pass == ConvPass::WeightGradient { 1 } else { 2 });
        [of_parts, of_elements].map(|sizes| sizes.iter().copied().fold(1, usize::saturating_mul))
    }

    /// Adds the products of the taps of a filter and a plane of an operand to a plane of the result.
    fn add_taps<T: Element>(&self, out: &mut [T], plane: &[T], weight: &[T], [filter, channel]: [usize; 2]) {
        let (g, step) = (&self.geometry, self.geometry.stride[1].max(1));
        let taps = part(weight, (filter * g.channels + channel) * area(g.kernel), area(g.kernel));
        for (tap, &factor) in g.taps().zip(taps) {
            for_each_line(g, tap, &mut |Line { input, output, length }| match self.pass {
                ConvPass::InputGradient => add_scaled((out, input, step), (plane, output, 1), length, factor),
                _ => add_scaled((out, output, 1), (plane, input, step), length, factor),
            });
        }
    }

    /// Computes an output channel of an image.
    fn forward<T: Element>(&self, number: usize, out: &mut [T], [input, weight, bias]: [&[T]; 3]) {
        let g = &self.geometry;
        let filters = g.groups * g.filters;
        let (image, filter) = (number / filters.max(1), number % filters.max(1));
        let group = filter / g.filters.max(1);
        for channel in 0..g.channels {
            let plane = ((image * g.groups + group) * g.channels + channel) * g.plane();
            self.add_taps(out, part(input, plane, g.plane()), weight, [filter, channel]);
        }
        if let Some(bias) = bias.get(filter) {
            out.iter_mut().for_each(|out| *out = out.plus(*bias));
        }
    }

    /// Computes the gradient of an input channel of an image.
    fn input_gradient<T: Element>(&self, number: usize, out: &mut [T], [gradient, weight, _]: [&[T]; 3]) {
        let g = &self.geometry;
        let channels = g.groups * g.channels;
        let (image, channel) = (number / channels.max(1), number % channels.max(1));
        let (group, channel) = (channel / g.channels.max(1), channel % g.channels.max(1));
        for filter in group * g.filters..(group + 1) * g.filters {
            let plane = (image * g.groups * g.filters + filter) * g.positions();
            self.add_taps(out, part(gradient, plane, g.positions()), weight, [filter, channel]);
        }
    }

    /// Computes the gradient of a filter.
    fn weight_gradient<T: MatmulElement>(
        &self,
        filter: usize,
        out: &mut [T],
        [gradient, input, _]: [&[T]; 3],
    ) {
        let g = &self.geometry;
        let (group, step) = (filter / g.filters.max(1), g.stride[1].max(1));
        let of_channels = out.chunks_mut(area(g.kernel).max(1)).enumerate();
        for (channel, out) in of_channels {
            for (tap, out) in g.taps().zip(out) {
                let mut sum = T::Total::default();
                for image in 0..g.batch {
                    let of_output = (image * g.groups * g.filters + filter) * g.positions();
                    let of_output = part(gradient, of_output, g.positions());
                    let plane = ((image * g.groups + group) * g.channels + channel) * g.plane();
                    let plane = part(input, plane, g.plane());
                    for_each_line(g, tap, &mut |line| {
                        let values = strided(plane, line.input, step, line.length);
                        let factors = part(of_output, line.output, line.length);
                        let products = factors.iter().zip(values).map(|(a, b)| a.times(*b));
                        sum = sum.plus(products.fold(T::default(), T::plus).cast());
                    });
                }
                *out = sum.cast();
            }
        }
    }
}

impl<T: MatmulElement> PartedKernel<T, 1> for Direct {
    fn parts(&self) -> usize {
        self.division()[0]
    }

    fn chunk(&self) -> usize {
        chunk(&self.geometry, self.division()[0], self.threads)
    }

    fn run(&self, parts: Range<usize>, [out]: [&mut [T]; 1], sources: &[&[T]]) -> Result<()> {
        let sources = [0, 1, 2].map(|index| source(sources, index));
        let tasks = elements_of(out, self.division()[1], parts)?;
        parallel::for_each(self.threads, tasks.into_iter(), &|(number, out)| {
            match self.pass {
                ConvPass::Forward => self.forward(number, out, sources),
                ConvPass::InputGradient => self.input_gradient(number, out, sources),
                ConvPass::WeightGradient => self.weight_gradient(number, out, sources),
            }
            Ok(())
        })
    }
}

/// Computes a pass of a convolution.
pub(super) fn run<T: MatmulElement>(
    op: &'static str,
    pass: ConvPass,
    geometry: ConvGeometry,
    operands: [&Tensor; 2],
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let placement = operands[0].placement();
    let threads = threads_on(placement, geometry.work(), THREADED_WORK);
    let sources = geometry.sources(pass, operands, bias);
    let kernel = Direct { geometry, pass, threads };
    let [out] = launch_several::<T, 1>(op, placement, [&geometry.result_shape(pass)], &sources, kernel)?;
    Ok(out)
}
