//! The kernels of Fourier transforms.

use std::fmt;

use interlock::accelerator::Device;
use interlock::backends::{CachedPlan, PlanCache, PlanKey};
use interlock::dispatch::{Kernel, KernelError, Numerics, Op, Operation, Reason, annotate};

use super::mkl;
use super::plan::Plan;
use super::transform::Transform;
use crate::dtype::dispatch_float;
use crate::error::Sizes;
use crate::layout::{Layout, signed};
use crate::ops::conditions::{on_cpu, on_device};
use crate::{DType, Element, Error, Result, Tensor, iterate};

/// A discrete Fourier transform.
#[derive(Debug)]
pub(crate) struct Fft;

/// The properties of a transform on which the choice of its kernel depends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FftCall {
    device: Device,
    dtype: DType,
    transform: &'static str,
    sizes: Vec<usize>,
    batch: usize,
}

impl FftCall {
    /// Returns the properties of a transform of a tensor.
    pub(super) fn new(input: &Tensor, job: &Job) -> Self {
        let sizes = job.dims.iter().map(|&(_, length)| length).collect();
        let (device, dtype, transform) = (input.device(), input.dtype(), job.transform.name());
        FftCall { device, dtype, transform, sizes, batch: job.batch }
    }
}

impl fmt::Display for FftCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FftCall { device, dtype, transform, sizes, batch } = self;
        write!(f, "{device} {dtype} {transform} {}, batch {batch}", Sizes(sizes))
    }
}

/// What a transform computes.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub op: &'static str,
    pub transform: Transform,
    /// The dimensions, and the numbers of points along them. Only a complex transform has several.
    pub dims: Vec<(usize, usize)>,
    /// The number of transforms.
    pub batch: usize,
    /// The factor of the results.
    pub scale: f64,
}

/// The operand of a transform, and what is computed.
#[derive(Debug)]
pub(crate) struct FftArgs<'a> {
    pub(super) input: &'a Tensor,
    pub(super) job: &'a Job,
}

impl Operation for Fft {
    const NAME: &'static str = "fft";
    type Call = FftCall;
    type Args<'a> = FftArgs<'a>;
    type Out = Tensor;
    type Error = Error;

    fn obeys_precision(_: &FftCall) -> bool {
        false
    }
}

/// The kernels of Fourier transforms: a model of cuFFT on devices, whose plans [`PlanCache`] keeps, MKL where it is found, and
/// the runtime's own.
pub(crate) static FFT: Op<Fft> = Op::new(&[
    Kernel::<Fft>::new("cufft", run_cufft).model().condition(|call| on_device(call.device)),
    Kernel::<Fft>::new("mkl", run_mkl).condition(|call| {
        on_cpu(call.device)?;
        mkl::check().map_err(Reason::from)
    }),
    Kernel::<Fft>::new("native", run_native),
]);

/// Plans the transform of each dimension.
fn plans_of(job: &Job) -> Result<Vec<Plan>> {
    let (direction, is_real) = (job.transform.direction(), job.transform.has_pairs() != (true, true));
    job.dims.iter().map(|&(_, length)| Plan::new(length, direction, is_real)).collect()
}

/// Transforms by MKL, unless it refuses a length.
fn run_mkl(_: &FftCall, _: Numerics, args: &FftArgs<'_>) -> Result<Tensor, KernelError<Error>> {
    let direction = args.job.transform.direction();
    let plans = args.job.dims.iter().map(|&(_, length)| Plan::by_mkl(length, direction));
    match plans.collect::<Result<Vec<_>, String>>() {
        Ok(plans) => Ok(run(args, &plans)?),
        Err(reason) => Err(KernelError::Declined(Reason::from(reason))),
    }
}

fn run_native(_: &FftCall, _: Numerics, args: &FftArgs<'_>) -> Result<Tensor, KernelError<Error>> {
    let plans = plans_of(args.job)?;
    Ok(run(args, &plans)?)
}

/// Transforms with a plan that the device keeps.
fn run_cufft(call: &FftCall, _: Numerics, args: &FftArgs<'_>) -> Result<Tensor, KernelError<Error>> {
    let FftCall { transform, ref sizes, batch, .. } = *call;
    let cache = PlanCache::from_device(call.device).map_err(Error::from)?;
    let key = PlanKey { transform, dtype: call.dtype.name(), sizes: sizes.clone(), batch };
    let CachedPlan { plan, is_hit } = cache.plan(key, || plans_of(args.job))?;
    annotate(|| format!("plan {}", if is_hit { "cached" } else { "made" }));
    Ok(run(args, &plan)?)
}

/// Transforms along one dimension after another.
fn run(args: &FftArgs<'_>, plans: &[Plan]) -> Result<Tensor> {
    let job = args.job;
    let mut current = args.input.detach();
    for (number, (&(dim, length), plan)) in job.dims.iter().zip(plans).enumerate() {
        let scale = if number + 1 == job.dims.len() { job.scale } else { 1.0 };
        let along = Along { op: job.op, transform: job.transform, dim, length, scale };
        current = dispatch_float!(current.dtype(), T => along.run::<T>(&current, plan.clone()))?;
    }
    // A transposed result is no view of another tensor of the program.
    Ok(current.detach())
}

/// A transform along one dimension.
struct Along {
    op: &'static str,
    transform: Transform,
    dim: usize,
    length: usize,
    scale: f64,
}

impl Along {
    fn run<T: Element>(&self, input: &Tensor, plan: Plan) -> Result<Tensor> {
        /// The number of points that are transformed at once. They fit the L1 cache.
        const POINTS: usize = 1024;
        let Along { op, transform, length, scale, .. } = *self;
        let (reads_pairs, writes_pairs) = transform.has_pairs();
        let rows = moved(input, self.dim, reads_pairs)?;
        let [read, written] = transform.widths(length);
        let mut shape = rows.shape().to_vec();
        shape.truncate(shape.len().saturating_sub(if reads_pairs { 2 } else { 1 }));
        if writes_pairs {
            shape.extend([written / 2, 2]);
        } else {
            shape.push(written);
        }
        // Equal groups of signals: each uses one scratch memory.
        let count = rows.numel() / read;
        let group =
            (1..=count.min(POINTS / length)).rev().find(|group| count.is_multiple_of(*group)).unwrap_or(1);
        let out = iterate::apply_along_last_dim(
            op,
            &rows,
            group * read,
            &shape,
            group * written,
            move |rows: &[T], out: &mut [T]| transform.run(&plan, scale, group, rows, out),
        )?;
        moved(&out, self.dim, writes_pairs)
    }
}

/// Exchanges a dimension and the last one, before the real and imaginary parts. The result is contiguous.
fn moved(tensor: &Tensor, dim: usize, has_pairs: bool) -> Result<Tensor> {
    let dim = signed(dim);
    let moved = tensor.transpose(dim, if has_pairs { -2 } else { -1 })?;
    let Layout { shape, strides, offset } = moved.layout();
    // A copy of whole pairs takes a fraction of the time.
    if let ([outer @ .., 2], [steps @ .., 1]) = (&**shape, &**strides)
        && has_pairs
        && moved.dtype() == DType::Float32
        && !moved.is_contiguous()
        && steps.iter().chain([offset]).all(|step| step.is_multiple_of(2))
    {
        let strides = steps.iter().map(|step| step / 2).collect();
        let layout = Layout { shape: outer.to_vec(), strides, offset: offset / 2 };
        let pairs = Tensor::new(moved.storage_handle().clone(), DType::Int64, layout).contiguous()?;
        let layout = Layout { offset: 2 * pairs.storage_offset(), ..Layout::contiguous(shape) };
        return Ok(Tensor::new(pairs.storage_handle().clone(), moved.dtype(), layout));
    }
    moved.contiguous()
}
