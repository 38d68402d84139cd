//! Copies of elements. They move bits, so one kernel for each size of an element is enough.

use super::elementwise::update_with;
use super::new_result;
use crate::layout::Layout;
use crate::{DType, Result, Tensor, loops};

/// Returns a handle of the elements as another type of the same size, without autograd metadata.
pub(crate) fn reinterpret(tensor: &Tensor, dtype: DType) -> Tensor {
    Tensor::new(tensor.storage_handle().clone(), dtype, tensor.layout().clone())
}

/// Returns the elements as integers of their size, the types of `dispatch_size`.
pub(crate) fn bits(tensor: &Tensor) -> Tensor {
    let dtype = match tensor.dtype().size() {
        1 => DType::UInt8,
        2 => DType::Int16,
        4 => DType::Int32,
        _ => DType::Int64,
    };
    reinterpret(tensor, dtype)
}

/// Returns a copy of the elements. The result has the given dense layout.
pub(crate) fn copy_as(op: &'static str, source: &Tensor, layout: Layout) -> Result<Tensor> {
    let dtype = source.dtype();
    new_result(op, source.placement(), (layout, dtype), &[source], &loops::convert(dtype, dtype))
}

/// Copies the elements of `source`, which is broadcast and converted, to those of `target`. The caller increments the
/// version counter.
pub(crate) fn copy_into(op: &'static str, target: &Tensor, source: &Tensor) -> Result<()> {
    update_with(op, target, source, &loops::convert(source.dtype(), target.dtype()))
}
