//! Operations on rows along one dimension: the rows are made contiguous, and the result is transposed back.

use crate::dtype::dispatch_compute;
use crate::layout::{Layout, wrap_dim};
use crate::ops::conversion::cast::copy_with_layout;
use crate::ops::indexing::indexed::{GATHER, WriteTo};
use crate::ops::indexing::positions::Positions;
use crate::recording::NodeBuilder;
use crate::{DType, Result, Tensor, iterate};

/// A tensor whose dimension `dim` was moved to the end.
pub(crate) struct Rows {
    /// The rows, contiguous and without history.
    pub rows: Tensor,
    /// The number of elements of a row.
    pub length: usize,
    dim: i64,
}

impl Rows {
    /// Returns the rows of a tensor along `dim`.
    ///
    /// # Errors
    /// Fails if the tensor does not have the dimension.
    pub fn of(op: &'static str, tensor: &Tensor, dim: i64) -> Result<Self> {
        wrap_dim(op, dim, tensor.ndim())?;
        let rows = tensor.detach().transpose(dim, -1)?.contiguous()?;
        let length = rows.shape().last().copied().unwrap_or(1);
        Ok(Rows { rows, length, dim })
    }

    /// Like [`of`](Rows::of), with the elements in the type in which arithmetic is done.
    pub fn in_compute_type(op: &'static str, tensor: &Tensor, dim: i64) -> Result<Self> {
        Self::of(op, &iterate::cast(&tensor.detach(), tensor.dtype().compute())?, dim)
    }

    /// Returns the shape of rows of `width` elements.
    pub fn shape(&self, width: usize) -> Vec<usize> {
        let mut shape = self.rows.shape().to_vec();
        if let Some(last) = shape.last_mut() {
            *last = width;
        }
        shape
    }

    /// Moves the dimension of a result back to its position. The result is contiguous.
    pub fn restore(&self, out: &Tensor) -> Result<Tensor> {
        let out = out.transpose(self.dim, -1)?.contiguous()?;
        // The strides of dimensions of size 1 may differ after the transpose.
        let layout = Layout { offset: out.storage_offset(), ..Layout::contiguous(out.shape()) };
        Ok(out.alias(layout))
    }
}

/// Returns the size of a dimension; 1 for a 0-d tensor.
pub(crate) fn size_of_dim(op: &'static str, tensor: &Tensor, dim: i64) -> Result<usize> {
    let at = wrap_dim(op, dim, tensor.ndim())?;
    Ok(tensor.shape().get(at).copied().unwrap_or(1))
}

/// Returns the elements at indices along `dim`, which are distinct in each row, as a recorded operation with this
/// node. `indices` have the sizes of the tensor in all other dimensions, and the memory order of the result.
pub(crate) fn select_along(
    (op, node): (&'static str, &'static str),
    tensor: &Tensor,
    dim: i64,
    indices: &Tensor,
) -> Result<Tensor> {
    let out = with_layout(gather_along(op, tensor, dim, indices)?, indices.layout())?;
    if let Some(builder) = NodeBuilder::new(node, &[tensor])? {
        let shape = tensor.shape().to_vec();
        builder.set_history_saving(indices, &out, move |indices, gradient| {
            scatter_along(op, gradient, dim, indices, &shape)
        })?;
    }
    Ok(out)
}

/// Returns a result without history, copied unless it has these strides.
pub(crate) fn with_layout(out: Tensor, layout: &Layout) -> Result<Tensor> {
    if out.strides() == layout.strides { Ok(out) } else { copy_with_layout(&out, layout) }
}

/// Returns the elements at indices along `dim`, without history.
pub(crate) fn gather_along(op: &'static str, tensor: &Tensor, dim: i64, indices: &Tensor) -> Result<Tensor> {
    Positions::coordinates(op, tensor, dim, indices)?.read(op, tensor)
}

/// Returns zeros of `shape` with `values` at the indices along `dim`: the gradient of [`gather_along`]. Unlike a sum it
/// preserves negative zeros.
pub(crate) fn scatter_along(
    op: &'static str,
    values: &Tensor,
    dim: i64,
    indices: &Tensor,
    shape: &[usize],
) -> Result<Tensor> {
    let zeros = Tensor::zeros(shape, values.options())?;
    let positions = Positions::coordinates(op, &zeros, dim, indices)?;
    zeros.assign_at(WriteTo::InPlace, (op, "ScatterBackward0"), GATHER, &positions, values, None)
}

/// Returns the indices along `dim` that `f` writes for each row.
pub(crate) fn indices_along<F: RowIndices>(
    op: &'static str,
    tensor: &Tensor,
    dim: i64,
    f: F,
) -> Result<Tensor> {
    let rows = Rows::in_compute_type(op, tensor, dim)?;
    let width = if F::IS_SINGLE { 1 } else { rows.length };
    let shape = rows.shape(width);
    let found = dispatch_compute!(rows.rows.dtype(), T => {
        iterate::apply_along_last_dim(op, &rows.rows, rows.length, &shape, width, move |row: &[T], out: &mut [i64]| {
            f.write(row, out)
        })
    })?;
    debug_assert_eq!(found.dtype(), DType::Int64);
    rows.restore(&found)
}

/// A function from a row to indices, for each element type.
pub(crate) trait RowIndices: Send + Sync + 'static {
    /// Whether a row has one index, instead of one for each element.
    const IS_SINGLE: bool = true;

    /// Writes the indices of a row.
    fn write<T: crate::Element>(&self, row: &[T], out: &mut [i64]) -> Result<()>;
}
