//! The options of a new tensor.

use interlock::accelerator::Device;
use interlock_tensor::{DType, Error, NewElements, Placement, Result, Tensor as CoreTensor, TensorOptions};
use pyo3::prelude::*;

use crate::context::sync;
use crate::detach::detach;
use crate::errors::{IntoPyResult, new_exception};
use crate::tensor::formats::{Format, Layout};
use crate::tensor::identity::remember_tensor;
use crate::tensor::{ReadTensor, Tensor, op_warnings};

/// The options of a new tensor. Each field is the argument of its name; `tensor_op` has their order and defaults.
pub(in crate::tensor) struct NewTensor {
    pub out: Option<Py<Tensor>>,
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
        self.create_by(NewElements::Filled, py, op, dtype, make)
    }

    /// Like [`create`](NewTensor::create), with a rule for the argument `out`.
    pub fn create_by(
        &self,
        rule: NewElements,
        py: Python<'_>,
        op: &'static str,
        dtype: DType,
        make: impl FnOnce(TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        if let Some(out) = &self.out {
            return self.write_to(out.bind(py), rule, op, make);
        }
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

    /// Like [`create_like`](NewTensor::create_like), in the shape of the other tensor, whose order in memory is the format's.
    pub fn create_in_shape(
        &self,
        py: Python<'_>,
        op: &'static str,
        other: &CoreTensor,
        format: Option<Format>,
        make: impl FnOnce(&[usize], TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        let format = Format::of_new(format);
        self.create_like(py, op, other, |options| other.like(format, |shape| make(shape, options)))
    }

    /// Writes a tensor of the dtype and on the device of `out` to it.
    fn write_to(
        &self,
        out: &Bound<'_, Tensor>,
        rule: NewElements,
        op: &'static str,
        make: impl FnOnce(TensorOptions) -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        let (py, held) = (out.py(), out.core());
        let target = &*held;
        self.check_out(py, op, target)?;
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
    fn check_out(&self, py: Python<'_>, op: &'static str, out: &CoreTensor) -> PyResult<()> {
        if let Some(given) = self.dtype.filter(|given| *given != out.dtype()) {
            let expected = format!("{}, the dtype of out", out.dtype());
            let error = Error::dtype(op, "dtype", expected, given);
            return Err(error).into_py_result(py);
        }
        self.placement(py, op, out.device().into())?;
        let own = out.device();
        let is_other = |given: &Device| match given.index() {
            Some(_) => *given != own,
            None => given.kind() != own.kind(),
        };
        if let Some(left) = self.device.filter(is_other) {
            return Err(Error::devices(op, left, own)).into_py_result(py);
        }
        self.check_differentiable(op, out.dtype()).into_py_result(py)
    }

    /// Returns an error if a new tensor is to require grad and cannot, because of its type.
    fn check_differentiable(&self, op: &'static str, given: DType) -> Result<()> {
        if !self.requires_grad || given.is_floating_point() {
            return Ok(());
        }
        let expected = "floating point if requires_grad is True";
        Err(Error::dtype(op, "dtype", expected, given))
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
        match self.device.map_or(default, Placement::from) {
            Placement::Device(device) if self.pin_memory => {
                let message = format!("{op}: device must be the CPU if pin_memory is True, got {device}");
                Err(new_exception(py, "ArgumentError", message))
            }
            _ if self.pin_memory => Ok(Placement::Pinned),
            placement => Ok(placement),
        }
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
        self.check_differentiable(op, dtype).into_py_result(py)?;
        Ok(TensorOptions { dtype, placement })
    }

    /// Creates the tensor while detached from the interpreter, and sets `requires_grad`.
    pub fn build(
        &self,
        py: Python<'_>,
        op: &'static str,
        make: impl FnOnce() -> Result<CoreTensor> + Send,
    ) -> PyResult<Py<Tensor>> {
        build(py, self.requires_grad, || {
            let tensor = make().map_err(|error| error.during(op))?;
            self.check_differentiable(op, tensor.dtype())?;
            Ok(tensor)
        })
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
