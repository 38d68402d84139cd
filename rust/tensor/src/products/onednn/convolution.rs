//! Convolutions and their gradients by oneDNN.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;

use super::primitive::{
    Attributes, Buffer, DESTINATION, DESTINATION_GRADIENT, Description, Planned, Prepared, Primitive, SOURCE,
    SOURCE_GRADIENT, WEIGHTS, WEIGHTS_GRADIENT, dims_of,
};
use super::{INVALID, Status};
use crate::iterate::parts::{part, source};
use crate::iterate::{PartedKernel, launch_several, parallel, threads_on};
use crate::products::CHUNK_WORK;
use crate::products::conv::{ConvGeometry, ConvPass, chunk};
use crate::products::matmul::THREADED_WORK;
use crate::storage::fallible_alloc::try_push;
use crate::{DType, Error, Result, Tensor};

/// A tensor of a convolution: its role, sizes and strides.
struct Operand {
    role: c_int,
    sizes: Vec<usize>,
    strides: Vec<usize>,
}

impl Operand {
    /// Returns a part of a contiguous tensor of four dimensions.
    fn of(role: c_int, part: [usize; 4], whole: [usize; 4]) -> Self {
        Operand { role, sizes: part.to_vec(), strides: contiguous(whole).to_vec() }
    }

    /// Returns a part of the weight. Groups are a dimension of their own.
    fn weight(role: c_int, part: &ConvGeometry, whole: &ConvGeometry) -> Self {
        let mut weight = Operand::of(role, part.weight_shape(), whole.weight_shape());
        if part.groups > 1 {
            let [first, rest @ ..] = contiguous(whole.weight_shape());
            weight.strides = [&[part.filters.saturating_mul(first), first][..], &rest].concat();
            let [_, rest @ ..] = part.weight_shape();
            weight.sizes = [&[part.groups, part.filters][..], &rest].concat();
        }
        weight
    }

    fn any(&self) -> Prepared<Description> {
        Description::any(DType::Float32, &self.sizes)
    }
}

/// Returns the strides of a contiguous tensor.
fn contiguous([_, channels, rows, columns]: [usize; 4]) -> [usize; 4] {
    let plane = rows.saturating_mul(columns);
    [channels.saturating_mul(plane), plane, columns, 1]
}

/// A copy of a tensor into or from the order in memory that a primitive has chosen.
struct Reorder {
    primitive: Primitive,
    /// The bytes of the tensor in the chosen order.
    bytes: usize,
}

impl Reorder {
    /// Prepares the copy of an operand of a primitive, or of its result; `None` if its order is the tensor's.
    fn new(
        primitive: &Primitive,
        index: usize,
        operand: &Operand,
        attributes: Attributes,
    ) -> Prepared<Option<Self>> {
        let own = Description::new(DType::Float32, &operand.sizes, &operand.strides)?;
        let Some(chosen) = primitive.operand(index).filter(|chosen| !chosen.equals(&own)) else {
            return Ok(None);
        };
        let is_result = matches!(operand.role, DESTINATION | SOURCE_GRADIENT | WEIGHTS_GRADIENT);
        let (from, to) = if is_result { (chosen, &own) } else { (&own, chosen) };
        let copy = Primitive::new(attributes, false, &[(SOURCE, from), (DESTINATION, to)], &plan_copy)?;
        Ok(Some(Reorder { primitive: copy, bytes: chosen.bytes() }))
    }

    /// Returns memory for the tensor in the chosen order.
    fn buffer(reorder: Option<&Self>) -> Result<Option<Buffer>> {
        reorder.map(|reorder| Buffer::new(reorder.bytes)).transpose()
    }
}

/// A pass of a part of a convolution. oneDNN may read and write its tensors in orders of its own.
struct Convolution {
    primitive: Primitive,
    first: Option<Reorder>,
    second: Option<Reorder>,
    result: Option<Reorder>,
}

impl Convolution {
    /// Prepares a pass. The tensors of the part are parts of those of `whole`, and have their strides.
    fn new(
        pass: ConvPass,
        part: &ConvGeometry,
        whole: &ConvGeometry,
        attributes: Attributes,
    ) -> Prepared<Self> {
        let input = |role| Operand::of(role, part.input_shape(), whole.input_shape());
        let output = |role| Operand::of(role, part.output_shape(), whole.output_shape());
        let weight = |role| Operand::weight(role, part, whole);
        let (first, second, result) = match pass {
            ConvPass::Forward => (input(SOURCE), weight(WEIGHTS), output(DESTINATION)),
            ConvPass::InputGradient => {
                (output(DESTINATION_GRADIENT), weight(WEIGHTS), input(SOURCE_GRADIENT))
            }
            ConvPass::WeightGradient => {
                (output(DESTINATION_GRADIENT), input(SOURCE), weight(WEIGHTS_GRADIENT))
            }
        };
        let any = (first.any()?, second.any()?, result.any()?);
        let operands = [(first.role, &any.0), (second.role, &any.1), (result.role, &any.2)];
        let primitive = Primitive::new(attributes, false, &operands, &|planned, plan| {
            plan_pass(pass, part, planned, plan)
        })?;
        let reorder = |index, operand| Reorder::new(&primitive, index, operand, attributes);
        let (first, second, result) = (reorder(0, &first)?, reorder(1, &second)?, reorder(2, &result)?);
        Ok(Convolution { primitive, first, second, result })
    }

    /// Computes the part.
    ///
    /// # Safety
    /// The pointers are the first elements of both operands and the result, which have the sizes and strides of the part.
    unsafe fn run(&self, op: &'static str, [first, second, result]: [*mut c_void; 3]) -> Result<()> {
        let read = |reorder: &Option<Reorder>, pointer| -> Result<Option<Buffer>> {
            let mut buffer = Reorder::buffer(reorder.as_ref())?;
            if let (Some(reorder), Some(buffer)) = (reorder, &mut buffer) {
                // SAFETY: the caller guarantees the memory of the tensor; the buffer has the bytes of the chosen order.
                unsafe { reorder.primitive.execute(op, &[pointer, buffer.pointer()]) }?;
            }
            Ok(buffer)
        };
        let (mut read_first, mut read_second) = (read(&self.first, first)?, read(&self.second, second)?);
        let mut written = Reorder::buffer(self.result.as_ref())?;
        let chosen = |buffer: &mut Option<Buffer>, pointer| buffer.as_mut().map_or(pointer, Buffer::pointer);
        let from = chosen(&mut written, result);
        let memory = [chosen(&mut read_first, first), chosen(&mut read_second, second), from];
        // SAFETY: as above.
        unsafe {
            self.primitive.execute(op, &memory)?;
            match &self.result {
                Some(reorder) => reorder.primitive.execute(op, &[from, result]),
                None => Ok(()),
            }
        }
    }
}

fn plan_copy(planned: &Planned<'_>, plan: *mut super::Object) -> Status {
    let Planned { functions, engine, attributes, operands } = *planned;
    let [from, to] = *operands else { return INVALID };
    // SAFETY: the objects exist.
    unsafe { (functions.plan_reorder)(plan, from, engine, to, engine, attributes) }
}

fn plan_pass(pass: ConvPass, g: &ConvGeometry, planned: &Planned<'_>, plan: *mut super::Object) -> Status {
    /// `dnnl_forward_training` and `dnnl_convolution_direct`.
    const FORWARD: c_int = 64;
    const DIRECT: c_int = 1;
    let Planned { functions, engine, attributes, operands } = *planned;
    let [first, second, third] = *operands else { return INVALID };
    // The library counts the elements between two taps.
    let gaps = g.dilation.map(|dilation| dilation.saturating_sub(1));
    let after = [0, 1].map(|axis| g.padding_after(axis));
    let [stride, gaps, before, after] = [g.stride, gaps, g.padding, after].map(|pair| dims_of(&pair));
    let (none, stride, gaps) = (ptr::null_mut(), &raw const stride, &raw const gaps);
    let (before, after) = (&raw const before, &raw const after);
    // SAFETY: the objects exist, and the arrays have the length of the header's type. There is no bias, and no plan of the
    // forward pass from which a gradient would take its choices.
    unsafe {
        match pass {
            ConvPass::Forward => (functions.plan_convolution)(
                plan, engine, FORWARD, DIRECT, first, second, none, third, stride, gaps, before, after,
                attributes,
            ),
            ConvPass::InputGradient => (functions.plan_input_gradient)(
                plan, engine, DIRECT, third, second, first, stride, gaps, before, after, none, attributes,
            ),
            ConvPass::WeightGradient => (functions.plan_weight_gradient)(
                plan, engine, DIRECT, second, third, none, first, stride, gaps, before, after, none,
                attributes,
            ),
        }
    }
}

/// A part of a convolution: some images, some groups, and some channels of the result in each group.
struct Part {
    images: Range<usize>,
    groups: Range<usize>,
    channels: Range<usize>,
}

/// The division of a convolution into parts whose results are consecutive. It depends on the shape only, so that results do
/// not depend on the number of threads.
#[derive(Clone, Copy)]
struct Division {
    pass: ConvPass,
    geometry: ConvGeometry,
    images: usize,
    groups: usize,
    channels: usize,
}

impl Division {
    fn new(pass: ConvPass, geometry: ConvGeometry) -> Self {
        /// Parts that occupy usual numbers of threads.
        const PARTS: usize = 8;
        /// Parts of fewer channels are slow.
        const CHANNELS: usize = 32;
        let ConvGeometry { batch, groups, .. } = geometry;
        let channels = result_channels(pass, &geometry);
        let whole = Division {
            pass,
            geometry,
            images: batch.max(1),
            groups: groups.max(1),
            channels: channels.max(1),
        };
        if geometry.work() < THREADED_WORK {
            return whole;
        }
        // Each part of a gradient of the weight sums over all images.
        let image_work = (geometry.work() / batch.max(1)).max(1);
        let images = match pass {
            ConvPass::WeightGradient => batch,
            _ => batch.div_ceil(PARTS).min((CHUNK_WORK / image_work).max(1)),
        };
        let image_parts = batch.div_ceil(images.max(1)).max(1);
        if images > 1 && pass != ConvPass::WeightGradient {
            return Division { images, ..whole };
        }
        let wanted = PARTS.div_ceil(image_parts);
        if groups > 1 {
            return Division { images: images.max(1), groups: groups.div_ceil(wanted), ..whole };
        }
        let channels = channels.div_ceil(wanted).max(CHANNELS).min(whole.channels);
        Division { images: images.max(1), channels, ..whole }
    }

    /// Returns the numbers of parts of images, groups and channels.
    fn counts(&self) -> [usize; 3] {
        let g = &self.geometry;
        let channels = result_channels(self.pass, g);
        [g.batch.div_ceil(self.images), g.groups.div_ceil(self.groups), channels.div_ceil(self.channels)]
    }

    fn part(&self, number: usize) -> Part {
        let [_, groups, channels] = self.counts().map(|count| count.max(1));
        let g = &self.geometry;
        let range = |index: usize, size: usize, end: usize| {
            let first = index.saturating_mul(size).min(end);
            first..first.saturating_add(size).min(end)
        };
        Part {
            images: range(number / channels / groups, self.images, g.batch),
            groups: range(number / channels % groups, self.groups, g.groups),
            channels: range(number % channels, self.channels, result_channels(self.pass, g)),
        }
    }

    /// Returns the geometry of a part.
    fn geometry_of(&self, part: &Part) -> ConvGeometry {
        let of_part = ConvGeometry { batch: part.images.len(), groups: part.groups.len(), ..self.geometry };
        match self.pass {
            ConvPass::InputGradient => ConvGeometry { channels: part.channels.len(), ..of_part },
            _ => ConvGeometry { filters: part.channels.len(), ..of_part },
        }
    }
}

/// Returns the channels of a group of the result: those of the filters for gradients of the weight.
fn result_channels(pass: ConvPass, geometry: &ConvGeometry) -> usize {
    if pass == ConvPass::InputGradient { geometry.channels } else { geometry.filters }
}

/// A pass of a convolution, which oneDNN computes part by part.
struct Parts {
    op: &'static str,
    division: Division,
    prepared: Vec<(ConvGeometry, Convolution)>,
    threads: usize,
}

impl Parts {
    /// Prepares a computation for each size of the parts.
    fn new(op: &'static str, division: Division, attributes: Attributes, threads: usize) -> Prepared<Self> {
        let mut prepared: Vec<(ConvGeometry, Convolution)> = Vec::new();
        for number in 0..division.counts().into_iter().product() {
            let geometry = division.geometry_of(&division.part(number));
            if prepared.iter().all(|(known, _)| *known != geometry) {
                let convolution = Convolution::new(division.pass, &geometry, &division.geometry, attributes)?;
                prepared.push((geometry, convolution));
            }
        }
        Ok(Parts { op, division, prepared, threads })
    }

    /// Computes a part into its elements of the result.
    fn run_part(&self, number: usize, out: &mut [f32], [first, second, bias]: [&[f32]; 3]) -> Result<()> {
        let Division { pass, geometry: ref whole, .. } = self.division;
        let at = self.division.part(number);
        let geometry = self.division.geometry_of(&at);
        let prepared = self.prepared.iter().find(|(known, _)| *known == geometry);
        let [of_first, of_second] = pass.operands(self.tensors(&at));
        let [first, second] =
            [(first, of_first), (second, of_second)].map(|(data, (start, length))| part(data, start, length));
        let needed: usize = geometry.result_shape(pass).iter().product();
        let Some((_, convolution)) =
            prepared.filter(|_| out.len() == needed && !first.is_empty() && !second.is_empty())
        else {
            return Err(Error::resized(self.op));
        };
        let [first, second] = [first, second].map(|operand| operand.as_ptr().cast_mut().cast());
        // SAFETY: the slices have all elements of the part in the strides of the whole convolution, and oneDNN only reads the
        // operands.
        unsafe { convolution.run(self.op, [first, second, out.as_mut_ptr().cast()]) }?;
        // Added last: it is rounded separately.
        let filters = whole.groups * whole.filters;
        let start = at.groups.start * whole.filters + at.channels.start;
        for (channel, out) in out.chunks_mut(whole.positions().max(1)).enumerate() {
            if let Some(bias) = bias.get((start + channel) % filters.max(1)) {
                out.iter_mut().for_each(|out| *out += bias);
            }
        }
        Ok(())
    }

    /// Returns the first element and the number of elements, from the first to the last one, of the input, the weight and the
    /// output of a part.
    fn tensors(&self, at: &Part) -> [(usize, usize); 3] {
        let Division { pass, geometry: ref g, .. } = self.division;
        let of_part = self.division.geometry_of(at);
        let (filters, channels) = match pass {
            ConvPass::InputGradient => (0, at.channels.start),
            _ => (at.channels.start, 0),
        };
        let span = |shape: [usize; 4], of: [usize; 4], image: usize, channel: usize| {
            let strides = contiguous(of);
            let last: usize = shape
                .iter()
                .zip(strides)
                .map(|(size, stride)| size.saturating_sub(1).saturating_mul(stride))
                .sum();
            (image * strides[0] + channel * strides[1], last + 1)
        };
        let input_channel = at.groups.start * g.channels + channels;
        let output_channel = at.groups.start * g.filters + filters;
        [
            span(of_part.input_shape(), g.input_shape(), at.images.start, input_channel),
            span(of_part.weight_shape(), g.weight_shape(), output_channel, channels),
            span(of_part.output_shape(), g.output_shape(), at.images.start, output_channel),
        ]
    }
}

impl PartedKernel<f32, 1> for Parts {
    fn parts(&self) -> usize {
        self.division.counts().into_iter().product()
    }

    fn chunk(&self) -> usize {
        chunk(&self.division.geometry, self.parts(), self.threads)
    }

    fn run(&self, parts: Range<usize>, [out]: [&mut [f32]; 1], sources: &[&[f32]]) -> Result<()> {
        let sources = [0, 1, 2].map(|index| source(sources, index));
        let mut tasks = Vec::new();
        let mut rest = out;
        for number in 0..parts.end {
            let part = self.division.part(number);
            let length = self.division.geometry_of(&part).result_shape(self.division.pass).iter().product();
            let Some((out, others)) = rest.split_at_mut_checked(length) else { break };
            rest = others;
            if parts.contains(&number) {
                try_push(&mut tasks, (number, out))?;
            }
        }
        parallel::for_each(self.threads, tasks.into_iter(), &|(number, out)| {
            self.run_part(number, out, sources)
        })
    }
}

/// Computes a pass of a convolution of contiguous `float32` tensors on the CPU. The outer error is the reason why oneDNN does
/// not compute the pass; nothing was written.
pub(crate) fn convolve(
    op: &'static str,
    pass: ConvPass,
    geometry: ConvGeometry,
    operands: [&Tensor; 2],
    bias: Option<&Tensor>,
    attributes: Attributes,
) -> Prepared<Result<Tensor>> {
    let placement = operands[0].placement();
    let threads = threads_on(placement, geometry.work(), THREADED_WORK);
    let kernel = Parts::new(op, Division::new(pass, geometry), attributes, threads)?;
    let (sources, shape) = (geometry.sources(pass, operands, bias), geometry.result_shape(pass));
    let launched = launch_several::<f32, 1>(op, placement, [&shape[..]], &sources, kernel);
    Ok(launched.map(|[out]| out))
}
