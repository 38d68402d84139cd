//! The methods for `copy.copy` and `copy.deepcopy`.

use std::sync::Arc;

use interlock::accelerator::Device;
use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Tensor, maybe_detach, work_size};
use crate::errors::IntoPyResult;

#[pymethods]
impl Tensor {
    /// Return a leaf that shares the memory and has the same `requires_grad`, without history or gradient.
    fn __copy__(&self, py: Python<'_>) -> PyResult<Tensor> {
        let copy = maybe_detach(py, "copy", 0, || Ok(self.0.detach()))?;
        copy.set_requires_grad(self.0.requires_grad()).into_py_result(py)?;
        Ok(Tensor(copy))
    }

    /// Return a leaf with a copy of the memory and of the gradient.
    ///
    /// Tensors that share memory still share it after `copy.deepcopy` of an object that contains them. Raises
    /// RuntimeError for the result of an operation, because its history is not copied.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyDict>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let source = &slf.get().0;
        // Each read of `grad` creates another Python object for the same tensor, so `id()` does not identify it.
        let key = ("interlock.Tensor", source.identity());
        if let Some(known) = memo.get_item(key)? {
            return Ok(known.get_item(0)?.cast_into::<Self>()?);
        }
        if !source.is_leaf().into_py_result(py)? {
            return Err(PyRuntimeError::new_err(
                "deepcopy: the tensor must be a leaf, got the result of an operation; detach() it first",
            ));
        }
        let storage = copied_storage(slf, memo)?;
        let copy = CoreTensor::from_storage(
            storage.get().0.storage(),
            source.dtype(),
            source.shape(),
            source.strides(),
            source.storage_offset(),
        );
        let copy = copy.into_py_result(py)?;
        copy.set_requires_grad(source.requires_grad()).into_py_result(py)?;
        if let Some(grad) = source.grad() {
            let grad = Bound::new(py, Tensor(grad))?;
            let grad = py.import("copy")?.call_method1("deepcopy", (grad, memo))?.cast_into::<Self>()?;
            copy.set_grad(Some(grad.get().0.clone())).into_py_result(py)?;
        }
        let copy = Bound::new(py, Tensor(copy))?;
        // The memo also refers to the source, so that no other tensor gets its identity while the memo exists.
        memo.set_item(key, (&copy, slf))?;
        Ok(copy)
    }
}

/// Returns a tensor over a copy of the whole storage of `source`, which all its views share.
fn copied_storage<'py>(
    source: &Bound<'py, Tensor>,
    memo: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Tensor>> {
    let py = source.py();
    let tensor = &source.get().0;
    let key = ("interlock.Storage", Arc::as_ptr(&tensor.storage()).addr());
    if let Some(known) = memo.get_item(key)? {
        return Ok(known.get_item(0)?.cast_into::<Tensor>()?);
    }
    let copy = maybe_detach(py, "deepcopy", work_size(tensor), || copy_all(tensor))?;
    let copy = Bound::new(py, Tensor(copy))?;
    memo.set_item(key, (&copy, source))?;
    Ok(copy)
}

/// Copies the whole storage of a tensor.
fn copy_all(tensor: &CoreTensor) -> Result<CoreTensor> {
    let (storage, dtype) = (tensor.storage(), tensor.dtype());
    let count = storage.nbytes() / dtype.size();
    let whole = CoreTensor::from_storage(storage, dtype, &[count], &[1], 0)?;
    if tensor.is_on_device() {
        // The copy passes through CPU memory, because kernels may be unable to access the device memory.
        return whole.to((dtype, Device::CPU), false)?.to((dtype, tensor.device()), false);
    }
    whole.contiguous_copy()
}
