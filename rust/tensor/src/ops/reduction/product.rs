//! The product of elements.

use super::product_gradients::prod_backward;
use super::scans::widened;
use super::sums::reduced_dims;
use crate::dtype::dispatch_float;
use crate::iterate::reduce;
use crate::loops::{self, ReduceLoop};
use crate::recording::NodeBuilder;
use crate::{Element, Result, Tensor};

/// Returns the loop that multiplies elements in `float64`.
fn product<T: Element>() -> impl ReduceLoop {
    loops::fold(1.0, |product: f64, factor: T| product * factor.to_f64(), |a: f64, b| a * b, T::from_f64)
}

impl Tensor {
    /// Returns the product of all elements or along `dim`. Integers and bools are multiplied as `int64`.
    pub fn prod(&self, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
        let op = "prod";
        let input = widened(self)?;
        let over = reduced_dims(op, input.shape(), dim.as_ref().map(std::slice::from_ref))?;
        let to = (over.shape(keepdim), input.dtype());
        let out = if input.dtype().is_floating_point() {
            dispatch_float!(input.dtype(), T => reduce(op, &input, &over.mask, to, &product::<T>()))?
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
