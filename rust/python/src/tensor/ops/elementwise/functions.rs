//! Functions of analysis.

use interlock_tensor::{Result, Tensor as CoreTensor, elementwise};

use super::declare::{binary, unary};
use crate::tensor::operation::tensor_op;

unary! {
    /// Return the arc cosine of each element, in radians; NaN outside of -1 to 1.
    acos floats inplace_function alias(arccos) "[1.0, 0.0]" => "tensor([0.0000, 1.5708])", "x / 3";
    /// Return the inverse hyperbolic cosine of each element; NaN below 1.
    acosh floats inplace_function alias(arccosh) "[1.0, 2.0]" => "tensor([0.0000, 1.3170])", "x + 1";
    /// Return the arc sine of each element, in radians; NaN outside of -1 to 1.
    asin floats inplace_function alias(arcsin) "[0.0, 1.0]" => "tensor([0.0000, 1.5708])", "x / 3";
    /// Return the inverse hyperbolic sine of each element.
    asinh floats inplace_function alias(arcsinh) "[0.0, 1.0]" => "tensor([0.0000, 0.8814])", "x";
    /// Return the arc tangent of each element, in radians.
    atan floats inplace_function alias(arctan) "[0.0, 1.0]" => "tensor([0.0000, 0.7854])", "x";
    /// Return the inverse hyperbolic tangent of each element; NaN outside of -1 to 1.
    atanh floats inplace_function alias(arctanh) "[0.0, 0.5]" => "tensor([0.0000, 0.5493])", "x / 3";
    /// Return the cosine of each element, in radians.
    cos floats inplace_function "[0.0, 1.0]" => "tensor([1.0000, 0.5403])", "x";
    /// Return the hyperbolic cosine of each element.
    cosh floats inplace_function "[0.0, 1.0]" => "tensor([1.0000, 1.5431])", "x";
    /// Return the error function of each element.
    erf floats inplace_function "[0.0, 1.0]" => "tensor([0.0000, 0.8427])", "x";
    /// Return 1 minus the error function of each element, which is precise for large elements.
    erfc floats inplace_function "[0.0, 1.0]" => "tensor([1.0000, 0.1573])", "x";
    /// Return e to the power of each element.
    exp floats inplace_function "[0, 1]" => "tensor([1.0000, 2.7183])", "x";
    /// Return 2 to the power of each element.
    exp2 floats inplace_function "[0, 3]" => "tensor([1., 8.])", "x";
    /// Return e to the power of each element, minus 1, which is precise near 0.
    expm1 floats inplace_function "[0.0, 1.0]" => "tensor([0.0000, 1.7183])", "x";
    /// Return the natural logarithm of each element; NaN for negative elements and minus infinity for 0.
    log floats inplace_function "[1, 2]" => "tensor([0.0000, 0.6931])", "x";
    /// Return the decimal logarithm of each element; NaN for negative elements and minus infinity for 0.
    log10 floats inplace_function "[1, 1000]" => "tensor([0., 3.])", "x";
    /// Return the natural logarithm of 1 plus each element, which is precise near 0.
    log1p floats inplace_function "[0, 1]" => "tensor([0.0000, 0.6931])", "x";
    /// Return the binary logarithm of each element; NaN for negative elements and minus infinity for 0.
    log2 floats inplace_function "[1, 8]" => "tensor([0., 3.])", "x";
    /// Return the reciprocal of the square root of each element; NaN for negative elements.
    rsqrt floats inplace_function "[1, 4]" => "tensor([1.0000, 0.5000])", "x";
    /// Return the logistic function `1 / (1 + exp(-x))` of each element.
    sigmoid floats inplace_function "[0.0, 2.0]" => "tensor([0.5000, 0.8808])", "x";
    /// Return the sine of each element, in radians.
    sin floats inplace_function "[0.0, 1.0]" => "tensor([0.0000, 0.8415])", "x";
    /// Return the hyperbolic sine of each element.
    sinh floats inplace_function "[0.0, 1.0]" => "tensor([0.0000, 1.1752])", "x";
    /// Return the square root of each element; NaN for negative elements.
    sqrt floats inplace_function "[4, 9]" => "tensor([2., 3.])", "x";
    /// Return the tangent of each element, in radians.
    tan floats inplace_function "[0.0, 1.0]" => "tensor([0.0000, 1.5574])", "x";
    /// Return the hyperbolic tangent of each element.
    tanh floats inplace_function "[0.0, 1.0]" => "tensor([0.0000, 0.7616])", "x";
}

binary! {
    tensors: &CoreTensor, &CoreTensor;
    /// Return the arctangent of `input / other`, elementwise; the signs of both choose the quadrant.
    atan2 atan2 dividing inplace alias(arctan2) "interlock.tensor([1.0, -1.0]), interlock.tensor([1.0, 0.0])" => "tensor([ 0.7854, -1.5708])", "x, y";
    /// Return the length of the hypotenuse of a right triangle with these legs, elementwise.
    hypot hypot floating inplace "interlock.tensor([3.0]), interlock.tensor([4.0])" => "tensor([5.])", "x, y";
    /// Return `log(exp(input) + exp(other))`, elementwise, also where an exponential overflows.
    logaddexp logaddexp floating method "interlock.tensor([1000.0]), interlock.tensor([1000.0])" => "tensor([1000.6932])", "x, y";
}
