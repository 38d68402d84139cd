//! In-place operations.

use super::arithmetic::{
    NO_FACTOR, add_backward, div_backward, mul_backward, scale_by_alpha, sub_backward, sub_check, with_alpha,
};
use super::operand::{Numbers, Operand, result_type};
use super::rounded_division::{RoundingMode, divide_with};
use crate::dtype::{dispatch_float, dispatch_wrapping};
use crate::error::check_fills;
use crate::layout::check_broadcastable_to;
use crate::ops::conversion::transfer;
use crate::recording::{BackwardContext, Gradients, NodeBuilder, check_inplace, rebase_history};
use crate::{DType, Element, Error, Result, Scalar, Tensor, iterate};

/// Saves a copy of a tensor before it is changed in place, if the gradient of `other` needs it.
fn save_copy_for(builder: &mut NodeBuilder, other: usize, tensor: &Tensor) -> Result<usize> {
    let old = if builder.needs(other) { tensor.contiguous_copy()? } else { tensor.clone() };
    builder.save_for(other, &old)
}

impl Tensor {
    /// Runs an in-place operation: checks the target, runs `work`, increments the version and sets the new history.
    /// The first gradient that `backward` returns is that of the old value, the others are those of `inputs`. Tensors
    /// of integers and bools get no history.
    pub(crate) fn run_inplace(
        &self,
        op: &'static str,
        node: &'static str,
        inputs: &[&Tensor],
        work: impl FnOnce(Option<&mut NodeBuilder>) -> Result<()>,
        backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) -> Result<&Tensor> {
        Error::when(self.layout().has_internal_overlap(), || Error::overlap(op))?;
        self.run_inplace_expanded(op, node, inputs, work, backward)
    }

    /// Like [`run_inplace`](Tensor::run_inplace), also for tensors whose elements share memory locations: `work`
    /// assigns the same value to those.
    pub(crate) fn run_inplace_expanded(
        &self,
        op: &'static str,
        node: &'static str,
        inputs: &[&Tensor],
        work: impl FnOnce(Option<&mut NodeBuilder>) -> Result<()>,
        backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) -> Result<&Tensor> {
        let mut builder = self.before_change(op, node, inputs)?;
        work(builder.as_mut())?;
        self.bump_version();
        if let Some(builder) = builder {
            rebase_history(self, builder.build(self, backward))?;
        }
        Ok(self)
    }

    /// Checks the target of an in-place operation. Returns a builder if the operation is recorded.
    fn before_change(
        &self,
        op: &'static str,
        node: &'static str,
        inputs: &[&Tensor],
    ) -> Result<Option<NodeBuilder>> {
        let differentiable = self.dtype().is_floating_point();
        check_inplace(op, self, if differentiable { inputs } else { &[] })?;
        if !differentiable {
            return Ok(None);
        }
        let all: Vec<&Tensor> = std::iter::once(self).chain(inputs.iter().copied()).collect();
        NodeBuilder::new(node, &all)
    }

    /// Returns the other operand of an arithmetic operation. Returns an error if the result cannot be stored in this
    /// tensor.
    fn operand(
        &self,
        op: &'static str,
        other: Operand<'_>,
        numbers: Numbers,
        result: DType,
    ) -> Result<Tensor> {
        let other = other.tensor(numbers.dtype_of(other, true, result))?;
        check_broadcastable_to(self.shape(), op, "other", other.shape())?;
        if !result.can_cast_to(self.dtype()) {
            return Err(Error::result_type(op, "the tensor", result, self.dtype()));
        }
        Ok(other)
    }

    /// Updates the elements with `other`, which was converted as `numbers` requires. The result type is `dtype`.
    fn update(&self, other: &Tensor, dtype: DType, numbers: Numbers, op: Arithmetic) -> Result<()> {
        let other = iterate::cast(other, numbers.dtype_of(other.into(), true, dtype))?;
        let name = op.name();
        match op {
            Arithmetic::Add => dispatch_wrapping!(dtype, T => iterate::update(name, self, &other, T::plus)),
            Arithmetic::Subtract => {
                dispatch_wrapping!(dtype, T => iterate::update(name, self, &other, T::minus))
            }
            Arithmetic::Multiply => {
                dispatch_wrapping!(dtype, T => iterate::update(name, self, &other, T::times))
            }
            Arithmetic::Divide => {
                dispatch_float!(dtype, T => iterate::update(name, self, &other, |a: T, b: T| a / b))
            }
        }
    }

    /// Adds `other` in place.
    pub fn add_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<&Tensor> {
        self.add_scaled_(other, Scalar::Int(1))
    }

    /// Adds `alpha * other` in place.
    pub fn add_scaled_<'a>(&self, other: impl Into<Operand<'a>>, alpha: Scalar) -> Result<&Tensor> {
        self.sum_inplace(("add_", "AddBackward0", Arithmetic::Add), other.into(), alpha, add_backward)
    }

    /// Subtracts `other` in place.
    pub fn sub_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<&Tensor> {
        self.sub_scaled_(other, Scalar::Int(1))
    }

    /// Subtracts `alpha * other` in place.
    pub fn sub_scaled_<'a>(&self, other: impl Into<Operand<'a>>, alpha: Scalar) -> Result<&Tensor> {
        let (op, other) = ("sub_", other.into());
        sub_check(op, [self.into(), other])?;
        self.sum_inplace((op, "SubBackward0", Arithmetic::Subtract), other, alpha, sub_backward)
    }

    fn sum_inplace(
        &self,
        (op, node, arithmetic): (&'static str, &'static str, Arithmetic),
        other: Operand<'_>,
        alpha: Scalar,
        backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) -> Result<&Tensor> {
        let scaled = scale_by_alpha(op, self.into(), other, ("alpha", alpha))?;
        let (dtype, numbers, alpha) = (scaled.dtype, scaled.numbers, scaled.alpha);
        let product = self.operand(op, scaled.operand(), numbers, dtype)?;
        let work = |_: Option<&mut NodeBuilder>| self.update(&product, dtype, numbers, arithmetic);
        match other {
            Operand::Tensor(other) if alpha != NO_FACTOR => {
                self.run_inplace(op, node, &[other], work, with_alpha(alpha, backward))
            }
            _ => self.run_inplace(op, node, &[&product], work, backward),
        }
    }

    /// Multiplies by `other` in place.
    pub fn mul_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<&Tensor> {
        let op = "mul_";
        let other = other.into();
        let dtype = result_type(&[self.into(), other]);
        let other = self.operand(op, other, Numbers::Exact, dtype)?;
        let work = |builder: Option<&mut NodeBuilder>| {
            if let Some(builder) = builder {
                builder.save_for(0, &other)?;
                save_copy_for(builder, 1, self)?;
            }
            self.update(&other, dtype, Numbers::Exact, Arithmetic::Multiply)
        };
        self.run_inplace(op, "MulBackward0", &[&other], work, mul_backward)
    }

    /// Divides by `other` in place like [`divide_with`]. Without rounding only for floating-point tensors.
    pub fn divide_with_<'a>(
        &self,
        other: impl Into<Operand<'a>>,
        rounding: Option<RoundingMode>,
    ) -> Result<&Tensor> {
        let other = other.into();
        if rounding.is_none() {
            return self.div_(other);
        }
        let inputs = match other {
            Operand::Tensor(tensor) => vec![tensor],
            Operand::Scalar(_) => Vec::new(),
        };
        self.replace_with("div_", &inputs, |target| divide_with(target, other, rounding))
    }

    /// Divides by `other` in place. Only for floating-point tensors.
    pub fn div_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<&Tensor> {
        let op = "div_";
        let other = other.into();
        let dtype = result_type(&[self.into(), other]).to_floating_point();
        let other = self.operand(op, other, Numbers::Exact, dtype)?;
        let work = |builder: Option<&mut NodeBuilder>| {
            if let Some(builder) = builder {
                builder.save(&other)?;
                save_copy_for(builder, 1, self)?;
            }
            self.update(&other, dtype, Numbers::Exact, Arithmetic::Divide)
        };
        self.run_inplace(op, "DivBackward0", &[&other], work, div_backward)
    }

    /// Sets all elements to 0.
    pub fn zero_(&self) -> Result<&Tensor> {
        self.overwrite("zero_", "ZeroBackward0", Scalar::Int(0))
    }

    /// Sets all elements to `value`: a scalar, which the element type must be able to hold, unless it is a half-precision
    /// type, which rounds it; or a tensor without dimensions, which is cast. The gradient of a tensor is the sum of all
    /// gradients. Only scalars can fill tensors whose elements share memory.
    pub fn fill_<'a>(&self, value: impl Into<Operand<'a>>) -> Result<&Tensor> {
        let op = "fill_";
        match value.into() {
            Operand::Scalar(value) => {
                self.overwrite(op, "FillBackward2", check_fills(value, self.dtype(), op, "value")?)
            }
            Operand::Tensor(value) if value.ndim() == 0 => {
                let source = Operand::Scalar(value.item()?).tensor(self.dtype())?;
                let work = |_: Option<&mut NodeBuilder>| iterate::copy_into(op, self, &source);
                self.run_inplace(op, "FillBackward3", &[value], work, |ctx, gradient| {
                    let of_value = ctx.gradient(1, || gradient.sum(None, false))?;
                    Ok(vec![overwritten(ctx, gradient)?, of_value])
                })
            }
            Operand::Tensor(value) => {
                Err(Error::shape(op, "value", "be a number or a tensor of shape ()", value.shape()))
            }
        }
    }

    fn overwrite(&self, op: &'static str, node: &'static str, value: Scalar) -> Result<&Tensor> {
        let source = Operand::Scalar(value).tensor(self.dtype())?;
        // Each memory location is written once, however many elements share it.
        let distinct = self.alias(self.layout().without_expanded_dims());
        let work = |_: Option<&mut NodeBuilder>| iterate::copy_into(op, &distinct, &source);
        self.run_inplace_expanded(op, node, &[], work, |ctx, gradient| Ok(vec![overwritten(ctx, gradient)?]))
    }

    /// Copies the elements of `source`, which is broadcast, converted and moved from its device.
    pub fn copy_(&self, source: &Tensor) -> Result<&Tensor> {
        self.copy_from(source, false)
    }

    /// Like [`copy_`](Tensor::copy_). With `non_blocking` a copy between a device and
    /// [pinned](crate::Placement::Pinned) memory is queued without waiting for it.
    pub fn copy_from(&self, source: &Tensor, non_blocking: bool) -> Result<&Tensor> {
        let op = "copy_";
        check_broadcastable_to(self.shape(), op, "src", source.shape())?;
        let work = |_: Option<&mut NodeBuilder>| transfer::copy_into(self, source, non_blocking);
        self.run_inplace(op, "CopyBackwards", &[source], work, |ctx, gradient| {
            // The engine moves the gradient to the device of the source.
            Ok(vec![overwritten(ctx, gradient)?, Some(gradient.clone())])
        })
    }
}

/// Returns the gradient of a value that was overwritten: zeros.
pub(crate) fn overwritten(ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Option<Tensor>> {
    ctx.gradient(0, || Tensor::zeros(gradient.shape(), gradient.options()))
}

/// Adds to a tensor that only the engine refers to, without recording and without a new version.
pub(crate) fn add_unrecorded(target: Tensor, gradient: &Tensor) -> Result<Tensor> {
    let dtype = target.dtype();
    target.update(gradient, dtype, Numbers::Rounded, Arithmetic::Add)?;
    Ok(target)
}

#[derive(Clone, Copy)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Arithmetic {
    fn name(self) -> &'static str {
        match self {
            Arithmetic::Add => "add_",
            Arithmetic::Subtract => "sub_",
            Arithmetic::Multiply => "mul_",
            Arithmetic::Divide => "div_",
        }
    }
}
