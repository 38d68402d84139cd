//! Views, and conversions of dtype and device.

use interlock_tensor::{DType as CoreDType, Error, Placement, Result, Tensor as CoreTensor, TensorOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use super::args::{checked_sizes, extract_int, extract_int_or_ints, extract_ints, placement};
use super::dtype::DType;
use super::{Tensor, run_op, work_size};
use crate::accelerator::parse;
use crate::errors::IntoPyResult;

#[pymethods]
impl Tensor {
    /// Return a view with another shape, of which one size may be -1. Raises ShapeError if a copy would be needed.
    #[pyo3(signature = (*shape))]
    fn view(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        self.0.view(&extract_ints("shape", shape)?).map(Tensor).into_py_result(shape.py())
    }

    /// Return the elements in another shape: a view if possible, else a copy.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        let sizes = extract_ints("shape", shape)?;
        run_op(shape.py(), work_size(&self.0), || self.0.reshape(&sizes))
    }

    /// Return the elements in one dimension: a view if possible, and the tensor itself if it has one dimension.
    fn flatten(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        run_or_self(slf, 0, CoreTensor::flatten)
    }

    /// Return a view with two dimensions exchanged.
    fn transpose(&self, dim0: &Bound<'_, PyAny>, dim1: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.0
            .transpose(extract_int("dim0", dim0)?, extract_int("dim1", dim1)?)
            .map(Tensor)
            .into_py_result(dim0.py())
    }

    /// Return a view with permuted dimensions.
    #[pyo3(signature = (*dims))]
    fn permute(&self, dims: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        self.0.permute(&extract_ints("dims", dims)?).map(Tensor).into_py_result(dims.py())
    }

    /// Return the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged.
    fn t(&self, py: Python<'_>) -> PyResult<Tensor> {
        self.0.t().map(Tensor).into_py_result(py)
    }

    /// A view with the dimensions in reverse order.
    #[getter(T)]
    fn reversed(&self, py: Python<'_>) -> PyResult<Tensor> {
        let order: Vec<i64> = (0i64..).take(self.0.ndim()).collect();
        self.0.permute(&order.into_iter().rev().collect::<Vec<_>>()).map(Tensor).into_py_result(py)
    }

    /// Return a view with a new dimension of size 1 at `dim`.
    fn unsqueeze(&self, dim: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.0.unsqueeze(extract_int("dim", dim)?).map(Tensor).into_py_result(dim.py())
    }

    /// Return a view without dimensions of size 1: all of them, or `dim` if its size is 1.
    #[pyo3(signature = (dim = None))]
    fn squeeze(&self, py: Python<'_>, dim: Option<&Bound<'_, PyAny>>) -> PyResult<Tensor> {
        let dim = dim.map(|dim| extract_int("dim", dim)).transpose()?;
        self.0.squeeze(dim).map(Tensor).into_py_result(py)
    }

    /// Return a view in which dimensions of size 1 are repeated without a copy. A size of -1 is unchanged.
    #[pyo3(signature = (*sizes))]
    fn expand(&self, sizes: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        self.0.expand(&extract_ints("sizes", sizes)?).map(Tensor).into_py_result(sizes.py())
    }

    /// Return a view at one index of a dimension, without that dimension.
    fn select(&self, dim: &Bound<'_, PyAny>, index: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.0
            .select(extract_int("dim", dim)?, extract_int("index", index)?)
            .map(Tensor)
            .into_py_result(dim.py())
    }

    /// Return a view of the storage with these sizes and strides, in elements.
    #[pyo3(signature = (size, stride, storage_offset = None))]
    fn as_strided(
        &self,
        size: &Bound<'_, PyAny>,
        stride: &Bound<'_, PyAny>,
        storage_offset: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let sizes = checked_sizes(&extract_int_or_ints("size", size)?)?;
        let strides = checked_sizes(&extract_int_or_ints("stride", stride)?)?;
        let offset = storage_offset.map(|offset| extract_int("storage_offset", offset)).transpose()?;
        let offset = offset.map(|offset| checked_sizes(&[offset])).transpose()?;
        let offset = offset.and_then(|offset| offset.first().copied());
        self.0.as_strided(&sizes, &strides, offset).map(Tensor).into_py_result(size.py())
    }

    /// Convert the tensor to another dtype or device.
    ///
    /// Call it as `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(other)`, each followed by `non_blocking` and
    /// `copy`. Returns the tensor itself if nothing changes and `copy` is False.
    ///
    /// A copy from or to a device is synchronous unless `non_blocking` is True. Then it is queued on the current
    /// stream, and a copy from a device is placed in pinned memory, whose contents are valid once the stream has
    /// completed it.
    #[pyo3(signature = (*args, dtype = None, device = None, non_blocking = false, copy = false))]
    fn to<'py>(
        slf: Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        dtype: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
        non_blocking: bool,
        copy: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let mut options = slf.get().0.options();
        let switches = args.iter().rev().take_while(|argument| argument.is_instance_of::<PyBool>()).count();
        let (names, switches) = (args.len() - switches, switches);
        if names > 2 || switches > 2 {
            let error = Error::Count { what: "arguments of to()", given: args.len(), needed: 2 };
            return Err(error).into_py_result(slf.py());
        }
        for argument in args.iter().take(names) {
            if let Ok(other) = argument.cast::<Tensor>() {
                options = other.get().0.options();
            } else if let Ok(dtype) = argument.cast::<DType>() {
                options.dtype = dtype.get().0;
            } else if !argument.is_none() {
                options.placement = placement(Some(&argument), false, options.placement)?;
            }
        }
        let switch = |at: usize, named: bool| match args.get_item(names + at) {
            Ok(given) if at < switches => given.extract(),
            _ => Ok(named),
        };
        let (non_blocking, copy) = (switch(0, non_blocking)?, switch(1, copy)?);
        options.placement = placement(device, false, options.placement)?;
        options.dtype = super::args::extract_dtype(dtype)?.unwrap_or(options.dtype);
        to_options(slf, options, non_blocking, copy)
    }

    /// Return the tensor on the CPU, or the tensor itself if it is there.
    fn cpu(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let dtype = slf.get().0.dtype();
        to_options(slf, dtype.into(), false, false)
    }

    /// Return the tensor in pinned CPU memory, or the tensor itself if it is pinned. `device` is ignored.
    #[pyo3(signature = (device = None))]
    fn pin_memory<'py>(
        slf: Bound<'py, Self>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        device.map(parse).transpose()?;
        run_or_self(slf, super::DETACH_THRESHOLD, |tensor| tensor.pin_memory())
    }

    /// Convert to float32.
    fn float(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to(slf, CoreDType::Float32)
    }

    /// Convert to float64.
    fn double(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to(slf, CoreDType::Float64)
    }

    /// Convert to int64.
    fn long(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to(slf, CoreDType::Int64)
    }

    /// Convert to bool.
    fn bool(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to(slf, CoreDType::Bool)
    }
}

fn cast_to(tensor: Bound<'_, Tensor>, dtype: CoreDType) -> PyResult<Bound<'_, Tensor>> {
    run_or_self(tensor, 0, |tensor| tensor.cast(dtype))
}

fn to_options(
    tensor: Bound<'_, Tensor>,
    options: TensorOptions,
    non_blocking: bool,
    copy: bool,
) -> PyResult<Bound<'_, Tensor>> {
    let least = if matches!(options.placement, Placement::Cpu) { 0 } else { super::DETACH_THRESHOLD };
    run_or_self(tensor, least, |tensor| {
        let moved = tensor.to(options, non_blocking)?;
        if copy && moved.is(tensor) { tensor.copy() } else { Ok(moved) }
    })
}

/// Runs an operation and returns the same Python object if it returns the same tensor.
fn run_or_self(
    tensor: Bound<'_, Tensor>,
    least: usize,
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor> + Send,
) -> PyResult<Bound<'_, Tensor>> {
    let source = &tensor.get().0;
    let result = run_op(tensor.py(), work_size(source).max(least), || operation(source))?;
    if result.0.is(source) { Ok(tensor) } else { Bound::new(tensor.py(), result) }
}
