//! Creation of tensors from numbers, nested sequences and arrays.

use interlock_tensor::{DType as CoreDType, Element, Error, Placement, Result, Scalar, Tensor as CoreTensor};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use super::args::PyNumber;
use super::call::{maybe_detach, work_size};
use super::numpy;
use super::scalars::item;
use super::{ReadTensor, Tensor, fallible_alloc};
use crate::context::sync;
use crate::detach::detach;
use crate::errors::{IntoPyResult, exception, new_argument_error, new_exception, type_name};
use crate::py_int;

/// The maximum depth of nested sequences. Deeper ones are assumed to be cyclic.
const MAX_DEPTH: usize = 64;

/// Numbers between two checks for signals.
const SIGNAL_CHECK_INTERVAL: usize = 1 << 16;

/// Returns a new tensor with the numbers of `data`, an argument of `op`.
pub(super) fn from_data(
    op: &'static str,
    data: &Bound<'_, PyAny>,
    dtype: Option<CoreDType>,
) -> PyResult<CoreTensor> {
    let py = data.py();
    sync(py);
    let copy = |source: &CoreTensor, copy: fn(&CoreTensor) -> Result<CoreTensor>| {
        let wanted = dtype.unwrap_or(source.dtype());
        detach(py, || if wanted == source.dtype() { copy(source) } else { source.cast(wanted) })
            .into_py_result(py)
    };
    if let Ok(tensor) = data.cast::<Tensor>() {
        return copy(&tensor.core().detach(), CoreTensor::copy);
    }
    if numpy::is_array(data)? {
        return copy(&numpy::tensor_from_array(op, data)?, CoreTensor::contiguous_copy);
    }
    let mut nested = NestedSequence {
        op,
        values: Vec::new(),
        shape: Vec::new(),
        kind: CoreDType::Bool,
        large: [const { None }; 2],
        scalar_type: None,
    };
    nested.read(data, 0)?;
    let inferred = if nested.values.is_empty() { CoreDType::DEFAULT_FLOAT } else { nested.kind };
    nested.tensor(py, dtype.unwrap_or(inferred))
}

/// Returns `data` if it is a tensor in pinned memory and the new tensor is on a device: the copy to the device reads
/// its elements after the work that is queued there.
pub(super) fn pinned_source(data: &Bound<'_, PyAny>, placement: Placement) -> Option<CoreTensor> {
    let source = data.cast::<Tensor>().ok()?.core().detach();
    (source.is_pinned() && matches!(placement, Placement::Device(_))).then_some(source)
}

/// Numbers read from nested sequences, and their shape and type.
struct NestedSequence {
    op: &'static str,
    values: Vec<Scalar>,
    shape: Vec<usize>,
    kind: CoreDType,
    /// The first ints that int64 and float64 cannot hold. They are stored as floats in `values`.
    large: [Option<String>; 2],
    /// The type of the last scalar of NumPy with its dtype, which all its instances have.
    scalar_type: Option<(Py<PyType>, CoreDType)>,
}

impl NestedSequence {
    fn read(&mut self, data: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        self.check_depth(depth)?;
        if let Some(value) = self.extract_leaf(data)? {
            if let Some(length) = self.shape.get(depth) {
                return Err(self.err_kind(depth, &format!("sequences of length {length}"), "a number"));
            }
            self.kind = self.kind.promote(value.1);
            fallible_alloc::try_push(data.py(), &mut self.values, value.0)?;
            if self.values.len().is_multiple_of(SIGNAL_CHECK_INTERVAL) {
                data.py().check_signals()?;
            }
            return Ok(());
        }
        if numpy::is_array(data)?
            && let Ok(array) = numpy::tensor_from_array(self.op, data)
        {
            return self.read_array(data.py(), &array, depth);
        }
        let length = data.len()?;
        self.enter(depth, length)?;
        for (index, item) in data.try_iter()?.enumerate() {
            // A user-defined sequence may yield more items than its length.
            if index >= length {
                let expected = format!("sequences of length {length}, as len() returns,");
                return Err(self.err_length(depth, &expected, "more items"));
            }
            self.read(&item?, depth + 1)?;
        }
        Ok(())
    }

    /// Reads all elements of an array at once.
    fn read_array(&mut self, py: Python<'_>, array: &CoreTensor, depth: usize) -> PyResult<()> {
        // As for nested sequences, dimensions behind an empty one do not exist.
        let empty = array.shape().iter().position(|&length| length == 0);
        let shape = array.shape().get(..empty.map_or(array.ndim(), |at| at + 1)).unwrap_or_default();
        for (depth, &length) in (depth..).zip(shape) {
            self.check_depth(depth.saturating_add(1))?;
            self.enter(depth, length)?;
        }
        if empty.is_some() {
            return Ok(());
        }
        let end = depth.saturating_add(shape.len());
        if let Some(length) = self.shape.get(end) {
            return Err(self.err_kind(end, &format!("sequences of length {length}"), "a number"));
        }
        self.kind = self.kind.promote(array.dtype());
        let elements = maybe_detach(py, self.op, work_size(array), || array.to_scalars())?;
        elements.into_iter().try_for_each(|value| fallible_alloc::try_push(py, &mut self.values, value))?;
        py.check_signals()
    }

    fn check_depth(&self, depth: usize) -> PyResult<()> {
        if depth > MAX_DEPTH {
            let message = format!("{}: data must be nested at most {MAX_DEPTH} levels deep", self.op);
            return Err(PyValueError::new_err(message));
        }
        Ok(())
    }

    /// Checks the length of a sequence at a depth.
    fn enter(&mut self, depth: usize, length: usize) -> PyResult<()> {
        match self.shape.get(depth) {
            // The first nested sequence determines the shape; once its numbers are reached no dimension is added.
            None if self.values.is_empty() && self.shape.len() == depth => self.shape.push(length),
            Some(&expected) if expected == length => {}
            Some(expected) => {
                let (expected, given) =
                    (format!("sequences of length {expected}"), format!("length {length}"));
                return Err(self.err_length(depth, &expected, &given));
            }
            None => return Err(self.err_kind(depth, "numbers", "a sequence")),
        }
        Ok(())
    }

    /// Extracts a number and its dtype. Returns `None` for a sequence.
    fn extract_leaf(&mut self, data: &Bound<'_, PyAny>) -> PyResult<Option<(Scalar, CoreDType)>> {
        if let Some((scalar_type, dtype)) = &self.scalar_type
            && data.get_type().is(scalar_type)
            && let Some(number) = PyNumber::from_scalar(data)?
            && let Ok(value) = number.scalar("data")
        {
            return Ok(Some((value, *dtype)));
        }
        let large = data.cast::<PyInt>().ok().filter(|data| py_int::int64(data).is_none());
        let Some(data) = large else {
            let leaf = extract_leaf(self.op, data)?;
            if let Some((_, dtype)) = leaf
                && !is_plain(data)
                && numpy::is_scalar(data)?
            {
                self.scalar_type = Some((data.get_type().unbind(), dtype));
            }
            return Ok(leaf);
        };
        let [beyond_int64, beyond_float64] = &mut self.large;
        beyond_int64.get_or_insert_with(|| py_int::text(data));
        let value = py_int::float64(data).unwrap_or_else(|| {
            beyond_float64.get_or_insert_with(|| py_int::text(data));
            f64::INFINITY
        });
        Ok(Some((Scalar::Float(value), CoreDType::Int64)))
    }

    /// Returns the exception for sequences of different lengths.
    fn err_length(&self, depth: usize, expected: &str, given: &str) -> PyErr {
        PyValueError::new_err(self.ragged(depth, expected, given))
    }

    /// Returns the exception for a number in the place of a sequence, or the reverse: TypeError, as in PyTorch.
    fn err_kind(&self, depth: usize, expected: &str, given: &str) -> PyErr {
        PyTypeError::new_err(self.ragged(depth, expected, given))
    }

    fn ragged(&self, depth: usize, expected: &str, given: &str) -> String {
        format!("{}: data must be {expected} at depth {depth}, got {given}", self.op)
    }

    /// Converts the numbers to a tensor. As in PyTorch integers must be in range, floats round to infinity, and bools
    /// are tests for nonzero.
    fn tensor(&self, py: Python<'_>, dtype: CoreDType) -> PyResult<CoreTensor> {
        let op = self.op;
        let [beyond_int64, beyond_float64] = &self.large;
        match (dtype, beyond_int64, beyond_float64) {
            (dtype, Some(value), _) if dtype.is_integer() => {
                let expected = format_args!("be ints that {dtype} can hold");
                return Err(new_argument_error(py, format_args!("{op}: data"), expected, value));
            }
            (dtype, _, Some(value)) if dtype.is_floating_point() => {
                let message = format!("{op}: data must be ints that float64 can hold, got {value}");
                return Err(PyOverflowError::new_err(message));
            }
            _ => {}
        }
        if dtype.is_integer()
            && let Some(&value) = self.values.iter().find(|value| !value.fits(dtype))
        {
            return Err(exception(py, &Error::out_of_bounds(op, "data", value, dtype)));
        }
        self.converted(dtype).into_py_result(py)
    }

    fn converted(&self, dtype: CoreDType) -> Result<CoreTensor> {
        fn cast<T: Element>(values: &[Scalar], shape: &[usize]) -> Result<CoreTensor> {
            CoreTensor::from_values(values.iter().map(|value| value.cast::<T>()), shape)
        }
        let numbers = match dtype {
            CoreDType::Float64 => cast::<f64>(&self.values, &self.shape),
            CoreDType::Bool => return cast::<f64>(&self.values, &self.shape)?.not_equal(0i64),
            // 16-bit floats are rounded by way of float32.
            dtype if dtype.is_floating_point() => cast::<f32>(&self.values, &self.shape),
            _ => cast::<i64>(&self.values, &self.shape),
        };
        numbers?.cast(dtype)
    }
}

/// Extracts a number and its dtype. Returns `None` for a sequence.
fn extract_leaf(op: &str, data: &Bound<'_, PyAny>) -> PyResult<Option<(Scalar, CoreDType)>> {
    if let Ok(tensor) = data.cast::<Tensor>() {
        let tensor = &*tensor.core();
        // As in PyTorch, whatever the number of dimensions.
        if tensor.numel() != 1 {
            return Ok(None);
        }
        return Ok(Some((item(data.py(), tensor)?, tensor.dtype())));
    }
    if let Some(plain) = PyNumber::extract(data)? {
        let value = plain
            .scalar("data")
            .map_err(|error| PyValueError::new_err(format!("{op}: {}", error.value(data.py()))))?;
        let dtype = if is_plain(data) { None } else { numpy_dtype(data)? };
        let dtype = dtype.filter(|dtype| dtype.can_cast_to(value.dtype()));
        return Ok(Some((value, dtype.unwrap_or(value.dtype()))));
    }
    let text = data.is_instance_of::<PyString>()
        || data.is_instance_of::<PyBytes>()
        || data.is_instance_of::<PyByteArray>();
    let sequence = data.is_instance_of::<PyList>()
        || data.is_instance_of::<PyTuple>()
        || (data.hasattr("__len__")? && data.hasattr("__getitem__")? && !data.hasattr("keys")?);
    if text || !sequence {
        let message = format!(
            "{op}: data must be a number, an array, a tensor or a nested sequence of them, got {}",
            type_name(data)
        );
        // Also a RuntimeError, as in PyTorch for objects whose dtype cannot be inferred.
        return Err(new_exception(data.py(), "DTypeError", message));
    }
    Ok(None)
}

/// Returns whether an object is a number of Python, not of a subclass, which may have a dtype.
fn is_plain(number: &Bound<'_, PyAny>) -> bool {
    number.is_exact_instance_of::<PyFloat>()
        || number.is_exact_instance_of::<PyInt>()
        || number.is_exact_instance_of::<PyBool>()
}

/// Returns the dtype of a number of NumPy or ml_dtypes. NumPy's `float64` is a Python float, too, but has a dtype.
fn numpy_dtype(number: &Bound<'_, PyAny>) -> PyResult<Option<CoreDType>> {
    let Some(dtype) = number.getattr_opt("dtype")? else { return Ok(None) };
    let name = dtype.str()?;
    Ok(CoreDType::ALL.into_iter().find(|dtype| name == dtype.name()))
}

/// Returns the elements in row-major order as little-endian bytes.
pub(super) fn bytes<'py>(py: Python<'py>, tensor: &CoreTensor) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = maybe_detach(py, "__reduce__", work_size(tensor), || tensor.to_le_bytes())?;
    PyBytes::new_with(py, bytes.len(), |out| {
        out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte);
        Ok(())
    })
}
