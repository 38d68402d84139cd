//! The argument `dtype`.

use interlock_tensor::{DType, Result, Tensor as CoreTensor};

/// Returns the tensor as `dtype`.
pub(super) fn cast(input: &CoreTensor, dtype: Option<DType>) -> Result<CoreTensor> {
    dtype.map_or_else(|| Ok(input.clone()), |dtype| input.cast(dtype))
}

/// Runs an operation on the tensor as `dtype`, to which the result is converted: those of integers are int64.
pub(super) fn converted(
    input: &CoreTensor,
    dtype: Option<DType>,
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor>,
) -> Result<CoreTensor> {
    cast(&operation(&cast(input, dtype)?)?, dtype)
}
