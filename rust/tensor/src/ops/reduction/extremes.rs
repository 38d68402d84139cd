//! The maximum and the minimum along one dimension, with their indices.

use super::along_dim::{RowIndices, gather_along, indices_along, scatter_along};
use super::sums::{Extreme, err_nothing_to_reduce, reduced_dims};
use crate::layout::Layout;
use crate::ops::elementwise::operand::check_numeric;
use crate::recording::NodeBuilder;
use crate::{Element, Error, Result, Tensor, loops};

/// Writes the index of the extreme of a row: the first of equal elements, or of NaN.
struct ExtremeIndex {
    largest: bool,
}

impl RowIndices for ExtremeIndex {
    fn write<T: Element>(&self, row: &[T], out: &mut [i64]) -> Result<()> {
        out.fill(loops::index_of_extreme(row, self.largest) as i64);
        Ok(())
    }
}

/// Returns the elements along `dim` whose indices `index` writes, one of each row, and the indices.
pub(crate) fn select_one_along(
    (op, node): (&'static str, &'static str),
    input: &Tensor,
    dim: i64,
    keepdim: bool,
    index: impl RowIndices,
) -> Result<(Tensor, Tensor)> {
    let over = reduced_dims(op, input.shape(), Some(&[dim]))?;
    Error::when(over.count == 0, || err_nothing_to_reduce(op, input.shape(), true))?;
    let indices = indices_along(op, input, dim, index)?;
    let shaped = |tensor: &Tensor| tensor.alias(Layout::contiguous(over.shape(keepdim)));
    let values = shaped(&gather_along(op, input, dim, &indices)?);
    if let Some(builder) = NodeBuilder::new(node, &[input])? {
        let (shape, ones) = (input.shape().to_vec(), over.shape(true).to_vec());
        builder.set_history_saving(&indices, &values, move |indices, gradient| {
            scatter_along(op, &gradient.reshaped(&ones)?, dim, indices, &shape)
        })?;
    }
    Ok((values, shaped(&indices)))
}

impl Tensor {
    /// Returns the maxima along `dim` and their indices. Of equal elements the first counts, which receives the
    /// gradient; NaN counts as the largest.
    pub fn max_along(&self, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
        select_one_along(("max", "MaxBackward0"), self, dim, keepdim, ExtremeIndex { largest: true })
    }

    /// Returns the minima along `dim` and their indices, like [`max_along`](Tensor::max_along).
    pub fn min_along(&self, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
        select_one_along(("min", "MinBackward0"), self, dim, keepdim, ExtremeIndex { largest: false })
    }

    /// Returns the index of the maximum, among all elements in row-major order or along `dim`. Among equal elements
    /// it is the first; NaN counts as the largest.
    pub fn argmax(&self, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
        self.extreme_index("argmax", dim, keepdim, true)
    }

    /// Returns the index of the minimum, like [`argmax`](Tensor::argmax).
    pub fn argmin(&self, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
        self.extreme_index("argmin", dim, keepdim, false)
    }

    fn extreme_index(
        &self,
        op: &'static str,
        dim: Option<i64>,
        keepdim: bool,
        largest: bool,
    ) -> Result<Tensor> {
        check_numeric(op, "input", self.dtype(), "; long() converts it")?;
        let over = reduced_dims(op, self.shape(), dim.as_ref().map(std::slice::from_ref))?;
        Error::when(over.count == 0, || err_nothing_to_reduce(op, self.shape(), true))?;
        let kind = ExtremeIndex { largest };
        let found = match dim {
            Some(dim) => indices_along(op, self, dim, kind)?,
            None => {
                let row = self.detach().contiguous()?.reshaped(&[self.numel()])?;
                indices_along(op, &row, 0, kind)?
            }
        };
        Ok(found.alias(Layout::contiguous(over.shape(keepdim))))
    }

    /// Returns the minimum and the maximum of all elements, or along `dim`. Equal extremes share the gradient.
    pub fn aminmax(&self, dim: Option<i64>, keepdim: bool) -> Result<(Tensor, Tensor)> {
        let (op, node) = ("aminmax", "AminmaxBackward0");
        let dims = dim.as_ref().map(std::slice::from_ref);
        Ok((
            self.extreme(op, node, dims, keepdim, Extreme::SMALLEST_OVER_DIMS)?,
            self.extreme(op, node, dims, keepdim, Extreme::LARGEST_OVER_DIMS)?,
        ))
    }
}
