//! The logarithm of a sum of exponentials.

use super::sums::reduced_dims;
use crate::layout::Layout;
use crate::ops::elementwise::selection::zero_where;
use crate::recording::NodeBuilder;
use crate::{Result, Tensor, iterate};

/// Returns the largest element of each group. An infinity is replaced by 0, because the difference of two is NaN.
fn base(elements: &Tensor, dims: &[i64]) -> Result<Tensor> {
    let largest = elements.detach().amax(Some(dims), true)?;
    zero_where(&largest.abs()?.equal(f64::INFINITY)?, &largest)
}

impl Tensor {
    /// Returns the logarithm of the sum of the exponentials over `dims`, which is accurate also where an exponential
    /// overflows. Integers are converted to floating point.
    pub fn logsumexp(&self, dims: &[i64], keepdim: bool) -> Result<Tensor> {
        let op = "logsumexp";
        let input = self.cast(self.dtype().to_floating_point())?;
        let over = reduced_dims(op, input.shape(), Some(dims))?;
        let elements = iterate::cast(&input.detach(), input.dtype().compute())?;
        let all = Some(dims);
        let out = if over.count == 0 {
            elements.exp()?.sum(all, keepdim)?.log()?
        } else {
            let base = base(&elements, dims)?;
            let sum = elements.sub(&base)?.exp()?.sum(all, true)?;
            // The result is no view of one with the reduced dimensions.
            sum.log()?.add(&base)?.alias(Layout::contiguous(over.shape(keepdim)))
        };
        let out = iterate::cast(&out, input.dtype())?;
        if let Some(builder) = NodeBuilder::new("LogsumexpBackward0", &[&input])? {
            let (ones, dims) = (over.shape(true).to_vec(), dims.to_vec());
            builder.set_history_saving(&input, &out, move |x, gradient| {
                if x.numel() == 0 {
                    return Tensor::zeros(x.shape(), x.options());
                }
                let x = x.cast(x.dtype().compute())?;
                // The shares of the elements. The difference from the result has lost the logarithm where elements are
                // large.
                let differences = x.sub(&base(&x, &dims)?)?;
                let logarithm = differences.exp()?.sum(Some(&dims), true)?.log()?;
                let share = differences.sub(&logarithm)?.exp()?;
                gradient.reshaped(&ones)?.mul(&share)
            })?;
        }
        Ok(out)
    }
}
