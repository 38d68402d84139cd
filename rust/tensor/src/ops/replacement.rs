//! In-place forms of all operations: the operation computes a new tensor, whose elements are copied into the target. The
//! frequent in-place operations, such as `add_`, compute in the memory of the target instead (`elementwise/writing.rs`).

use super::conversion::transfer::copy_into;
use super::elementwise::writing::overwritten;
use crate::error::Tuple;
use crate::recording::{NodeBuilder, check_inplace, grad_fn, is_recording, rebase_history};
use crate::{Error, Result, Tensor};

/// Returns the node of a comparison in place: the gradients of both tensors are zeros.
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
    /// tensors that it uses. The operation defines the history.
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
            return Err(Error::result_type(op, "the tensor", result.dtype(), self.dtype()));
        }
        if is_recorded && let Some(node) = comparison_node(op, !inputs.is_empty()) {
            let others: Vec<_> =
                inputs.iter().map(|input| (input.shape().to_vec(), input.options())).collect();
            let work = |_: Option<&mut NodeBuilder>| copy_into(self, &result.detach(), false);
            return self.run_inplace(op, node, inputs, work, move |ctx, gradient| {
                let others = others.iter().zip(1..);
                let of_others =
                    others.map(|((shape, options), at)| ctx.gradient(at, || Tensor::zeros(shape, *options)));
                std::iter::once(overwritten(ctx, gradient)).chain(of_others).collect()
            });
        }
        let copy = if is_recorded { NodeBuilder::new("CopyBackwards", &[self, result])? } else { None };
        copy_into(self, &result.detach(), false)?;
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
