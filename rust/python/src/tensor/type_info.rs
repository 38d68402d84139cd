//! The Python classes `finfo` and `iinfo`: the limits of dtypes.

use interlock_tensor::{DType as CoreDType, bf16, f16};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyType};

use super::args::{Arg, OptionalArg};
use super::operation::{ArgumentName, given, required};
use crate::detach::call_method;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FloatInfo>()?;
    module.add_class::<IntInfo>()
}

/// Returns the constant of a floating-point type.
macro_rules! limit {
    ($dtype:expr, $constant:ident) => {
        match $dtype {
            CoreDType::Float16 => f16::$constant.to_f64(),
            CoreDType::BFloat16 => bf16::$constant.to_f64(),
            CoreDType::Float64 => f64::$constant,
            _ => f32::$constant.into(),
        }
    };
}

/// The limits of a floating-point dtype.
///
/// Args:
///     type: The dtype; by default the result of `get_default_dtype`.
///
/// Raises:
///     TypeError: `type` is not a floating-point dtype.
///
/// Example:
///     >>> import interlock
///     >>> interlock.finfo(interlock.float16).max
///     65504.0
#[pyclass(frozen, eq, hash, module = "interlock", name = "finfo")]
#[derive(PartialEq, Hash)]
struct FloatInfo(CoreDType);

#[pymethods]
impl FloatInfo {
    #[new]
    #[pyo3(signature = (r#type = None), text_signature = "(type=...)")]
    fn new(#[pyo3(from_py_with = given)] r#type: OptionalArg<'_, '_>) -> PyResult<Self> {
        r#type.map_or(Ok(CoreDType::DEFAULT_FLOAT), float_type).map(FloatInfo)
    }

    /// The number of bits of an element.
    #[getter]
    fn bits(&self) -> usize {
        bits(self.0)
    }

    /// The name of the dtype.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.name()
    }

    /// The largest finite number.
    #[getter]
    fn max(&self) -> f64 {
        limit!(self.0, MAX)
    }

    /// The smallest finite number, which is negative.
    #[getter]
    fn min(&self) -> f64 {
        -self.max()
    }

    /// The difference of 1 and the next larger number.
    #[getter]
    fn eps(&self) -> f64 {
        limit!(self.0, EPSILON)
    }

    /// The smallest positive number of full precision.
    #[getter]
    fn smallest_normal(&self) -> f64 {
        limit!(self.0, MIN_POSITIVE)
    }

    /// NumPy's second name of `smallest_normal`.
    #[getter]
    fn tiny(&self) -> f64 {
        self.smallest_normal()
    }

    /// The value of the last reliable decimal digit of numbers near 1.
    #[getter]
    fn resolution(&self) -> f64 {
        match self.0 {
            CoreDType::Float16 => 1e-3,
            CoreDType::BFloat16 => 1e-2,
            CoreDType::Float64 => 1e-15,
            _ => 1e-6,
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let [resolution, min, max, eps, tiny] =
            [self.resolution(), self.min(), self.max(), self.eps(), self.tiny()]
                .map(|number| short(py, number));
        let (normal, name) = (short(py, self.smallest_normal())?, self.0);
        Ok(format!(
            "finfo(resolution={}, min={}, max={}, eps={}, smallest_normal={normal}, tiny={}, dtype={name})",
            resolution?, min?, max?, eps?, tiny?
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
        reduced(slf.as_any(), slf.get().0)
    }
}

/// The limits of an integer dtype.
///
/// Args:
///     type: The dtype.
///
/// Raises:
///     TypeError: `type` is not an integer dtype.
///
/// Example:
///     >>> import interlock
///     >>> interlock.iinfo(interlock.int8).min
///     -128
#[pyclass(frozen, eq, hash, module = "interlock", name = "iinfo")]
#[derive(PartialEq, Hash)]
struct IntInfo(CoreDType);

#[pymethods]
impl IntInfo {
    #[new]
    fn new(r#type: &Bound<'_, PyAny>) -> PyResult<Self> {
        checked_type("iinfo", "an integer", CoreDType::is_integer, r#type).map(IntInfo)
    }

    /// The number of bits of an element.
    #[getter]
    fn bits(&self) -> usize {
        bits(self.0)
    }

    /// The name of the dtype.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.name()
    }

    /// The largest number.
    #[getter]
    fn max(&self) -> i64 {
        match self.0 {
            CoreDType::UInt8 => u8::MAX.into(),
            CoreDType::Int8 => i8::MAX.into(),
            CoreDType::Int16 => i16::MAX.into(),
            CoreDType::Int32 => i32::MAX.into(),
            _ => i64::MAX,
        }
    }

    /// The smallest number.
    #[getter]
    fn min(&self) -> i64 {
        if self.0.is_signed() { !self.max() } else { 0 }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (min, max) = (short(py, self.min() as f64)?, short(py, self.max() as f64)?);
        Ok(format!("iinfo(min={min}, max={max}, dtype={})", self.0))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
        reduced(slf.as_any(), slf.get().0)
    }
}

fn bits(dtype: CoreDType) -> usize {
    dtype.size() * 8
}

/// Returns a number with six digits.
fn short(py: Python<'_>, number: f64) -> PyResult<String> {
    call_method(&PyFloat::new(py, number), intern!(py, "__format__"), ("g",))?.extract()
}

/// Returns what pickle needs: the class and the dtype.
fn reduced<'py>(
    info: &Bound<'py, PyAny>,
    dtype: CoreDType,
) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
    Ok((info.get_type(), (super::dtype::object(info.py(), dtype)?,)))
}

fn float_type(given: Arg<'_, '_>) -> PyResult<CoreDType> {
    checked_type("finfo", "a floating-point", CoreDType::is_floating_point, given)
}

/// Converts the argument `type` of a class, which must be a dtype of a kind.
fn checked_type(
    class: &'static str,
    kind: &str,
    is_accepted: fn(CoreDType) -> bool,
    given: Arg<'_, '_>,
) -> PyResult<CoreDType> {
    let dtype: CoreDType = required(ArgumentName::new(class, "type"), given)?;
    if is_accepted(dtype) {
        return Ok(dtype);
    }
    Err(PyTypeError::new_err(format!("{class}: type must be {kind} dtype, got interlock.{dtype}")))
}
