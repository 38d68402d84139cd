//! In-place forms and `out` arguments of all operations: the operation computes a new tensor, whose elements are copied
//! into the target. The frequent in-place operations, such as `add_`, compute in the memory of the target instead
//! (`writing.rs`).

use std::sync::Arc;

use interlock::autograd::is_inference_mode_enabled;

use super::operand::check_device;
use super::writing::overwritten;
use crate::error::Tuple;
use crate::layout::Layout;
use crate::recording::{NodeBuilder, check_inplace, grad_fn, is_recording, rebase_history};
use crate::storage::TensorOptions;
use crate::{Error, ErrorKind, Result, Tensor};

/// How a function that creates tensors writes to its argument `out`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NewElements {
    /// The target gets the shape of the new tensor.
    Filled,
    /// The target keeps its shape if it has as many elements as the sequence.
    Sequence {
        /// Whether a change of the shape of a target with elements causes a warning.
        warns: bool,
    },
    /// The target gets the shape only.
    Uninitialized,
}

/// Returns the node of a comparison in place: its gradients are zeros, also that of the other tensor.
fn comparison_node(op: &str, with_tensor: bool) -> Option<&'static str> {
    let [number, tensor] = match op {
        "eq_" => ["EqBackward0", "EqBackward1"],
        "ne_" | "not_equal_" => ["NeBackward0", "NeBackward1"],
        "lt_" | "less_" => ["LtBackward0", "LtBackward1"],
        "le_" | "less_equal_" => ["LeBackward0", "LeBackward1"],
        "gt_" | "greater_" => ["GtBackward0", "GtBackward1"],
        "ge_" | "greater_equal_" => ["GeBackward0", "GeBackward1"],
        _ => return None,
    };
    Some(if with_tensor { tensor } else { number })
}

impl Tensor {
    /// Replaces the elements by the result of an operation on them, such as `|x| x.exp()`. `inputs` are the other
    /// tensors that it uses. The history is that of the operation.
    ///
    /// # Errors
    /// Fails without effect if the result has another shape or a type that cannot be stored here, and like every
    /// in-place operation for tensors that must not be changed.
    pub fn replace_with(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        operation: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<&Tensor> {
        let (old, is_recorded) = self.before_replacement(op, inputs)?;
        let result = operation(&old)?;
        self.replace_elements(op, inputs, &result, is_recorded)
    }

    /// Checks the target of a replacement. Returns the old elements, and whether the replacement is recorded.
    fn before_replacement(&self, op: &'static str, inputs: &[&Tensor]) -> Result<(Tensor, bool)> {
        if self.layout().has_internal_overlap() {
            return Err(Error::overlap(op));
        }
        let differentiable = self.dtype().is_floating_point();
        check_inplace(op, self, if differentiable { inputs } else { &[] })?;
        let requires_grad = self.requires_grad() || inputs.iter().any(|input| input.requires_grad());
        let is_recorded = differentiable && is_recording() && requires_grad;
        Ok((if is_recorded { self.with_old_elements()? } else { self.detach() }, is_recorded))
    }

    /// Copies the result of an operation on the old elements to this tensor, and takes its history over.
    fn replace_elements(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        result: &Tensor,
        is_recorded: bool,
    ) -> Result<&Tensor> {
        if result.shape() != self.shape() {
            let expected = format!("be of shape {}", Tuple(self.shape()));
            return Err(Error::shape(op, "the result", expected, result.shape()));
        }
        if !result.dtype().can_cast_to(self.dtype()) {
            let (argument, result, target) = ("the tensor", result.dtype(), self.dtype());
            return Err(Error::result_type(op, argument, result, target));
        }
        if is_recorded && let Some(node) = comparison_node(op, !inputs.is_empty()) {
            let others: Vec<_> =
                inputs.iter().map(|input| (input.shape().to_vec(), input.options())).collect();
            let work = |_: Option<&mut NodeBuilder>| {
                crate::ops::conversion::transfer::copy_into(self, &result.detach(), false)
            };
            return self.run_inplace(op, node, inputs, work, move |ctx, gradient| {
                let others = others.iter().zip(1..);
                let of_others =
                    others.map(|((shape, options), at)| ctx.gradient(at, || Tensor::zeros(shape, *options)));
                std::iter::once(overwritten(ctx, gradient)).chain(of_others).collect()
            });
        }
        let copy = if is_recorded { NodeBuilder::new("CopyBackwards", &[self, result])? } else { None };
        crate::ops::conversion::transfer::copy_into(self, &result.detach(), false)?;
        self.bump_version();
        let Some(copy) = copy else { return Ok(self) };
        let is_view = self.meta().view.is_some();
        let node = match result.grad_fn()? {
            // The node of the operation leads to the old elements. A view records the copy into its base.
            Some(node) if !is_view && result.dtype() == self.dtype() => node,
            _ => copy.build(self, |ctx, gradient| {
                let of_old = ctx.gradient(0, || Tensor::zeros(gradient.shape(), gradient.options()))?;
                Ok(vec![of_old, Some(gradient.clone())])
            }),
        };
        rebase_history(self, node)?;
        Ok(self)
    }

    /// Returns a copy with the history of this tensor, which an operation may save before this tensor is changed.
    fn with_old_elements(&self) -> Result<Tensor> {
        let old = self.detach().contiguous_copy()?;
        old.meta_mut().grad_fn = grad_fn("grad_fn", self)?;
        Ok(old)
    }

    /// Writes the result of an operation on `inputs` to this tensor: the argument `out` of PyTorch's functions. A tensor
    /// of another shape is resized like by [`resize_`](Tensor::resize_), with a warning if it has elements.
    ///
    /// # Errors
    /// Fails without effect if gradients are recorded for a tensor, or if this tensor has another device, or a type or
    /// memory in which the result cannot be stored.
    pub fn write_result(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        operation: impl FnOnce() -> Result<Tensor>,
    ) -> Result<&Tensor> {
        self.before_result(op, inputs)?;
        if inputs.iter().any(|input| self.dense_overlap(input) == Some(false)) {
            return Err(Error::aliased(op, "out"));
        }
        self.store_result(op, inputs, &operation()?)
    }

    /// Like [`write_result`](Tensor::write_result), for operations whose target may be a part of an input, such as
    /// reductions.
    pub fn write_overlapping(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        operation: impl FnOnce() -> Result<Tensor>,
    ) -> Result<&Tensor> {
        self.before_result(op, inputs)?;
        self.store_result(op, inputs, &operation()?)
    }

    /// Checks the target of a result.
    fn before_result(&self, op: &'static str, inputs: &[&Tensor]) -> Result<()> {
        if is_recording() && inputs.iter().chain(&[self]).any(|tensor| tensor.requires_grad()) {
            let expected =
                "not be passed if a tensor requires grad while gradients are recorded; use no_grad()";
            return Err(Error::value(op, "out", expected, "a tensor"));
        }
        if self.is_inference() && !is_inference_mode_enabled() {
            let expected =
                "not be an inference tensor outside of inference_mode(); clone() returns a normal tensor";
            return Err(Error::value(op, "out", expected, "one"));
        }
        check_inplace(op, self, &[])?;
        if self.layout().has_internal_overlap() {
            return Err(Error::overlap(op));
        }
        Ok(())
    }

    /// Writes the results of an operation on `inputs`, at most three, to as many tensors, which have their dtypes.
    ///
    /// # Errors
    /// Fails without effect as [`write_result`](Tensor::write_result) does, and if the tensors share memory.
    pub fn write_results(
        targets: &[&Tensor],
        op: &'static str,
        inputs: &[&Tensor],
        operation: impl FnOnce() -> Result<Vec<Tensor>>,
    ) -> Result<()> {
        targets.iter().try_for_each(|target| target.before_result(op, inputs))?;
        for (number, second) in targets.iter().enumerate() {
            let mut before = targets.iter().take(number);
            let is_shared = |first: &&Tensor| first.is(second) || first.dense_overlap(second).is_some();
            if let Some(first) = before.position(is_shared) {
                let message = format!(
                    "must have tensors that share no memory, got the same memory in out[{first}] and out[{number}]"
                );
                return Err(Error::argument(ErrorKind::State, op, "out", message));
            }
        }
        let results = operation()?;
        let pairs = || targets.iter().zip(&results);
        for ((target, result), argument) in pairs().zip(["out[0]", "out[1]", "out[2]"]) {
            check_device(op, result, target)?;
            if result.dtype() != target.dtype() {
                let expected = format!("{}, the dtype of the result", result.dtype());
                return Err(Error::dtype(op, argument, expected, target.dtype()));
            }
        }
        pairs().try_for_each(|(target, result)| target.resize_to_result(op, inputs, result, true))?;
        pairs().try_for_each(|(target, result)| target.copy_result(result))
    }

    /// Writes the elements of a new tensor, which is made with the dtype and on the device of this one, to this tensor: the
    /// argument `out` of functions that create tensors.
    ///
    /// # Errors
    /// Fails without effect as [`write_result`](Tensor::write_result) does.
    pub fn write_new(
        &self,
        op: &'static str,
        rule: NewElements,
        make: impl FnOnce(TensorOptions) -> Result<Tensor>,
    ) -> Result<()> {
        self.before_result(op, &[])?;
        let mut result = make(self.options())?;
        if let NewElements::Sequence { .. } = rule
            && result.numel() == self.numel()
        {
            result = result.reshaped(self.shape())?;
        }
        let warns = matches!(rule, NewElements::Sequence { warns: true });
        self.resize_to_result(op, &[], &result, warns)?;
        match rule {
            NewElements::Uninitialized => Ok(()),
            _ => self.copy_result(&result),
        }
    }

    /// Copies the result of an operation to this tensor, which gets its shape.
    fn store_result(&self, op: &'static str, inputs: &[&Tensor], result: &Tensor) -> Result<&Tensor> {
        check_device(op, result, self)?;
        if !result.dtype().can_cast_to(self.dtype()) {
            let (argument, result, target) = ("out", result.dtype(), self.dtype());
            return Err(Error::result_type(op, argument, result, target));
        }
        self.resize_to_result(op, inputs, result, true)?;
        self.copy_result(result)?;
        Ok(self)
    }

    fn resize_to_result(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        result: &Tensor,
        warns: bool,
    ) -> Result<()> {
        if result.shape() == self.shape() {
            return Ok(());
        }
        self.resize_for_result(op, inputs, result, warns)
    }

    fn copy_result(&self, result: &Tensor) -> Result<()> {
        crate::ops::conversion::transfer::copy_into(self, &result.detach(), false)?;
        self.bump_version();
        Ok(())
    }

    /// Returns whether two dense tensors whose memory overlaps are the same elements in the same order: ATen's
    /// `get_overlap_status`. `None` if it does not overlap.
    fn dense_overlap(&self, other: &Tensor) -> Option<bool> {
        let (own, others) = (self.layout(), other.layout());
        if !Arc::ptr_eq(self.storage_handle(), other.storage_handle())
            || !own.is_dense()
            || !others.is_dense()
        {
            return None;
        }
        let range = |layout: &Layout, size: usize| {
            let start = layout.offset.saturating_mul(size);
            (start, start.saturating_add(layout.numel().saturating_mul(size)))
        };
        let (start, end) = range(own, self.dtype().size());
        let (other_start, other_end) = range(others, other.dtype().size());
        let intersects = start.max(other_start) < end.min(other_end);
        let same = (start, end) == (other_start, other_end) && own.strides == others.strides;
        intersects.then_some(same)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles, gradcheck};
    use crate::{Error, ErrorKind, Tensor};

    #[test]
    fn replace_with_changes_the_memory_and_increments_the_version() {
        let x = doubles(&[1.0, 4.0], &[2]);
        let before = x.data_ptr();
        x.replace_with("sqrt_", &[], Tensor::sqrt).unwrap();
        assert_close(&x, &[1.0, 2.0]);
        assert_eq!((x.data_ptr(), x.version()), (before, Ok(1)));
        let ints = Tensor::from_slice(&[1i64, 4], &[2]).unwrap();
        assert!(matches!(
            ints.replace_with("sqrt_", &[], Tensor::sqrt),
            Err(Error::Refused { kind: ErrorKind::DType, .. })
        ));
        ints.replace_with("logical_not_", &[], Tensor::logical_not).unwrap();
        assert_eq!(ints.to_vec::<i64>().unwrap(), [0, 0]);
        assert!(matches!(
            x.replace_with("pow_", &[], |x| x.pow(&doubles(&[1.0; 4], &[2, 2]))),
            Err(Error::Refused { kind: ErrorKind::Shape, .. })
        ));
    }

    #[test]
    fn replace_with_passes_gradcheck() {
        let inputs = [doubles(&[0.5, 1.5, 2.0, 3.0], &[2, 2]), doubles(&[2.0, 0.25], &[2])];
        gradcheck(|x| x[0].mul(1.0)?.replace_with("sin_", &[], Tensor::sin)?.pow(2.0), &inputs);
        gradcheck(|x| x[0].mul(1.0)?.replace_with("pow_", &[&x[1]], |y| y.pow(&x[1]))?.pow(2.0), &inputs);
        gradcheck(
            |x| {
                let y = x[0].mul(1.0)?;
                y.select(1, 1)?.replace_with("exp_", &[], Tensor::exp)?;
                y.t()?.select(0, 0)?.replace_with("pow_", &[&x[1]], |y| y.pow(&x[1]))?;
                y.pow(2.0)
            },
            &inputs,
        );
        gradcheck(
            |x| {
                let y = x[0].mul(1.0)?;
                y.replace_with("lt_", &[], |y| y.less(1.0))?;
                y.add(&x[0])
            },
            &inputs,
        );
    }
}
