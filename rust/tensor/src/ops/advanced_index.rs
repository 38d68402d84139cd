//! Advanced indexing: selection of and assignment to elements at the positions in index tensors.

use std::sync::Arc;

use super::index::{OP, squeeze_leading_ones};
use crate::autograd::{BackwardContext, NodeBuilder};
use crate::dtype::{dispatch_reduced, dispatch_size};
use crate::error::Tuple;
use crate::fallible_alloc::{try_collect, try_from_elem};
use crate::kernel::{self, RowIndices};
use crate::shape::{broadcast, check_broadcastable_to};
use crate::{Error, Result, Tensor};

pub(super) const INDEX_PUT: &str = "index_put_";

/// Returns the rows of `source` at positions of its dimensions from `dim` on.
fn row_indices(source: &Tensor, dim: usize, positions: &[Tensor]) -> Result<RowIndices> {
    let shape = source.shape();
    let (before, rest) = shape.split_at_checked(dim).unwrap_or((shape, &[]));
    let (indexed, after) = rest.split_at_checked(positions.len()).unwrap_or((rest, &[]));
    let wide = positions.iter().try_fold(Vec::new(), |wide, tensor| broadcast(OP, &wide, tensor.shape()));
    let wide = wide.map_err(|error| match error {
        Error::Broadcast { left, right, .. } => Error::Indexing {
            message: format!(
                "tensors in an index must be broadcastable, got shapes {} and {}",
                Tuple(&left),
                Tuple(&right)
            ),
        },
        other => other,
    })?;
    let length = after.iter().product();
    let count = crate::shape::checked_numel(&wide, size_of::<i64>())?;
    let mut inner = try_from_elem(0usize, count)?;
    let sizes: Vec<i64> = wide.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
    for (position, &size) in positions.iter().zip(indexed) {
        for (row, index) in inner.iter_mut().zip(position.expand(&sizes)?.to_vec::<i64>()?) {
            *row = row.saturating_mul(size).saturating_add(usize::try_from(index).unwrap_or(0));
        }
    }
    let block: usize = indexed.iter().product();
    let outer: usize = before.iter().product();
    let result: Vec<usize> = before.iter().chain(&wide).chain(after).copied().collect();
    crate::shape::checked_numel(&result, source.dtype().size())?;
    // Rows without elements need no indices: there is nothing to copy.
    let outer = if length == 0 { 0 } else { outer };
    let rows = (0..outer).flat_map(|start| inner.iter().map(move |row| start * block + row));
    let indices = Arc::new(try_collect(outer.saturating_mul(count), rows)?);
    Ok(RowIndices { indices, length, shape: result })
}

impl Tensor {
    /// Returns the elements at positions of the dimensions from `dim` on: `torch.Tensor.index`.
    pub(super) fn index_tensors(&self, dim: usize, positions: &[Tensor]) -> Result<Tensor> {
        self.index_rows(&Arc::new(row_indices(self, dim, positions)?))
    }

    /// Returns a copy of the rows, as a recorded operation.
    pub(super) fn index_rows(&self, rows: &Arc<RowIndices>) -> Result<Tensor> {
        let out = self.copy_rows(rows)?;
        if let Some(mut builder) = NodeBuilder::new("IndexBackward0", &[self])? {
            let (saved, before) = (builder.save_value(rows.clone()), self.shape().to_vec());
            builder.set_history(&out, move |ctx, gradient| {
                Ok(vec![Some(index_add(gradient, &ctx.saved_value(saved)?, &before)?)])
            });
        }
        Ok(out)
    }

    fn copy_rows(&self, rows: &RowIndices) -> Result<Tensor> {
        let source = self.detach().contiguous()?;
        let out =
            dispatch_size!(self.dtype(), T => kernel::index_select::<T>(OP, &kernel::bits(&source), rows))?;
        Ok(kernel::reinterpret(&out, self.dtype()))
    }

    /// Writes `value`, which is broadcast, to positions of the dimensions from `dim` on.
    pub(super) fn index_put(&self, dim: usize, positions: &[Tensor], value: &Tensor) -> Result<()> {
        let rows = row_indices(self, dim, positions)?;
        let value = squeeze_leading_ones(value, rows.shape.len())?;
        check_broadcastable_to(&rows.shape, INDEX_PUT, "value", value.shape())?;
        let sizes: Vec<i64> =
            rows.shape.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
        // A CPU tensor without dimensions may be assigned to a device tensor.
        let device = if value.ndim() == 0 { self.device() } else { value.device() };
        let value = value.to((self.dtype(), device), self.is_on_device())?;
        let expanded = value.expand(&sizes)?;
        // Elements that share a memory location can only be assigned one value.
        if self.layout().has_internal_overlap() && value.numel() <= 1 {
            return self.index_put_expanded(dim.saturating_add(positions.len()), &rows, &value);
        }
        self.index_put_rows(&Arc::new(rows), &expanded)
    }

    /// Writes `value` to the rows, as a recorded operation. Both gradients are recorded operations too, so they can
    /// be differentiated again.
    pub(super) fn index_put_rows(&self, rows: &Arc<RowIndices>, value: &Tensor) -> Result<()> {
        let work = |builder: Option<&mut NodeBuilder>| {
            if let Some(builder) = builder {
                builder.save_value(rows.clone());
            }
            let whole = self.detach().contiguous_copy()?;
            whole.write_rows(rows, &value.detach())?;
            kernel::copy_into(INDEX_PUT, self, &whole)
        };
        let backward = |ctx: &BackwardContext<'_>, gradient: &Tensor| {
            let rows: Arc<RowIndices> = ctx.saved_value(0)?;
            let left = ctx.gradient(0, || {
                let left = gradient.contiguous_copy()?;
                left.index_put_rows(&rows, &Tensor::zeros(&rows.shape, gradient.options())?)?;
                Ok(left)
            })?;
            Ok(vec![left, ctx.gradient(1, || gradient.index_rows(&rows))?])
        };
        self.run_inplace(INDEX_PUT, "IndexPutBackward0", &[value], work, backward).map(drop)
    }

    /// Writes `value` to the rows of this contiguous tensor, without recording.
    pub(super) fn write_rows(&self, rows: &RowIndices, value: &Tensor) -> Result<()> {
        let value = value.contiguous()?;
        if value.device() != self.device() {
            return Err(Error::Devices { op: INDEX_PUT, left: self.device(), right: value.device() });
        }
        let (target, value) = (kernel::bits(self), kernel::bits(&value));
        dispatch_size!(self.dtype(), T => kernel::index_put::<T>(INDEX_PUT, &target, &value, rows))
    }
}

/// Returns zeros of shape `before` to which the gradient of the selected rows is added, as a recorded operation.
fn index_add(gradient: &Tensor, rows: &Arc<RowIndices>, before: &[usize]) -> Result<Tensor> {
    let source = gradient.detach().contiguous()?;
    let out = dispatch_reduced!(gradient.dtype(), T => kernel::index_add::<T>(OP, &source, rows, before))?;
    if let Some(mut builder) = NodeBuilder::new("IndexSpreadBackward0", &[gradient])? {
        let saved = builder.save_value(rows.clone());
        builder.set_history(&out, move |ctx, second| {
            Ok(vec![Some(second.index_rows(&ctx.saved_value(saved)?)?)])
        });
    }
    Ok(out)
}
