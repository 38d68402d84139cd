//! Assignment of one value to positions of an expanded tensor, several of whose elements share a memory location.

use std::sync::Arc;

use super::advanced_index::INDEX_PUT;
use super::gather_scatter::ScatterReduce;
use super::indexed::{INDEX, WriteTo};
use super::positions::Positions;
use crate::layout::{Layout, contiguous_strides};
use crate::recording::{BackwardContext, NodeBuilder};
use crate::storage::fallible_alloc::try_collect;
use crate::{Result, Tensor};

/// The rows of an expanded tensor, by the memory locations that they use.
struct ExpandedRows {
    /// The dimensions with distinct memory locations, then the expanded ones.
    order: Vec<i64>,
    /// The numbers of the rows of the tensor without the expanded dimensions, each once.
    rows: Tensor,
    /// The number of dimensions over which they count.
    counted: usize,
    /// The layout of that tensor.
    layout: Layout,
}

impl ExpandedRows {
    /// Converts the numbers of rows of a tensor with this layout, which count over the first `leading` dimensions.
    fn of(layout: &Layout, leading: usize, rows: &[usize]) -> Result<Self> {
        let repeats = |size: usize, stride: usize| size > 1 && stride == 0;
        let dims: Vec<_> = (0i64..)
            .zip(layout.shape.iter().copied().zip(layout.strides.iter().copied()))
            .map(|(dim, (size, stride))| (dim, size, stride, repeats(size, stride)))
            .collect();
        let (head, _) = dims.split_at_checked(leading).unwrap_or((&dims, &[]));
        let own: Vec<_> = dims.iter().filter(|dim| !dim.3).collect();
        let repeated: Vec<_> = dims.iter().filter(|dim| dim.3).collect();
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
        let mut distinct = try_collect(rows.len(), rows.iter().map(distinct_row))?;
        distinct.sort_unstable();
        distinct.dedup();
        let rows = distinct.iter().map(|&row| i64::try_from(row).unwrap_or(i64::MAX));
        Ok(ExpandedRows {
            order: own.iter().chain(&repeated).map(|dim| dim.0).collect(),
            rows: Tensor::from_values(rows, &[distinct.len()])?,
            counted: head.iter().filter(|dim| !dim.3).count(),
            layout: Layout {
                shape: own.iter().map(|dim| dim.1).collect(),
                strides: own.iter().map(|dim| dim.2).collect(),
                offset: layout.offset,
            },
        })
    }
}

impl Tensor {
    /// Writes `value`, of at most one element, to indices of the dimensions from `dim` on. Each memory location is
    /// written once, for all elements that share it. Waits for indices on a device.
    pub(crate) fn index_put_expanded(
        &self,
        dim: usize,
        indices: &[(Tensor, usize)],
        value: &Tensor,
    ) -> Result<()> {
        let rows = Positions::of_expression(INDEX_PUT, self, dim, indices)?.row_numbers()?;
        let leading = dim.saturating_add(indices.len());
        let ExpandedRows { order, rows, counted, layout } = ExpandedRows::of(self.layout(), leading, &rows)?;
        let shape = value.shape().to_vec();
        let target = self.alias(layout);
        let positions = Positions::from_rows(INDEX_PUT, &target, &rows, counted)?;
        let work = |builder: Option<&mut NodeBuilder>| {
            if let Some(builder) = builder {
                builder.save_value(positions.clone());
            }
            // A value without elements assigns nothing.
            if value.numel() != 1 {
                return Ok(());
            }
            positions.write(INDEX_PUT, &target, &value.detach().reshaped(&[])?, ScatterReduce::Replace)
        };
        let backward = move |ctx: &BackwardContext<'_>, gradient: &Tensor| {
            let ordered = gradient.permute(&order)?;
            let positions = Arc::new(ctx.saved_value::<Positions>(0)?.for_shape(ordered.shape()));
            let left = ctx.gradient(0, || {
                let left = gradient.contiguous_copy()?;
                let (part, zero) = (left.permute(&order)?, Tensor::zeros(&[], gradient.options())?);
                let names = (INDEX_PUT, INDEX.add_node);
                part.assign_at(WriteTo::InPlace, names, INDEX, &positions, &zero, None)?;
                Ok(left)
            })?;
            let of_value = ctx.gradient(1, || {
                if shape.contains(&0) {
                    return Tensor::zeros(&shape, gradient.options());
                }
                ordered.read_at(INDEX, &positions)?.sum(None, false)?.reshaped(&shape)
            })?;
            Ok(vec![left, of_value])
        };
        self.run_inplace_expanded(INDEX_PUT, INDEX.add_node, &[value], work, backward).map(drop)
    }
}
