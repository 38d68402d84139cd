//! New tensors of random numbers.

use interlock_tensor::{DType, Tensor as CoreTensor};
use pyo3::prelude::*;

use crate::tensor::Tensor;
use crate::tensor::formats::Format;
use crate::tensor::generator::GivenGenerator;
use crate::tensor::operation::{
    Arg, ArgumentName, Count, FromArgument, NewTensor, Sizes, is_list, tensor_op,
};

/// Declares tensors of random floats. A row has the name, which is also the name of the generator's method.
macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident;)+) => {
        $($(#[$doc])*
        ///
        /// `manual_seed` sets the seed. The numbers do not depend on the device.
        ///
        /// Raises:
        ///     DTypeError: `dtype` is not floating point.
        ///
        /// Example:
        #[doc = concat!("     >>> x = interlock.", stringify!($name), "(2, 3)")]
        ///     >>> x.shape
        ///     (2, 3)
        #[tensor_op(function, example = "2, 3")]
        fn $name(
            #[variadic] size: &Sizes,
            #[keyword] generator: Option<GivenGenerator<'_>>,
            #[options(out)] options: &NewTensor<'_>,
        ) -> PyResult<Py<Tensor>> {
            options.create(DType::DEFAULT_FLOAT, |options| {
                GivenGenerator::or_default(generator, options.placement)?.$name(size, options)
            })
        })+
    };
}

floats! {
    /// Return random numbers that are uniformly distributed from 0 to 1 (exclusive).
    rand;
    /// Return random numbers of the standard normal distribution: mean 0, variance 1.
    randn;
}

/// Declares tensors of random floats in the shape of another tensor. A row has the name and the generator's method.
macro_rules! floats_in_shape {
    ($($(#[$doc:meta])* $name:ident $draw:ident;)+) => {
        $($(#[$doc])*
        ///
        /// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
        ///
        /// Args:
        ///     input: The tensor whose shape is used.
        ///
        /// Raises:
        ///     DTypeError: The dtype is not floating point.
        ///
        /// Example:
        #[doc = concat!("     >>> interlock.", stringify!($name), "(interlock.zeros(2, 3)).shape")]
        ///     (2, 3)
        #[tensor_op(function, example = "x")]
        fn $name(
            input: &CoreTensor,
            #[keyword] generator: Option<GivenGenerator<'_>>,
            #[keyword] memory_format: Option<Format>,
            #[options] options: &NewTensor<'_>,
        ) -> PyResult<Py<Tensor>> {
            options.create_in_shape(input, memory_format, |shape, options| {
                GivenGenerator::or_default(generator, options.placement)?.$draw(shape, options)
            })
        })+
    };
}

floats_in_shape! {
    /// Return random numbers that are uniformly distributed from 0 to 1 (exclusive), in the shape of another tensor.
    rand_like rand;
    /// Return random numbers of the standard normal distribution, in the shape of another tensor.
    randn_like randn;
}

/// Return uniformly distributed random integers. `randint(high, size)` starts at 0.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
///
/// Args:
///     low: The least integer. Without `low` the arguments are `high` and `size`.
///     high: The end of the range, which it does not contain.
///     size: The sizes, as a tuple or list.
///     dtype: The element type; None means int64.
///
/// Raises:
///     ArgumentError: `high` is not greater than `low`, the dtype cannot hold a bound, or a size is negative.
///
/// Example:
///     >>> x = interlock.randint(3, 5, (100,))
///     >>> x.min(), x.max()
///     (tensor(3), tensor(4))
#[tensor_op(
    function,
    example = "2, 9, (2, 3)",
    overloads(
        "(low: SupportsIndex, high: _Sizes, size: None = None, *, generator: Generator | None = None, {options}) -> Tensor",
        "(low: SupportsIndex, high: SupportsIndex, size: _Dims, *, generator: Generator | None = None, {options}) -> Tensor",
        "(low: SupportsIndex, high: None = None, *, size: _Dims, generator: Generator | None = None, {options}) -> Tensor",
        "(low: None = None, *, high: SupportsIndex, size: _Dims, generator: Generator | None = None, {options}) -> Tensor"
    )
)]
fn randint(
    low: Option<i64>,
    high: &Option<End<'_>>,
    size: &Option<Sizes>,
    #[keyword] generator: Option<GivenGenerator<'_>>,
    #[options(out)] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    let (low, high, size) = match (high, size) {
        // The first arguments of `randint(high, size)` are `high` and `size`.
        (Some(End::Sizes(sizes, _)), None) => (None, low, Some(sizes)),
        (Some(End::Sizes(_, given)), Some(_)) => {
            return Err(ArgumentName::new(options.op, "high").type_error("an int", given));
        }
        (Some(End::Int(high)), size) => (low, Some(*high), size.as_ref()),
        (None, size) => (low, None, size.as_ref()),
    };
    let (low, high) = bounds(options, low, high)?;
    let Some(size) = size else {
        return Err(options.err_missing("size", "a tuple or list of ints"));
    };
    options.create(DType::Int64, |options| {
        GivenGenerator::or_default(generator, options.placement)?.randint(low, high, size, options)
    })
}

/// Return uniformly distributed random integers in the shape of another tensor. `randint_like(input, high)` starts at
/// 0.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
///
/// Args:
///     input: The tensor whose shape is used.
///     low: The least integer, or the end if `high` is None.
///     high: The end of the range, which it does not contain.
///
/// Raises:
///     ArgumentError: `high` is not greater than `low`, or the dtype cannot hold a bound.
///
/// Example:
///     >>> interlock.randint_like(interlock.zeros(2), 7, 8)
///     tensor([7., 7.])
#[tensor_op(function, example = "x, 2, 9")]
fn randint_like(
    input: &CoreTensor,
    low: Option<i64>,
    high: Option<i64>,
    #[keyword] generator: Option<GivenGenerator<'_>>,
    #[keyword] memory_format: Option<Format>,
    #[options] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    let (low, high) = bounds(options, low, high)?;
    options.create_in_shape(input, memory_format, |shape, options| {
        GivenGenerator::or_default(generator, options.placement)?.randint(low, high, shape, options)
    })
}

/// Return the integers from 0 to `n` (exclusive) in random order.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
///
/// Args:
///     n: The number of integers.
///     dtype: The element type; None means int64.
///
/// Raises:
///     ArgumentError: `n` is negative, or the dtype cannot hold the integers.
///     DTypeError: The dtype is bool.
///
/// Example:
///     >>> interlock.randperm(5).sum()
///     tensor(10)
#[tensor_op(function, example = "5")]
fn randperm(
    n: Count,
    #[keyword] generator: Option<GivenGenerator<'_>>,
    #[options(out)] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    options.create(DType::Int64, |options| {
        GivenGenerator::or_default(generator, options.placement)?.randperm(n.get(), options)
    })
}

/// Returns the bounds of random integers: one number is the end, and the start is 0.
fn bounds(options: &NewTensor<'_>, low: Option<i64>, high: Option<i64>) -> PyResult<(i64, i64)> {
    match (low, high) {
        (Some(low), Some(high)) => Ok((low, high)),
        (Some(end), None) | (None, Some(end)) => Ok((0, end)),
        (None, None) => Err(options.err_missing("high", "an int")),
    }
}

/// The second argument of `randint`: the end of the range, or the sizes.
enum End<'a> {
    Int(i64),
    Sizes(Sizes, Arg<'a, 'a>),
}

impl<'a> FromArgument<'a, '_> for End<'a> {
    const ANNOTATION: &'static str = "SupportsIndex | _Sizes";
    const WANTED: &'static str = i64::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        if is_list(given) {
            let name = ArgumentName::new("randint", "size");
            return Ok(Sizes::try_from_argument(name, given)?.map(|sizes| End::Sizes(sizes, given)));
        }
        Ok(i64::try_from_argument(name, given)?.map(End::Int))
    }
}
