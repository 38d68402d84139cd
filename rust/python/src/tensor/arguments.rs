//! Arguments: numbers, operands, sizes, dimensions, devices.

use interlock_tensor::{
    DType as CoreDType, Error, MAX_DIMENSIONS, Operand, Place, Scalar, Tensor as CoreTensor,
};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};

use super::dtype::DType;
use super::{Tensor, numpy, room};
use crate::accelerator;
use crate::errors::new_exception;
use crate::whole;

pub(super) fn type_name(given: &Bound<'_, PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// An exception that says what was wanted and what came.
pub(super) fn wrong_type(what: &str, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{what} must be {wanted}, not {}", type_name(given)))
}

/// The exception for an int that int64 cannot hold.
fn too_large(what: &str, given: &Bound<'_, PyInt>) -> PyErr {
    let message = format!("{what} must be an int that int64 can hold, got {}", whole::text(given));
    new_exception(given.py(), "ArgumentError", message)
}

/// A bool, float or int of Python.
pub(super) enum Plain<'py> {
    Bool(bool),
    Float(f64),
    Int(Bound<'py, PyInt>),
}

impl<'py> Plain<'py> {
    fn of_python(given: &Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(value) = given.cast::<PyBool>() {
            Some(Plain::Bool(value.is_true()))
        } else if let Ok(value) = given.cast::<PyFloat>() {
            Some(Plain::Float(value.value()))
        } else {
            given.cast::<PyInt>().ok().map(|value| Plain::Int(value.clone()))
        }
    }

    /// A number of Python or NumPy, or `None` for anything else. The errors are those of the object's own code.
    pub fn of(given: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let plain = Self::of_python(given);
        if plain.is_some() {
            return Ok(plain);
        }
        // NumPy's scalars are numbers to Python's tower, and arrays and tensors are not.
        if given.hasattr("dtype")? && given.hasattr("item")? && given.hasattr("__array_priority__")? {
            let ndim = given.getattr_opt("ndim")?.and_then(|ndim| ndim.cast_into::<PyInt>().ok());
            let is_scalar = ndim.and_then(|ndim| whole::int64(&ndim)) == Some(0);
            if is_scalar && !given.is_instance_of::<Tensor>() {
                return Ok(Self::of_python(&given.call_method0("item")?));
            }
        }
        Ok(None)
    }

    /// The value. As in PyTorch, ints that 64 bits cannot hold raise OverflowError. Those that are only too large for
    /// a sign raise ArgumentError.
    pub fn scalar(&self, what: &str) -> PyResult<Scalar> {
        match self {
            Plain::Bool(value) => Ok(Scalar::Bool(*value)),
            Plain::Float(value) => Ok(Scalar::Float(*value)),
            Plain::Int(given) => whole::int64(given).map(Scalar::Int).ok_or_else(|| {
                let error = too_large(what, given);
                match whole::uint64(given) {
                    Some(_) => error,
                    None => PyOverflowError::new_err(error.value(given.py()).to_string()),
                }
            }),
        }
    }
}

/// A number of Python or NumPy, or `None` for anything else.
pub(super) fn number(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    Plain::of(given)?.map(|plain| plain.scalar(what)).transpose()
}

/// A number, or a tensor with one element.
pub(super) fn scalar(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Ok(tensor) = given.cast::<Tensor>() {
        return super::numbers::item(given.py(), &tensor.get().0);
    }
    number(what, given)?.ok_or_else(|| wrong_type(what, "a number", given))
}

/// A tensor or a number.
pub(super) enum Other {
    Tensor(CoreTensor),
    Number(Scalar),
}

impl Other {
    /// The other operand of an operator: an array counts as the tensor that `from_numpy` makes of it. `None` for
    /// anything that operators leave to the other operand.
    pub fn of_operator(given: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        match Self::find("other", given)? {
            None if numpy::is_array(given)? => numpy::share(given).map(Self::Tensor).map(Some),
            found => Ok(found),
        }
    }

    fn find(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(tensor) = given.cast::<Tensor>() {
            return Ok(Some(Other::Tensor(tensor.get().0.clone())));
        }
        Ok(number(what, given)?.map(Other::Number))
    }

    pub fn require(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::find(what, given)?.ok_or_else(|| wrong_type(what, "a Tensor or a number", given))
    }

    pub fn operand(&self) -> Operand<'_> {
        match self {
            Other::Tensor(tensor) => tensor.into(),
            Other::Number(number) => Operand::Scalar(*number),
        }
    }

    pub fn weight(&self) -> usize {
        match self {
            Other::Tensor(tensor) => super::weight(tensor),
            Other::Number(_) => 1,
        }
    }
}

/// An integer; True and False are not, nor are floats.
pub(super) fn integer(what: &str, given: &Bound<'_, PyAny>) -> PyResult<i64> {
    if given.is_instance_of::<PyBool>() || given.is_instance_of::<PyFloat>() {
        return Err(wrong_type(what, "an int", given));
    }
    let index = whole::index(given)?.ok_or_else(|| wrong_type(what, "an int", given))?;
    whole::int64(&index).ok_or_else(|| too_large(what, &index))
}

/// Integers given one by one or as one tuple or list.
pub(super) fn integers(what: &str, given: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    if given.len() == 1 {
        return one_or_more(what, &given.get_item(0)?);
    }
    room::collected(given.py(), given.iter().map(|item| integer(what, &item)))
}

/// An integer, or a tuple or list of them.
pub(super) fn one_or_more(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    if given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>() {
        return room::collected(given.py(), given.try_iter()?.map(|item| integer(what, &item?)));
    }
    Ok(vec![integer(what, given)?])
}

/// Sizes of a new tensor.
pub(super) fn shape(sizes: &[i64]) -> PyResult<Vec<usize>> {
    if sizes.len() > MAX_DIMENSIONS {
        let error = Error::TooManyDimensions { given: sizes.len(), limit: MAX_DIMENSIONS };
        return Err(PyRuntimeError::new_err(error.to_string()));
    }
    let size = |&size: &i64| {
        usize::try_from(size)
            .map_err(|_| PyRuntimeError::new_err(format!("sizes must not be negative, got {sizes:?}")))
    };
    sizes.iter().map(size).collect()
}

/// An element type.
pub(super) fn dtype(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<CoreDType>> {
    let Some(given) = given else { return Ok(None) };
    match given.cast::<DType>() {
        Ok(dtype) => Ok(Some(dtype.get().0)),
        Err(_) => Err(wrong_type("dtype", "an interlock dtype (float32, float64, int64 or bool)", given)),
    }
}

/// Where a new tensor is to lie; `beside` if no device is given.
pub(super) fn place(given: Option<&Bound<'_, PyAny>>, pin_memory: bool, beside: Place) -> PyResult<Place> {
    let place = given.map(accelerator::parse).transpose()?.map_or(beside, Place::from);
    match place {
        Place::Device(device) if pin_memory => Err(PyRuntimeError::new_err(format!(
            "only tensors on the cpu can be in pinned memory, not one on {device}"
        ))),
        _ if pin_memory => Ok(Place::Pinned),
        place => Ok(place),
    }
}
