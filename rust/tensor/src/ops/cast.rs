//! Copies and other element types.

use crate::autograd::NodeBuilder;
use crate::dtype::dispatch;
use crate::shape::Layout;
use crate::{DType, Result, Tensor, kernel};

impl Tensor {
    /// The elements as another type; the same tensor if it has that type already.
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        let out = kernel::cast(self, dtype)?;
        if let Some(builder) = NodeBuilder::new("ToCopyBackward0", &[self])?
            && dtype.is_floating_point()
        {
            // The engine turns the gradient into the type of the input.
            builder.set_history(&out, |_, gradient| Ok(vec![Some(gradient.clone())]));
        }
        Ok(out)
    }

    /// A tensor of its own with the same elements, in row-major order.
    pub fn contiguous_copy(&self) -> Result<Tensor> {
        let out = dispatch!(self.dtype(), T => {
            kernel::map_as("clone", self, Layout::contiguous(self.shape()), |value: T| value)
        })?;
        if let Some(builder) = NodeBuilder::new("CloneBackward0", &[self])? {
            builder.set_history(&out, |_, gradient| Ok(vec![Some(gradient.clone())]));
        }
        Ok(out)
    }

    /// A tensor of its own with the same elements, without gaps, and with the same order of the dimensions in memory.
    pub fn copy(&self) -> Result<Tensor> {
        let out = copy_with_layout(self, &self.layout().preserve_format())?;
        if self.is_inference() && !out.is_inference() {
            // PyTorch makes this copy by an in-place operation, and its version tells so.
            out.storage_handle().bump_version();
        }
        Ok(out)
    }

    /// This tensor if it is contiguous, else a contiguous copy.
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.contiguous_copy() }
    }
}

/// A copy whose elements lie as `layout` says, from position 0.
pub(crate) fn copy_with_layout(source: &Tensor, layout: &Layout) -> Result<Tensor> {
    let layout = Layout { offset: 0, ..layout.clone() };
    let out = if layout.is_dense() {
        dispatch!(source.dtype(), T => kernel::map_as("clone", source, layout, |value: T| value))?
    } else {
        let capacity = layout.required_len().unwrap_or(usize::MAX);
        let out = Tensor::zeros(&[capacity], source.options())?.alias(layout);
        dispatch!(source.dtype(), T => kernel::update("clone", &out, source, |_: T, value: T| value))?;
        out
    };
    if let Some(builder) = NodeBuilder::new("CloneBackward0", &[source])? {
        builder.set_history(&out, |_, gradient| Ok(vec![Some(gradient.clone())]));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::{DType, Tensor};

    #[test]
    fn a_copy_keeps_dense_strides_and_fills_gaps() {
        let matrix = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let transposed = matrix.transpose(0, 1).unwrap().copy().unwrap();
        assert_eq!(transposed.strides(), [1, 3]);
        assert_eq!(transposed.to_vec::<f32>().unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let column = matrix.select(1, 1).unwrap().copy().unwrap();
        assert_eq!((column.strides(), column.to_vec::<f32>().unwrap()), (&[1][..], vec![2.0, 5.0]));
    }

    #[test]
    fn a_cast_passes_the_gradient_on_in_the_type_of_its_input() {
        let x = Tensor::ones(&[2], DType::Float32).unwrap();
        x.set_requires_grad(true).unwrap();
        x.cast(DType::Float64).unwrap().sum(None, false).unwrap().backward().unwrap();
        assert_eq!(x.grad().unwrap().dtype(), DType::Float32);
        assert!(!x.cast(DType::Int64).unwrap().requires_grad());
    }
}
