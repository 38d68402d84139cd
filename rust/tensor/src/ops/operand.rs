//! Operands: tensors and bare numbers, and the type in which they meet.

use crate::dtype::dispatch;
use crate::{DType, Result, Scalar, Tensor};

/// A tensor or a number.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number, which does not widen a tensor's type within its category.
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
    pub(super) fn dtype(self) -> DType {
        match self {
            Operand::Tensor(tensor) => tensor.dtype(),
            Operand::Scalar(scalar) => scalar.dtype(),
        }
    }

    /// The tensor, or the number as a tensor without dimensions of type `dtype`.
    pub(super) fn tensor(self, dtype: DType) -> Result<Tensor> {
        match self {
            Operand::Tensor(tensor) => Ok(tensor.clone()),
            Operand::Scalar(scalar) => dispatch!(dtype, T => Tensor::build(&[], |out: &mut [T]| {
                out.fill(scalar.cast());
            })),
        }
    }
}

/// The type in which operands meet. Tensors with dimensions decide; those without, and after them
/// numbers, only lift the result into a higher category.
pub(super) fn result_type(operands: &[Operand<'_>]) -> DType {
    let rank = |operand: &Operand<'_>| match operand {
        Operand::Tensor(tensor) if tensor.ndim() > 0 => 0,
        Operand::Tensor(_) => 1,
        Operand::Scalar(_) => 2,
    };
    let widest = |wanted: usize| {
        operands.iter().filter(|operand| rank(operand) == wanted).map(|operand| operand.dtype()).max()
    };
    let [dimensioned, single, bare] = [widest(0), widest(1), widest(2)];
    combine_categories(dimensioned, combine_categories(single, bare)).unwrap_or(DType::DEFAULT_FLOAT)
}

fn combine_categories(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(higher), Some(lower)) if higher.is_floating_point() || lower.can_cast_to(higher) => {
            Some(higher)
        }
        (higher, lower) => higher.max(lower),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lift_the_category_but_do_not_widen() {
        let ints = Tensor::zeros(&[2], DType::Int64).unwrap();
        let singles = Tensor::zeros(&[2], DType::Float32).unwrap();
        let double = Tensor::zeros(&[], DType::Float64).unwrap();
        let common = |a: Operand<'_>, b: Operand<'_>| result_type(&[a, b]);
        assert_eq!(common((&singles).into(), 3i64.into()), DType::Float32);
        assert_eq!(common((&ints).into(), 0.5.into()), DType::Float32);
        assert_eq!(common((&ints).into(), true.into()), DType::Int64);
        assert_eq!(common((&singles).into(), (&double).into()), DType::Float32);
        assert_eq!(common((&ints).into(), (&double).into()), DType::Float64);
        assert_eq!(common((&double).into(), (&double).into()), DType::Float64);
        assert_eq!(common((&double).into(), 0.5.into()), DType::Float64);
    }
}
