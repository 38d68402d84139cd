//! Elementwise selection by a mask.

use crate::autograd::NodeBuilder;
use crate::dtype::dispatch_float;
use crate::element::Bool8;
use crate::shape::broadcast;
use crate::{Result, Tensor, kernel};

/// Returns `values` with 0 where `mask` is true: `torch.where(mask, 0, values)`. Both are broadcast. Unlike a product
/// with the mask this also replaces infinities and NaN.
pub(super) fn zero_where(mask: &Tensor, values: &Tensor) -> Result<Tensor> {
    let op = "where";
    let shape = broadcast(op, mask.shape(), values.shape())?;
    let out = dispatch_float!(values.dtype(), T => {
        kernel::zip(op, (values.dtype(), &shape), mask, &values.detach(), |mask: Bool8, value: T| {
            if mask.get() { T::default() } else { value }
        })
    })?;
    if let Some(mut builder) = NodeBuilder::new("WhereBackward0", &[values])? {
        let saved = builder.save(mask)?;
        // The engine sums over broadcast dimensions.
        builder.set_history(&out, move |ctx, gradient| {
            Ok(vec![Some(zero_where(&ctx.saved(saved)?, gradient)?)])
        });
    }
    Ok(out)
}
