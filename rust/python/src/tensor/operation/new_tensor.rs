//! The options of a new tensor.

use interlock_tensor::{DType, Placement, Result, Tensor as CoreTensor, TensorOptions};
use pyo3::prelude::*;

use super::OptionalArg;
use super::argument::{ArgumentName, defaulted};
use crate::context::sync;
use crate::detach::detach;
use crate::errors::IntoPyResult;
use crate::tensor::Tensor;
use crate::tensor::args::placement;
use crate::tensor::formats::Layout;
use crate::tensor::identity::remember_tensor;

/// The arguments `dtype`, `layout`, `device`, `requires_grad` and `pin_memory`.
pub(in crate::tensor) struct NewTensor<'a> {
    dtype: Option<DType>,
    device: OptionalArg<'a, 'a>,
    requires_grad: bool,
    pin_memory: bool,
}

impl<'a> NewTensor<'a> {
    /// Converts the arguments of `op`.
    pub fn from_arguments(op: &'static str, given: [OptionalArg<'a, '_>; 5]) -> PyResult<Self> {
        let [dtype, layout, device, requires_grad, pin_memory] = given;
        let name = |argument| ArgumentName::new(op, argument);
        // There is one layout.
        defaulted::<Option<Layout>>(name("layout"), layout, None)?;
        Ok(NewTensor {
            dtype: defaulted(name("dtype"), dtype, None)?,
            device,
            requires_grad: defaulted(name("requires_grad"), requires_grad, false)?,
            pin_memory: defaulted(name("pin_memory"), pin_memory, false)?,
        })
    }

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

    /// Returns the given dtype.
    pub fn dtype(&self) -> Option<DType> {
        self.dtype
    }

    /// Returns the given placement, or the default one.
    pub fn placement(&self, py: Python<'_>, op: &'static str, default: Placement) -> PyResult<Placement> {
        placement(py, op, self.device, self.pin_memory, default)
    }

    /// Returns the given dtype and placement, or the default ones.
    fn resolve(
        &self,
        py: Python<'_>,
        op: &'static str,
        (dtype, default): (DType, Placement),
    ) -> PyResult<TensorOptions> {
        let placement = self.placement(py, op, default)?;
        Ok(TensorOptions { dtype: self.dtype.unwrap_or(dtype), placement })
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
    let object = Bound::new(py, Tensor(tensor))?;
    if requires_grad {
        // Nodes refer to leaves, and return this object.
        remember_tensor(&object)?;
    }
    Ok(object.unbind())
}
