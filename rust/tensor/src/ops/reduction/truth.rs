//! Reductions of truth values: all, any and the number of nonzero elements.

use super::sums::reduced_dims;
use crate::dtype::Bool8;
use crate::iterate::reduce;
use crate::{DType, Element, Result, Tensor, loops};

impl Tensor {
    /// Returns whether any element is nonzero, of all elements or over `dims`. Of `uint8` the result is `uint8`, as in
    /// PyTorch.
    pub fn any_over(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let any = self.any_true("any", &self.truths()?, dims, keepdim)?;
        any.cast(self.truth_dtype())
    }

    /// Returns whether all elements are nonzero, like [`any_over`](Tensor::any_over).
    pub fn all_over(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let any_zero = self.any_true("all", &self.truths()?.logical_not()?, dims, keepdim)?;
        any_zero.logical_not()?.cast(self.truth_dtype())
    }

    /// Returns the number of nonzero elements, of all elements or over `dims`.
    pub fn count_nonzero(&self, dims: Option<&[i64]>) -> Result<Tensor> {
        self.truths()?.sum(dims, false).map_err(|error| error.during("count_nonzero"))
    }

    fn truths(&self) -> Result<Tensor> {
        self.detach().cast(DType::Bool)
    }

    fn truth_dtype(&self) -> DType {
        if self.dtype() == DType::UInt8 { DType::UInt8 } else { DType::Bool }
    }

    fn any_true(
        &self,
        op: &'static str,
        truths: &Tensor,
        dims: Option<&[i64]>,
        keepdim: bool,
    ) -> Result<Tensor> {
        // As in PyTorch an empty list reduces no dimension.
        if dims == Some(&[]) {
            return Ok(truths.clone());
        }
        let over = reduced_dims(op, self.shape(), dims)?;
        let any = loops::fold(Bool8::new(false), Bool8::plus, Bool8::plus, |any: Bool8| any);
        reduce(op, truths, &over.mask, (over.shape(keepdim), DType::Bool), &any)
    }
}
