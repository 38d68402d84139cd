//! Assignment of one value to positions of an expanded tensor, several of whose elements share a memory location.

use std::sync::Arc;

use super::advanced_index::INDEX_PUT;
use super::gather_scatter::ScatterReduce;
use super::indexed::{INDEX, WriteTo};
use super::positions::{Order, Positions};
use crate::layout::{Layout, contiguous_strides, signed};
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
        let is_expanded = |size: usize, stride: usize| size > 1 && stride == 0;
        let dims = layout.shape.iter().copied().zip(layout.strides.iter().copied());
        let (expanded, own): (Vec<_>, Vec<_>) =
            (0i64..).zip(dims.clone()).partition(|(_, (size, stride))| is_expanded(*size, *stride));
        let (sizes, expanded_to_1): (Vec<usize>, Vec<usize>) = dims
            .take(leading)
            .map(|(size, stride)| (size, if is_expanded(size, stride) { 1 } else { size }))
            .unzip();
        let (steps, own_steps) = (contiguous_strides(&sizes), contiguous_strides(&expanded_to_1));
        // The row number of a location does not count expanded dimensions.
        let distinct_row = |row: &usize| -> usize {
            let dims = expanded_to_1.iter().zip(steps.iter().zip(&own_steps));
            dims.map(|(&size, (&step, &own))| (row / step.max(1) % size.max(1)).saturating_mul(own))
                .fold(0, usize::saturating_add)
        };
        let mut distinct = try_collect(rows.len(), rows.iter().map(distinct_row))?;
        distinct.sort_unstable();
        distinct.dedup();
        let rows = distinct.iter().map(|&row| signed(row));
        Ok(ExpandedRows {
            order: own.iter().chain(&expanded).map(|(dim, _)| *dim).collect(),
            rows: Tensor::from_values(rows, &[distinct.len()])?,
            counted: own
                .iter()
                .filter(|(dim, _)| usize::try_from(*dim).is_ok_and(|dim| dim < leading))
                .count(),
            layout: Layout {
                shape: own.iter().map(|(_, (size, _))| *size).collect(),
                strides: own.iter().map(|(_, (_, stride))| *stride).collect(),
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
            let number = value.detach().reshaped(&[])?;
            positions.write(INDEX_PUT, &target, &number, ScatterReduce::Replace, Order::RowMajor)
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
