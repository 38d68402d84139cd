//! The median: the middle element, or the smaller one of two.

use super::along_dim::{RowIndices, gather_along, indices_along};
use super::extremes::select_one_along;
use super::order;
use super::sums::{err_nothing_to_reduce, record_shared, reduced_dims};
use crate::layout::Layout;
use crate::ops::elementwise::operand::check_numeric;
use crate::{Element, Result, Tensor};

/// Writes the index of the median of a row, or of the first NaN. Of equal elements, it is the one in the middle.
struct MedianIndex;

impl RowIndices for MedianIndex {
    fn write<T: Element>(&self, row: &[T], out: &mut [i64]) -> Result<()> {
        let found = match row.iter().position(|number| number.is_nan()) {
            Some(position) => position as i64,
            None => order::position_of(order::middle(&mut order::numbered(row, false)?)),
        };
        out.fill(found);
        Ok(())
    }
}

impl Tensor {
    /// Returns the median of all elements; NaN if one is NaN, and if there is no floating-point element. Equal elements share
    /// the gradient.
    pub fn median(&self) -> Result<Tensor> {
        let op = "median";
        check_numeric(op, "input", self.dtype(), "; byte() converts it")?;
        let over = reduced_dims(op, self.shape(), None)?;
        let out = if self.numel() > 0 {
            let row = self.detach().contiguous()?.reshaped(&[self.numel()])?;
            let index = indices_along(op, &row, 0, MedianIndex)?;
            gather_along(op, &row, 0, &index)?.alias(Layout::contiguous(&[]))
        } else if self.dtype().is_floating_point() {
            Tensor::full(&[], f64::NAN.into(), self.options())?
        } else {
            return Err(err_nothing_to_reduce(op, self.shape(), false));
        };
        record_shared("MedianBackward0", self, &out, over, false)?;
        Ok(out)
    }

    /// Returns the medians along `dim`, or NaN, and their indices. The gradient is that of the elements at the indices.
    pub fn median_along(&self, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
        let op = "median";
        check_numeric(op, "input", self.dtype(), "; byte() converts it")?;
        select_one_along((op, "MedianBackward1"), self, dim, keepdim, MedianIndex)
    }
}
