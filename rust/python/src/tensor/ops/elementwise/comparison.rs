//! Comparisons, logic and classes of numbers.

use interlock_tensor::{Operand, Result, Tensor as CoreTensor, elementwise};

use super::declare::{binary, unary};
use crate::tensor::operation::tensor_op;

unary! {
    /// Return a bool tensor that is True where the elements are zero.
    logical_not any inplace "[0, 2]" => "tensor([ True, False])", "x";
}

binary! {
    left: &CoreTensor, Operand<'_>;
    /// Return a bool tensor that is True where the elements are equal to those of `other`.
    eq equal promoting inplace "interlock.tensor([1, 2]), interlock.tensor([1, 3])" => "tensor([ True, False])", "x, y";
    /// Return a bool tensor that is True where the elements are larger than those of `other` or equal.
    ge greater_equal promoting inplace alias(greater_equal) "interlock.tensor([1, 2]), 2" => "tensor([False,  True])", "x, y";
    /// Return a bool tensor that is True where the elements are larger than those of `other`.
    gt greater promoting inplace alias(greater) "interlock.tensor([1, 2]), 1" => "tensor([False,  True])", "x, y";
    /// Return a bool tensor that is True where the elements are smaller than those of `other` or equal.
    le less_equal promoting inplace alias(less_equal) "interlock.tensor([1, 2]), 1" => "tensor([ True, False])", "x, y";
    /// Return a bool tensor that is True where the elements are smaller than those of `other`.
    lt less promoting inplace alias(less) "interlock.tensor([1, 2]), 2" => "tensor([ True, False])", "x, y";
    /// Return a bool tensor that is True where the elements differ from those of `other`.
    ne not_equal promoting inplace alias(not_equal) "interlock.tensor([1, 2]), interlock.tensor([1, 3])" => "tensor([False,  True])", "x, y";
}

binary! {
    tensors: &CoreTensor, &CoreTensor;
    /// Return a bool tensor that is True where both elements are nonzero.
    logical_and logical_and promoting inplace "interlock.tensor([0, 2]), interlock.tensor([1, 1])" => "tensor([False,  True])", "x, y";
    /// Return a bool tensor that is True where an element is nonzero.
    logical_or logical_or promoting inplace "interlock.tensor([0, 2]), interlock.tensor([0, 1])" => "tensor([False,  True])", "x, y";
    /// Return a bool tensor that is True where exactly one of the elements is nonzero.
    logical_xor logical_xor promoting inplace "interlock.tensor([0, 2]), interlock.tensor([1, 1])" => "tensor([ True, False])", "x, y";
}

/// Declares tests of each element.
macro_rules! predicates {
    ($($(#[$doc:meta])* $name:ident $argument:literal => $result:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Example:
        #[doc = concat!("     >>> interlock.", stringify!($name), "(interlock.tensor(", $argument, "))")]
        #[doc = concat!("     ", $result)]
        #[tensor_op(function, method, example = "x")]
        fn $name(input: &CoreTensor) -> Result<CoreTensor>;)+
    };
}

predicates! {
    /// Return a bool tensor that is True where the elements are neither infinite nor NaN.
    isfinite "[1.0, float('inf'), float('nan')]" => "tensor([ True, False, False])";
    /// Return a bool tensor that is True where the elements are infinite.
    isinf "[1.0, float('inf'), float('nan')]" => "tensor([False,  True, False])";
    /// Return a bool tensor that is True where the elements are NaN.
    isnan "[1.0, float('inf'), float('nan')]" => "tensor([False, False,  True])";
}

/// Return a bool tensor that is True where the sign bit is set: for negative elements, also -0.
///
/// Example:
///     >>> interlock.signbit(interlock.tensor([1.0, -0.0, -2.0]))
///     tensor([False,  True,  True])
#[tensor_op(function, method, out(exact), example = "x")]
fn signbit(input: &CoreTensor) -> Result<CoreTensor>;
