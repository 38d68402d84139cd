//! The positions of elements that are not zero.

use crate::dtype::Bool8;
use crate::iterate::parts::{part_mut, split_mut};
use crate::layout::signed_sizes;
use crate::{DType, Result, Tensor};

/// Returns the coordinates of the nonzero elements in row-major order, of shape [dimensions, elements], on the CPU. Waits for
/// a device.
fn coordinates_of(tensor: &Tensor) -> Result<Tensor> {
    let elements = tensor.detach().cast(DType::Bool)?.to_vec::<Bool8>();
    let elements = elements.map_err(|error| error.during("nonzero"))?;
    let count = elements.iter().filter(|value| value.get()).count();
    let sizes = signed_sizes(tensor.shape());
    let outer_sizes = sizes.split_last().map_or(&[][..], |(_, outer)| outer);
    let row_length = tensor.shape().last().map_or(1, |size| (*size).max(1));
    let mut outer = vec![0i64; outer_sizes.len()];
    Tensor::build("nonzero", &[sizes.len(), count], |out: &mut [i64]| {
        let (outer_out, last_out) = split_mut(out, outer.len() * count);
        let mut found = 0;
        for row in elements.chunks(row_length) {
            let first = found;
            for (element, coordinate) in row.iter().zip(0..) {
                // Whether an element is 0 decides no branch, because the CPU could not predict it.
                if let Some(out) = last_out.get_mut(found) {
                    *out = coordinate;
                }
                found += usize::from(element.get());
            }
            for (out, coordinate) in outer_out.chunks_mut(count.max(1)).zip(&outer) {
                part_mut(out, first, found - first).fill(*coordinate);
            }
            for (coordinate, size) in outer.iter_mut().zip(outer_sizes).rev() {
                *coordinate += 1;
                if *coordinate < *size {
                    break;
                }
                *coordinate = 0;
            }
        }
    })
}

/// Returns the coordinates of the nonzero elements in row-major order: a tensor for each dimension, on the CPU. Waits
/// for a device.
pub(crate) fn nonzero_coordinates(tensor: &Tensor) -> Result<Vec<Tensor>> {
    coordinates_of(tensor)?.unbind(0)
}

impl Tensor {
    /// Returns the coordinates of the nonzero elements in row-major order, of shape [elements, dimensions]:
    /// `torch.nonzero`. Waits for a device.
    pub fn nonzero(&self) -> Result<Tensor> {
        // The coordinates of one dimension are adjacent in memory, as in PyTorch.
        let rows = coordinates_of(self)?.to((DType::Int64, self.placement()), false)?;
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
