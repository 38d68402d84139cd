//! Operations on two operands.

use interlock_tensor::{Operand, Result, Tensor as CoreTensor, elementwise};
use pyo3::prelude::*;

use super::{NewTensor, OptionalArg, compute, replace, tensor_operand, tensors};
use crate::tensor::Tensor;
use crate::tensor::args::TensorOrScalar;

/// An operation on two operands.
type Operation = for<'a> fn(Operand<'a>, Operand<'a>) -> Result<CoreTensor>;

/// Extracts an operand; `what` names it in errors.
type Extract = fn(what: &str, given: &Bound<'_, PyAny>) -> PyResult<TensorOrScalar>;

/// Which operands may be numbers.
#[derive(Clone, Copy)]
struct Operands {
    left: Extract,
    right: Extract,
}

impl Operands {
    const ANY: Self = Operands { left: TensorOrScalar::extract, right: TensorOrScalar::extract };
    const LEFT: Self = Operands { left: tensor_operand, right: TensorOrScalar::extract };
    const TENSORS: Self = Operands { left: tensor_operand, right: tensor_operand };
}

/// Runs the function of an operation. The names are those of the function, and of it and its arguments in errors.
fn function<'py>(
    [op, left_name, right_name]: [&'static str; 3],
    extract: Operands,
    (input, other): (&Bound<'py, PyAny>, &Bound<'py, PyAny>),
    out: OptionalArg<'_, 'py>,
    operation: Operation,
) -> NewTensor<'py> {
    let (left, right) = ((extract.left)(left_name, input)?, (extract.right)(right_name, other)?);
    let inputs = tensors([&left, &right]);
    compute(input.py(), op, &inputs, out, || operation(left.operand(), right.operand()))
}

/// Runs the method of an operation.
fn method<'py>(
    [op, name]: [&'static str; 2],
    extract: Operands,
    tensor: &CoreTensor,
    other: &Bound<'py, PyAny>,
    operation: Operation,
) -> NewTensor<'py> {
    let right = (extract.right)(name, other)?;
    let inputs: Vec<&CoreTensor> = std::iter::once(tensor).chain(tensors([&right])).collect();
    compute(other.py(), op, &inputs, None, || operation(tensor.into(), right.operand()))
}

/// Runs the in-place method of an operation.
fn inplace<'py>(
    [op, name]: [&'static str; 2],
    extract: Operands,
    tensor: Bound<'py, Tensor>,
    other: &Bound<'py, PyAny>,
    operation: Operation,
) -> NewTensor<'py> {
    let right = (extract.right)(name, other)?;
    replace(op, tensor, &tensors([&right]), &|target| operation(target.into(), right.operand()))
}

macro_rules! operands {
    (any) => {
        Operands::ANY
    };
    (left) => {
        Operands::LEFT
    };
    (tensors) => {
        Operands::TENSORS
    };
}
macro_rules! operand_docs {
    (any) => {
        "    input: A tensor or a number.\n    other: A tensor or a number. Shapes are broadcast and dtypes promoted."
    };
    (left) => {
        "    input: A tensor.\n    other: A tensor or a number. Shapes are broadcast and dtypes promoted."
    };
    (tensors) => {
        "    input: A tensor.\n    other: A tensor. Shapes are broadcast and dtypes promoted."
    };
}
macro_rules! right_docs {
    (tensors) => {
        "A tensor. Shapes are broadcast and dtypes promoted."
    };
    ($operands:ident) => {
        "A tensor or a number. Shapes are broadcast and dtypes promoted."
    };
}
macro_rules! error_docs {
    (promoting) => {
        ""
    };
    (dividing) => {
        ""
    };
    (integral) => {
        "    DTypeError: The promoted dtype is floating point.\n"
    };
    (floating) => {
        "    DTypeError: The promoted dtype is not floating point.\n"
    };
    (divisible) => {
        "    ArgumentError: Integers on the CPU are divided by 0.\n    DTypeError: The promoted dtype is bool.\n"
    };
}

/// Defines the function and the method of operations.
macro_rules! binary_operations {
    ($($(#[$doc:meta])* $name:ident, $core:ident, $operands:ident $errors:ident, $arguments:literal, $result:literal;)+) => {
        $($(#[$doc])*
        #[doc = concat!(
            "\nArgs:\n", operand_docs!($operands),
            "\n    out: The tensor that receives the result, and is returned; None for a new one.\n\nRaises:\n",
            error_docs!($errors),
            "    ShapeError: The shapes cannot be broadcast.\n",
            "    RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.",
            "\n\nExample:\n    >>> import interlock\n    >>> interlock.", stringify!($name),
            "(", $arguments, ")\n    ", $result,
        )]
        #[pyfunction]
        #[pyo3(signature = (input, other, *, out = None))]
        fn $name<'py>(
            input: &Bound<'py, PyAny>,
            other: &Bound<'py, PyAny>,
            out: OptionalArg<'_, 'py>,
        ) -> NewTensor<'py> {
            let names = [
                stringify!($name),
                concat!(stringify!($name), ": input"),
                concat!(stringify!($name), ": other"),
            ];
            function(names, operands!($operands), (input, other), out, |a, b| elementwise::$core(a, b))
        })+

        #[pymethods]
        impl Tensor {
            $($(#[$doc])*
            #[doc = concat!(
                "\nSee `interlock.", stringify!($name), "`, whose `input` is this tensor.\n\nArgs:\n    other: ",
                right_docs!($operands),
            )]
            fn $name<'py>(&self, other: &Bound<'py, PyAny>) -> NewTensor<'py> {
                let names = [stringify!($name), concat!(stringify!($name), ": other")];
                method(names, operands!($operands), &self.0, other, |a, b| elementwise::$core(a, b))
            })+
        }

        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)+
            Ok(())
        }
    };
}

/// Defines the in-place methods of operations.
macro_rules! inplace_operations {
    ($($inplace:ident, $name:ident, $core:ident, $operands:ident;)+) => {
        #[pymethods]
        impl Tensor {
            $(#[doc = concat!(
                "In-place version of `", stringify!($name), "`.\n\nArgs:\n",
                "    other: The other operand, which is broadcast to the shape of this tensor.\n\n",
                "Returns:\n    The tensor itself.\n\nRaises:\n",
                "    DTypeError: The dtypes are not supported, or the tensor cannot hold the result.\n",
                "    ShapeError: `other` cannot be broadcast to the shape of this tensor.\n",
                "    RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.",
            )]
            fn $inplace<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> NewTensor<'py> {
                let names = [stringify!($inplace), concat!(stringify!($inplace), ": other")];
                inplace(names, operands!($operands), slf, other, |a, b| elementwise::$core(a, b))
            })+
        }
    };
}

binary_operations! {
    /// Return the arctangent of `input / other`, elementwise; the signs of both choose the quadrant.
    atan2, atan2, tensors dividing, "interlock.tensor([1.0, -1.0]), interlock.tensor([1.0, 0.0])", "tensor([ 0.7854, -1.5708])";
    /// Return the bitwise and of integers, and the logical and of bools.
    bitwise_and, bitwise_and, any integral, "interlock.tensor([6, 5]), 3", "tensor([2, 1])";
    /// Return the bitwise or of integers, and the logical or of bools.
    bitwise_or, bitwise_or, any integral, "interlock.tensor([6, 5]), 3", "tensor([7, 7])";
    /// Return the bitwise exclusive or of integers, and the logical exclusive or of bools.
    bitwise_xor, bitwise_xor, any integral, "interlock.tensor([6, 5]), 3", "tensor([5, 6])";
    /// Return the magnitude of `input` with the sign of `other`, elementwise.
    copysign, copysign, left dividing, "interlock.tensor([1.0, 2.0]), -1", "tensor([-1., -2.])";
    /// Return a bool tensor that is True where the elements are equal to those of `other`.
    eq, equal, left promoting, "interlock.tensor([1, 2]), interlock.tensor([1, 3])", "tensor([ True, False])";
    /// Return `input / other` rounded down, elementwise, as Python's `//`. `div` with a rounding mode has a gradient.
    floor_divide, floor_divide, any divisible, "interlock.tensor([7, -7]), 2", "tensor([ 3, -4])";
    /// Return the larger of two elements, or the other one if one of them is NaN.
    fmax, fmax, tensors promoting, "interlock.tensor([1.0, float('nan')]), interlock.tensor([2.0, 3.0])", "tensor([2., 3.])";
    /// Return the smaller of two elements, or the other one if one of them is NaN.
    fmin, fmin, tensors promoting, "interlock.tensor([1.0, float('nan')]), interlock.tensor([2.0, 3.0])", "tensor([1., 3.])";
    /// Return the remainder of `input / other`, elementwise, with the sign of `input`, as C's `fmod`.
    fmod, fmod, left divisible, "interlock.tensor([7, -7]), 3", "tensor([ 1, -1])";
    /// Return a bool tensor that is True where the elements are larger than those of `other` or equal.
    ge, greater_equal, left promoting, "interlock.tensor([1, 2]), 2", "tensor([False,  True])";
    /// Return a bool tensor that is True where the elements are larger than those of `other`.
    gt, greater, left promoting, "interlock.tensor([1, 2]), 1", "tensor([False,  True])";
    /// Return the length of the hypotenuse of a right triangle with these legs, elementwise.
    hypot, hypot, tensors floating, "interlock.tensor([3.0]), interlock.tensor([4.0])", "tensor([5.])";
    /// Return a bool tensor that is True where the elements are smaller than those of `other` or equal.
    le, less_equal, left promoting, "interlock.tensor([1, 2]), 1", "tensor([ True, False])";
    /// Return a bool tensor that is True where both elements are nonzero.
    logical_and, logical_and, tensors promoting, "interlock.tensor([0, 2]), interlock.tensor([1, 1])", "tensor([False,  True])";
    /// Return a bool tensor that is True where an element is nonzero.
    logical_or, logical_or, tensors promoting, "interlock.tensor([0, 2]), interlock.tensor([0, 1])", "tensor([False,  True])";
    /// Return a bool tensor that is True where exactly one of the elements is nonzero.
    logical_xor, logical_xor, tensors promoting, "interlock.tensor([0, 2]), interlock.tensor([1, 1])", "tensor([ True, False])";
    /// Return a bool tensor that is True where the elements are smaller than those of `other`.
    lt, less, left promoting, "interlock.tensor([1, 2]), 2", "tensor([ True, False])";
    /// Return the larger of two elements, or NaN if one of them is NaN.
    maximum, maximum, tensors promoting, "interlock.tensor([1, 5]), interlock.tensor([2, 3])", "tensor([2, 5])";
    /// Return the smaller of two elements, or NaN if one of them is NaN.
    minimum, minimum, tensors promoting, "interlock.tensor([1, 5]), interlock.tensor([2, 3])", "tensor([1, 3])";
    /// Return a bool tensor that is True where the elements differ from those of `other`.
    ne, not_equal, left promoting, "interlock.tensor([1, 2]), interlock.tensor([1, 3])", "tensor([False,  True])";
    /// Return the remainder of `input / other`, elementwise, with the sign of `other`, as Python's `%`.
    remainder, remainder, any divisible, "interlock.tensor([5, -5]), 3", "tensor([2, 1])";
    /// Return the arctangent of `input / other`, elementwise, as `atan2`.
    arctan2, atan2, tensors dividing, "interlock.tensor([1.0, -1.0]), interlock.tensor([1.0, 0.0])", "tensor([ 0.7854, -1.5708])";
    /// Return a bool tensor that is True where the elements are larger than those of `other`, as `gt`.
    greater, greater, left promoting, "interlock.tensor([1, 2]), 1", "tensor([False,  True])";
    /// Return a bool tensor that is True where the elements are larger than those of `other` or equal, as `ge`.
    greater_equal, greater_equal, left promoting, "interlock.tensor([1, 2]), 2", "tensor([False,  True])";
    /// Return a bool tensor that is True where the elements are smaller than those of `other`, as `lt`.
    less, less, left promoting, "interlock.tensor([1, 2]), 2", "tensor([ True, False])";
    /// Return a bool tensor that is True where the elements are smaller than those of `other` or equal, as `le`.
    less_equal, less_equal, left promoting, "interlock.tensor([1, 2]), 1", "tensor([ True, False])";
    /// Return a bool tensor that is True where the elements differ from those of `other`, as `ne`.
    not_equal, not_equal, left promoting, "interlock.tensor([1, 2]), interlock.tensor([1, 3])", "tensor([False,  True])";
}

inplace_operations! {
    atan2_, atan2, atan2, tensors;
    bitwise_and_, bitwise_and, bitwise_and, any;
    bitwise_or_, bitwise_or, bitwise_or, any;
    bitwise_xor_, bitwise_xor, bitwise_xor, any;
    copysign_, copysign, copysign, left;
    eq_, eq, equal, left;
    floor_divide_, floor_divide, floor_divide, any;
    fmod_, fmod, fmod, left;
    ge_, ge, greater_equal, left;
    gt_, gt, greater, left;
    hypot_, hypot, hypot, tensors;
    le_, le, less_equal, left;
    logical_and_, logical_and, logical_and, tensors;
    logical_or_, logical_or, logical_or, tensors;
    logical_xor_, logical_xor, logical_xor, tensors;
    lt_, lt, less, left;
    ne_, ne, not_equal, left;
    remainder_, remainder, remainder, any;
    arctan2_, arctan2, atan2, tensors;
    greater_, greater, greater, left;
    greater_equal_, greater_equal, greater_equal, left;
    less_, less, less, left;
    less_equal_, less_equal, less_equal, left;
    not_equal_, not_equal, not_equal, left;
}
