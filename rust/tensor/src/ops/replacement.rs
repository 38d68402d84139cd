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
        Error::when(self.layout().has_internal_overlap(), || Error::overlap(op))?;
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
