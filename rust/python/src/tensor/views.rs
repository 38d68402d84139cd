//! Other shapes, element types and orders of the same elements.

use interlock_tensor::{DType as CoreDType, Error};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::arguments::{integer, integers, on_cpu, one_or_more, shape};
use super::dtype::DType;
use super::errors::{IntoTensor, OrRaise};
use super::{Tensor, run};

#[pymethods]
impl Tensor {
    /// The same memory in another shape; one size may be -1. Raises where a copy would be needed.
    #[pyo3(signature = (*shape))]
    fn view(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        self.0.view(&integers("shape", shape)?).into_tensor(shape.py())
    }

    /// The same elements in another shape: a view where possible, else a copy.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        let sizes = integers("shape", shape)?;
        run(shape.py(), self.0.numel(), || self.0.reshape(&sizes))
    }

    /// All elements in one dimension.
    fn flatten(&self, py: Python<'_>) -> PyResult<Tensor> {
        run(py, self.0.numel(), || self.0.flatten())
    }

    /// Two dimensions exchanged, as a view.
    fn transpose(&self, dim0: &Bound<'_, PyAny>, dim1: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.0.transpose(integer("dim0", dim0)?, integer("dim1", dim1)?).into_tensor(dim0.py())
    }

    /// Dimensions in another order, as a view.
    #[pyo3(signature = (*dims))]
    fn permute(&self, dims: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        self.0.permute(&integers("dims", dims)?).into_tensor(dims.py())
    }

    /// A matrix transposed, as a view; a tensor of fewer dimensions stays as it is.
    fn t(&self, py: Python<'_>) -> PyResult<Tensor> {
        self.0.t().into_tensor(py)
    }

    /// The dimensions in reverse order, as a view.
    #[getter(T)]
    fn reversed(&self, py: Python<'_>) -> PyResult<Tensor> {
        let order: Vec<i64> = (0i64..).take(self.0.ndim()).collect();
        self.0.permute(&order.into_iter().rev().collect::<Vec<_>>()).into_tensor(py)
    }

    /// A dimension of size 1 put in at `dim`, as a view.
    fn unsqueeze(&self, dim: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.0.unsqueeze(integer("dim", dim)?).into_tensor(dim.py())
    }

    /// Dimensions of size 1 left out: all, or `dim` if its size is 1. A view.
    #[pyo3(signature = (dim = None))]
    fn squeeze(&self, py: Python<'_>, dim: Option<&Bound<'_, PyAny>>) -> PyResult<Tensor> {
        let dim = dim.map(|dim| integer("dim", dim)).transpose()?;
        self.0.squeeze(dim).into_tensor(py)
    }

    /// Dimensions of size 1 repeated without a copy; -1 keeps a size.
    #[pyo3(signature = (*sizes))]
    fn expand(&self, sizes: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
        self.0.expand(&integers("sizes", sizes)?).into_tensor(sizes.py())
    }

    /// The part at one index of a dimension, as a view without that dimension.
    fn select(&self, dim: &Bound<'_, PyAny>, index: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        self.0.select(integer("dim", dim)?, integer("index", index)?).into_tensor(dim.py())
    }

    /// A view of the memory with these sizes and strides, counted in elements.
    #[pyo3(signature = (size, stride, storage_offset = None))]
    fn as_strided(
        &self,
        size: &Bound<'_, PyAny>,
        stride: &Bound<'_, PyAny>,
        storage_offset: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let sizes = shape(&one_or_more("size", size)?)?;
        let strides = shape(&one_or_more("stride", stride)?)?;
        let offset = storage_offset.map(|offset| integer("storage_offset", offset)).transpose()?;
        let offset = offset.map(|offset| shape(&[offset])).transpose()?;
        let offset = offset.and_then(|offset| offset.first().copied());
        self.0.as_strided(&sizes, &strides, offset).into_tensor(size.py())
    }

    /// The elements as another type, or on another device: `to(dtype)`, `to(device)`, `to(device, dtype)`
    /// or `to(other)`. The tensor itself if nothing changes.
    #[pyo3(signature = (*args, dtype = None, device = None, copy = false))]
    fn to<'py>(
        slf: Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        dtype: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
        copy: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let mut wanted = super::arguments::dtype(dtype)?;
        on_cpu(device)?;
        if args.len() > 2 {
            let error = Error::Count { what: "arguments of to", given: args.len(), needed: 2 };
            return Err(error).or_raise(slf.py());
        }
        for argument in args {
            if let Ok(other) = argument.cast::<Tensor>() {
                wanted = Some(other.get().0.dtype());
            } else if let Ok(dtype) = argument.cast::<DType>() {
                wanted = Some(dtype.get().0);
            } else {
                on_cpu(Some(&argument))?;
            }
        }
        let wanted = wanted.unwrap_or_else(|| slf.get().0.dtype());
        if copy && wanted == slf.get().0.dtype() {
            return Bound::new(slf.py(), slf.get().0.copy().into_tensor(slf.py())?);
        }
        converted(slf, wanted)
    }

    /// The elements as float32.
    fn float(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        converted(slf, CoreDType::Float32)
    }

    /// The elements as float64.
    fn double(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        converted(slf, CoreDType::Float64)
    }

    /// The elements as int64.
    fn long(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        converted(slf, CoreDType::Int64)
    }

    /// The elements as bool.
    fn bool(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        converted(slf, CoreDType::Bool)
    }
}

fn converted(tensor: Bound<'_, Tensor>, dtype: CoreDType) -> PyResult<Bound<'_, Tensor>> {
    if tensor.get().0.dtype() == dtype {
        return Ok(tensor);
    }
    let source = &tensor.get().0;
    Bound::new(tensor.py(), run(tensor.py(), source.numel(), || source.cast(dtype))?)
}
