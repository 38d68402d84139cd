//! Operands and type promotion.

use crate::recording::is_recording;
use crate::{DType, Error, Result, Scalar, Tensor};

/// An operand of an operation: a tensor or a scalar.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A scalar, which does not widen a tensor's type within its category.
    Scalar(Scalar),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Operand::Tensor(tensor)
    }
}

impl<T: Into<Scalar>> From<T> for Operand<'_> {
    fn from(value: T) -> Self {
        Operand::Scalar(value.into())
    }
}

impl Operand<'_> {
    pub(crate) fn dtype(self) -> DType {
        match self {
            Operand::Tensor(tensor) => tensor.dtype(),
            Operand::Scalar(scalar) => scalar.dtype(),
        }
    }

    /// Returns the tensor, or a 0-d tensor of type `dtype` with the scalar.
    pub(crate) fn tensor(self, dtype: DType) -> Result<Tensor> {
        match self {
            Operand::Tensor(tensor) => Ok(tensor.clone()),
            Operand::Scalar(scalar) => {
                let tensor = Tensor::of_scalar(scalar, dtype)?;
                tensor.meta_mut().is_number = true;
                Ok(tensor)
            }
        }
    }
}

/// Refuses bools.
pub(crate) fn check_numeric(
    op: &'static str,
    argument: &'static str,
    dtype: DType,
    hint: &'static str,
) -> Result<()> {
    Error::when(dtype == DType::Bool, || Error::not_numeric(op, argument, hint))
}

/// Checks that a mask is a bool tensor.
pub(crate) fn check_bool(op: &'static str, argument: &'static str, mask: &Tensor) -> Result<()> {
    Error::when(mask.dtype() != DType::Bool, || {
        Error::dtype(op, argument, "a bool tensor", mask.dtype()).with_hint("; bool() converts it")
    })
}

/// Checks that a tensor has the one type that an operation accepts.
pub(crate) fn check_dtype(
    op: &'static str,
    argument: &'static str,
    tensor: &Tensor,
    (expected, hint): (DType, &'static str),
) -> Result<()> {
    let given = tensor.dtype();
    Error::when(given != expected, || Error::dtype(op, argument, expected, given).with_hint(hint))
}

/// Returns an error unless the elements of a tensor are floating-point numbers.
pub(crate) fn check_floating_point(op: &'static str, tensor: &Tensor) -> Result<()> {
    let dtype = tensor.dtype();
    Error::when(!dtype.is_floating_point(), || Error::not_floating_point(op, "input", dtype))
}

/// Returns an error unless two operands have the same type.
pub(crate) fn check_same_dtype(op: &'static str, left: &Tensor, right: &Tensor) -> Result<()> {
    Error::when(left.dtype() != right.dtype(), || Error::dtypes(op, left.dtype(), right.dtype()))
}

/// Returns an error if an argument of an operation that has no gradient for it requires grad.
pub(crate) fn check_no_gradient(
    op: &'static str,
    argument: &'static str,
    tensor: Option<&Tensor>,
) -> Result<()> {
    if is_recording() && tensor.is_some_and(Tensor::requires_grad) {
        let given = "a tensor that requires grad; detach() returns one that does not";
        return Err(Error::value(op, argument, "not require grad, because it has no gradient", given));
    }
    Ok(())
}

/// Returns an error unless two operands are on the same device.
pub(crate) fn check_device(op: &'static str, left: &Tensor, right: &Tensor) -> Result<()> {
    Error::when(left.device() != right.device(), || Error::devices(op, left.device(), right.device()))
}

/// How an operation on 16-bit floats uses a number. In other types there is no difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Numbers are rounded to the half-precision type first, as in sums, comparisons and powers.
    Rounded,
    /// Numbers are used in single precision, as in products and quotients. So is a 0-d right operand.
    Exact,
}

impl Numbers {
    /// Returns the type to which an operand of an operation in `dtype` is converted first.
    pub(crate) fn dtype_of(self, operand: Operand<'_>, is_right: bool, dtype: DType) -> DType {
        let is_number = match operand {
            Operand::Scalar(_) => true,
            Operand::Tensor(tensor) if tensor.ndim() == 0 => is_right,
            // A product that is not rounded yet has the type of arithmetic.
            Operand::Tensor(tensor) => tensor.dtype() == dtype.compute(),
        };
        if self == Numbers::Exact && is_number { dtype.compute() } else { dtype }
    }
}

/// Returns the promoted type of operands: `torch.result_type`. Tensors with dimensions determine it. Tensors without
/// dimensions, and after them scalars, only raise its category.
pub fn result_type(operands: &[Operand<'_>]) -> DType {
    let rank = |operand: &Operand<'_>| match operand {
        Operand::Tensor(tensor) if tensor.ndim() > 0 => 0,
        Operand::Tensor(_) => 1,
        Operand::Scalar(_) => 2,
    };
    let widest = |wanted: usize| {
        let dtypes = operands.iter().filter(|operand| rank(operand) == wanted).map(|operand| operand.dtype());
        dtypes.reduce(DType::promote)
    };
    let [dimensioned, single, bare] = [widest(0), widest(1), widest(2)];
    combine_categories(dimensioned, combine_categories(single, bare)).unwrap_or(DType::DEFAULT_FLOAT)
}

/// Combines the type of operands of higher priority with that of lower priority.
fn combine_categories(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(higher), Some(lower)) if higher.is_floating_point() || lower.can_cast_to(higher) => {
            Some(higher)
        }
        (Some(higher), Some(lower)) => Some(higher.promote(lower)),
        (higher, lower) => higher.or(lower),
    }
}
