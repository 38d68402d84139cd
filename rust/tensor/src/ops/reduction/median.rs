//! The median: the middle element, or the smaller one of two.

use super::along_dim::{RowIndices, gather_along, indices_along};
use super::extremes::select_one_along;
use super::order;
use super::sums::{err_nothing_to_reduce, record_shared, reduced_dims};
use crate::layout::Layout;
use crate::{DType, Element, Error, Result, Tensor};

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
        check_ordered(op, self)?;
        let over = reduced_dims(op, self.shape(), None)?;
        let out = if self.numel() > 0 {
            let row = self.detach().contiguous()?.reshaped(&[self.numel()])?;
            let index = indices_along(op, &row, 0, |_| 1, MedianIndex)?;
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
        check_ordered(op, self)?;
        select_one_along((op, "MedianBackward1"), self, dim, keepdim, MedianIndex)
    }
}

fn check_ordered(op: &'static str, input: &Tensor) -> Result<()> {
    if input.dtype() == DType::Bool {
        return Err(Error::not_numeric(op, "input", "; byte() converts it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles, gradcheck};
    use crate::{DType, Tensor};

    #[test]
    fn median_is_the_smaller_one_of_two_and_nan_if_an_element_is() {
        let x = doubles(&[3.0, 1.0, 2.0, 4.0, 4.0, f64::NAN, 4.0, f64::NAN], &[2, 4]);
        let (values, indices) = x.median_along(1, false).unwrap();
        assert_eq!(indices.to_vec::<i64>().unwrap(), [2, 1]);
        let values = values.to_vec::<f64>().unwrap();
        assert!(values[0] == 2.0 && values[1].is_nan());
        assert!(x.median().unwrap().isnan().unwrap().any().unwrap());
        assert!(doubles(&[], &[0]).median().unwrap().isnan().unwrap().any().unwrap());
        assert!(Tensor::zeros(&[0], DType::Int64).unwrap().median().is_err());
        assert!(Tensor::zeros(&[0, 2], DType::Float64).unwrap().median_along(0, false).is_err());
        assert!(Tensor::ones(&[2], DType::Bool).unwrap().median().is_err());
    }

    #[test]
    fn equal_elements_share_the_gradient_of_the_median_of_all() {
        let x = doubles(&[1.0, 1.0, 2.0, 1.0], &[4]);
        x.set_requires_grad(true).unwrap();
        x.median().unwrap().backward().unwrap();
        assert_close(&x.grad().unwrap(), &[1.0 / 3.0, 1.0 / 3.0, 0.0, 1.0 / 3.0]);
        let y = [doubles(&[1.0, 5.0, 3.0, 4.0, 2.0, 6.0], &[2, 3])];
        gradcheck(|x| x[0].median_along(1, true)?.0.pow(2.0), &y);
        gradcheck(|x| x[0].median()?.pow(2.0), &y);
    }
}
