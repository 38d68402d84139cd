//! The positions of elements that are not zero.

use crate::dtype::Bool8;
use crate::layout::contiguous_strides;
use crate::storage::fallible_alloc::try_collect;
use crate::{DType, Result, Tensor};

/// Returns the coordinates of the nonzero elements in row-major order: a tensor for each dimension, on the CPU. Waits
/// for a device.
pub(crate) fn nonzero_coordinates(tensor: &Tensor) -> Result<Vec<Tensor>> {
    let elements = tensor.detach().cast(DType::Bool)?.to_vec::<Bool8>();
    let elements = elements.map_err(|error| error.during("nonzero"))?;
    let count = elements.iter().filter(|value| value.get()).count();
    let linear = elements.iter().enumerate().filter(|(_, value)| value.get()).map(|(position, _)| position);
    let linear = try_collect(count, linear)?;
    drop(elements);
    let strides = contiguous_strides(tensor.shape());
    let coordinates = tensor.shape().iter().zip(strides).map(|(&size, stride)| {
        let coordinate =
            |position: &usize| i64::try_from(position / stride.max(1) % size.max(1)).unwrap_or(0);
        Tensor::build("nonzero", &[linear.len()], |out: &mut [i64]| {
            out.iter_mut().zip(&linear).for_each(|(out, position)| *out = coordinate(position));
        })
    });
    coordinates.collect()
}

impl Tensor {
    /// Returns the coordinates of the nonzero elements in row-major order, of shape [elements, dimensions]:
    /// `torch.nonzero`. Waits for a device.
    pub fn nonzero(&self) -> Result<Tensor> {
        let columns = nonzero_coordinates(self)?;
        let rows = if columns.is_empty() {
            let is_nonzero = self.cast(DType::Bool)?.item()?.cast::<i64>() != 0;
            Tensor::zeros(&[usize::from(is_nonzero), 0], DType::Int64)?
        } else {
            crate::ops::shape::join::stack(&columns, 0)?
        };
        let rows = rows.to((DType::Int64, self.placement()), false)?;
        if columns.is_empty() {
            return Ok(rows);
        }
        // The coordinates of one dimension are adjacent in memory, as in PyTorch.
        let transposed = rows.transpose(0, 1)?;
        Ok(rows.alias(transposed.layout().clone()))
    }

    /// Returns the coordinates of the nonzero elements, a tensor for each dimension: `torch.nonzero(as_tuple=True)`. A
    /// 0-d tensor counts as a 1-d one.
    pub fn nonzero_tuple(&self) -> Result<Vec<Tensor>> {
        let columns = match self.ndim() {
            0 => nonzero_coordinates(&self.detach().reshaped(&[1])?)?,
            _ => nonzero_coordinates(self)?,
        };
        columns.into_iter().map(|column| column.to((DType::Int64, self.placement()), false)).collect()
    }
}
