//! Bitwise operations on integers and bools, and logical operations.

use super::arithmetic::promote;
use super::operand::{Numbers, Operand};
use crate::dtype::{Bool8, dispatch_compute};
use crate::{DType, Error, Result, Tensor, iterate, loops};

fn err_not_integral(op: &'static str, argument: &'static str, given: DType) -> Error {
    Error::dtype(op, argument, "an integer or bool tensor", given)
}

/// Defines operations on integers and on bools.
macro_rules! bitwise_operations {
    ($($(#[$doc:meta])* $name:ident, $of_ints:expr, $of_bools:expr;)+) => {
        $($(#[$doc])*
        pub fn $name<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
            fn compute(operands: (Operand<'_>, Operand<'_>)) -> Result<Tensor> {
                let op = stringify!($name);
                let operands = promote(op, operands, Numbers::Rounded, |dtype| dtype)?;
                match operands.dtype {
                    DType::Bool => {
                        let f = |x: Bool8, y: Bool8| Bool8::new($of_bools(x.get(), y.get()));
                        operands.zip_with(op, &loops::zip_commutative(f))
                    }
                    dtype if dtype.is_floating_point() => Err(err_not_integral(op, "the promoted dtype", dtype)),
                    _ => operands.zip_with(op, &loops::zip_commutative::<i64, i64>($of_ints)),
                }
            }
            compute((left.into(), right.into()))
        })+
    };
}

bitwise_operations! {
    /// Returns the bitwise and of integers, and the logical and of bools.
    bitwise_and, |x, y| x & y, |x, y| x & y;
    /// Returns the bitwise or of integers, and the logical or of bools.
    bitwise_or, |x, y| x | y, |x, y| x | y;
    /// Returns the bitwise exclusive or of integers, and the logical exclusive or of bools.
    bitwise_xor, |x, y| x ^ y, |x: bool, y: bool| x ^ y;
}

/// Defines shifts of integers, as functions of the bits, the number of places and the width of the dtype.
macro_rules! shifts {
    ($($(#[$doc:meta])* $name:ident, $f:expr;)+) => {
        $($(#[$doc])*
        pub fn $name<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
            fn compute(operands: (Operand<'_>, Operand<'_>)) -> Result<Tensor> {
                let op = stringify!($name);
                let operands = promote(op, operands, Numbers::Rounded, |dtype| dtype)?;
                let given = operands.dtype;
                if !given.is_integer() {
                    return Err(Error::dtype(op, "the promoted dtype", "an integer dtype", given));
                }
                let width = i64::from(u8::BITS) * given.size() as i64;
                operands.zip_with(op, &loops::zip_or_right_number(move |bits, places| $f(bits, places, width)))
            }
            compute((left.into(), right.into()))
        })+
    };
}

shifts! {
    /// Returns integers whose bits are moved to the left. As in PyTorch the result is 0 for a negative number of places, and
    /// for one that is not less than the width of the dtype.
    bitwise_left_shift, |bits: i64, places, width| if (0..width).contains(&places) { bits << places } else { 0 };
    /// Returns integers whose bits are moved to the right; those that enter are equal to the sign. As in PyTorch all bits
    /// leave for a negative number of places.
    bitwise_right_shift, |bits: i64, places, width| bits >> if (0..width).contains(&places) { places } else { 63 };
}

/// Defines operations on the truth of elements: whether they are nonzero.
macro_rules! logical_operations {
    ($($(#[$doc:meta])* $name:ident, $f:expr;)+) => {
        $($(#[$doc])*
        pub fn $name<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
            fn compute(operands: (Operand<'_>, Operand<'_>)) -> Result<Tensor> {
                let op = stringify!($name);
                let operands = promote(op, operands, Numbers::Rounded, |dtype| dtype)?;
                let (shape, a, b) = (&operands.shape, &operands.a, &operands.b);
                dispatch_compute!(operands.dtype, T => {
                    let zero = T::default();
                    iterate::zip(op, (DType::Bool, shape), a, b, move |x: T, y: T| {
                        Bool8::new($f(x != zero, y != zero))
                    })
                })
            }
            compute((left.into(), right.into()))
        })+
    };
}

logical_operations! {
    /// Returns where both elements are nonzero.
    logical_and, |x, y| x & y;
    /// Returns where an element is nonzero.
    logical_or, |x, y| x | y;
    /// Returns where exactly one of the elements is nonzero.
    logical_xor, |x: bool, y: bool| x ^ y;
}

impl Tensor {
    /// Returns the complement of the bits of integers, and the negation of bools.
    pub fn bitwise_not(&self) -> Result<Tensor> {
        let op = "bitwise_not";
        match self.dtype() {
            DType::Bool => self.logical_not(),
            dtype if dtype.is_floating_point() => Err(err_not_integral(op, "input", dtype)),
            _ => iterate::map(op, self, |value: i64| !value),
        }
    }
}
