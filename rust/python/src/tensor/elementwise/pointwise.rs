//! `lerp`, `addcmul` and `addcdiv`.

use interlock_tensor::{Scalar, Tensor as CoreTensor, elementwise};
use pyo3::prelude::*;

use super::{NewTensor, OptionalArg, compute, replace, tensors};
use crate::tensor::Tensor;
use crate::tensor::args::{TensorOrScalar, extract_tensor};
use crate::tensor::arithmetic::factor;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(lerp, module)?)?;
    module.add_function(wrap_pyfunction!(addcmul, module)?)?;
    module.add_function(wrap_pyfunction!(addcdiv, module)?)
}

/// Return `input + weight * (end - input)`, elementwise.
///
/// Args:
///     input: The tensor for a weight of 0, of a floating-point dtype.
///     end: The tensor for a weight of 1, of the same dtype. Shapes are broadcast.
///     weight: A tensor or a number.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Raises:
///     DTypeError: The dtypes differ or are not floating point.
///     ShapeError: The shapes cannot be broadcast.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.lerp(interlock.tensor([0.0, 10.0]), interlock.tensor([1.0, 20.0]), 0.5)
///     tensor([ 0.5000, 15.0000])
#[pyfunction]
#[pyo3(signature = (input, end, weight, *, out = None))]
fn lerp<'py>(
    input: &Bound<'py, PyAny>,
    end: &Bound<'py, PyAny>,
    weight: &Bound<'py, PyAny>,
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    let start = extract_tensor("lerp: input", input)?;
    let (end, weight) = lerp_operands("lerp", end, weight)?;
    let inputs: Vec<_> = [&start, &end].into_iter().chain(tensors([&weight])).collect();
    compute(input.py(), "lerp", &inputs, out, || elementwise::lerp(&start, &end, weight.operand()))
}

fn lerp_operands(
    op: &str,
    end: &Bound<'_, PyAny>,
    weight: &Bound<'_, PyAny>,
) -> PyResult<(CoreTensor, TensorOrScalar)> {
    let end = extract_tensor(&format!("{op}: end"), end)?;
    Ok((end, TensorOrScalar::extract(&format!("{op}: weight"), weight)?))
}

/// The operands of `addcmul` and `addcdiv` besides the input.
struct Scaled {
    first: CoreTensor,
    second: CoreTensor,
    value: Scalar,
}

impl Scaled {
    fn extract(
        op: &str,
        first: &Bound<'_, PyAny>,
        second: &Bound<'_, PyAny>,
        value: OptionalArg<'_, '_>,
    ) -> PyResult<Self> {
        Ok(Scaled {
            first: extract_tensor(&format!("{op}: tensor1"), first)?,
            second: extract_tensor(&format!("{op}: tensor2"), second)?,
            value: factor(&format!("{op}: value"), value)?,
        })
    }
}

/// Defines `addcmul` and `addcdiv` as functions, methods and in-place methods.
macro_rules! scaled_operations {
    ($($(#[$doc:meta])* $name:ident $inplace:ident $errors:literal $example:literal;)+) => {
        $($(#[$doc])*
        #[doc = concat!(
            "\nArgs:\n    input: A tensor.\n    tensor1: A tensor.\n    tensor2: A tensor. Shapes are broadcast and dtypes promoted.\n",
            "    value: A number; None means 1.\n",
            "    out: The tensor that receives the result, and is returned; None for a new one.\n\nRaises:\n",
            "    DTypeError: ", $errors, "\n    ShapeError: The shapes cannot be broadcast.\n",
            "    RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.",
            "\n\nExample:\n    >>> import interlock\n    >>> x = interlock.tensor([2.0, 4.0])\n    >>> interlock.", stringify!($name),
            "(x, x, x, value=0.5)\n    ", $example,
        )]
        #[pyfunction]
        #[pyo3(signature = (input, tensor1, tensor2, *, value = None, out = None))]
        fn $name<'py>(
            input: &Bound<'py, PyAny>,
            tensor1: &Bound<'py, PyAny>,
            tensor2: &Bound<'py, PyAny>,
            value: OptionalArg<'_, 'py>,
            out: OptionalArg<'_, 'py>,
        ) -> NewTensor<'py> {
            let op = stringify!($name);
            let tensor = extract_tensor(concat!(stringify!($name), ": input"), input)?;
            let Scaled { first, second, value } = Scaled::extract(op, tensor1, tensor2, value)?;
            let inputs = [&tensor, &first, &second];
            compute(input.py(), op, &inputs, out, || elementwise::$name(&tensor, &first, &second, value))
        })+

        #[pymethods]
        impl Tensor {
            $($(#[$doc])*
            #[doc = concat!(
                "\nSee `interlock.", stringify!($name), "`, whose `input` is this tensor.\n\nArgs:\n",
                "    tensor1: A tensor.\n    tensor2: A tensor. Shapes are broadcast and dtypes promoted.\n",
                "    value: A number; None means 1.",
            )]
            #[pyo3(signature = (tensor1, tensor2, *, value = None))]
            fn $name<'py>(
                &self,
                tensor1: &Bound<'py, PyAny>,
                tensor2: &Bound<'py, PyAny>,
                value: OptionalArg<'_, 'py>,
            ) -> NewTensor<'py> {
                let op = stringify!($name);
                let Scaled { first, second, value } = Scaled::extract(op, tensor1, tensor2, value)?;
                let inputs = [&self.0, &first, &second];
                compute(tensor1.py(), op, &inputs, None, || elementwise::$name(&self.0, &first, &second, value))
            }

            #[doc = concat!(
                "In-place version of `", stringify!($name), "`.\n\nArgs:\n    tensor1: A tensor.\n    tensor2: A tensor.\n",
                "    value: A number; None means 1.\n\nReturns:\n    The tensor itself.\n\nRaises:\n",
                "    DTypeError: The dtypes are not supported, or the tensor cannot hold the result.\n",
                "    ShapeError: The operands cannot be broadcast to the shape of this tensor.\n",
                "    RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.",
            )]
            #[pyo3(signature = (tensor1, tensor2, *, value = None))]
            fn $inplace<'py>(
                slf: Bound<'py, Self>,
                tensor1: &Bound<'py, PyAny>,
                tensor2: &Bound<'py, PyAny>,
                value: OptionalArg<'_, 'py>,
            ) -> NewTensor<'py> {
                let op = stringify!($inplace);
                let Scaled { first, second, value } = Scaled::extract(op, tensor1, tensor2, value)?;
                replace(op, slf, &[&first, &second], &|target| elementwise::$name(target, &first, &second, value))
            })+
        }
    };
}

scaled_operations! {
    /// Return `input + value * tensor1 * tensor2`, elementwise.
    addcmul addcmul_ "The promoted dtype is bool." "tensor([ 4., 12.])";
    /// Return `input + value * tensor1 / tensor2`, elementwise.
    addcdiv addcdiv_ "Neither `tensor1` nor `tensor2` is floating point." "tensor([2.5000, 4.5000])";
}

#[pymethods]
impl Tensor {
    /// Return `self + weight * (end - self)`, elementwise.
    ///
    /// See `interlock.lerp`, whose `input` is this tensor.
    ///
    /// Args:
    ///     end: The tensor for a weight of 1, of the same dtype.
    ///     weight: A tensor or a number.
    fn lerp<'py>(&self, end: &Bound<'py, PyAny>, weight: &Bound<'py, PyAny>) -> NewTensor<'py> {
        let py = end.py();
        let (end, weight) = lerp_operands("lerp", end, weight)?;
        let inputs: Vec<_> = [&self.0, &end].into_iter().chain(tensors([&weight])).collect();
        compute(py, "lerp", &inputs, None, || elementwise::lerp(&self.0, &end, weight.operand()))
    }

    /// In-place version of `lerp`.
    ///
    /// Args:
    ///     end: The tensor for a weight of 1, of the same dtype.
    ///     weight: A tensor or a number.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ or are not floating point.
    ///     ShapeError: The operands cannot be broadcast to the shape of this tensor.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn lerp_<'py>(
        slf: Bound<'py, Self>,
        end: &Bound<'py, PyAny>,
        weight: &Bound<'py, PyAny>,
    ) -> NewTensor<'py> {
        let (end, weight) = lerp_operands("lerp_", end, weight)?;
        let inputs: Vec<_> = std::iter::once(&end).chain(tensors([&weight])).collect();
        replace("lerp_", slf, &inputs, &|target| elementwise::lerp(target, &end, weight.operand()))
    }
}
