//! Operations on one tensor.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::{NewTensor, OptionalArg, compute, replace};
use crate::errors::IntoPyResult;
use crate::tensor::Tensor;
use crate::tensor::args::{extract_tensor, extract_tensor_object};

/// Runs the function of an operation. `what` names it and its argument in errors.
fn function<'py>(
    (op, what): (&'static str, &str),
    input: &Bound<'py, PyAny>,
    out: OptionalArg<'_, 'py>,
    operation: fn(&CoreTensor) -> Result<CoreTensor>,
) -> NewTensor<'py> {
    let tensor = extract_tensor(what, input)?;
    compute(input.py(), op, &[&tensor], out, || operation(&tensor))
}

/// Runs the method of an operation.
fn method<'py>(
    py: Python<'py>,
    op: &'static str,
    tensor: &CoreTensor,
    operation: fn(&CoreTensor) -> Result<CoreTensor>,
) -> NewTensor<'py> {
    compute(py, op, &[tensor], None, || operation(tensor))
}

/// The documentation of `input` and of the errors, by the dtypes that an operation accepts.
macro_rules! input_docs {
    (floats) => {
        "The tensor. Integers and bools are converted to float32."
    };
    (numbers) => {
        "The tensor, of any dtype except bool."
    };
    (floats_only) => {
        "The tensor, of a floating-point dtype."
    };
    (any) => {
        "The tensor."
    };
    (integral) => {
        "The tensor, of integers or bools."
    };
}
macro_rules! error_docs {
    (floats) => {
        ""
    };
    (any) => {
        ""
    };
    ($kind:ident) => {
        "    DTypeError: The tensor has another dtype.\n"
    };
}

/// Appended to the example's tensor where an in-place operation cannot store its result in integers.
macro_rules! conversion_docs {
    (floats) => {
        ".float()"
    };
    ($kind:ident) => {
        ""
    };
}

/// Defines the in-place function of an operation, unless the operation has `[method]` only.
macro_rules! inplace_function {
    ([method] $($rest:tt)*) => {};
    ([] $name:ident $inplace:ident $kind:ident $argument:literal $result:literal) => {
        #[doc = concat!(
            "In-place version of `", stringify!($name), "`.\n\nArgs:\n    input: The tensor, which is changed.\n\n",
            "Returns:\n    `input` itself.\n\nRaises:\n",
            "    DTypeError: The dtype of the tensor is not supported, or cannot hold the result.\n",
            "    RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.",
            "\n\nExample:\n    >>> import interlock\n    >>> interlock.", stringify!($inplace),
            "(interlock.tensor(", $argument, ")", conversion_docs!($kind), ")\n    ", $result,
        )]
        #[pyfunction]
        fn $inplace<'py>(input: &Bound<'py, PyAny>) -> NewTensor<'py> {
            Tensor::$inplace(extract_tensor_object(concat!(stringify!($inplace), ": input"), input)?)
        }
    };
}

macro_rules! register_inplace_function {
    ([method] $($rest:tt)*) => {};
    ([] $module:ident $inplace:ident) => {
        $module.add_function(wrap_pyfunction!($inplace, $module)?)?;
    };
}

/// The function that computes an operation: the one with its name, unless the name is a second one.
macro_rules! computed_by {
    ($name:ident) => {
        CoreTensor::$name
    };
    ($name:ident $first:ident) => {
        CoreTensor::$first
    };
}

/// Defines the function, the method, the in-place method and, unless the line says `method`, the in-place function of
/// each operation. A second name of an operation, as in PyTorch, has a line `second second_ = first`.
macro_rules! unary_operations {
    ($($(#[$doc:meta])* $name:ident $inplace:ident $(= $first:ident)? $kind:ident $($only:ident)? $argument:literal $result:literal;)+) => {
        $($(#[$doc])*
        #[doc = concat!(
            "\nArgs:\n    input: ", input_docs!($kind),
            "\n    out: The tensor that receives the result, and is returned; None for a new one.\n\nRaises:\n",
            error_docs!($kind),
            "    RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.",
            "\n\nExample:\n    >>> import interlock\n    >>> interlock.", stringify!($name),
            "(interlock.tensor(", $argument, "))\n    ", $result,
        )]
        #[pyfunction]
        #[pyo3(signature = (input, *, out = None))]
        fn $name<'py>(input: &Bound<'py, PyAny>, out: OptionalArg<'_, 'py>) -> NewTensor<'py> {
            let names = (stringify!($name), concat!(stringify!($name), ": input"));
            function(names, input, out, computed_by!($name $($first)?))
        }
        inplace_function!([$($only)?] $name $inplace $kind $argument $result);)+

        #[pymethods]
        impl Tensor {
            $($(#[$doc])*
            #[doc = concat!("\nSee `interlock.", stringify!($name), "`.")]
            fn $name<'py>(&self, py: Python<'py>) -> NewTensor<'py> {
                method(py, stringify!($name), &self.0, computed_by!($name $($first)?))
            }

            #[doc = concat!(
                "In-place version of `", stringify!($name), "`.\n\nReturns:\n    The tensor itself.\n\nRaises:\n",
                "    DTypeError: The dtype of the tensor is not supported, or cannot hold the result.\n",
                "    RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.",
            )]
            fn $inplace(slf: Bound<'_, Self>) -> NewTensor<'_> {
                replace(stringify!($inplace), slf, &[], &computed_by!($name $($first)?))
            })+
        }

        fn register_operations(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;
            register_inplace_function!([$($only)?] module $inplace);)+
            Ok(())
        }
    };
}

/// Defines operations without an in-place method and without `out`.
macro_rules! predicates {
    ($($(#[$doc:meta])* $name:ident $kind:ident $argument:literal $result:literal;)+) => {
        $($(#[$doc])*
        #[doc = concat!(
            "\nArgs:\n    input: ", input_docs!($kind),
            "\n\nExample:\n    >>> import interlock\n    >>> interlock.", stringify!($name),
            "(interlock.tensor(", $argument, "))\n    ", $result,
        )]
        #[pyfunction]
        fn $name<'py>(input: &Bound<'py, PyAny>) -> NewTensor<'py> {
            let names = (stringify!($name), concat!(stringify!($name), ": input"));
            function(names, input, None, CoreTensor::$name)
        })+

        #[pymethods]
        impl Tensor {
            $($(#[$doc])*
            #[doc = concat!("\nSee `interlock.", stringify!($name), "`.")]
            fn $name<'py>(&self, py: Python<'py>) -> NewTensor<'py> {
                method(py, stringify!($name), &self.0, CoreTensor::$name)
            })+
        }

        fn register_predicates(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)+
            Ok(())
        }
    };
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register_operations(module)?;
    register_predicates(module)?;
    module.add_function(wrap_pyfunction!(positive, module)?)
}

unary_operations! {
    /// Return the arc cosine of each element, in radians; NaN outside of -1 to 1.
    acos acos_ floats "[1.0, 0.0]" "tensor([0.0000, 1.5708])";
    /// Return the inverse hyperbolic cosine of each element; NaN below 1.
    acosh acosh_ floats "[1.0, 2.0]" "tensor([0.0000, 1.3170])";
    /// Return the arc sine of each element, in radians; NaN outside of -1 to 1.
    asin asin_ floats "[0.0, 1.0]" "tensor([0.0000, 1.5708])";
    /// Return the inverse hyperbolic sine of each element.
    asinh asinh_ floats "[0.0, 1.0]" "tensor([0.0000, 0.8814])";
    /// Return the arc tangent of each element, in radians.
    atan atan_ floats "[0.0, 1.0]" "tensor([0.0000, 0.7854])";
    /// Return the inverse hyperbolic tangent of each element; NaN outside of -1 to 1.
    atanh atanh_ floats "[0.0, 0.5]" "tensor([0.0000, 0.5493])";
    /// Return the cosine of each element, in radians.
    cos cos_ floats "[0.0, 1.0]" "tensor([1.0000, 0.5403])";
    /// Return the hyperbolic cosine of each element.
    cosh cosh_ floats "[0.0, 1.0]" "tensor([1.0000, 1.5431])";
    /// Return the error function of each element.
    erf erf_ floats "[0.0, 1.0]" "tensor([0.0000, 0.8427])";
    /// Return 1 minus the error function of each element, which is precise for large elements.
    erfc erfc_ floats "[0.0, 1.0]" "tensor([1.0000, 0.1573])";
    /// Return e to the power of each element.
    exp exp_ floats "[0, 1]" "tensor([1.0000, 2.7183])";
    /// Return 2 to the power of each element.
    exp2 exp2_ floats "[0, 3]" "tensor([1., 8.])";
    /// Return e to the power of each element, minus 1, which is precise near 0.
    expm1 expm1_ floats "[0.0, 1.0]" "tensor([0.0000, 1.7183])";
    /// Return the natural logarithm of each element; NaN for negative elements and minus infinity for 0.
    log log_ floats "[1, 2]" "tensor([0.0000, 0.6931])";
    /// Return the decimal logarithm of each element; NaN for negative elements and minus infinity for 0.
    log10 log10_ floats "[1, 1000]" "tensor([0., 3.])";
    /// Return the natural logarithm of 1 plus each element, which is precise near 0.
    log1p log1p_ floats "[0, 1]" "tensor([0.0000, 0.6931])";
    /// Return the binary logarithm of each element; NaN for negative elements and minus infinity for 0.
    log2 log2_ floats "[1, 8]" "tensor([0., 3.])";
    /// Return the reciprocal of each element.
    reciprocal reciprocal_ floats "[2, 4]" "tensor([0.5000, 0.2500])";
    /// Return the reciprocal of the square root of each element; NaN for negative elements.
    rsqrt rsqrt_ floats "[1, 4]" "tensor([1.0000, 0.5000])";
    /// Return the logistic function `1 / (1 + exp(-x))` of each element.
    sigmoid sigmoid_ floats "[0.0, 2.0]" "tensor([0.5000, 0.8808])";
    /// Return the sine of each element, in radians.
    sin sin_ floats "[0.0, 1.0]" "tensor([0.0000, 0.8415])";
    /// Return the hyperbolic sine of each element.
    sinh sinh_ floats "[0.0, 1.0]" "tensor([0.0000, 1.1752])";
    /// Return the square root of each element; NaN for negative elements.
    sqrt sqrt_ floats "[4, 9]" "tensor([2., 3.])";
    /// Return the tangent of each element, in radians.
    tan tan_ floats "[0.0, 1.0]" "tensor([0.0000, 1.5574])";
    /// Return the hyperbolic tangent of each element.
    tanh tanh_ floats "[0.0, 1.0]" "tensor([0.0000, 0.7616])";
    /// Return the absolute value of each element. The gradient at 0 is 0.
    abs abs_ numbers "[-1, 2]" "tensor([1, 2])";
    /// Round each element up to an integer. Integers are unchanged.
    ceil ceil_ numbers "[-0.5, 1.2]" "tensor([-0., 2.])";
    /// Round each element down to an integer. Integers are unchanged.
    floor floor_ numbers "[-0.5, 1.2]" "tensor([-1.,  1.])";
    /// Round each element towards 0 to an integer. Integers are unchanged.
    trunc trunc_ numbers "[-1.5, 1.5]" "tensor([-1.,  1.])";
    /// Return the negation of each element.
    neg neg_ numbers "[-1, 2]" "tensor([ 1, -2])";
    /// Return each element, or 0 if it is negative. The gradient at 0 is 0.
    relu relu_ numbers method "[-1, 2]" "tensor([0, 2])";
    /// Return the fractional part of each element, with its sign.
    frac frac_ floats_only "[-1.5, 2.25]" "tensor([-0.5000,  0.2500])";
    /// Return the sign of each element: 1, -1, or 0 for 0 and NaN.
    sign sign_ any method "[-3, 0, 2]" "tensor([-1,  0,  1])";
    /// Return the square of each element. Bools are converted to int64.
    square square_ any "[-3, 2]" "tensor([9, 4])";
    /// Return a bool tensor that is True where the elements are zero.
    logical_not logical_not_ any method "[0, 2]" "tensor([ True, False])";
    /// Return the complement of the bits of integers, and the negation of bools.
    bitwise_not bitwise_not_ integral method "[0, 5]" "tensor([-1, -6])";
    /// Return the absolute value of each element, as `abs`.
    absolute absolute_ = abs numbers method "[-1, 2]" "tensor([1, 2])";
    /// Return the arc cosine of each element, as `acos`.
    arccos arccos_ = acos floats "[1.0, 0.0]" "tensor([0.0000, 1.5708])";
    /// Return the inverse hyperbolic cosine of each element, as `acosh`.
    arccosh arccosh_ = acosh floats "[1.0, 2.0]" "tensor([0.0000, 1.3170])";
    /// Return the arc sine of each element, as `asin`.
    arcsin arcsin_ = asin floats "[0.0, 1.0]" "tensor([0.0000, 1.5708])";
    /// Return the inverse hyperbolic sine of each element, as `asinh`.
    arcsinh arcsinh_ = asinh floats "[0.0, 1.0]" "tensor([0.0000, 0.8814])";
    /// Return the arc tangent of each element, as `atan`.
    arctan arctan_ = atan floats "[0.0, 1.0]" "tensor([0.0000, 0.7854])";
    /// Return the inverse hyperbolic tangent of each element, as `atanh`.
    arctanh arctanh_ = atanh floats "[0.0, 0.5]" "tensor([0.0000, 0.5493])";
    /// Round each element towards 0 to an integer, as `trunc`.
    fix fix_ = trunc numbers "[-1.5, 1.5]" "tensor([-1.,  1.])";
    /// Return the negation of each element, as `neg`.
    negative negative_ = neg numbers "[-1, 2]" "tensor([ 1, -2])";
}

predicates! {
    /// Return a bool tensor that is True where the elements are neither infinite nor NaN.
    isfinite any "[1.0, float('inf'), float('nan')]" "tensor([ True, False, False])";
    /// Return a bool tensor that is True where the elements are infinite.
    isinf any "[1.0, float('inf'), float('nan')]" "tensor([False,  True, False])";
    /// Return a bool tensor that is True where the elements are NaN.
    isnan any "[1.0, float('inf'), float('nan')]" "tensor([False, False,  True])";
    /// Return a bool tensor that is True where the sign bit is set: for negative elements, also -0.
    signbit any "[1.0, -0.0, -2.0]" "tensor([False,  True,  True])";
}

/// Return the tensor itself.
///
/// Args:
///     input: The tensor, of any dtype except bool.
///
/// Raises:
///     DTypeError: `input` is a bool tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.positive(interlock.tensor([-1, 2]))
///     tensor([-1,  2])
#[pyfunction]
fn positive<'py>(input: &Bound<'py, PyAny>) -> NewTensor<'py> {
    let tensor = extract_tensor("positive: input", input)?;
    same(input.py(), tensor.positive().map(|_| input))
}

#[pymethods]
impl Tensor {
    /// Return the tensor itself.
    ///
    /// See `interlock.positive`.
    fn positive(slf: Bound<'_, Self>) -> NewTensor<'_> {
        let checked = slf.get().0.positive().map(|_| slf.as_any());
        same(slf.py(), checked)
    }

    fn __invert__<'py>(&self, py: Python<'py>) -> NewTensor<'py> {
        method(py, "bitwise_not", &self.0, CoreTensor::bitwise_not)
    }
}

/// Returns a tensor after a check.
fn same<'py>(py: Python<'py>, checked: Result<&Bound<'py, PyAny>>) -> NewTensor<'py> {
    Ok(checked.into_py_result(py)?.cast::<Tensor>()?.clone())
}
