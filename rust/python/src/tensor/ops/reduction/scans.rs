//! Cumulative sums and products.

use interlock_tensor::{DType, Error, Result, Tensor as CoreTensor};

use super::conversion::converted;
use crate::tensor::operation::tensor_op;

/// Declares scans, which are methods of the core's tensor of the same name. A row has the name and the result of the example.
macro_rules! scans {
    ($($(#[$doc:meta])* $name:ident => $result:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        ///     {wide_dtype}
        ///
        /// Raises:
        ///     DTypeError: `dtype` is bool.
        ///
        /// Example:
        ///     >>> x = interlock.tensor([1, 2, 3])
        #[doc = concat!("     >>> interlock.", stringify!($name), "(x, 0)")]
        #[doc = concat!("     ", $result)]
        #[tensor_op(function, method, out(exact), example = "x, 1")]
        fn $name(input: &CoreTensor, dim: i64, #[keyword] dtype: Option<DType>) -> Result<CoreTensor> {
            match dtype {
                // Bools have no sums and products.
                Some(DType::Bool) => Err(Error::not_numeric(stringify!($name), "dtype", "")),
                dtype => converted(input, dtype, |input| input.$name(dim)),
            }
        })+
    };
}

scans! {
    /// Return the cumulative sum of the elements along a dimension.
    cumsum => "tensor([1, 3, 6])";
    /// Return the cumulative product of the elements along a dimension.
    cumprod => "tensor([1, 2, 6])";
}
