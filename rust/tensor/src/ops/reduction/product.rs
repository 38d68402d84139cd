//! The product of elements.

use super::along_dim::size_of_dim;
use super::scans::{cumprod_backward, gradients_of_factors, widened};
use super::sums::reduced_dims;
use crate::dtype::dispatch_float;
use crate::iterate::reduce;
use crate::layout::signed;
use crate::ops::shape::join::cat;
use crate::recording::{NodeBuilder, is_recording};
use crate::{Element, Result, Tensor, loops};

impl Tensor {
    /// Returns the product of all elements or along `dim`. Integers and bools are multiplied as `int64`.
    pub fn prod(&self, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
        let op = "prod";
        let input = widened(self)?;
        let over = reduced_dims(op, input.shape(), dim.as_ref().map(std::slice::from_ref))?;
        let to = (over.shape(keepdim), input.dtype());
        let out = if input.dtype().is_floating_point() {
            dispatch_float!(input.dtype(), T => reduce(op, &input, &over.mask, to, &loops::product::<T>()))?
        } else {
            let products = loops::fold(1, i64::times, i64::times, |product: i64| product);
            reduce(op, &input, &over.mask, to, &products)?
        };
        let node = if dim.is_some() { "ProdBackward1" } else { "ProdBackward0" };
        if let Some(builder) = NodeBuilder::new(node, &[&input])? {
            let ones = over.shape(true).to_vec();
            builder.set_history_saving(&input, &out, move |input, gradient| {
                prod_backward(input, &gradient.reshaped(&ones)?, dim)
            })?;
        }
        Ok(out)
    }
}

/// Returns the gradient of the factors: the gradient multiplied by the product of the other factors.
fn prod_backward(x: &Tensor, gradient: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    if x.numel() == 0 {
        return Tensor::zeros(x.shape(), x.options());
    }
    let Some(dim) = dim.filter(|_| x.ndim() > 0) else {
        let row = x.reshaped(&[x.numel()])?;
        return prod_backward(&row, &gradient.reshaped(&[1])?, Some(0))?.reshaped(x.shape());
    };
    if !is_recording() {
        return gradients_of_factors("prod", x, gradient, &[], dim);
    }
    // The product is the last cumulative product.
    let last = signed(size_of_dim("prod", x, dim)?) - 1;
    let shape: Vec<usize> = x.detach().slice(dim, None, Some(last), 1)?.shape().to_vec();
    let others = Tensor::zeros(&shape, gradient.options())?;
    cumprod_backward(x, &cat(&[others, gradient.clone()], dim)?, &[], dim)
}
