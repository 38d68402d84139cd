//! Reads and writes of elements that are numbered in row-major order.

use super::indexed::{TAKE, WriteTo, check_same_dtype, name_of};
use super::positions::{IndexRule, Positions};
use super::scatter_kernels::Scatter;
use crate::error::Tuple;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// Returns the elements with the numbers in `index`, which may be negative, in the shape of `index`: `torch.take`.
    pub fn take(&self, index: &Tensor) -> Result<Tensor> {
        self.read_at(TAKE, &Positions::of_elements(IndexRule::wrapped("take"), self, index)?)
    }

    /// Adds the elements of `source` to those with the numbers in `index`, or replaces them: `torch.Tensor.put`.
    ///
    /// # Errors
    /// A replacement has no fixed order, so it fails if `deterministic_algorithms` is set.
    pub fn put(&self, to: WriteTo, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Tensor> {
        let op = name_of(to, ["put", "put_"]);
        check_same_dtype(op, self, source)?;
        if source.numel() != index.numel() {
            let (index, given) = (Tuple(index.shape()), Tuple(source.shape()));
            let message = format!(
                "{op}: source must have as many elements as index of shape {index}, got shape {given}"
            );
            return Err(Error::Indexing { message });
        }
        let positions = Positions::of_elements(IndexRule::wrapped(op), self, index)?;
        let values = source.reshaped(index.shape())?;
        if accumulate {
            return self.add_at(to, op, TAKE, &positions, &values, None);
        }
        self.assign_at(to, (op, "PutBackward0"), TAKE, &positions, &values, Some(Scatter::Put))
    }
}
