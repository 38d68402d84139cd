//! Copies and conversions of the element type.

use crate::layout::{Layout, MemoryFormat};
use crate::recording::NodeBuilder;
use crate::{DType, Result, Tensor, iterate};

impl Tensor {
    /// Converts the elements to another type. Returns the same tensor if it has that type already.
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        let out = iterate::cast(self, dtype)?;
        // For a result without a history the history of the tensor is not read, because some views have an unknown one.
        if !dtype.is_floating_point() {
            return Ok(out);
        }
        // The engine converts the gradient to the type of the input.
        NodeBuilder::record_linear("ToCopyBackward0", self, out, |gradient| Ok(gradient.clone()))
    }

    /// Returns 16-bit floats as `float32`, in which the steps of a gradient's formula do not overflow. The engine converts
    /// the gradient.
    pub(crate) fn to_single_if_half(&self) -> Result<Tensor> {
        if self.dtype().is_half() { self.cast(DType::Float32) } else { Ok(self.clone()) }
    }

    /// Returns the elements in the type of arithmetic, contiguous and without history, for a kernel.
    pub(crate) fn contiguous_for_arithmetic(&self) -> Result<Tensor> {
        iterate::cast(&self.detach(), self.dtype().compute())?.contiguous()
    }

    /// Returns a copy in row-major order.
    pub fn contiguous_copy(&self) -> Result<Tensor> {
        self.copy_as(Layout::contiguous(self.shape()))
    }

    /// Returns a copy with a layout without gaps.
    pub(crate) fn copy_as(&self, layout: Layout) -> Result<Tensor> {
        let out = iterate::copy_as("clone", self, layout)?;
        NodeBuilder::record_linear("CloneBackward0", self, out, |gradient| Ok(gradient.clone()))
    }

    /// Returns a copy that preserves the memory order of the dimensions: `torch.clone`.
    pub fn copy(&self) -> Result<Tensor> {
        self.copy_in(MemoryFormat::Preserve)
    }

    /// Returns a copy with its elements in this order in memory: `torch.clone`.
    pub fn copy_in(&self, format: MemoryFormat) -> Result<Tensor> {
        let out = copy_with_layout(self, &self.layout().in_format(format))?;
        if self.is_inference() && !out.is_inference() {
            // PyTorch creates this copy by an in-place operation, which increments its version.
            out.bump_version();
        }
        Ok(out)
    }

    /// Returns this tensor if it is contiguous, else a contiguous copy.
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.contiguous_copy() }
    }
}

/// Returns a copy with the strides of `layout` and an offset of 0.
pub(crate) fn copy_with_layout(source: &Tensor, layout: &Layout) -> Result<Tensor> {
    let layout = Layout { offset: 0, ..layout.clone() };
    let out = if layout.is_dense() {
        iterate::copy_as("clone", source, layout)?
    } else {
        let capacity = layout.required_len().unwrap_or(usize::MAX);
        let out = Tensor::zeros(&[capacity], source.options())?.alias(layout);
        iterate::copy_into("clone", &out, source)?;
        out
    };
    NodeBuilder::record_linear("CloneBackward0", source, out, |gradient| Ok(gradient.clone()))
}
