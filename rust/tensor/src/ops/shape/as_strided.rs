//! Views with arbitrary strides.

use super::views::view;
use crate::dtype::dispatch_float;
use crate::layout::{Layout, checked_numel, err_stride_count};
use crate::ops::conversion::cast::copy_with_layout;
use crate::recording::NodeBuilder;
use crate::{Error, Result, Tensor, TensorOptions, iterate};

/// Returns a view of the storage of `source` with any layout. In the backward pass, gradients of elements that share
/// a memory location are summed.
pub(crate) fn as_strided(source: &Tensor, layout: Layout) -> Result<Tensor> {
    let capacity = source.storage_handle().nbytes() / source.dtype().size();
    if layout.required_len().is_none_or(|end| end > capacity) {
        return Err(layout.err_beyond("as_strided", capacity));
    }
    let geometry = source.layout().clone();
    view(source, "AsStridedBackward0", layout.clone(), move |gradient| {
        as_strided_backward(gradient, &layout, &geometry)
    })
}

/// Returns the gradient of a tensor with layout `geometry`, from the gradient of a view with layout `part`: ATen's
/// `as_strided_backward`. Elements of the tensor that share a memory location have equal shares of its gradient.
pub(crate) fn as_strided_backward(gradient: &Tensor, part: &Layout, geometry: &Layout) -> Result<Tensor> {
    let start = geometry.offset;
    let inside = || Layout { offset: part.offset.checked_sub(start).unwrap_or(usize::MAX), ..part.clone() };
    let (part, geometry) = (inside(), Layout { offset: 0, ..geometry.clone() });
    let capacity = geometry.required_len().unwrap_or(0).max(part.required_len().unwrap_or(0));
    if geometry.may_overlap() {
        let memory = Layout::contiguous(&[capacity]);
        let of_locations = |gradient: &Tensor, part: &Layout| {
            as_strided(&as_strided_backward(gradient, part, &memory)?, geometry.clone())
        };
        let options = TensorOptions { dtype: gradient.dtype().compute(), ..gradient.options() };
        let count = of_locations(&Tensor::full(&geometry.shape, 1.0.into(), options)?, &geometry)?;
        return of_locations(gradient, &part)?.div(&count)?.cast(gradient.dtype());
    }
    let terms = iterate::cast(gradient, gradient.dtype().compute())?;
    let whole = dispatch_float!(terms.dtype(), T => iterate::add_strided::<T>(capacity, &part, &terms))?;
    let whole = iterate::cast(&whole, gradient.dtype())?;
    let source_layout = geometry.clone();
    let out = whole.alias(geometry);
    NodeBuilder::record_linear("AsStridedScatterBackward0", gradient, out, move |second| {
        let whole = copy_with_layout(second, &source_layout)?;
        as_strided(&whole, part.clone())
    })?
    .contiguous()
}

impl Tensor {
    /// Returns a view of the storage with these sizes, strides and offset (the offset of this tensor if `None`).
    pub fn as_strided(&self, shape: &[usize], strides: &[usize], offset: Option<usize>) -> Result<Tensor> {
        let op = "as_strided";
        Error::when(shape.len() != strides.len(), || err_stride_count(op, shape, strides))?;
        checked_numel(op, shape, self.dtype().size())?;
        let offset = offset.unwrap_or_else(|| self.storage_offset());
        if self.requires_grad() && offset < self.storage_offset() {
            let expected =
                format!("be at least {}, that of the tensor, which requires grad", self.storage_offset());
            return Err(Error::value(op, "storage_offset", expected, offset));
        }
        as_strided(self, Layout { shape: shape.to_vec(), strides: strides.to_vec(), offset })
    }
}
