//! Indexing kernels: copies and sums of rows at given indices.

use std::sync::Arc;

use super::launch::{launch_inplace, launch_unary};
use crate::{Element, Result, Tensor};

/// Indices of rows in a contiguous tensor.
#[derive(Clone)]
pub(crate) struct RowIndices {
    /// The row numbers.
    pub indices: Arc<Vec<usize>>,
    /// The number of elements of one row.
    pub length: usize,
    /// The shape of the selected or written elements.
    pub shape: Vec<usize>,
}

impl RowIndices {
    /// Calls `row` with the start of each indexed row and the next elements of `values`.
    fn each<'a, T>(&self, values: &'a [T], mut row: impl FnMut(usize, &'a [T])) {
        for (values, &index) in values.chunks_exact(self.length.max(1)).zip(self.indices.iter()) {
            row(index.saturating_mul(self.length), values);
        }
    }
}

/// Returns the elements from the offset of a contiguous tensor on.
fn elements<T>(data: &[T], start: usize) -> &[T] {
    data.get(start..).unwrap_or_default()
}

/// Copies the indexed rows of a contiguous tensor into a new one, as `torch.index_select`.
pub(crate) fn index_select<T: Element>(
    op: &'static str,
    source: &Tensor,
    rows: &RowIndices,
) -> Result<Tensor> {
    let (offset, own) = (source.storage_offset(), rows.clone());
    launch_unary(op, &rows.shape, source, move |out: &mut [T], data: &[T]| {
        let data = elements(data, offset);
        for (out, &row) in out.chunks_exact_mut(own.length.max(1)).zip(own.indices.iter()) {
            let start = row.saturating_mul(own.length);
            if let Some(values) = data.get(start..start.saturating_add(own.length)) {
                out.copy_from_slice(values);
            }
        }
        Ok(())
    })
}

/// Writes the elements of `source` to the indexed rows of `target`. Both are contiguous.
pub(crate) fn index_put<T: Element>(
    op: &'static str,
    target: &Tensor,
    source: &Tensor,
    rows: &RowIndices,
) -> Result<()> {
    let (start, offset, own) = (target.storage_offset(), source.storage_offset(), rows.clone());
    launch_inplace(op, target, source, move |data: &mut [T], values: &[T]| {
        let data = data.get_mut(start..).unwrap_or_default();
        own.each(elements(values, offset), |start, values| {
            if let Some(out) = data.get_mut(start..start.saturating_add(values.len())) {
                out.copy_from_slice(values);
            }
        });
        Ok(())
    })
}

/// Returns zeros of `shape` to whose indexed rows the elements of a contiguous `source` are added, as
/// `torch.index_add`.
pub(crate) fn index_add<T: Element>(
    op: &'static str,
    source: &Tensor,
    rows: &RowIndices,
    shape: &[usize],
) -> Result<Tensor> {
    let (offset, own) = (source.storage_offset(), rows.clone());
    launch_unary(op, shape, source, move |out: &mut [T], values: &[T]| {
        own.each(elements(values, offset), |start, values| {
            let target = out.get_mut(start..).unwrap_or_default();
            target.iter_mut().zip(values).for_each(|(out, &value)| *out = out.plus(value));
        });
        Ok(())
    })
}
