//! The options of a new tensor.

use interlock::accelerator::Device;
use interlock_tensor::{DType, Error, NewElements, Placement, Result, Tensor as CoreTensor, TensorOptions};
use pyo3::prelude::*;

use super::ArgumentName;
use crate::context::sync;
use crate::detach::detach;
use crate::errors::{IntoPyResult, new_argument_error};
use crate::tensor::formats::{Format, Layout};
use crate::tensor::identity::remember_tensor;
use crate::tensor::{ReadTensor, Tensor, op_warnings};

/// The options of a new tensor, and the call that creates it. Each field is the argument of its name; `tensor_op` has their
/// order and defaults.
pub(in crate::tensor) struct NewTensor<'py> {
    pub py: Python<'py>,
    /// The function that the program called.
    pub op: &'static str,
    pub out: Option<Py<Tensor>>,
    pub dtype: Option<DType>,
    #[expect(dead_code, reason = "there is one layout")]
    pub layout: Option<Layout>,
    pub device: Option<Device>,
    pub requires_grad: bool,
    pub pin_memory: bool,
}

impl NewTensor<'_> {
    /// Creates a tensor of this dtype on the default device, unless the arguments say otherwise.
    pub fn create(
        &self,
        dtype: DType,
        make: impl FnOnce(TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        self.create_by(NewElements::Filled, dtype, make)
    }

    /// Like [`create`](NewTensor::create), with a rule for the argument `out`.
    pub fn create_by(
        &self,
        rule: NewElements,
        dtype: DType,
        make: impl FnOnce(TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        if let Some(out) = &self.out {
            return self.write_to(out.bind(self.py), rule, make);
        }
        let options = self.on_default_device(dtype)?;
        self.build(|| make(options))
    }

    /// Creates a tensor of the dtype and on the device of another one, unless the arguments say otherwise.
    pub fn create_like(
        &self,
        other: &CoreTensor,
        make: impl FnOnce(TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        let options = self.like(other)?;
        self.build(|| make(options))
    }

    /// Like [`create_like`](NewTensor::create_like), in the shape of the other tensor, whose order in memory is the format's.
    pub fn create_in_shape(
        &self,
        other: &CoreTensor,
        format: Option<Format>,
        make: impl FnOnce(&[usize], TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        let format = Format::of_new(format);
        self.create_like(other, |options| other.like(format, |shape| make(shape, options)))
    }

    /// Writes a tensor of the dtype and on the device of `out` to it.
    fn write_to(
        &self,
        out: &Bound<'_, Tensor>,
        rule: NewElements,
        make: impl FnOnce(TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        let (py, op, held) = (self.py, self.op, out.core());
        let target = &*held;
        self.check_out(target)?;
        sync(py);
        detach(py, || target.write_new(op, rule, make).map_err(|error| error.during(op)))
            .into_py_result(py)?;
        op_warnings::issue(py)?;
        if self.requires_grad {
            target.set_requires_grad(true).into_py_result(py)?;
            remember_tensor(out)?;
        }
        Ok(out.clone().unbind())
    }

    /// Returns an error if `out` has another dtype or device than the given one, or cannot require grad and should.
    fn check_out(&self, out: &CoreTensor) -> PyResult<()> {
        let (py, op, own) = (self.py, self.op, out.device());
        if let Some(given) = self.dtype.filter(|given| *given != out.dtype()) {
            let expected = format!("{}, the dtype of out", out.dtype());
            return Err(Error::dtype(op, "dtype", expected, given)).into_py_result(py);
        }
        self.placement(own.into())?;
        let is_other = |given: &Device| match given.index() {
            Some(_) => *given != own,
            None => given.kind() != own.kind(),
        };
        if let Some(left) = self.device.filter(is_other) {
            return Err(Error::devices(op, left, own)).into_py_result(py);
        }
        check_differentiable(self.requires_grad, op, out.dtype()).into_py_result(py)
    }

    /// Returns the given dtype and placement, or this dtype and the default device.
    pub fn on_default_device(&self, dtype: DType) -> PyResult<TensorOptions> {
        self.resolve(dtype, sync(self.py).default_device().into())
    }

    /// Returns the given dtype and placement, or those of another tensor.
    pub fn like(&self, other: &CoreTensor) -> PyResult<TensorOptions> {
        self.resolve(other.dtype(), other.device().into())
    }

    /// Returns the given placement, or the default one.
    pub fn placement(&self, default: Placement) -> PyResult<Placement> {
        match self.device.map_or(default, Placement::from) {
            Placement::Device(device) if self.pin_memory => {
                let name = ArgumentName::new(self.op, "device");
                Err(new_argument_error(self.py, name, "be the CPU if pin_memory is True", device))
            }
            _ if self.pin_memory => Ok(Placement::Pinned),
            placement => Ok(placement),
        }
    }

    /// Returns the given dtype and placement, or the default ones.
    fn resolve(&self, dtype: DType, default: Placement) -> PyResult<TensorOptions> {
        let placement = self.placement(default)?;
        let dtype = self.dtype.unwrap_or(dtype);
        check_differentiable(self.requires_grad, self.op, dtype).into_py_result(self.py)?;
        Ok(TensorOptions { dtype, placement })
    }

    /// Returns the exception for an argument that is absent or None.
    pub fn err_missing(&self, argument: &'static str, wanted: &str) -> PyErr {
        ArgumentName::new(self.op, argument).type_error(wanted, self.py.None().bind(self.py))
    }

    /// Creates the tensor while detached from the interpreter, and sets `requires_grad`.
    pub fn build(&self, make: impl FnOnce() -> Result<CoreTensor> + Send) -> PyResult<Py<Tensor>> {
        let (op, requires_grad) = (self.op, self.requires_grad);
        build(self.py, requires_grad, || {
            let tensor = make().map_err(|error| error.during(op))?;
            check_differentiable(requires_grad, op, tensor.dtype())?;
            Ok(tensor)
        })
    }
}

/// Returns an error if a new tensor is to require grad and cannot, because of its type.
fn check_differentiable(requires_grad: bool, op: &'static str, given: DType) -> Result<()> {
    if !requires_grad || given.is_floating_point() {
        return Ok(());
    }
    Err(Error::dtype(op, "dtype", "floating point if requires_grad is True", given))
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
