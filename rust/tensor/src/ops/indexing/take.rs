//! Reads and writes of elements that are numbered in row-major order.

use interlock::dispatch::Call;

use super::indexed::{TAKE, WriteTo, name_of};
use super::positions::{IndexRule, Positions};
use super::scatter_kernels::{IndexedWrite, PUT, ScatterCall};
use crate::error::Tuple;
use crate::ops::elementwise::operand::{check_device, check_same_dtype};
use crate::{Error, ErrorKind, Result, Tensor};

/// Returns an error unless the values of `put` have the type of the tensor, and the number of elements of the index.
fn check_source(op: &'static str, target: &Tensor, index: &Tensor, source: &Tensor) -> Result<()> {
    check_same_dtype(op, target, source)?;
    if source.numel() == index.numel() {
        return Ok(());
    }
    let (index, given) = (Tuple(index.shape()), Tuple(source.shape()));
    let message = format!("source must have as many elements as index of shape {index}, got shape {given}");
    Err(Error::new(ErrorKind::Index, op, message))
}

impl Tensor {
    /// Returns the elements at the flat (row-major) indices `index`, which may be negative, in its shape: `torch.take`.
    pub fn take(&self, index: &Tensor) -> Result<Tensor> {
        self.read_at(TAKE, &Positions::of_elements(IndexRule::wrapped("take"), self, index)?)
    }

    /// Adds the elements of `source` to those with the numbers in `index`, or replaces them: `torch.Tensor.put`.
    ///
    /// # Errors
    /// A replacement has no fixed order, so it fails if `deterministic_algorithms` is set.
    pub fn put(&self, to: WriteTo, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Tensor> {
        let op = name_of(to, ["put", "put_"]);
        check_source(op, self, index, source)?;
        let positions = Positions::of_elements(IndexRule::wrapped(op), self, index)?;
        let is_shaped = source.shape() == index.shape();
        let values = if is_shaped { source.clone() } else { source.reshaped(index.shape())? };
        if accumulate {
            return self.add_at(to, op, TAKE, &positions, &values, None);
        }
        self.assign_at(to, (op, "PutBackward0"), TAKE, &positions, &values, Some(IndexedWrite::Put))
    }

    /// Returns the choice of a kernel for [`put`](Tensor::put) now, without running it. The elements of `index` are not
    /// read.
    ///
    /// # Errors
    /// Fails as `put` does for shapes, types and devices that do not fit.
    pub fn explain_put(&self, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Call> {
        let op = "put";
        check_source(op, self, index, source)?;
        IndexRule::wrapped(op).check_dtype(index)?;
        for other in [index, source] {
            check_device(op, self, other)?;
        }
        Ok(PUT.explain(&ScatterCall::new(self, &source.reshaped(index.shape())?, accumulate)))
    }
}
