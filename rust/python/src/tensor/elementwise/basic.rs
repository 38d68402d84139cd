//! Sums, differences, products, quotients and powers.

use interlock::base::quote::quoted;
use interlock_tensor::elementwise::{self, RoundingMode};
use interlock_tensor::{Operand, Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::{NewTensor, OptionalArg, compute, replace, tensors};
use crate::errors::{new_exception, new_type_error};
use crate::tensor::Tensor;
use crate::tensor::args::TensorOrScalar;
use crate::tensor::arithmetic::factor;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(add, module)?)?;
    module.add_function(wrap_pyfunction!(sub, module)?)?;
    module.add_function(wrap_pyfunction!(subtract, module)?)?;
    module.add_function(wrap_pyfunction!(mul, module)?)?;
    module.add_function(wrap_pyfunction!(multiply, module)?)?;
    module.add_function(wrap_pyfunction!(div, module)?)?;
    module.add_function(wrap_pyfunction!(divide, module)?)?;
    module.add_function(wrap_pyfunction!(true_divide, module)?)?;
    module.add_function(wrap_pyfunction!(pow, module)?)
}

/// Runs a function of two operands, each of which is a tensor or a number. The names are those of the function, and of it
/// and its arguments in errors.
fn function<'py>(
    [op, left_name, right_name]: [&'static str; 3],
    (left, right): (&Bound<'py, PyAny>, &Bound<'py, PyAny>),
    out: OptionalArg<'_, 'py>,
    operation: &(dyn for<'a> Fn(Operand<'a>, Operand<'a>) -> Result<CoreTensor> + Sync),
) -> NewTensor<'py> {
    let py = left.py();
    let (left, right) =
        (TensorOrScalar::extract(left_name, left)?, TensorOrScalar::extract(right_name, right)?);
    compute(py, op, &tensors([&left, &right]), out, || operation(left.operand(), right.operand()))
}

/// Runs a method with another operand, which is a tensor or a number.
fn method<'py>(
    [op, name]: [&'static str; 2],
    tensor: &CoreTensor,
    other: &Bound<'py, PyAny>,
    operation: &(dyn for<'a> Fn(Operand<'a>, Operand<'a>) -> Result<CoreTensor> + Sync),
) -> NewTensor<'py> {
    let right = TensorOrScalar::extract(name, other)?;
    let inputs: Vec<_> = std::iter::once(tensor).chain(tensors([&right])).collect();
    compute(other.py(), op, &inputs, None, || operation(tensor.into(), right.operand()))
}

/// Extracts the rounding mode of a division.
pub(in crate::tensor) fn rounding_mode(
    op: &str,
    given: OptionalArg<'_, '_>,
) -> PyResult<Option<RoundingMode>> {
    let Some(given) = given else { return Ok(None) };
    let what = format!("{op}: rounding_mode");
    let Ok(name) = given.cast::<PyString>() else {
        return Err(new_type_error(&what, "a str or None", given));
    };
    match name.to_string_lossy().as_ref() {
        "floor" => Ok(Some(RoundingMode::Floor)),
        "trunc" => Ok(Some(RoundingMode::Trunc)),
        other => {
            let message = format!("{what} must be None, 'floor' or 'trunc', got {}", quoted(other));
            Err(new_exception(given.py(), "ArgumentError", message))
        }
    }
}

/// Return `input + alpha * other`. The sum of bools is the logical or.
///
/// Args:
///     input: A tensor or a number.
///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
///     alpha: A number by which `other` is multiplied first; None means 1.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Raises:
///     DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
///     ArgumentError: The promoted dtype cannot hold `alpha`.
///     ShapeError: The shapes cannot be broadcast.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.add(interlock.tensor([1, 2]), 1, alpha=10)
///     tensor([11, 12])
#[pyfunction]
#[pyo3(signature = (input, other, *, alpha = None, out = None))]
fn add<'py>(
    input: &Bound<'py, PyAny>,
    other: &Bound<'py, PyAny>,
    alpha: OptionalArg<'_, 'py>,
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    let alpha = factor("add: alpha", alpha)?;
    let names = ["add", "add: input", "add: other"];
    function(names, (input, other), out, &|a, b| elementwise::add_scaled(a, b, alpha))
}

/// The name of a function, and of it and each of its operands in errors.
macro_rules! names {
    ($name:ident) => {
        [stringify!($name), concat!(stringify!($name), ": input"), concat!(stringify!($name), ": other")]
    };
}

/// The name of a method, and of it and its operand in errors.
macro_rules! method_names {
    ($name:ident) => {
        [stringify!($name), concat!(stringify!($name), ": other")]
    };
}

/// Defines the function and the method of a subtraction, under each of its names.
macro_rules! subtractions {
    ($($name:ident)+) => {
        $(/// Return `input - alpha * other`.
        ///
        /// Args:
        ///     input: A tensor or a number.
        ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        ///     alpha: A number by which `other` is multiplied first; None means 1.
        ///     out: The tensor that receives the result, and is returned; None for a new one.
        ///
        /// Raises:
        ///     DTypeError: An operand is bool.
        ///     DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
        ///     ArgumentError: The promoted dtype cannot hold `alpha`.
        ///     ShapeError: The shapes cannot be broadcast.
        ///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
        ///
        /// Example:
        ///     >>> import interlock
        #[doc = concat!("    >>> interlock.", stringify!($name), "(10, interlock.tensor([1, 2]))")]
        ///     tensor([9, 8])
        #[pyfunction]
        #[pyo3(signature = (input, other, *, alpha = None, out = None))]
        fn $name<'py>(
            input: &Bound<'py, PyAny>,
            other: &Bound<'py, PyAny>,
            alpha: OptionalArg<'_, 'py>,
            out: OptionalArg<'_, 'py>,
        ) -> NewTensor<'py> {
            let alpha = factor(concat!(stringify!($name), ": alpha"), alpha)?;
            let names = names!($name);
            function(names, (input, other), out, &|a, b| elementwise::sub_scaled(a, b, alpha))
        })+

        #[pymethods]
        impl Tensor {
            $(/// Return `self - alpha * other`.
            ///
            #[doc = concat!("See `interlock.", stringify!($name), "`, whose `input` is this tensor.")]
            ///
            /// Args:
            ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            ///     alpha: A number by which `other` is multiplied first; None means 1.
            #[pyo3(signature = (other, *, alpha = None))]
            fn $name<'py>(&self, other: &Bound<'py, PyAny>, alpha: OptionalArg<'_, 'py>) -> NewTensor<'py> {
                let alpha = factor(concat!(stringify!($name), ": alpha"), alpha)?;
                method(method_names!($name), &self.0, other, &|a, b| elementwise::sub_scaled(a, b, alpha))
            })+
        }
    };
}

/// Defines the function and the method of a multiplication, under each of its names.
macro_rules! multiplications {
    ($($name:ident)+) => {
        $(/// Return `input * other`, elementwise. The product of bools is the logical and.
        ///
        /// Args:
        ///     input: A tensor or a number.
        ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        ///     out: The tensor that receives the result, and is returned; None for a new one.
        ///
        /// Raises:
        ///     ShapeError: The shapes cannot be broadcast.
        ///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
        ///
        /// Example:
        ///     >>> import interlock
        #[doc = concat!("    >>> interlock.", stringify!($name), "(interlock.tensor([1, 2]), 3)")]
        ///     tensor([3, 6])
        #[pyfunction]
        #[pyo3(signature = (input, other, *, out = None))]
        fn $name<'py>(
            input: &Bound<'py, PyAny>,
            other: &Bound<'py, PyAny>,
            out: OptionalArg<'_, 'py>,
        ) -> NewTensor<'py> {
            let names = names!($name);
            function(names, (input, other), out, &|a, b| elementwise::multiply(a, b))
        })+

        #[pymethods]
        impl Tensor {
            $(/// Return `self * other`, elementwise. The product of bools is the logical and.
            ///
            #[doc = concat!("See `interlock.", stringify!($name), "`, whose `input` is this tensor.")]
            ///
            /// Args:
            ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            fn $name<'py>(&self, other: &Bound<'py, PyAny>) -> NewTensor<'py> {
                method(method_names!($name), &self.0, other, &|a, b| elementwise::multiply(a, b))
            })+
        }
    };
}

/// Defines the function and the method of a division, under each of its names.
macro_rules! divisions {
    ($($name:ident)+) => {
        $(/// Return `input / other`, elementwise. The quotient of integers is float32 unless it is rounded.
        ///
        /// Args:
        ///     input: A tensor or a number.
        ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
        ///     rounding_mode: `"floor"` to round down, `"trunc"` to round towards 0, or None. Rounded quotients of integers
        ///         are integers.
        ///     out: The tensor that receives the result, and is returned; None for a new one.
        ///
        /// Raises:
        ///     ArgumentError: `rounding_mode` is another text, or integers on the CPU are divided by 0 with rounding.
        ///     DTypeError: Bools are divided with rounding.
        ///     ShapeError: The shapes cannot be broadcast.
        ///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
        ///
        /// Example:
        ///     >>> import interlock
        #[doc = concat!("    >>> interlock.", stringify!($name), "(interlock.tensor([7, -7]), 2, rounding_mode=\"floor\")")]
        ///     tensor([ 3, -4])
        #[pyfunction]
        #[pyo3(signature = (input, other, *, rounding_mode = None, out = None))]
        fn $name<'py>(
            input: &Bound<'py, PyAny>,
            other: &Bound<'py, PyAny>,
            rounding_mode: OptionalArg<'_, 'py>,
            out: OptionalArg<'_, 'py>,
        ) -> NewTensor<'py> {
            let rounding = self::rounding_mode(stringify!($name), rounding_mode)?;
            let names = names!($name);
            function(names, (input, other), out, &|a, b| elementwise::divide_with(a, b, rounding))
        })+

        #[pymethods]
        impl Tensor {
            $(/// Return `self / other`, elementwise. The quotient of integers is float32 unless it is rounded.
            ///
            #[doc = concat!("See `interlock.", stringify!($name), "`, whose `input` is this tensor.")]
            ///
            /// Args:
            ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
            ///     rounding_mode: `"floor"` to round down, `"trunc"` to round towards 0, or None.
            #[pyo3(signature = (other, *, rounding_mode = None))]
            fn $name<'py>(&self, other: &Bound<'py, PyAny>, rounding_mode: OptionalArg<'_, 'py>) -> NewTensor<'py> {
                let rounding = self::rounding_mode(stringify!($name), rounding_mode)?;
                method(method_names!($name), &self.0, other, &|a, b| elementwise::divide_with(a, b, rounding))
            })+
        }
    };
}

subtractions! { sub subtract }
multiplications! { mul multiply }
divisions! { div divide true_divide }

/// Return `input ** exponent`, elementwise.
///
/// Args:
///     input: A tensor or a number.
///     exponent: A tensor or a number. Shapes are broadcast and dtypes promoted.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Raises:
///     ArgumentError: The promoted dtype is an integer dtype, and `exponent` is a negative number.
///     DTypeError: Both are bool tensors.
///     ShapeError: The shapes cannot be broadcast.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.pow(2, interlock.tensor([1, 3]))
///     tensor([2, 8])
#[pyfunction]
#[pyo3(signature = (input, exponent, *, out = None))]
fn pow<'py>(
    input: &Bound<'py, PyAny>,
    exponent: &Bound<'py, PyAny>,
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    let names = ["pow", "pow: input", "pow: exponent"];
    function(names, (input, exponent), out, &|a, b| elementwise::power(a, b))
}

#[pymethods]
impl Tensor {
    /// Return `self + alpha * other`. The sum of bools is the logical or.
    ///
    /// See `interlock.add`, whose `input` is this tensor.
    ///
    /// Args:
    ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
    ///     alpha: A number by which `other` is multiplied first; None means 1.
    #[pyo3(signature = (other, *, alpha = None))]
    fn add<'py>(&self, other: &Bound<'py, PyAny>, alpha: OptionalArg<'_, 'py>) -> NewTensor<'py> {
        let alpha = factor("add: alpha", alpha)?;
        method(["add", "add: other"], &self.0, other, &|a, b| elementwise::add_scaled(a, b, alpha))
    }

    /// Return `self ** exponent`, elementwise.
    ///
    /// See `interlock.pow`, whose `input` is this tensor.
    ///
    /// Args:
    ///     exponent: A tensor or a number. Shapes are broadcast and dtypes promoted.
    fn pow<'py>(&self, exponent: &Bound<'py, PyAny>) -> NewTensor<'py> {
        method(["pow", "pow: exponent"], &self.0, exponent, &|a, b| elementwise::power(a, b))
    }

    /// In-place version of `pow`.
    ///
    /// Args:
    ///     exponent: A tensor or a number, which is broadcast to the shape of this tensor.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: The dtypes are not supported, or the tensor cannot hold the result.
    ///     ShapeError: `exponent` cannot be broadcast to the shape of this tensor.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn pow_<'py>(slf: Bound<'py, Self>, exponent: &Bound<'py, PyAny>) -> NewTensor<'py> {
        let exponent = TensorOrScalar::extract("pow_: exponent", exponent)?;
        replace("pow_", slf, &tensors([&exponent]), &|target| elementwise::power(target, exponent.operand()))
    }
}
