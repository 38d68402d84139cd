//! Advanced indexing: selection of and assignment to elements at the positions in index tensors.

use interlock::dispatch::Call;

use super::index::squeeze_leading_ones;
use super::indexed::{INDEX, WriteTo};
use super::positions::{Positions, broadcast_indices};
use super::scatter_kernels::{self, IndexedWrite, ScatterCall};
use crate::layout::check_broadcastable_to;
use crate::ops::elementwise::operand::check_device;
use crate::{Result, Tensor};

pub(crate) const INDEX_PUT: &str = "index_put_";

impl Tensor {
    /// Adds values, which are broadcast, to the elements at indices of the dimensions from `dim` on, or replaces them.
    pub(crate) fn index_put_at(
        &self,
        to: WriteTo,
        op: &'static str,
        dim: usize,
        indices: &[(Tensor, usize)],
        value: &Tensor,
        accumulate: bool,
    ) -> Result<Tensor> {
        let positions = Positions::of_expression(op, self, dim, indices)?;
        let shape = positions.shape();
        let value = squeeze_leading_ones(value, shape.len())?;
        check_broadcastable_to(&shape, op, "value", value.shape())?;
        // A 0-d CPU tensor may be assigned to a device tensor.
        let device = if value.ndim() == 0 { self.device() } else { value.device() };
        // The program may change the value after the call, and pinned memory is read when the copy runs.
        let non_blocking = self.is_on_device() && !value.is_pinned();
        let value = value.to((self.dtype(), device), non_blocking)?;
        if accumulate {
            return self.add_at(to, op, INDEX, &positions, &value, None);
        }
        // Elements that share a memory location can only be assigned one value.
        if to == WriteTo::InPlace && self.layout().has_internal_overlap() && value.numel() <= 1 {
            self.index_put_expanded(dim, indices, &value)?;
            return Ok(self.clone());
        }
        self.assign_at(to, (op, INDEX.add_node), INDEX, &positions, &value, Some(IndexedWrite::IndexPut))
    }

    /// Returns the choice of a kernel for [`index_put_at`](Tensor::index_put_at). The elements of the indices are not
    /// read.
    pub(crate) fn explain_index_put_at(
        &self,
        dim: usize,
        indices: &[(Tensor, usize)],
        value: &Tensor,
        accumulate: bool,
    ) -> Result<Call> {
        let op = "index_put";
        let (before, rest) = self.shape().split_at_checked(dim).unwrap_or((self.shape(), &[]));
        let after = rest.get(indices.len()..).unwrap_or_default();
        let shape = [before, &broadcast_indices(op, indices)?, after].concat();
        let value = squeeze_leading_ones(value, shape.len())?;
        check_broadcastable_to(&shape, op, "value", value.shape())?;
        if value.ndim() != 0 {
            check_device(op, self, &value)?;
        }
        Ok(scatter_kernels::INDEX_PUT.explain(&ScatterCall::new(self, &value, accumulate)))
    }
}
