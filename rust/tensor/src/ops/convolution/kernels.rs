//! The kernels of convolutions, and the conditions of each. Those of devices are PyTorch's for a GPU of compute
//! capability 8.0.

use interlock::backends::flags::{
    CUDNN_BENCHMARK, CUDNN_BENCHMARK_LIMIT, CUDNN_DEPTHWISE_KERNEL, CUDNN_DETERMINISTIC, CUDNN_ENABLED,
    MKLDNN_DETERMINISTIC, MKLDNN_ENABLED, MKLDNN_NUMERICS,
};
use interlock::backends::{DepthwiseKernel, Node};
use interlock::dispatch::{
    FlagRequirement, Kernel, KernelError, Numerics, Op, Order, Preference, Preferred, Reason, Rounding,
    annotate,
};

use super::call::{Conv2d, ConvArgs, ConvCall};
use super::{OP, im2col};
use crate::ops::conditions::{
    Condition, MODEL_OF_ONEDNN, at_least, by_onednn, of_float, of_float32, on_cpu, on_device, require,
};
use crate::ops::products::matmul_kernels::{loaded, onednn_attributes};
use crate::products::{ConvAlgorithm, ConvPass, onednn};
use crate::{DType, Error, Result, Tensor, iterate, products};

/// The kernels that `cudnn.benchmark` measures: those of cuDNN.
pub(super) const CUDNN_KERNELS: [&str; 3] = ["cudnn_atomic", "cudnn", "direct"];

/// The kernels of convolutions and their gradients: models of cuDNN on devices and of oneDNN on the CPU, oneDNN where it is
/// found, `im2col`, which multiplies matrices by [`MATMUL`](crate::MATMUL), and `native`.
///
/// The kernels with `atomic` in their name add the parts of a gradient of the weight in the order in which threads
/// complete them.
///
/// ```
/// use interlock::dispatch::{Kernel, Reason};
/// use interlock_tensor::{CONV2D, Conv2d, ConvOptions, ConvPass, DType, Tensor};
///
/// CONV2D.register(
///     Kernel::<Conv2d>::new("scale", |_, _, args| Ok(args.operands[0].mul(args.operands[1])?)).condition(|call| {
///         match (call.pass(), call.weight_shape()) {
///             (ConvPass::Forward, [1, 1, 1, 1]) => Ok(()),
///             (_, [filters, ..]) => Err(Reason::from(format!("needs one filter of 1x1, got {filters}"))),
///         }
///     }),
/// )?;
/// let (image, weight) = (Tensor::ones(&[1, 1, 2, 2], DType::Float32)?, Tensor::ones(&[1, 1, 1, 1], DType::Float32)?);
/// let options = ConvOptions::default();
/// assert_eq!(image.explain_conv2d(&weight, &options)?.kernel(), Some("scale"));
/// assert_eq!(image.conv2d(&weight, &options)?.to_vec::<f32>()?, [1.0; 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub static CONV2D: Op<Conv2d> = Op::new(&[
    Kernel::<Conv2d>::new("cudnn_atomic", run_unordered)
        .model()
        .requires(&[FlagRequirement::on(&CUDNN_ENABLED), FlagRequirement::off(&CUDNN_DETERMINISTIC)])
        .node(Node::CudaConv)
        .condition(|call| is_float_on_device(call).and_then(|()| has_parts(call))),
    Kernel::<Conv2d>::new("cudnn", |call, numerics, args| {
        convolve(ConvAlgorithm::Gemm, call, numerics, args)
    })
    .model()
    .requires(&[FlagRequirement::on(&CUDNN_ENABLED)])
    .node(Node::CudaConv)
    .obeys(&CUDNN_BENCHMARK_LIMIT)
    .condition(is_float_on_device),
    Kernel::<Conv2d>::new("direct", |call, numerics, args| {
        convolve(ConvAlgorithm::Direct, call, numerics, args)
    })
    .model()
    .requires(&[FlagRequirement::on(&CUDNN_ENABLED)])
    .node(Node::CudaConv)
    .condition(is_float_on_device),
    Kernel::<Conv2d>::new("mkldnn_atomic", run_unordered)
        .model()
        .requires(&[
            FlagRequirement::on(&MKLDNN_ENABLED),
            FlagRequirement::is(&MKLDNN_NUMERICS, "model"),
            FlagRequirement::off(&MKLDNN_DETERMINISTIC),
        ])
        .node(Node::MkldnnConv)
        .condition(|call| is_float32_on_cpu(call).and_then(|()| has_parts(call))),
    Kernel::<Conv2d>::new("mkldnn", run_native)
        .model()
        .requires(&MODEL_OF_ONEDNN)
        .node(Node::MkldnnConv)
        .condition(is_float32_on_cpu),
    Kernel::<Conv2d>::new("onednn", run_onednn)
        .requires(&[FlagRequirement::on(&MKLDNN_ENABLED)])
        .obeys(&MKLDNN_DETERMINISTIC)
        .node(Node::MkldnnConv)
        .condition(can_use_onednn),
    Kernel::<Conv2d>::new("native", run_native)
        .obeys(&CUDNN_DEPTHWISE_KERNEL)
        .condition(is_depthwise_or_on_cpu),
    Kernel::<Conv2d>::new("im2col", |call, _, args| Ok(im2col::run(call, args)?))
        .condition(|call| on_device(call.device())),
])
.order(Order::new(&CUDNN_BENCHMARK, preferred_kernel));

/// Returns the kernel that a measurement has chosen, or that of depthwise convolutions on devices.
fn preferred_kernel(call: &ConvCall) -> Preferred {
    let depthwise = || prefers_native_depthwise(call).then_some("native");
    let kernel = call.preferred().or_else(depthwise);
    [kernel.map(Preference::Kernel), None, None, None, None]
}

fn prefers_native_depthwise(call: &ConvCall) -> bool {
    !call.is_on_cpu()
        && call.geometry().is_depthwise()
        && match CUDNN_DEPTHWISE_KERNEL.get() {
            DepthwiseKernel::Cudnn => false,
            DepthwiseKernel::Native => true,
            _ => !is_fast_on_cudnn(call),
        }
}

/// Returns whether PyTorch runs a depthwise convolution on cuDNN by itself: 16-bit floats, and sizes for which it is
/// fast.
fn is_fast_on_cudnn(call: &ConvCall) -> bool {
    /// The least channels and columns of the input.
    const CHANNELS: usize = 32;
    const COLUMNS: usize = 7;
    let g = call.geometry();
    let [batch, channels, _, columns] = call.input_shape();
    let is_strided = match g.stride {
        [1, 1] => false,
        [2, 2] => true,
        _ => return false,
    };
    call.dtype().is_half()
        && channels >= CHANNELS
        && columns >= COLUMNS
        && g.dilation == [1, 1]
        && matches!(g.kernel, [1, 1] | [3, 3] | [5, 5])
        && (!is_strided || (batch == 1 && g.kernel != [1, 1]))
}

fn is_float_on_device(call: &ConvCall) -> Condition {
    on_device(call.device())?;
    of_float(call.dtype())
}

fn is_float32_on_cpu(call: &ConvCall) -> Condition {
    on_cpu(call.device())?;
    of_float32(call.dtype())
}

fn can_use_onednn(call: &ConvCall) -> Condition {
    /// The least number of multiplications that are worth the call of a library.
    const WORK: usize = 1 << 18;
    by_onednn(call.device(), call.dtype(), WORK, call.geometry().work())
}

fn is_depthwise_or_on_cpu(call: &ConvCall) -> Condition {
    if call.is_on_cpu() {
        return Ok(());
    }
    require(call.geometry().is_depthwise(), || {
        let (groups, [_, channels, ..]) = (call.groups(), call.input_shape());
        format!("needs cpu or groups equal to the {channels} channels of the input, got groups {groups}")
    })?;
    is_float_on_device(call)
}

/// Accepts a gradient of a weight whose parts are worth threads.
fn has_parts(call: &ConvCall) -> Condition {
    /// The least number of multiplications.
    const WORK: usize = 1 << 20;
    require(call.pass() == ConvPass::WeightGradient, || "needs a gradient of the weight")?;
    at_least(2, "images", call.geometry().batch)?;
    at_least(WORK, "multiplications", call.geometry().work())
}

type KernelResult = Result<Tensor, KernelError<Error>>;

fn run_unordered(call: &ConvCall, numerics: Numerics, args: &ConvArgs<'_>) -> KernelResult {
    convolve(ConvAlgorithm::Unordered, call, numerics, args)
}

/// Runs the algorithm that is fast for the groups.
fn run_native(call: &ConvCall, numerics: Numerics, args: &ConvArgs<'_>) -> KernelResult {
    let is_depthwise = call.geometry().is_depthwise();
    let algorithm = if is_depthwise { ConvAlgorithm::Direct } else { ConvAlgorithm::Gemm };
    convolve(algorithm, call, numerics, args)
}

/// Convolves by oneDNN, unless it does not implement the pass. It may round operands to the precision that the node permits.
fn run_onednn(call: &ConvCall, numerics: Numerics, args: &ConvArgs<'_>) -> KernelResult {
    let attributes = onednn_attributes(numerics);
    let ([first, second], bias) = operands(Rounding::None, args)?;
    let (pass, geometry) = (call.pass(), *call.geometry());
    let out = onednn::convolve(OP, pass, geometry, [&first, &second], bias.as_ref(), attributes)
        .map_err(|reason| KernelError::Declined(Reason::from(reason)))?;
    Ok(iterate::cast(&out?, call.dtype())?)
}

/// Returns contiguous operands in the type of arithmetic, rounded, and the bias.
fn operands(rounding: Rounding, args: &ConvArgs<'_>) -> Result<([Tensor; 2], Option<Tensor>)> {
    let loaded = |tensor: &Tensor, rounding| loaded(&tensor.detach(), rounding)?.contiguous();
    let [first, second] = args.operands.map(|tensor| loaded(tensor, rounding));
    let bias = args.bias.map(|bias| loaded(bias, Rounding::None)).transpose()?;
    Ok(([first?, second?], bias))
}

/// Computes a pass with rounded operands, in the type of arithmetic. Halves are rounded once.
fn convolve(
    algorithm: ConvAlgorithm,
    call: &ConvCall,
    numerics: Numerics,
    args: &ConvArgs<'_>,
) -> KernelResult {
    if let Some(tuning) = args.tuning {
        annotate(|| tuning.to_string());
    }
    let ([first, second], bias) = operands(numerics.inputs, args)?;
    let (operands, bias) = ([&first, &second], bias.as_ref());
    let out = match first.dtype() {
        DType::Float32 => run_algorithm::<f32>(algorithm, call, operands, bias)?,
        DType::Float64 => run_algorithm::<f64>(algorithm, call, operands, bias)?,
        DType::Int64 => run_algorithm::<i64>(algorithm, call, operands, bias)?,
        // Halves were converted.
        _ => return Err(Error::not_numeric(OP, "input", "; float() converts it").into()),
    };
    Ok(iterate::cast(&out, call.dtype())?)
}

/// Runs an algorithm with contiguous operands without history.
pub(super) fn run_algorithm<T: products::MatmulElement>(
    algorithm: ConvAlgorithm,
    call: &ConvCall,
    [first, second]: [&Tensor; 2],
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let (pass, geometry) = (call.pass(), *call.geometry());
    if algorithm == ConvAlgorithm::Direct || !geometry.has_channels_last() {
        return products::convolve::<T>(OP, algorithm, pass, geometry, [first, second], bias);
    }
    if pass == ConvPass::WeightGradient {
        let out = products::convolve::<T>(OP, algorithm, pass, geometry, [first, second], bias)?;
        return out.permute(&[0, 3, 1, 2])?.contiguous();
    }
    let weight = second.permute(&[0, 2, 3, 1])?.contiguous()?;
    products::convolve::<T>(OP, algorithm, pass, geometry, [first, &weight], bias)
}
