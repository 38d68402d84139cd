//! Assignment of one value to positions of an expanded tensor, several of whose elements share a memory location.

use std::sync::Arc;

use super::advanced_index::INDEX_PUT;
use crate::autograd::{BackwardContext, NodeBuilder};
use crate::fallible_alloc::try_collect;
use crate::kernel::{self, RowIndices};
use crate::shape::{Layout, contiguous_strides};
use crate::{Result, Tensor};

/// The rows of an expanded tensor, by the memory locations that they use.
struct ExpandedRows {
    /// The dimensions with distinct memory locations, then the expanded ones.
    order: Vec<i64>,
    /// The rows of the tensor without the expanded dimensions.
    distinct: RowIndices,
    /// The layout of that tensor.
    layout: Layout,
}

impl ExpandedRows {
    /// Converts rows of a tensor with this layout. Row numbers count over the first `leading` dimensions.
    fn of(layout: &Layout, leading: usize, rows: &RowIndices) -> Result<Self> {
        let repeats = |size: usize, stride: usize| size > 1 && stride == 0;
        let dims: Vec<_> = (0i64..)
            .zip(layout.shape.iter().copied().zip(layout.strides.iter().copied()))
            .map(|(dim, (size, stride))| (dim, size, stride, repeats(size, stride)))
            .collect();
        let (head, _) = dims.split_at_checked(leading).unwrap_or((&dims, &[]));
        let own: Vec<_> = dims.iter().filter(|dim| !dim.3).collect();
        let repeated: Vec<_> = dims.iter().filter(|dim| dim.3).collect();
        let sizes = |dims: &[&(i64, usize, usize, bool)]| dims.iter().map(|dim| dim.1).collect::<Vec<_>>();
        let head_sizes: Vec<usize> = head.iter().map(|dim| dim.1).collect();
        let head_steps = contiguous_strides(&head_sizes);
        // The row number of a location does not count expanded dimensions.
        let mut count = 1usize;
        let mut steps: Vec<usize> = head
            .iter()
            .rev()
            .map(|&(_, size, _, repeats)| {
                let step = if repeats { 0 } else { count };
                count = if repeats { count } else { count.saturating_mul(size) };
                step
            })
            .collect();
        steps.reverse();
        let distinct_row = |row: &usize| -> usize {
            let coordinates =
                head_sizes.iter().zip(&head_steps).map(|(&size, &step)| row / step.max(1) % size.max(1));
            coordinates.zip(&steps).map(|(at, step)| at.saturating_mul(*step)).fold(0, usize::saturating_add)
        };
        let mut indices = try_collect(rows.indices.len(), rows.indices.iter().map(distinct_row))?;
        indices.sort_unstable();
        indices.dedup();
        let indices = Arc::new(indices);
        let head_own = head.iter().filter(|dim| !dim.3).count();
        let tail: Vec<usize> = own.iter().skip(head_own).map(|dim| dim.1).collect();
        let shape = std::iter::once(indices.len()).chain(tail.iter().copied()).collect();
        let distinct = RowIndices { indices, length: tail.iter().product(), shape };
        Ok(ExpandedRows {
            order: own.iter().chain(&repeated).map(|dim| dim.0).collect(),
            distinct,
            layout: Layout {
                shape: sizes(&own),
                strides: own.iter().map(|dim| dim.2).collect(),
                offset: layout.offset,
            },
        })
    }
}

/// Returns the rows of a tensor of `shape`, whose expanded dimensions follow the others. In a gradient their size may
/// be 1, because each memory location has one gradient.
fn with_repeats(distinct: &RowIndices, own: usize, shape: &[usize]) -> RowIndices {
    let repeats = shape.get(own..).unwrap_or_default();
    let length = repeats.iter().fold(distinct.length, |length, &size| length.saturating_mul(size));
    let shape = distinct.shape.iter().chain(repeats).copied().collect();
    RowIndices { indices: distinct.indices.clone(), length, shape }
}

impl Tensor {
    /// Writes `value`, of at most one element, to rows that count over the first `leading` dimensions. Each memory
    /// location is written once, for all elements that share it.
    pub(super) fn index_put_expanded(&self, leading: usize, rows: &RowIndices, value: &Tensor) -> Result<()> {
        let ExpandedRows { order, distinct, layout } = ExpandedRows::of(self.layout(), leading, rows)?;
        let (distinct, own, shape) = (Arc::new(distinct), layout.shape.len(), value.shape().to_vec());
        let work = |builder: Option<&mut NodeBuilder>| {
            if let Some(builder) = builder {
                builder.save_value(distinct.clone());
            }
            let target = self.alias(layout);
            let whole = target.contiguous_copy()?;
            // A value without elements assigns nothing.
            if value.numel() == 1 {
                let one = value.detach().reshaped(&vec![1; distinct.shape.len()])?;
                let sizes: Vec<i64> =
                    distinct.shape.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
                whole.write_rows(&distinct, &one.expand(&sizes)?)?;
            }
            kernel::copy_into(INDEX_PUT, &target, &whole)
        };
        let backward = move |ctx: &BackwardContext<'_>, gradient: &Tensor| {
            let ordered = gradient.permute(&order)?;
            let rows = Arc::new(with_repeats(&*ctx.saved_value::<RowIndices>(0)?, own, ordered.shape()));
            let left = ctx.gradient(0, || {
                let left = gradient.contiguous_copy()?;
                left.permute(&order)?
                    .index_put_rows(&rows, &Tensor::zeros(&rows.shape, gradient.options())?)?;
                Ok(left)
            })?;
            let of_value = ctx.gradient(1, || {
                if shape.contains(&0) {
                    return Tensor::zeros(&shape, gradient.options());
                }
                ordered.index_rows(&rows)?.sum(None, false)?.reshaped(&shape)
            })?;
            Ok(vec![left, of_value])
        };
        self.run_inplace_expanded(INDEX_PUT, "IndexPutBackward0", &[value], work, backward).map(drop)
    }
}
