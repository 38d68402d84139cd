//! The options of a new tensor.

use interlock_tensor::{DType, Placement, Result, Tensor as CoreTensor, TensorOptions};
use pyo3::prelude::*;

use super::{ArgumentName, OptionalArg, defaulted};
use crate::tensor::Tensor;
use crate::tensor::args::placement;
use crate::tensor::creation::build;

/// The arguments `dtype`, `device`, `requires_grad` and `pin_memory`.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct NewTensor<'a> {
    dtype: Option<DType>,
    device: OptionalArg<'a, 'a>,
    requires_grad: bool,
    pin_memory: bool,
}

impl<'a> NewTensor<'a> {
    /// Converts the arguments of `op`.
    pub fn from_arguments(op: &'static str, given: [OptionalArg<'a, '_>; 4]) -> PyResult<Self> {
        let [dtype, device, requires_grad, pin_memory] = given;
        let name = |argument| ArgumentName::new(op, argument);
        Ok(NewTensor {
            dtype: defaulted(name("dtype"), dtype, None)?,
            device,
            requires_grad: defaulted(name("requires_grad"), requires_grad, false)?,
            pin_memory: defaulted(name("pin_memory"), pin_memory, false)?,
        })
    }

    /// Returns the dtype and the placement, which are the given ones by default.
    pub fn options(
        self,
        py: Python<'_>,
        op: &'static str,
        dtype: DType,
        default: Placement,
    ) -> PyResult<TensorOptions> {
        let placement = placement(py, op, self.device, self.pin_memory, default)?;
        Ok(TensorOptions { dtype: self.dtype.unwrap_or(dtype), placement })
    }

    /// Creates the tensor while detached from the interpreter, and sets `requires_grad`.
    pub fn build(
        self,
        py: Python<'_>,
        make: impl FnOnce() -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        build(py, self.requires_grad, make)
    }
}
