//! Comparisons. They return bool tensors and have no gradient.

use super::arithmetic::promote;
use super::operand::{Numbers, Operand};
use crate::dtype::{Bool8, dispatch_compute};
use crate::{DType, Result, Tensor, iterate, loops};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident, $op:literal, $symbol:tt;)+) => {
        $($(#[$doc])*
        pub fn $method<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
            // Its loops are compiled once, not for each type of an operand.
            fn compare(operands: (Operand<'_>, Operand<'_>)) -> Result<Tensor> {
                let operands = promote($op, operands, Numbers::Rounded, |dtype| dtype)?;
                let (shape, a, b) = (&operands.shape, &operands.a, &operands.b);
                dispatch_compute!(operands.dtype, T => {
                    let element_loop = loops::zip_or_number(|x: T, y: T| Bool8::new(x $symbol y));
                    iterate::zip_with($op, (DType::Bool, shape), a, b, &element_loop)
                })
            }
            compare((left.into(), right.into()))
        })+

        impl Tensor {
            $($(#[$doc])*
            pub fn $method<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
                $method(self, other)
            })+
        }
    };
}

comparisons! {
    /// Returns where the elements are equal; NaN is not equal to itself.
    equal, "eq", ==;
    /// Returns where the elements differ.
    not_equal, "ne", !=;
    /// Returns where the elements on the left are smaller.
    less, "lt", <;
    /// Returns where the elements on the left are smaller or equal.
    less_equal, "le", <=;
    /// Returns where the elements on the left are larger.
    greater, "gt", >;
    /// Returns where the elements on the left are larger or equal.
    greater_equal, "ge", >=;
}

impl Tensor {
    /// Returns where the elements are zero.
    pub fn logical_not(&self) -> Result<Tensor> {
        dispatch_compute!(self.dtype(), T => {
            let zero = T::default();
            iterate::map("logical_not", self, move |value: T| Bool8::new(value == zero))
        })
    }

    /// Returns whether both tensors have the same shape and equal elements.
    pub fn same(&self, other: &Tensor) -> Result<bool> {
        if self.shape() != other.shape() {
            return Ok(false);
        }
        Ok(!self.not_equal(other)?.any().map_err(|error| error.during("equal"))?)
    }

    /// Returns whether any element is nonzero.
    pub fn any(&self) -> Result<bool> {
        Ok(self.to_vec::<Bool8>()?.into_iter().any(Bool8::get))
    }
}
