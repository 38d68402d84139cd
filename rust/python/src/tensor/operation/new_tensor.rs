//! The options of a new tensor.

use interlock::accelerator::Device;
use interlock_tensor::{DType, Placement, Result, Tensor as CoreTensor, TensorOptions};
use pyo3::prelude::*;

use crate::context::sync;
use crate::detach::detach;
use crate::errors::IntoPyResult;
use crate::tensor::Tensor;
use crate::tensor::args::placed;
use crate::tensor::formats::Layout;
use crate::tensor::identity::remember_tensor;

/// The options of a new tensor. Each field is the argument of its name; `tensor_op` has their order and defaults.
pub(in crate::tensor) struct NewTensor {
    pub dtype: Option<DType>,
    #[expect(dead_code, reason = "there is one layout")]
    pub layout: Option<Layout>,
    pub device: Option<Device>,
    pub requires_grad: bool,
    pub pin_memory: bool,
}

impl NewTensor {
    /// Creates a tensor of this dtype on the default device, unless the arguments say otherwise.
    pub fn create(
        &self,
        py: Python<'_>,
        op: &'static str,
        dtype: DType,
        make: impl FnOnce(TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        let options = self.on_default_device(py, op, dtype)?;
        self.build(py, op, || make(options))
    }

    /// Creates a tensor of the dtype and on the device of another one, unless the arguments say otherwise.
    pub fn create_like(
        &self,
        py: Python<'_>,
        op: &'static str,
        other: &CoreTensor,
        make: impl FnOnce(TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        let options = self.like(py, op, other)?;
        self.build(py, op, || make(options))
    }

    /// Returns the given dtype and placement, or this dtype and the default device.
    pub fn on_default_device(
        &self,
        py: Python<'_>,
        op: &'static str,
        dtype: DType,
    ) -> PyResult<TensorOptions> {
        let default = sync(py).default_device();
        self.resolve(py, op, (dtype, default.into()))
    }

    /// Returns the given dtype and placement, or those of another tensor.
    pub fn like(&self, py: Python<'_>, op: &'static str, other: &CoreTensor) -> PyResult<TensorOptions> {
        self.resolve(py, op, (other.dtype(), other.device().into()))
    }

    /// Returns the given placement, or the default one.
    pub fn placement(&self, py: Python<'_>, op: &'static str, default: Placement) -> PyResult<Placement> {
        placed(py, op, self.device, self.pin_memory, default)
    }

    /// Returns the given dtype and placement, or the default ones.
    fn resolve(
        &self,
        py: Python<'_>,
        op: &'static str,
        (dtype, default): (DType, Placement),
    ) -> PyResult<TensorOptions> {
        let placement = self.placement(py, op, default)?;
        let dtype = self.dtype.unwrap_or(dtype);
        if self.requires_grad {
            dtype.check_differentiable().into_py_result(py)?;
        }
        Ok(TensorOptions { dtype, placement })
    }

    /// Creates the tensor while detached from the interpreter, and sets `requires_grad`.
    pub fn build(
        &self,
        py: Python<'_>,
        op: &'static str,
        make: impl FnOnce() -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        build(py, self.requires_grad, || make().map_err(|error| error.during(op)))
    }
}

/// Creates a tensor while detached from the interpreter, and sets `requires_grad`.
pub(in crate::tensor) fn build(
    py: Python<'_>,
    requires_grad: bool,
    make: impl FnOnce() -> Result<CoreTensor> + Send,
) -> PyResult<Py<Tensor>> {
    let tensor = detach(py, make).into_py_result(py)?;
    if requires_grad {
        tensor.set_requires_grad(true).into_py_result(py)?;
    }
    let object = Bound::new(py, Tensor::from(tensor))?;
    if requires_grad {
        // Nodes refer to leaves, and return this object.
        remember_tensor(&object)?;
    }
    Ok(object.unbind())
}
