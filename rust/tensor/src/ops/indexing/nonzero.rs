//! The positions of elements that are not zero.

use crate::dtype::Bool8;
use crate::layout::signed_sizes;
use crate::{DType, Result, Tensor};

/// Returns the coordinates of the nonzero elements in row-major order, of shape [dimensions, elements], on the CPU. Waits for
/// a device.
fn coordinates_of(tensor: &Tensor) -> Result<Tensor> {
    let elements = tensor.detach().cast(DType::Bool)?.to_vec::<Bool8>();
    let elements = elements.map_err(|error| error.during("nonzero"))?;
    let count = elements.iter().filter(|value| value.get()).count();
    let sizes = signed_sizes(tensor.shape());
    let mut coordinates = vec![0i64; sizes.len()];
    Tensor::build("nonzero", &[sizes.len(), count], |out: &mut [i64]| {
        let mut found = 0;
        for element in elements {
            if element.get() {
                for (out, coordinate) in out.iter_mut().skip(found).step_by(count).zip(&coordinates) {
                    *out = *coordinate;
                }
                found += 1;
            }
            for (coordinate, size) in coordinates.iter_mut().zip(&sizes).rev() {
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
