//! Reductions of truth values: all, any and the number of nonzero elements.

use super::sums::reduced_dims;
use crate::dtype::Bool8;
use crate::iterate::reduce;
use crate::loops::ReduceLoop;
use crate::{DType, Result, Tensor, loops};

impl Tensor {
    /// Returns whether any element is nonzero, of all elements or over `dims`. Of `uint8` the result is `uint8`, as in
    /// PyTorch.
    pub fn any_over(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        self.reduced_truths("any", &loops::largest_of::<Bool8>(), dims, keepdim)
    }

    /// Returns whether all elements are nonzero, like [`any_over`](Tensor::any_over).
    pub fn all_over(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        self.reduced_truths("all", &loops::smallest_of::<Bool8>(), dims, keepdim)
    }

    /// Returns the number of nonzero elements, of all elements or over `dims`.
    pub fn count_nonzero(&self, dims: Option<&[i64]>) -> Result<Tensor> {
        self.truths()?.sum(dims, false).map_err(|error| error.during("count_nonzero"))
    }

    fn truths(&self) -> Result<Tensor> {
        self.detach().cast(DType::Bool)
    }

    fn reduced_truths(
        &self,
        op: &'static str,
        reduce_loop: &dyn ReduceLoop,
        dims: Option<&[i64]>,
        keepdim: bool,
    ) -> Result<Tensor> {
        let truths = self.truths()?;
        // As in PyTorch an empty list reduces no dimension.
        let out = if dims == Some(&[]) {
            if self.dtype() == DType::Bool { truths.copy()? } else { truths }
        } else {
            let over = reduced_dims(op, self.shape(), dims)?;
            reduce(op, &truths, &over.mask, (over.shape(keepdim), DType::Bool), reduce_loop)?
        };
        out.cast(if self.dtype() == DType::UInt8 { DType::UInt8 } else { DType::Bool })
    }
}
