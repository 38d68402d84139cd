//! Indices of maxima and minima.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::tensor_op;

/// Declares the indices of extremes, which are methods of the core's tensor of the same name. A row has the name, the extreme
/// and the result of the example.
macro_rules! indices {
    ($($name:ident $extreme:literal => $result:literal;)+) => {
        $(#[doc = concat!(" Return the index of the ", $extreme, ", among all elements or along a dimension.")]
        ///
        /// Args:
        ///     dim: The dimension. None means all elements, which are counted in row-major order.
        ///
        /// Returns:
        #[doc = concat!("     An int64 tensor. Of equal elements the first index counts; NaN counts as the ", $extreme, ".")]
        ///
        /// Raises:
        ///     {no_bools}
        ///     {empty_dim}
        ///
        /// Example:
        ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
        #[doc = concat!("     >>> interlock.", stringify!($name), "(x), interlock.", stringify!($name), "(x, 1)")]
        #[doc = concat!("     ", $result)]
        #[tensor_op(function, method, out(exact, overlap), example = "x, 1")]
        fn $name(input: &CoreTensor, dim: Option<i64>, #[default(false)] keepdim: bool) -> Result<CoreTensor>;)+
    };
}

indices! {
    argmax "maximum" => "(tensor(2), tensor([1, 0]))";
    argmin "minimum" => "(tensor(0), tensor([0, 1]))";
}
