//! The linear layer of quantized tensors, and its kernels.

use std::fmt;

use interlock::accelerator::Device;
use interlock::backends::flags::{MKLDNN_ENABLED, QUANTIZED_ENGINE};
use interlock::dispatch::{
    Call, FlagRequirement, Kernel, KernelError, Numerics, Op, Operation, Reason, Rounding,
};

use super::{QuantizedDType, QuantizedTensor, check_parameters};
use crate::layout::signed;
use crate::ops::conditions::{Condition, on_cpu, require};
use crate::ops::elementwise::operand::{check_device, check_dtype};
use crate::ops::products::matmul_kernels::{batch, multiply_by_onednn};
use crate::products::onednn;
use crate::{DType, Error, Result, Tensor, iterate, loops, products};

const OP: &str = "quantized_linear";

/// The sums of products of a quantized linear layer. [`QUANTIZED_LINEAR`] has its kernels.
#[derive(Debug)]
pub struct QuantizedLinear;

/// The properties of a quantized linear layer on which the choice of its kernel depends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuantizedLinearCall {
    device: Device,
    sizes: [usize; 3],
}

impl QuantizedLinearCall {
    /// Returns the device of the operands.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the number of rows of the input, of products in a sum, and of rows of the weight.
    pub fn sizes(&self) -> [usize; 3] {
        self.sizes
    }
}

impl fmt::Display for QuantizedLinearCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rows, depth, columns] = self.sizes;
        write!(f, "{} quint8 {rows}x{depth} @ qint8 {depth}x{columns}", self.device)
    }
}

/// The operands of the sums, of any strides.
#[derive(Debug)]
pub struct QuantizedLinearArgs<'a> {
    /// The input of `quint8` and shape (rows, depth).
    pub input: &'a QuantizedTensor,
    /// The weight of `qint8` and shape (columns, depth).
    pub weight: &'a QuantizedTensor,
}

impl Operation for QuantizedLinear {
    const NAME: &'static str = OP;
    type Call = QuantizedLinearCall;
    type Args<'a> = QuantizedLinearArgs<'a>;
    type Out = Tensor;
    type Error = Error;

    fn obeys_precision(_: &QuantizedLinearCall) -> bool {
        false
    }
}

/// The kernels of a quantized linear layer: one for each engine. A kernel returns the exact sums of the products of the
/// integers less their zero points, as `int64` of shape (rows, columns).
pub static QUANTIZED_LINEAR: Op<QuantizedLinear> = Op::new(&[
    Kernel::<QuantizedLinear>::new("onednn", run_onednn)
        .requires(&[FlagRequirement::is(&QUANTIZED_ENGINE, "onednn"), FlagRequirement::on(&MKLDNN_ENABLED)])
        .condition(can_use_onednn),
    Kernel::<QuantizedLinear>::new("native", run_native)
        .requires(&[FlagRequirement::is(&QUANTIZED_ENGINE, "native")]),
]);

fn can_use_onednn(call: &QuantizedLinearCall) -> Condition {
    /// The most products whose sum certainly fits 32 bits.
    const DEPTH: usize = i32::MAX as usize / (255 * 128);
    let [_, depth, _] = call.sizes;
    on_cpu(call.device)?;
    require(depth <= DEPTH, || format!("needs at most {DEPTH} inputs, got {depth}"))?;
    onednn::check_integers().map_err(Reason::from)
}

/// Multiplies the integers by oneDNN, which adds in 32 bits, and removes what the zero points have added.
fn run_onednn(
    call: &QuantizedLinearCall,
    _: Numerics,
    args: &QuantizedLinearArgs<'_>,
) -> Result<Tensor, KernelError<Error>> {
    let [rows, depth, columns] = call.sizes;
    let (input, weight) = (args.input.integers.contiguous()?, args.weight.integers.contiguous()?.t()?);
    let batch = batch(&input, &weight, &[]);
    let attributes = onednn::Attributes::new(Rounding::None, false);
    let sums = multiply_by_onednn::<i32, u8, i8>(&[rows, columns], [&input, &weight], batch, attributes)?;
    let (zero_of_input, zero_of_weight) = (args.input.zero_point, args.weight.zero_point);
    // (a - x) (b - y) = a b - y a - x b + x y, summed over the inputs.
    let of_rows = input.sum(Some(&[1]), true)?.mul(zero_of_weight)?;
    let of_columns = weight.sum(Some(&[0]), true)?.mul(zero_of_input)?;
    let constant = zero_of_input * zero_of_weight * signed(depth);
    Ok(sums.cast(DType::Int64)?.sub(&of_rows)?.sub(&of_columns)?.add(constant)?)
}

/// Adds in 64 bits, so that no sum wraps.
fn run_native(
    call: &QuantizedLinearCall,
    _: Numerics,
    args: &QuantizedLinearArgs<'_>,
) -> Result<Tensor, KernelError<Error>> {
    let centered = |operand: &QuantizedTensor| {
        let zero_point = operand.zero_point;
        let centered = loops::map(move |integer: i64| integer - zero_point);
        iterate::map_with(OP, &operand.integers, DType::Int64, &centered)
    };
    let (input, weight) = (centered(args.input)?, centered(args.weight)?.t()?);
    let [rows, _, columns] = call.sizes;
    let batch = batch(&input, &weight, &[]);
    Ok(products::matmul::<i64>(&[rows, columns], &input, &weight, batch)?)
}

impl QuantizedTensor {
    /// Returns the linear layer of an input of `quint8` and a weight of `qint8`, of shape (outputs, inputs), quantized to
    /// `quint8` with `scale` and `zero_point`. The sums of integers are exact; they are scaled in `float64`.
    ///
    /// ```
    /// use interlock_tensor::{QuantizedDType, Tensor};
    ///
    /// let input = Tensor::ones(&[1, 4], interlock_tensor::DType::Float32)?;
    /// let weight = input.quantize_per_tensor(0.5, 0, QuantizedDType::QInt8)?;
    /// let input = input.quantize_per_tensor(0.1, 10, QuantizedDType::QUInt8)?;
    /// assert_eq!(input.linear(&weight, None, 0.1, 3)?.int_repr()?.to_vec::<u8>()?, [43]);
    /// # Ok::<(), interlock_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails for operands of other types, shapes and devices, a scale or zero point that quantization does not accept, and
    /// if the flag `quantized.engine` is "none".
    pub fn linear(
        &self,
        weight: &QuantizedTensor,
        bias: Option<&Tensor>,
        scale: f64,
        zero_point: i64,
    ) -> Result<QuantizedTensor> {
        let call = self.linear_call(weight, bias)?;
        let dtype = QuantizedDType::QUInt8;
        check_parameters(OP, scale, zero_point, dtype)?;
        let [rows, depth, columns] = call.sizes;
        let input = QuantizedTensor { integers: self.integers.reshaped(&[rows, depth])?, ..self.clone() };
        let sums = QUANTIZED_LINEAR.call(&call, None, &QuantizedLinearArgs { input: &input, weight })?;
        let (product, zero) = (self.scale * weight.scale, Tensor::zeros(&[], DType::Float32)?);
        let quantized = move |sum: i64, bias: f32| {
            dtype.integer((sum as f64 * product + f64::from(bias)) / scale, zero_point)
        };
        let shape = &[rows, columns];
        let out = iterate::zip(OP, (dtype.stored(), shape), &sums, bias.unwrap_or(&zero), quantized)?;
        let mut shape = self.integers.shape().to_vec();
        shape.pop();
        shape.push(columns);
        Ok(QuantizedTensor { integers: out.reshaped(&shape)?, dtype, scale, zero_point })
    }

    /// Returns the choice of a kernel for a [`linear`](QuantizedTensor::linear) layer now, without running it.
    ///
    /// # Errors
    /// Fails for operands that do not fit.
    pub fn explain_linear(&self, weight: &QuantizedTensor, bias: Option<&Tensor>) -> Result<Call> {
        Ok(QUANTIZED_LINEAR.explain(&self.linear_call(weight, bias)?))
    }

    /// Checks the operands of a linear layer, and returns its properties.
    fn linear_call(&self, weight: &QuantizedTensor, bias: Option<&Tensor>) -> Result<QuantizedLinearCall> {
        let of_type = |argument, operand: &QuantizedTensor, dtype: QuantizedDType| {
            if operand.dtype == dtype {
                return Ok(());
            }
            Err(Error::value(OP, argument, format_args!("be {}", dtype.name()), operand.dtype.name()))
        };
        of_type("input", self, QuantizedDType::QUInt8)?;
        of_type("weight", weight, QuantizedDType::QInt8)?;
        let [outer @ .., depth] = self.integers.shape() else {
            return Err(Error::shape(OP, "input", "have at least one dimension", self.integers.shape()));
        };
        let columns = match weight.integers.shape() {
            [columns, inputs] if inputs == depth => *columns,
            other => {
                return Err(Error::shape(OP, "weight", format!("be of shape (outputs, {depth})"), other));
            }
        };
        check_device(OP, &self.integers, &weight.integers)?;
        if let Some(bias) = bias {
            check_dtype(OP, "bias", bias, (DType::Float32, ""))?;
            if bias.shape() != [columns] {
                return Err(Error::shape(OP, "bias", format!("be of shape ({columns},)"), bias.shape()));
            }
            check_device(OP, &self.integers, bias)?;
        }
        // Memory holds the elements, so their number is no overflow.
        let sizes = [outer.iter().product(), *depth, columns];
        Ok(QuantizedLinearCall { device: self.integers.device(), sizes })
    }
}
