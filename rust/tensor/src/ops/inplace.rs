//! Operations that change a tensor's memory.

use super::binary::{ScaledOperand, scale_by_alpha, sub_check};
use super::operand::{Operand, result_type};
use crate::autograd::{BackwardContext, Gradients, NodeBuilder, check_inplace, rebase_history};
use crate::dtype::{dispatch, dispatch_float};
use crate::shape::broadcast;
use crate::{DType, Element, Error, Result, Scalar, Tensor, kernel};

impl Tensor {
    /// Changes this tensor in place: checks, `work`, a new version, and the new history. The first
    /// gradient that `backward` gives is that of the old value, the others are those of `inputs`.
    /// A tensor of integers or truth values has no gradient and gets no history.
    pub(super) fn run_inplace(
        &self,
        op: &'static str,
        node: &'static str,
        inputs: &[&Tensor],
        work: impl FnOnce(Option<&mut NodeBuilder>) -> Result<()>,
        backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) -> Result<&Tensor> {
        if self.layout().has_internal_overlap() {
            return Err(Error::Overlap { op });
        }
        self.run_inplace_expanded(op, node, inputs, work, backward)
    }

    /// As [`change`](Tensor::run_inplace), also where elements share a place in memory: `work` gives those the same value.
    pub(super) fn run_inplace_expanded(
        &self,
        op: &'static str,
        node: &'static str,
        inputs: &[&Tensor],
        work: impl FnOnce(Option<&mut NodeBuilder>) -> Result<()>,
        backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) -> Result<&Tensor> {
        let differentiable = self.dtype().is_floating_point();
        check_inplace(op, self, if differentiable { inputs } else { &[] })?;
        let all: Vec<&Tensor> = std::iter::once(self).chain(inputs.iter().copied()).collect();
        let mut builder = if differentiable { NodeBuilder::new(node, &all)? } else { None };
        work(builder.as_mut())?;
        self.storage_handle().bump_version();
        if let Some(builder) = builder {
            rebase_history(self, builder.build(self, backward))?;
        }
        Ok(self)
    }

    /// The other operand of an arithmetic operation, if its result fits into this tensor.
    fn operand(&self, op: &'static str, other: Operand<'_>, result: DType) -> Result<Tensor> {
        let other = other.tensor(result)?;
        if broadcast(op, self.shape(), other.shape())? != self.shape() {
            return Err(Error::Shapes {
                op,
                left: self.shape().to_vec(),
                right: other.shape().to_vec(),
                expected: "a tensor that is changed in place keeps its shape",
            });
        }
        if !result.can_cast_to(self.dtype()) {
            return Err(Error::ResultType { op, result, target: self.dtype() });
        }
        Ok(other)
    }

    fn update(&self, other: &Tensor, compute: DType, op: Arithmetic) -> Result<()> {
        if compute == self.dtype() {
            let other = kernel::cast(other, compute)?;
            return dispatch!(compute, T => kernel::update(op.name(), self, &other, move |a: T, b: T| op.apply(a, b)));
        }
        // The operation is done in a wider type and its result stored in this tensor's.
        let (wide, other) = (kernel::cast(self, compute)?, kernel::cast(other, compute)?);
        dispatch!(compute, T => {
            kernel::update(op.name(), &wide, &other, move |a: T, b: T| op.apply(a, b))?;
            dispatch!(self.dtype(), U => kernel::update(op.name(), self, &wide, |_: U, value: T| value.cast()))
        })
    }

    /// `self += other`
    pub fn add_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<&Tensor> {
        self.add_scaled_(other, Scalar::Int(1))
    }

    /// `self += alpha * other`
    pub fn add_scaled_<'a>(&self, other: impl Into<Operand<'a>>, alpha: Scalar) -> Result<&Tensor> {
        match scale_by_alpha("add_", self, other.into(), alpha)? {
            ScaledOperand::Operand(other) => self.add_in_place(other),
            ScaledOperand::Tensor(other) => self.add_in_place((&other).into()),
        }
    }

    fn add_in_place(&self, other: Operand<'_>) -> Result<&Tensor> {
        let op = "add_";
        let compute = result_type(&[self.into(), other]);
        let other = self.operand(op, other, compute)?;
        let work = |_: Option<&mut NodeBuilder>| self.update(&other, compute, Arithmetic::Add);
        self.run_inplace(op, "AddBackward0", &[&other], work, |_, gradient| {
            Ok(vec![Some(gradient.clone()), Some(gradient.clone())])
        })
    }

    /// `self -= other`
    pub fn sub_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<&Tensor> {
        self.sub_scaled_(other, Scalar::Int(1))
    }

    /// `self -= alpha * other`
    pub fn sub_scaled_<'a>(&self, other: impl Into<Operand<'a>>, alpha: Scalar) -> Result<&Tensor> {
        let (op, other) = ("sub_", other.into());
        sub_check(op, [self.into(), other])?;
        match scale_by_alpha(op, self, other, alpha)? {
            ScaledOperand::Operand(other) => self.sub_in_place(other),
            ScaledOperand::Tensor(other) => self.sub_in_place((&other).into()),
        }
    }

    fn sub_in_place(&self, other: Operand<'_>) -> Result<&Tensor> {
        let op = "sub_";
        sub_check(op, [self.into(), other])?;
        let compute = result_type(&[self.into(), other]);
        let other = self.operand(op, other, compute)?;
        let work = |_: Option<&mut NodeBuilder>| self.update(&other, compute, Arithmetic::Subtract);
        self.run_inplace(op, "SubBackward0", &[&other], work, |ctx, gradient| {
            Ok(vec![Some(gradient.clone()), ctx.gradient(1, || gradient.neg())?])
        })
    }

    /// `self *= other`
    pub fn mul_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<&Tensor> {
        let op = "mul_";
        let other = other.into();
        let compute = result_type(&[self.into(), other]);
        let other = self.operand(op, other, compute)?;
        let work = |builder: Option<&mut NodeBuilder>| {
            if let Some(builder) = builder {
                builder.save_for(0, &other)?;
                builder.save_copy_for(1, self)?;
            }
            self.update(&other, compute, Arithmetic::Multiply)
        };
        self.run_inplace(op, "MulBackward0", &[&other], work, |ctx, gradient| {
            Ok(vec![
                ctx.gradient(0, || gradient.mul(&ctx.saved(0)?))?,
                ctx.gradient(1, || gradient.mul(&ctx.saved(1)?))?,
            ])
        })
    }

    /// `self /= other`, for floating-point tensors.
    pub fn div_<'a>(&self, other: impl Into<Operand<'a>>) -> Result<&Tensor> {
        let op = "div_";
        let other = other.into();
        let compute = result_type(&[self.into(), other]).to_floating_point();
        let other = self.operand(op, other, compute)?;
        let work = |builder: Option<&mut NodeBuilder>| {
            if let Some(builder) = builder {
                builder.save(&other)?;
                builder.save_copy_for(1, self)?;
            }
            self.update(&other, compute, Arithmetic::Divide)
        };
        self.run_inplace(op, "DivBackward0", &[&other], work, |ctx, gradient| {
            let right = ctx.saved(0)?;
            Ok(vec![
                ctx.gradient(0, || gradient.div(&right))?,
                ctx.gradient(1, || gradient.mul(&ctx.saved(1)?.div(&right)?.div(&right)?)?.neg())?,
            ])
        })
    }

    /// All elements 0.
    pub fn zero_(&self) -> Result<&Tensor> {
        self.overwrite("zero_", "ZeroBackward0", Scalar::Int(0))
    }

    /// All elements `value`: a number, which the element type must be able to hold, or a tensor without dimensions,
    /// which is converted as a cast converts it. The gradient of a tensor is the sum of all. Elements that share
    /// memory are only filled with a number.
    pub fn fill_<'a>(&self, value: impl Into<Operand<'a>>) -> Result<&Tensor> {
        let (op, node) = ("fill_", "FillBackward0");
        match value.into() {
            Operand::Scalar(value) => self.overwrite(op, node, value.check_fits(self.dtype(), op, "value")?),
            Operand::Tensor(value) if value.ndim() == 0 => {
                let source = Operand::Scalar(value.item()?).tensor(self.dtype())?;
                let work = |_: Option<&mut NodeBuilder>| broadcast_into(op, self, &source);
                self.run_inplace(op, node, &[value], work, |ctx, gradient| {
                    let of_value = ctx.gradient(1, || gradient.sum(None, false))?;
                    Ok(vec![overwritten(ctx, gradient)?, of_value])
                })
            }
            Operand::Tensor(value) => {
                let expected = "the value must be a number or a tensor without dimensions".to_owned();
                Err(Error::Shape { op, given: value.shape().to_vec(), expected })
            }
        }
    }

    fn overwrite(&self, op: &'static str, node: &'static str, value: Scalar) -> Result<&Tensor> {
        let source = Operand::Scalar(value).tensor(self.dtype())?;
        // Each place is written once, however many elements share it.
        let places = self.alias(self.layout().without_expanded_dims());
        let work = |_: Option<&mut NodeBuilder>| broadcast_into(op, &places, &source);
        self.run_inplace_expanded(op, node, &[], work, |ctx, gradient| Ok(vec![overwritten(ctx, gradient)?]))
    }

    /// All elements those of `source`, which broadcasts, is converted and may be on another device.
    pub fn copy_(&self, source: &Tensor) -> Result<&Tensor> {
        self.copy_from(source, false)
    }

    /// As [`copy_`](Tensor::copy_). With `non_blocking` this returns while a copy between a device and
    /// [pinned](crate::Placement::Pinned) memory is queued.
    pub fn copy_from(&self, source: &Tensor, non_blocking: bool) -> Result<&Tensor> {
        let op = "copy_";
        if broadcast(op, self.shape(), source.shape()).ok().as_deref() != Some(self.shape()) {
            return Err(Error::Shapes {
                op,
                left: self.shape().to_vec(),
                right: source.shape().to_vec(),
                expected: "the source must broadcast to the target",
            });
        }
        let work = |_: Option<&mut NodeBuilder>| super::transfer::copy_into(self, source, non_blocking);
        self.run_inplace(op, "CopyBackwards", &[source], work, |ctx, gradient| {
            // The engine brings the gradient to the device of the source.
            Ok(vec![overwritten(ctx, gradient)?, Some(gradient.clone())])
        })
    }
}

/// Writes a tensor without dimensions, of the same type, to all elements. Raises no version.
fn broadcast_into(op: &'static str, target: &Tensor, value: &Tensor) -> Result<()> {
    dispatch!(target.dtype(), T => kernel::update(op, target, value, |_: T, value: T| value))
}

/// The gradient of a value that was replaced: zeros, because the tensor it came from was used all the same.
fn overwritten(ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Option<Tensor>> {
    ctx.gradient(0, || Tensor::zeros(gradient.shape(), gradient.options()))
}

/// Adds to a tensor that only the engine knows: no builder, no new version.
pub(crate) fn add_unrecorded(target: Tensor, gradient: &Tensor) -> Result<Tensor> {
    dispatch_float!(target.dtype(), T => kernel::update("add", &target, gradient, |a: T, b: T| a + b))?;
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

    fn apply<T: Element>(self, a: T, b: T) -> T {
        match self {
            Arithmetic::Add => a.plus(b),
            Arithmetic::Subtract => a.minus(b),
            Arithmetic::Multiply => a.times(b),
            // A single-precision quotient is the double one rounded.
            Arithmetic::Divide => T::from_f64(a.to_f64() / b.to_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles, gradcheck};
    use crate::{DType, Error, Tensor};

    #[test]
    fn in_place_arithmetic_keeps_memory_and_raises_the_version() {
        let x = doubles(&[1.0, 2.0], &[2]);
        let before = x.data_ptr();
        x.add_(1.0).unwrap().mul_(&doubles(&[2.0], &[1])).unwrap().sub_(&x).unwrap();
        assert_close(&x, &[0.0, 0.0]);
        assert_eq!((x.data_ptr(), x.version()), (before, Ok(3)));
        x.add_scaled_(&doubles(&[1.0, 2.0], &[2]), 0.5.into()).unwrap().div_(2.0).unwrap();
        assert_close(&x, &[0.25, 0.5]);
    }

    #[test]
    fn views_of_one_memory_are_read_before_they_are_written() {
        let x = doubles(&[1.0, 2.0, 3.0], &[3]);
        let (head, tail) = (x.slice(0, None, Some(2), 1).unwrap(), x.slice(0, Some(1), None, 1).unwrap());
        tail.add_(&head).unwrap();
        assert_close(&x, &[1.0, 3.0, 5.0]);
    }

    #[test]
    fn results_that_do_not_fit_are_errors_and_change_nothing() {
        let x = Tensor::ones(&[2], DType::Int64).unwrap();
        assert!(matches!(x.add_(0.5), Err(Error::ResultType { .. })));
        assert!(matches!(x.div_(2i64), Err(Error::ResultType { .. })));
        assert!(matches!(x.mul_(&Tensor::ones(&[3, 2], DType::Int64).unwrap()), Err(Error::Shapes { .. })));
        let expanded = x.unsqueeze(0).unwrap().expand(&[3, 2]).unwrap();
        assert!(matches!(expanded.add_(1i64), Err(Error::Overlap { .. })));
        assert!(matches!(expanded.fill_(&doubles(&[2.0], &[])), Err(Error::Overlap { .. })));
        assert!(matches!(x.fill_(f64::NAN), Err(Error::OutOfBounds { op: "fill_", .. })));
        assert_eq!((x.to_vec::<i64>().unwrap(), x.version()), (vec![1, 1], Ok(0)));
    }

    #[test]
    fn a_fill_writes_each_place_of_an_expanded_tensor_once() {
        let x = Tensor::ones(&[2, 1], DType::Int64).unwrap();
        let expanded = x.expand(&[1 << 40, 2, 3]).unwrap();
        expanded.fill_(7i64).unwrap();
        assert_eq!(x.to_vec::<i64>().unwrap(), [7, 7]);
        expanded.select(1, 0).unwrap().zero_().unwrap();
        assert_eq!((x.to_vec::<i64>().unwrap(), x.version()), (vec![0, 7], Ok(2)));
        x.expand(&[0, 2, 1]).unwrap().fill_(5i64).unwrap();
        assert_eq!(x.to_vec::<i64>().unwrap(), [0, 7]);
    }

    #[test]
    fn gradients_match_finite_differences() {
        let inputs = [doubles(&[0.5, 1.5, 2.0], &[3]), doubles(&[2.0, 0.25, 3.0], &[3])];
        gradcheck(|x| x[0].mul(1.0)?.add_(&x[1])?.pow(2.0), &inputs);
        gradcheck(|x| x[0].mul(1.0)?.sub_scaled_(&x[1], 2.0.into())?.pow(2.0), &inputs);
        gradcheck(|x| x[0].mul(1.0)?.mul_(&x[1])?.pow(2.0), &inputs);
        gradcheck(|x| x[0].mul(1.0)?.div_(&x[1])?.pow(2.0), &inputs);
        gradcheck(|x| x[0].mul(1.0)?.mul_(&x[0])?.add(&x[1]), &inputs);
        gradcheck(|x| x[0].mul(1.0)?.copy_(&x[1])?.pow(2.0), &inputs);
    }

    #[test]
    fn gradients_through_views_that_change_match_finite_differences() {
        let inputs = [doubles(&[0.5, 1.5, 2.0, 3.0, 1.0, 0.1], &[2, 3]), doubles(&[2.0, 0.25], &[2])];
        gradcheck(
            |x| {
                let y = x[0].mul(2.0)?;
                let column = y.select(1, 1)?;
                column.mul_(&x[1])?;
                y.t()?.select(0, 0)?.add_(&column)?;
                y.select(0, 0)?.zero_()?;
                y.pow(2.0)?.add(&column.unsqueeze(1)?)
            },
            &inputs,
        );
        gradcheck(
            |x| {
                // The base is transposed in memory, and the view is asked for its history afterwards.
                let y = x[0].mul(1.0)?.t()?.copy()?;
                let row = y.select(0, 2)?;
                y.mul_(3.0)?;
                row.mul_(&x[1])?;
                row.pow(2.0)?.add(&y.sum(Some(&[0]), false)?)
            },
            &inputs,
        );
    }
}
