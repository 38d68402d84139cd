//! What a tensor tells about itself.

use std::ffi::CStr;

use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::args::extract_int;
use super::dtype;
use super::gradients::Node;
use super::{Tensor, maybe_detach, run_op, work_size};
use crate::accelerator::{Device, parse};
use crate::errors::IntoPyResult;

/// What makes a tensor again: the function and its arguments.
type Parts<'py> =
    (Bound<'py, PyAny>, (Bound<'py, PyBytes>, Bound<'py, PyAny>, Vec<usize>, bool, Option<String>));

const NEVER_FILLED: &CStr =
    c"grad: the tensor is the result of an operation, and backward() only fills .grad of \
    leaves; call retain_grad() on it before, or read .grad of a leaf";

#[pymethods]
impl Tensor {
    /// Above that of arrays: NumPy leaves operators between its numbers and tensors to the tensors.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: f64 = 1000.0;

    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// The type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype::object(py, self.0.dtype())
    }

    /// Where the elements lie.
    #[getter]
    fn device(&self) -> Device {
        Device::of(self.0.device())
    }

    /// How many dimensions there are.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.ndim()
    }

    /// How many dimensions there are.
    fn dim(&self) -> usize {
        self.0.ndim()
    }

    /// The sizes of the dimensions, or of one of them.
    #[pyo3(signature = (dim = None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        one_or_all(py, self.0.shape(), dim)
    }

    /// The distances of neighbours in elements, for each dimension or for one of them.
    #[pyo3(signature = (dim = None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        one_or_all(py, self.0.strides(), dim)
    }

    /// How many elements there are.
    fn numel(&self) -> usize {
        self.0.numel()
    }

    /// Bytes of one element.
    fn element_size(&self) -> usize {
        self.0.dtype().size()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.numel().saturating_mul(self.0.dtype().size())
    }

    /// Whether the elements are floating-point numbers.
    fn is_floating_point(&self) -> bool {
        self.0.dtype().is_floating_point()
    }

    /// Whether the elements lie in row-major order without gaps.
    fn is_contiguous(&self) -> bool {
        self.0.is_contiguous()
    }

    /// The position of the first element in the memory that views share, in elements.
    fn storage_offset(&self) -> usize {
        self.0.storage_offset()
    }

    /// The address of the first element; on a device in the device's own counting.
    fn data_ptr(&self) -> usize {
        self.0.data_ptr() as usize
    }

    /// Whether the elements lie in memory that devices reach without a detour; it is of the cpu.
    #[pyo3(signature = (device = None))]
    fn is_pinned(&self, device: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        device.map(parse).transpose()?;
        Ok(self.0.is_pinned())
    }

    /// How often the memory was changed in place. Inference tensors do not count: RuntimeError.
    #[getter]
    fn _version(&self, py: Python<'_>) -> PyResult<u32> {
        self.0.version().into_py_result(py)
    }

    /// Overwrites the version.
    fn _set_version(&self, py: Python<'_>, version: u32) -> PyResult<()> {
        self.0.set_version(version).into_py_result(py)
    }

    /// Whether it was made in inference mode.
    fn is_inference(&self) -> bool {
        self.0.is_inference()
    }

    /// Whether gradients are computed for it. Can be set on leaves of floating-point type.
    #[getter]
    fn get_requires_grad(&self) -> bool {
        self.0.requires_grad()
    }

    #[setter]
    fn set_requires_grad(&self, py: Python<'_>, value: bool) -> PyResult<()> {
        self.0.set_requires_grad(value).into_py_result(py)
    }

    /// Sets `requires_grad` and returns the tensor itself.
    #[pyo3(signature = (requires_grad = true))]
    fn requires_grad_(slf: Bound<'_, Self>, requires_grad: bool) -> PyResult<Bound<'_, Self>> {
        slf.get().0.set_requires_grad(requires_grad).into_py_result(slf.py())?;
        Ok(slf)
    }

    /// Whether no recorded operation made it.
    #[getter]
    fn is_leaf(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.is_leaf().into_py_result(py)
    }

    /// The gradient that backward passes have accumulated, or None. Deleting it sets None.
    ///
    /// Reading None from the result of an operation issues a UserWarning: only leaves, and results on which
    /// `retain_grad` was called, get a gradient.
    #[getter]
    fn get_grad(&self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        let grad = self.0.grad();
        if grad.is_none() && !self.0.retains_grad() && self.0.is_leaf() == Ok(false) {
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), NEVER_FILLED, 1)?;
        }
        Ok(grad.map(Tensor))
    }

    #[deleter]
    fn delete_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.0.set_grad(None).into_py_result(py)
    }

    #[setter]
    fn set_grad(&self, py: Python<'_>, grad: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let grad = grad.map(|grad| match grad.cast::<Tensor>() {
            Ok(grad) => Ok(grad.get().0.clone()),
            Err(_) => Err(PyTypeError::new_err("grad must be a Tensor or None")),
        });
        self.0.set_grad(grad.transpose()?).into_py_result(py)
    }

    /// The node of the operation that made it, or None.
    #[getter]
    fn grad_fn(&self, py: Python<'_>) -> PyResult<Option<Node>> {
        Ok(self.0.grad_fn().into_py_result(py)?.map(Node::of))
    }

    /// Keeps the gradient of a result in `grad` as well; leaves do that anyway.
    fn retain_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.0.retain_grad().into_py_result(py)
    }

    /// Whether `retain_grad` was called.
    #[getter]
    fn retains_grad(&self) -> bool {
        self.0.retains_grad()
    }

    /// The same elements without history; memory is shared.
    fn detach(&self, py: Python<'_>) -> PyResult<Tensor> {
        maybe_detach(py, 0, || Ok(Tensor(self.0.detach())))
    }

    /// A tensor of its own with the same elements.
    fn clone(&self, py: Python<'_>) -> PyResult<Tensor> {
        run_op(py, work_size(&self.0), || self.0.copy())
    }

    /// The tensor itself if it is contiguous, else a contiguous copy.
    fn contiguous(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().0.is_contiguous() {
            return Ok(slf);
        }
        let tensor = &slf.get().0;
        Bound::new(slf.py(), run_op(slf.py(), work_size(tensor), || tensor.contiguous())?)
    }

    fn __len__(&self) -> PyResult<usize> {
        let size = self.0.shape().first().copied();
        size.ok_or_else(|| PyTypeError::new_err("a tensor without dimensions has no len()"))
    }

    fn __hash__(&self) -> usize {
        self.0.identity()
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        super::fallible_alloc::try_str(py, &maybe_detach(py, work_size(&self.0), || self.0.text())?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py>> {
        let rebuild = py.import("interlock._core.tensor")?.getattr("_rebuild")?;
        let bytes = super::from_data::bytes(py, &self.0)?;
        let device = self.0.is_on_device().then(|| self.0.device().to_string());
        let (shape, requires_grad) = (self.0.shape().to_vec(), self.0.requires_grad());
        Ok((rebuild, (bytes, dtype::object(py, self.0.dtype())?, shape, requires_grad, device)))
    }
}

fn one_or_all<'py>(
    py: Python<'py>,
    values: &[usize],
    dim: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(dim) = dim else { return Ok(PyTuple::new(py, values)?.into_any()) };
    let dim = extract_int("dim", dim)?;
    let wrong = || interlock_tensor::Error::Dimension { op: "size", dim, ndim: values.len() };
    let from_end = i64::try_from(values.len()).unwrap_or(i64::MAX);
    let counted = if dim < 0 { dim.saturating_add(from_end) } else { dim };
    let value =
        usize::try_from(counted).ok().and_then(|at| values.get(at)).ok_or_else(wrong).into_py_result(py)?;
    Ok(value.into_pyobject(py)?.into_any())
}
