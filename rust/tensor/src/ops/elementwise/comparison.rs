//! Comparisons. They return bool tensors and have no gradient.

use super::arithmetic::promote;
use super::operand::{Numbers, Operand};
use crate::dtype::{Bool8, dispatch_compute};
use crate::{DType, Element, Result, Tensor, iterate, loops};

/// Defines comparisons by the loops of their functions.
macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident, $op:literal, $element_loop:expr;)+) => {
        $($(#[$doc])*
        pub fn $method<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
            // Its loops are compiled once, not for each type of an operand.
            fn compare(operands: (Operand<'_>, Operand<'_>)) -> Result<Tensor> {
                let operands = promote($op, operands, Numbers::Rounded, |dtype| dtype)?;
                let (shape, a, b) = (&operands.shape, &operands.a, &operands.b);
                dispatch_compute!(operands.dtype, T => {
                    iterate::zip_with($op, (DType::Bool, shape), a, b, &$element_loop)
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

fn is_greater<T: Element>(x: T, y: T) -> Bool8 {
    Bool8::new(x > y)
}

fn is_greater_or_equal<T: Element>(x: T, y: T) -> Bool8 {
    Bool8::new(x >= y)
}

comparisons! {
    /// Returns where the elements are equal; NaN is not equal to itself.
    equal, "eq", loops::zip_commutative(|x: T, y: T| Bool8::new(x == y));
    /// Returns where the elements differ.
    not_equal, "ne", loops::zip_commutative(|x: T, y: T| Bool8::new(x != y));
    /// Returns where the elements on the left are smaller.
    less, "lt", loops::exchange(loops::zip_or_number(is_greater::<T>));
    /// Returns where the elements on the left are smaller or equal.
    less_equal, "le", loops::exchange(loops::zip_or_number(is_greater_or_equal::<T>));
    /// Returns where the elements on the left are larger.
    greater, "gt", loops::zip_or_number(is_greater::<T>);
    /// Returns where the elements on the left are larger or equal.
    greater_equal, "ge", loops::zip_or_number(is_greater_or_equal::<T>);
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
