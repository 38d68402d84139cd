//! The operation that [`CONV2D`](super::CONV2D) chooses kernels for.

use std::fmt;

use interlock::accelerator::{Device, DeviceType};
use interlock::dispatch::Operation;

use super::OP;
use super::tuning::Tuning;
use crate::error::Sizes;
use crate::products::{ConvGeometry, ConvPass};
use crate::{DType, Error, Tensor};

/// A two-dimensional convolution, or one of its gradients. [`CONV2D`](crate::CONV2D) has its kernels.
#[derive(Debug)]
pub struct Conv2d;

/// The properties of a convolution on which the choice of its kernel depends.
///
/// ```
/// use interlock_tensor::{ConvOptions, DType, Tensor};
///
/// let (image, weight) = (Tensor::ones(&[2, 3, 8, 8], DType::Float32)?, Tensor::ones(&[4, 3, 3, 3], DType::Float32)?);
/// let options = ConvOptions { stride: [2, 1], ..ConvOptions::default() };
/// let call = image.explain_conv2d(&weight, &options)?;
/// assert_eq!(call.arguments, "cpu float32 2x3x8x8 * 4x3x3x3, stride 2x1");
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConvCall {
    device: Device,
    dtype: DType,
    pass: ConvPass,
    geometry: ConvGeometry,
    has_bias: bool,
    preferred: Option<&'static str>,
}

impl ConvCall {
    pub(super) fn new(pass: ConvPass, geometry: ConvGeometry, args: &ConvArgs<'_>) -> Self {
        let [first, _] = args.operands;
        let (device, dtype, has_bias) = (first.device(), first.dtype(), args.bias.is_some());
        ConvCall { device, dtype, pass, geometry, has_bias, preferred: None }
    }

    /// Returns the call with a kernel that is tried first.
    pub(super) fn preferring(&self, kernel: &'static str) -> Self {
        ConvCall { preferred: Some(kernel), ..self.clone() }
    }

    /// Returns the kernel that is tried first, if a measurement has chosen it.
    pub(super) fn preferred(&self) -> Option<&'static str> {
        self.preferred
    }

    pub(super) fn geometry(&self) -> &ConvGeometry {
        &self.geometry
    }

    /// Returns the device of the tensors.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the element type of the tensors.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the tensor that is computed.
    pub fn pass(&self) -> ConvPass {
        self.pass
    }

    /// Returns the shape of the input: (batch, channels, rows, columns).
    pub fn input_shape(&self) -> [usize; 4] {
        self.geometry.input_shape()
    }

    /// Returns the shape of the weight: (filters, channels / groups, rows, columns).
    pub fn weight_shape(&self) -> [usize; 4] {
        self.geometry.weight_shape()
    }

    /// Returns the shape of the output: (batch, filters, rows, columns).
    pub fn output_shape(&self) -> [usize; 4] {
        self.geometry.output_shape()
    }

    /// Returns the distance between two positions of a filter.
    pub fn stride(&self) -> [usize; 2] {
        self.geometry.stride
    }

    /// Returns the zeros before the first row and column. Those after the last follow from the shape of the output.
    pub fn padding(&self) -> [usize; 2] {
        self.geometry.padding
    }

    /// Returns the distance between two elements of a filter.
    pub fn dilation(&self) -> [usize; 2] {
        self.geometry.dilation
    }

    /// Returns the number of groups of channels.
    pub fn groups(&self) -> usize {
        self.geometry.groups
    }

    pub(super) fn is_on_cpu(&self) -> bool {
        self.device.kind() == DeviceType::Cpu
    }
}

impl fmt::Display for ConvCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.device, self.dtype)?;
        f.write_str(match self.pass {
            ConvPass::Forward => "",
            ConvPass::InputGradient => "gradient of input, ",
            ConvPass::WeightGradient => "gradient of weight, ",
        })?;
        write!(f, "{} * {}", Sizes(&self.input_shape()), Sizes(&self.weight_shape()))?;
        let g = &self.geometry;
        for (name, pair, default) in
            [("stride", g.stride, [1, 1]), ("padding", g.padding, [0, 0]), ("dilation", g.dilation, [1, 1])]
        {
            if pair != default {
                write!(f, ", {name} {}", Sizes(&pair))?;
            }
        }
        if g.groups > 1 {
            write!(f, ", groups {}", g.groups)?;
        }
        f.write_str(if self.has_bias { ", bias" } else { "" })
    }
}

/// The arguments of a convolution. Shapes, types and devices fit each other.
#[derive(Clone, Copy, Debug)]
pub struct ConvArgs<'a> {
    /// The input and the weight; for the gradient of the input, that of the output and the weight; for the gradient of
    /// the weight, that of the output and the input. Each has four dimensions.
    pub operands: [&'a Tensor; 2],
    /// A number for each filter, which is added to its output. Gradients have none.
    pub bias: Option<&'a Tensor>,
    /// The reason for the kernel, if `cudnn.benchmark` affects the call.
    pub(super) tuning: Option<Tuning>,
}

impl<'a> ConvArgs<'a> {
    pub(super) fn new(first: &'a Tensor, second: &'a Tensor, bias: Option<&'a Tensor>) -> Self {
        ConvArgs { operands: [first, second], bias, tuning: None }
    }
}

impl Operation for Conv2d {
    const NAME: &'static str = OP;
    type Call = ConvCall;
    type Args<'a> = ConvArgs<'a>;
    type Out = Tensor;
    type Error = Error;

    fn obeys_precision(call: &ConvCall) -> bool {
        call.dtype == DType::Float32
    }
}
