//! Bitwise operations.

use interlock_tensor::{Operand, Result, Tensor as CoreTensor, elementwise};

use super::declare::{binary, unary};
use crate::tensor::operation::tensor_op;

unary! {
    /// Return the complement of the bits of integers, and the negation of bools.
    bitwise_not integral inplace "[0, 5]" => "tensor([-1, -6])", "x";
}

binary! {
    any: Operand<'_>, Operand<'_>;
    /// Return the bitwise and of integers, and the logical and of bools.
    bitwise_and bitwise_and integral inplace "interlock.tensor([6, 5]), 3" => "tensor([2, 1])", "x, y";
    /// Return the bitwise or of integers, and the logical or of bools.
    bitwise_or bitwise_or integral inplace "interlock.tensor([6, 5]), 3" => "tensor([7, 7])", "x, y";
    /// Return the bitwise exclusive or of integers, and the logical exclusive or of bools.
    bitwise_xor bitwise_xor integral inplace "interlock.tensor([6, 5]), 3" => "tensor([5, 6])", "x, y";
    /// Return `input << other` of integers; 0 if `other` is negative or not less than the number of bits.
    bitwise_left_shift bitwise_left_shift integers inplace "interlock.tensor([1, 3]), 2" => "tensor([ 4, 12])", "x, y";
    /// Return `input >> other` of integers. All bits leave if `other` is negative; those that enter equal the sign.
    bitwise_right_shift bitwise_right_shift integers inplace "interlock.tensor([8, -8]), 2" => "tensor([ 2, -2])", "x, y";
}
