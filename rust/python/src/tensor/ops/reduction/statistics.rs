//! Variances and standard deviations.

use interlock_tensor::{Error, ErrorKind, Result, Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;

use crate::switches::try_bool;
use crate::tensor::operation::{Arg, ArgumentName, FromArgument, Ints, tensor_op};

/// Declares statistics with a correction, which are methods of the core's tensor of the same name. A row has the name, the
/// options of the operation and the result.
macro_rules! corrected {
    ($($(#[$doc:meta])* $name:ident ($($option:tt)+) $result:ty;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
        ///     unbiased: Whether the correction is 1, or 0. Not together with `correction`.
        ///     correction: What is subtracted from the number of elements. None means 1.
        ///
        /// Raises:
        ///     DTypeError: The elements are not floating point.
        ///     ArgumentError: `dim` names a dimension twice.
        ///     TypeError: Both `unbiased` and `correction` are given.
        #[tensor_op($($option)+)]
        fn $name(
            input: &CoreTensor,
            dim: &Option<DimsOrUnbiased>,
            unbiased: Option<bool>,
            #[default(false)] keepdim: bool,
            #[keyword] correction: Option<Scalar>,
        ) -> Result<$result> {
            let (dims, correction) = spread(stringify!($name), dim, unbiased, correction)?;
            input.$name(dims, correction, keepdim)
        })+
    };
}

corrected! {
    /// Return the variance of all elements, or over one or several dimensions.
    ///
    /// The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
    /// `UserWarning` is issued if that is not positive.
    ///
    /// Example:
    ///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
    ///     >>> interlock.var(x), interlock.var(x, correction=0)
    ///     (tensor(7.), tensor(4.6667))
    var (function, method, out(exact, overlap), example = "x; x, 1; x, 0, correction=0") CoreTensor;

    /// Return the standard deviation of all elements, or over one or several dimensions.
    ///
    /// The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
    /// `UserWarning` is issued if that is not positive. The gradient is 0 where the result is 0.
    ///
    /// Example:
    ///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
    ///     >>> interlock.std(x), interlock.std(x, correction=0)
    ///     (tensor(2.6458), tensor(2.1602))
    std (function, method, out(exact, overlap), example = "x; x, 1; x, 0, correction=0") CoreTensor;

    /// Return the variance and the mean of all elements, or over one or several dimensions.
    ///
    /// Returns:
    ///     The results of `var` and of `mean`.
    ///
    /// Example:
    ///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
    ///     >>> interlock.var_mean(x)
    ///     (tensor(7.), tensor(3.))
    var_mean (function, example = "x, 1") (CoreTensor, CoreTensor);

    /// Return the standard deviation and the mean of all elements, or over one or several dimensions.
    ///
    /// Returns:
    ///     The results of `std` and of `mean`.
    ///
    /// Example:
    ///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
    ///     >>> interlock.std_mean(x)
    ///     (tensor(2.6458), tensor(3.))
    std_mean (function, example = "x, 1") (CoreTensor, CoreTensor);
}

/// The argument `dim`. As in PyTorch a bool in its place is `unbiased`.
enum DimsOrUnbiased {
    Dims(Ints),
    Unbiased(bool),
}

impl<'py> FromArgument<'_, 'py> for DimsOrUnbiased {
    const ANNOTATION: &'static str = "_Dims | builtins.bool";
    const WANTED: &'static str = Ints::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, 'py>) -> PyResult<Option<Self>> {
        match try_bool(given)? {
            Some(unbiased) => Ok(Some(DimsOrUnbiased::Unbiased(unbiased))),
            None => Ok(Ints::try_from_argument(name, given)?.map(DimsOrUnbiased::Dims)),
        }
    }
}

/// Returns the dimensions to reduce, and the correction.
fn spread<'a>(
    op: &'static str,
    dim: &'a Option<DimsOrUnbiased>,
    unbiased: Option<bool>,
    correction: Option<Scalar>,
) -> Result<(Option<&'a [i64]>, Scalar)> {
    let (dims, unbiased) = match dim {
        Some(DimsOrUnbiased::Unbiased(first)) => (None, Some(*first)),
        Some(DimsOrUnbiased::Dims(dims)) => (Some(&**dims), unbiased),
        None => (None, unbiased),
    };
    match (unbiased, correction) {
        (Some(_), Some(_)) => {
            Err(Error::new(ErrorKind::Type, op, "unbiased and correction must not both be given"))
        }
        (None, Some(correction)) => Ok((dims, correction)),
        (unbiased, None) => Ok((dims, Scalar::Int(unbiased.unwrap_or(true).into()))),
    }
}
