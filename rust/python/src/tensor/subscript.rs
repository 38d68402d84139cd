//! Indexing: `__getitem__` and `__setitem__`.

use interlock_tensor::{DType as CoreDType, Error, Index, Scalar, Tensor as CoreTensor};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PyRange, PySlice, PyTuple};

use super::args::{PyNumber, extract_int};
use super::call::{maybe_detach, run_op, work_size, work_size_of};
use super::{ReadTensor, Tensor, fallible_alloc, from_data, numpy, scalars};
use crate::context::sync;
use crate::errors::{IntoPyResult, exception, new_exception, new_type_error, type_name};
use crate::py_int;

const GET_ITEM: &str = "__getitem__";
const SET_ITEM: &str = "__setitem__";

/// Extracts a bound of a slice. Bounds beyond 64 bits are clamped, as in Python.
fn bound(op: &str, slice: &Bound<'_, PySlice>, name: &str) -> PyResult<Option<i64>> {
    let value = slice.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    match value.cast::<PyInt>() {
        Ok(value) if !value.is_instance_of::<PyBool>() => Ok(Some(py_int::clamped(value).0)),
        _ => extract_int(&format!("{op}: {name}"), &value).map(Some),
    }
}

/// Extracts one item of an index expression of `op`.
fn extract_index(op: &'static str, index: &Bound<'_, PyAny>) -> PyResult<Index> {
    if let Ok(truth) = index.cast::<PyBool>() {
        let truth = CoreTensor::full(&[], Scalar::Bool(truth.is_true()), CoreDType::Bool);
        return truth.map(Index::Tensor).into_py_result(index.py());
    }
    if index.is_none() {
        return Ok(Index::NewAxis);
    }
    if index.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Ok(slice) = index.cast::<PySlice>() {
        let step = bound(op, slice, "step")?.unwrap_or(1);
        return Ok(Index::Slice { start: bound(op, slice, "start")?, end: bound(op, slice, "stop")?, step });
    }
    if let Ok(tensor) = index.cast::<Tensor>() {
        return index_from_tensor(op, index.py(), tensor.core().clone());
    }
    if let Ok(range) = index.cast::<PyRange>()
        && range.is_truthy()?
    {
        let number = |value: Bound<'_, PyAny>| -> PyResult<i64> { Ok(py_int::clamped(value.cast()?).0) };
        let (first, last) = (number(range.get_item(0)?)?, number(range.get_item(-1)?)?);
        return Ok(Index::Range { first, last, step: number(range.getattr("step")?)? });
    }
    if is_sequence(index) || index.hasattr("__array_interface__")? {
        let tensor = from_data::from_data(op, index, None)?;
        // An empty sequence is one of indices, not of floating-point numbers, and small integers of NumPy are indices.
        let is_small = matches!(tensor.dtype(), CoreDType::Int8 | CoreDType::Int16) && is_sequence(index);
        let tensor = if tensor.numel() == 0 || is_small {
            tensor.cast(CoreDType::Int64).into_py_result(index.py())?
        } else {
            tensor
        };
        return index_from_tensor(op, index.py(), tensor);
    }
    if index.is_instance_of::<PyInt>() || index.hasattr("__index__")? {
        return extract_int(&format!("{op}: index"), index).map(Index::Integer);
    }
    Err(PyIndexError::new_err(format!(
        "{op}: index must consist of ints, slices, None, ..., lists, tuples, ranges and int64, int32 or bool tensors, \
         got {}",
        type_name(index)
    )))
}

/// Returns whether an item of an index is a sequence of indices or masks.
fn is_sequence(index: &Bound<'_, PyAny>) -> bool {
    index.is_instance_of::<PyList>() || index.is_instance_of::<PyTuple>() || index.is_instance_of::<PyRange>()
}

/// Converts a tensor to an index. A 0-d integer tensor is an integer index. As in PyTorch a uint8 tensor
/// is a mask, which is deprecated.
fn index_from_tensor(op: &'static str, py: Python<'_>, tensor: CoreTensor) -> PyResult<Index> {
    if tensor.dtype() == CoreDType::UInt8 {
        if tensor.ndim() > 0 {
            let message = c"an index of dtype uint8 is a mask; this is deprecated, use a bool tensor";
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), message, 1)?;
        }
        return tensor.cast(CoreDType::Bool).map(Index::Tensor).into_py_result(py);
    }
    if tensor.ndim() == 0
        && tensor.dtype().is_integer()
        && let Scalar::Int(index) = scalars::item_for(py, op, &tensor)?
    {
        return Ok(Index::Integer(index));
    }
    Ok(Index::Tensor(tensor))
}

/// Extracts all items of an index expression.
fn extract_indices(op: &'static str, index: &Bound<'_, PyAny>) -> PyResult<Vec<Index>> {
    if let Ok(indices) = index.cast::<PyTuple>() {
        return fallible_alloc::try_collect(
            index.py(),
            indices.iter().map(|index| extract_index(op, &index)),
        );
    }
    match index.cast::<PyList>() {
        Ok(list) if treat_sequence_as_tuple(list)? => {
            list.iter().map(|index| extract_index(op, &index)).collect()
        }
        _ => Ok(vec![extract_index(op, index)?]),
    }
}

/// Returns whether each item of a list indexes one dimension, as in a tuple: ATen's `treatSequenceAsTuple`. This
/// applies to lists of up to 31 items that contain a tensor, an array, a sequence, a slice, None or `...`.
fn treat_sequence_as_tuple(list: &Bound<'_, PyList>) -> PyResult<bool> {
    const LIMIT: usize = 32;
    if list.len() >= LIMIT {
        return Ok(false);
    }
    for item in list.iter() {
        let is_part = item.is_none()
            || item.is_instance_of::<Tensor>()
            || item.is_instance_of::<PySlice>()
            || item.is_instance_of::<PyEllipsis>()
            || is_sequence(&item)
            || (!item.is_instance_of::<PyInt>() && numpy::is_array(&item)?);
        if is_part {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Converts a number that is assigned to elements of a tensor to a tensor: ATen's `valueToTensor`.
fn value_to_tensor(
    value: &Bound<'_, PyAny>,
    target: &CoreTensor,
    index: &Bound<'_, PyAny>,
) -> PyResult<CoreTensor> {
    let (py, op, what) = (value.py(), SET_ITEM, "__setitem__: value");
    let number =
        PyNumber::extract(value)?.ok_or_else(|| new_type_error(what, "a Tensor or a number", value))?;
    let number = number.scalar(what).map_err(|error| {
        // PyTorch raises ValueError here and OverflowError elsewhere.
        if error.is_instance_of::<PyOverflowError>(py) {
            new_exception(py, "ArgumentError", error.value(py).to_string())
        } else {
            error
        }
    })?;
    let dtype = target.dtype();
    let is_rounded = dtype.is_half() && !number.fits(dtype) && rounds_to_infinity(target, index)?;
    if !is_rounded && !number.fits(dtype) {
        return Err(exception(py, &Error::out_of_bounds(op, "value", number, dtype)));
    }
    sync(py);
    let filled = if is_rounded {
        CoreTensor::full(&[], number, CoreDType::Float64).and_then(|number| number.cast(dtype))
    } else {
        CoreTensor::full(&[], number, dtype)
    };
    filled.into_py_result(py)
}

/// Converts the index of an assignment; `None` for False, which assigns nothing.
fn extract_assigned_indices(index: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Index>>> {
    match index.cast::<PyBool>() {
        // Alone, True is a new dimension.
        Ok(truth) => Ok(truth.is_true().then(|| vec![Index::NewAxis])),
        Err(_) => extract_indices(SET_ITEM, index).map(Some),
    }
}

/// Returns whether an assignment rounds a number beyond the range of a half-precision type to infinity, as PyTorch 2.15
/// does: for one element that is selected without index tensors, and for several index tensors.
fn rounds_to_infinity(target: &CoreTensor, index: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(indices) = extract_assigned_indices(index)? else { return Ok(true) };
    match indices.iter().filter(|index| matches!(index, Index::Tensor(_) | Index::Range { .. })).count() {
        0 => {
            let selected = target.detach().index(&indices).map_err(|error| error.during(SET_ITEM));
            Ok(selected.into_py_result(index.py())?.numel() == 1)
        }
        count => Ok(count > 1),
    }
}

/// Returns the number of elements at the positions of index tensors and ranges; `None` without any.
pub(super) fn indexed_size(tensor: &CoreTensor, indices: &[Index]) -> Option<usize> {
    let sizes = indices.iter().filter_map(|index| match index {
        Index::Tensor(index) => Some(work_size(index)),
        Index::Range { first, last, .. } => usize::try_from(last.abs_diff(*first)).ok(),
        _ => None,
    });
    let sizes: Vec<_> = sizes.collect();
    // Each position has the elements of the dimensions that are not indexed, usually the last ones.
    let others =
        tensor.shape().iter().skip(sizes.len()).fold(1, |product: usize, size| product.saturating_mul(*size));
    let positions = sizes.into_iter().max()?;
    Some(positions.saturating_mul(others).max(work_size(tensor)))
}

#[pymethods]
impl Tensor {
    fn __getitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let tensor = &*self.core(py);
        let indices = extract_indices(GET_ITEM, index)?;
        let work_size = indexed_size(tensor, &indices).unwrap_or(0);
        run_op(index.py(), GET_ITEM, work_size, || tensor.index(&indices))
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let tensor = &*self.core(py);
        let py = index.py();
        let value = match value.cast::<Tensor>() {
            Ok(tensor) => tensor.core().clone(),
            Err(_) => value_to_tensor(value, tensor, index)?,
        };
        let Some(indices) = extract_assigned_indices(index)? else { return Ok(()) };
        let indexed = indexed_size(tensor, &indices).unwrap_or(0);
        let work_size = work_size_of([tensor, &value]).max(indexed);
        maybe_detach(py, SET_ITEM, work_size, || tensor.set_index(&indices, &value))
    }
}
