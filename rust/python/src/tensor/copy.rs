//! The method for `copy.deepcopy`.

use std::sync::Arc;

use interlock::accelerator::Device;
use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::call::{maybe_detach, work_size};
use super::pickling::{new_leaf, state, whole_storage};
use super::{ReadTensor, Tensor};
use crate::detach::call_with;
use crate::errors::{IntoPyResult, new_type_error};

#[pymethods]
impl Tensor {
    /// Return a leaf of the same class with a copy of the memory, of the gradient and of the attributes.
    ///
    /// Tensors that share memory still share it after `copy.deepcopy` of an object that contains them. Raises
    /// RuntimeError for the result of an operation, because its history is not copied.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let memo = memo.cast::<PyDict>().map_err(|_| new_type_error("__deepcopy__: memo", "a dict", memo))?;
        let source = &*slf.core();
        // Each read of `grad` creates another Python object for the same tensor, so `id()` does not identify it.
        let key = ("interlock.Tensor", source.identity());
        if let Some(known) = memo.get_item(key)? {
            return Ok(known.get_item(0)?.cast_into::<Self>()?);
        }
        if !source.is_leaf().map_err(|error| error.during("deepcopy")).into_py_result(py)? {
            return Err(PyRuntimeError::new_err(
                "deepcopy: the tensor must be a leaf, got the result of an operation; detach() it first",
            ));
        }
        let storage = copied_storage(slf, memo)?;
        let copy = CoreTensor::from_storage(
            storage.core().storage(),
            source.dtype(),
            source.shape(),
            source.strides(),
            source.storage_offset(),
        );
        let copy = new_leaf(&slf.get_type(), copy.into_py_result(py)?, source.requires_grad())?;
        // The memo also refers to the source, so that no other tensor gets its identity while the memo exists.
        memo.set_item(key, (&copy, slf))?;
        let deepcopy = py.import("copy")?.getattr("deepcopy")?;
        if let Some(grad) = source.grad() {
            let grad = Bound::new(py, Tensor::from(grad))?;
            let grad = call_with(&deepcopy, (grad, memo))?.cast_into::<Self>()?;
            copy.core().set_grad(Some(grad.core().clone())).into_py_result(py)?;
        }
        if let Some(state) = state(slf)? {
            set_state(&copy, &call_with(&deepcopy, (state, memo))?)?;
        }
        Ok(copy)
    }
}

/// Sets the attributes of a copy, as `copy` and `pickle` do: by `__setstate__` if the class has it.
fn set_state(copy: &Bound<'_, Tensor>, state: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Some(set) = copy.getattr_opt("__setstate__")? {
        return call_with(&set, (state,)).map(drop);
    }
    // The values of `__slots__` follow those of `__dict__`.
    let parts = state.extract::<(Bound<'_, PyAny>, Bound<'_, PyDict>)>();
    let (attributes, slots) = match parts {
        Ok((attributes, slots)) => (attributes, Some(slots)),
        Err(_) => (state.clone(), None),
    };
    if !attributes.is_none() {
        copy.getattr("__dict__")?.call_method1("update", (attributes,))?;
    }
    slots.map_or(Ok(()), |slots| {
        slots.iter().try_for_each(|(name, value)| copy.setattr(name.cast_into::<PyString>()?, value))
    })
}

/// Returns a tensor over a copy of the whole storage of `source`, which all its views share.
fn copied_storage<'py>(
    source: &Bound<'py, Tensor>,
    memo: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Tensor>> {
    let py = source.py();
    let tensor = &*source.core();
    let key = ("interlock.Storage", Arc::as_ptr(&tensor.storage()).addr());
    if let Some(known) = memo.get_item(key)? {
        return Ok(known.get_item(0)?.cast_into::<Tensor>()?);
    }
    let copy = maybe_detach(py, "deepcopy", work_size(tensor), || copy_all(tensor))?;
    let copy = Bound::new(py, Tensor::from(copy))?;
    memo.set_item(key, (&copy, source))?;
    Ok(copy)
}

/// Copies the whole storage of a tensor.
fn copy_all(tensor: &CoreTensor) -> Result<CoreTensor> {
    let (whole, dtype) = (whole_storage(tensor)?, tensor.dtype());
    if tensor.is_on_device() {
        // The copy passes through CPU memory, because kernels may be unable to access the device memory.
        return whole.to((dtype, Device::CPU), false)?.to((dtype, tensor.device()), false);
    }
    whole.contiguous_copy()
}
