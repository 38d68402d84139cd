//! Attributes of tensors.

use std::ffi::CStr;

use interlock_tensor::MemoryFormat;
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{OptionalArg, extract_int};
use super::autograd::node::grad_fn_object;
use super::call::{maybe_detach, run_op, work_size};
use super::dtype;
use super::formats::{Format, Layout, RowMajor};
use super::identity::{remember_tensor, tensor_object};
use super::operation::{self, ArgumentName, defaulted, required};
use super::{ReadTensor, Tensor};
use crate::accelerator::{Device, parse};
use crate::context::sync;
use crate::errors::{IntoPyResult, new_argument_error, new_type_error};
use crate::switches;

const NEVER_FILLED: &CStr =
    c"grad: the tensor is the result of an operation, and backward() sets .grad only on \
    leaves; call retain_grad() on the tensor first, or read .grad of a leaf";

#[pymethods]
impl Tensor {
    /// Return a tensor that shares memory with `data` and has no history. A subclass calls it to create its objects.
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        match data.cast::<Tensor>() {
            Ok(data) => Ok(Tensor::from(data.core().detach())),
            Err(_) => {
                Err(new_type_error("Tensor: data (interlock.tensor() accepts numbers)", "a Tensor", data))
            }
        }
    }

    /// Above the priority of arrays: NumPy leaves operators between its scalars and tensors to the tensors.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: f64 = 1000.0;

    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core(py).shape())
    }

    /// The element type.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype::object(py, self.core(py).dtype())
    }

    /// The device of the elements.
    #[getter]
    fn device(&self, py: Python<'_>) -> Device {
        Device::of(self.core(py).device())
    }

    /// Whether the elements are on a device of the type "cuda".
    #[getter]
    fn is_cuda(&self, py: Python<'_>) -> bool {
        self.core(py).device().kind().name() == "cuda"
    }

    /// Whether the elements are on the CPU.
    #[getter]
    fn is_cpu(&self, py: Python<'_>) -> bool {
        !self.core(py).is_on_device()
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> usize {
        self.core(py).ndim()
    }

    /// Return the number of dimensions.
    fn dim(&self, py: Python<'_>) -> usize {
        self.core(py).ndim()
    }

    /// Return the sizes of the dimensions, or the size of one of them.
    ///
    /// Args:
    ///     dim: The dimension. None means all.
    ///
    /// Returns:
    ///     A tuple, or an int for one dimension.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.zeros(2, 3)
    ///     >>> x.size(), x.size(-1)
    ///     ((2, 3), 3)
    #[pyo3(signature = (dim = None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        one_or_all(py, "size", self.core(py).shape(), dim)
    }

    /// Return the stride of each dimension in elements, or the stride of one of them.
    ///
    /// Args:
    ///     dim: The dimension. None means all.
    ///
    /// Returns:
    ///     A tuple, or an int for one dimension.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.zeros(2, 3)
    ///     >>> x.stride(), x.t().stride(0)
    ///     ((3, 1), 1)
    #[pyo3(signature = (dim = None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        one_or_all(py, "stride", self.core(py).strides(), dim)
    }

    /// Return the size of one element in bytes.
    fn element_size(&self, py: Python<'_>) -> usize {
        self.core(py).dtype().size()
    }

    /// The size of one element in bytes.
    #[getter]
    fn itemsize(&self, py: Python<'_>) -> usize {
        self.core(py).dtype().size()
    }

    /// The size of all elements in bytes.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> usize {
        self.core(py).numel().saturating_mul(self.core(py).dtype().size())
    }

    /// How the elements are stored: `interlock.strided`.
    #[getter]
    fn layout<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Layout::object(py)
    }

    /// Return whether the elements are stored in row-major order without gaps.
    ///
    /// Args:
    ///     memory_format: `interlock.contiguous_format` or `interlock.preserve_format`, which mean the same here.
    #[pyo3(
        signature = (*, memory_format = None),
        text_signature = "($self, *, memory_format=...)"
    )]
    fn is_contiguous(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = operation::given)] memory_format: OptionalArg<'_, '_>,
    ) -> PyResult<bool> {
        let name = ArgumentName::new("is_contiguous", "memory_format");
        defaulted(name, memory_format, Format(MemoryFormat::Contiguous))?;
        Ok(self.core(py).is_contiguous())
    }

    /// Return the offset of the first element in the storage, in elements.
    fn storage_offset(&self, py: Python<'_>) -> usize {
        self.core(py).storage_offset()
    }

    /// Return the address of the first element, 0 if there is none; on a device an address in the device's address space.
    fn data_ptr(&self, py: Python<'_>) -> usize {
        let core = self.core(py);
        if core.numel() == 0 { 0 } else { core.data_ptr() as usize }
    }

    /// Return whether the tensor is in pinned (page-locked) CPU memory.
    ///
    /// Args:
    ///     device: Ignored, except that it must name a device.
    ///
    /// Raises:
    ///     DeviceError: `device` does not name a device.
    #[pyo3(signature = (device = None))]
    fn is_pinned(&self, py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        device.map(|device| parse(device, "is_pinned", "device")).transpose()?;
        Ok(self.core(py).is_pinned())
    }

    /// The version counter, which in-place operations increment. Inference tensors have none and raise RuntimeError.
    #[getter]
    fn _version(&self, py: Python<'_>) -> PyResult<u32> {
        self.core(py).version().map_err(|error| error.during("_version")).into_py_result(py)
    }

    /// Set the version counter.
    fn _set_version(&self, version: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, what) = (version.py(), "_set_version: version");
        let number = extract_int(what, version)?;
        let Ok(number) = u32::try_from(number) else {
            return Err(new_argument_error(py, what, "be from 0 to 2**32 - 1", number));
        };
        self.core(py).set_version(number).map_err(|error| error.during("_set_version")).into_py_result(py)
    }

    /// The tensor of which this one is a view, never a view itself, or None. In-place changes of the view are recorded
    /// on it. The result of `detach()` shares memory and is not a view. The Python object may be a new one of the same
    /// tensor.
    #[getter]
    fn _base<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Tensor>>> {
        self.core(py).base().map(|base| tensor_object(py, &base)).transpose()
    }

    /// Return whether the tensor is a view of another one, which is its `_base`.
    fn _is_view(&self, py: Python<'_>) -> bool {
        self.core(py).is_view()
    }

    /// Whether operations on the tensor are recorded. It can be set on floating-point leaves.
    ///
    /// Raises:
    ///     DTypeError: True is set on a tensor that is not floating point.
    ///     RuntimeError: False is set on the result of an operation.
    #[getter]
    fn get_requires_grad(&self, py: Python<'_>) -> bool {
        self.core(py).requires_grad()
    }

    #[setter]
    fn set_requires_grad(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let requires_grad = switches::extract_bool("Tensor", "requires_grad", value)?;
        sync(value.py());
        self.core(py).set_requires_grad(requires_grad).into_py_result(value.py())
    }

    /// Set `requires_grad` and return the tensor itself.
    ///
    /// Args:
    ///     requires_grad: Whether operations on the tensor are recorded.
    ///
    /// Raises:
    ///     DTypeError: True is set on a tensor that is not floating point.
    ///     RuntimeError: False is set on the result of an operation.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.ones(2).requires_grad_()
    ///     tensor([1., 1.], requires_grad=True)
    #[pyo3(signature = (requires_grad = true))]
    fn requires_grad_(
        slf: Bound<'_, Self>,
        #[pyo3(from_py_with = switches::requires_grad_::requires_grad)] requires_grad: bool,
    ) -> PyResult<Bound<'_, Self>> {
        sync(slf.py());
        let set = slf.core().set_requires_grad(requires_grad);
        set.map_err(|error| error.during("requires_grad_")).into_py_result(slf.py())?;
        remember_tensor(&slf)?;
        Ok(slf)
    }

    /// Whether the tensor is not the result of a recorded operation.
    #[getter]
    fn is_leaf(&self, py: Python<'_>) -> PyResult<bool> {
        self.core(py).is_leaf().into_py_result(py)
    }

    /// The gradient that backward passes have accumulated, or None. Deleting it sets None.
    ///
    /// Reading None from the result of an operation issues a UserWarning: only leaves, and results on which
    /// `retain_grad` was called, get a gradient.
    ///
    /// Raises:
    ///     TypeError: A value that is neither a tensor nor None is set.
    ///     ShapeError: A gradient of another shape is set.
    ///     DTypeError: A gradient of another dtype is set.
    #[getter]
    fn get_grad<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Tensor>>> {
        let grad = self.core(py).grad();
        if grad.is_none() && !self.core(py).retains_grad() && self.core(py).is_leaf() == Ok(false) {
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), NEVER_FILLED, 1)?;
        }
        grad.map(|grad| tensor_object(py, &grad)).transpose()
    }

    #[deleter]
    fn delete_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.core(py).set_grad(None).into_py_result(py)
    }

    #[setter]
    fn set_grad(&self, py: Python<'_>, grad: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let grad = grad.map(|grad| match grad.cast::<Tensor>() {
            Ok(grad) => {
                remember_tensor(grad)?;
                Ok(grad.core().clone())
            }
            Err(_) => Err(new_type_error("Tensor.grad", "a Tensor or None", grad)),
        });
        self.core(py).set_grad(grad.transpose()?).into_py_result(py)
    }

    /// The node of the operation that produced the tensor, or None.
    #[getter]
    fn grad_fn<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core(py).grad_fn().into_py_result(py)?.map(|node| grad_fn_object(py, node)).transpose()
    }

    /// The position of the tensor among the results of `grad_fn`.
    #[getter]
    fn output_nr(&self, py: Python<'_>) -> PyResult<usize> {
        self.core(py).output_nr().into_py_result(py)
    }

    /// Make backward passes accumulate the gradient of a non-leaf tensor in `grad`. Leaves always accumulate.
    ///
    /// Raises:
    ///     RuntimeError: The tensor does not require grad.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.ones(1, requires_grad=True)
    ///     >>> y = x * 2
    ///     >>> y.retain_grad()
    ///     >>> (y * 3).backward()
    ///     >>> y.grad, x.grad
    ///     (tensor([3.]), tensor([6.]))
    fn retain_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.core(py).retain_grad().into_py_result(py)
    }

    /// Whether `retain_grad` was called.
    #[getter]
    fn retains_grad(&self, py: Python<'_>) -> bool {
        self.core(py).retains_grad()
    }

    /// A tensor that shares memory with this one and has no history. Unlike `detach()`, it has a version counter of its own.
    ///
    /// A backward pass does not notice changes through it, and computes with the changed elements.
    ///
    /// An assignment replaces the storage, shape, strides, dtype and device by those of another tensor, with which this one
    /// then shares memory. It is not recorded. The tensor remains the same object, with its `requires_grad`, `grad`, hooks
    /// and version. Graphs that were recorded before, views and other tensors over the old memory keep the old data.
    /// Operations that other threads are running use the old data to their end.
    ///
    /// A backward pass of an older graph converts the gradient to the new dtype and device. It raises ShapeError if the
    /// shape has changed.
    ///
    /// Raises:
    ///     TypeError: A value that is not a tensor is set.
    ///     DTypeError: The tensor requires grad, and a tensor that is not floating point is set.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> p = interlock.ones(2, requires_grad=True)
    ///     >>> (p * 3).sum().backward()
    ///     >>> p.data = p.data - 0.5 * p.grad
    ///     >>> p
    ///     tensor([-0.5000, -0.5000], requires_grad=True)
    #[getter]
    fn get_data(&self, py: Python<'_>) -> PyResult<Tensor> {
        let tensor = &*self.core(py);
        maybe_detach(py, "data", 0, || Ok(Tensor::from(tensor.data())))
    }

    #[setter]
    fn set_data(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(given) = data.cast::<Tensor>() else {
            return Err(new_type_error("Tensor.data", "a Tensor", data));
        };
        slf.get().replace(slf.py(), &given.core()).into_py_result(slf.py())?;
        // Handles with the old data return this object.
        remember_tensor(slf)
    }

    /// Return the tensor itself if it is contiguous, else a contiguous copy.
    ///
    /// Args:
    ///     memory_format: The order of the elements in memory, `interlock.contiguous_format`.
    ///
    /// Raises:
    ///     ArgumentError: `memory_format` is `interlock.preserve_format`.
    #[pyo3(
        signature = (*, memory_format = None),
        text_signature = "($self, *, memory_format=...)"
    )]
    fn contiguous<'py>(
        slf: Bound<'py, Self>,
        #[pyo3(from_py_with = operation::given)] memory_format: OptionalArg<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        defaulted(ArgumentName::new("contiguous", "memory_format"), memory_format, RowMajor)?;
        if slf.core().is_contiguous() {
            return Ok(slf);
        }
        let tensor = &*slf.core();
        Bound::new(slf.py(), run_op(slf.py(), "contiguous", work_size(tensor), || tensor.contiguous())?)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let size = self.core(py).shape().first().copied();
        size.ok_or_else(|| PyTypeError::new_err("len() of a 0-d tensor"))
    }

    fn __hash__(&self, py: Python<'_>) -> usize {
        self.core(py).identity()
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &*self.core(py);
        super::fallible_alloc::try_str(
            py,
            &maybe_detach(py, "__repr__", work_size(tensor), || tensor.text())?,
        )
    }
}

/// Returns all values as a tuple, or the value of one dimension.
fn one_or_all<'py>(
    py: Python<'py>,
    op: &'static str,
    values: &[usize],
    dim: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(dim) = dim else { return Ok(PyTuple::new(py, values)?.into_any()) };
    let dim: i64 = required(ArgumentName::new(op, "dim"), dim)?;
    let err_dim = || interlock_tensor::Error::dimension(op, "dim", dim, values.len());
    let from_end = i64::try_from(values.len()).unwrap_or(i64::MAX);
    let counted = if dim < 0 { dim.saturating_add(from_end) } else { dim };
    let value =
        usize::try_from(counted).ok().and_then(|at| values.get(at)).ok_or_else(err_dim).into_py_result(py)?;
    Ok(value.into_pyobject(py)?.into_any())
}
