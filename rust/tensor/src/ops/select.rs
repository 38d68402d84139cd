//! Elements chosen by a mask.

use crate::autograd::Record;
use crate::dtype::dispatch_float;
use crate::element::Truth;
use crate::shape::broadcast;
use crate::{Result, Tensor, kernel};

/// `values` with 0 where `mask` is true; both broadcast. Unlike a product with the mask this also replaces
/// infinity and NaN.
pub(super) fn zero_where(mask: &Tensor, values: &Tensor) -> Result<Tensor> {
    let op = "where";
    let shape = broadcast(op, mask.shape(), values.shape())?;
    let out = dispatch_float!(values.dtype(), T => {
        kernel::zip(op, &shape, mask, &values.detached(), |mask: Truth, value: T| {
            if mask.get() { T::default() } else { value }
        })
    })?;
    if let Some(mut record) = Record::new("WhereBackward0", &[values])? {
        let slot = record.save(mask)?;
        // The engine sums over what was broadcast.
        record.finish(&out, move |context, gradient| {
            Ok(vec![Some(zero_where(&context.saved(slot)?, gradient)?)])
        });
    }
    Ok(out)
}
