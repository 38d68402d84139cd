//! Tensors like another one: of its shape, or of its dtype and device.

use interlock_tensor::{Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;

use crate::tensor::formats::Format;
use crate::tensor::operation::{Data, NewTensor, Sizes, tensor_op};
use crate::tensor::{Tensor, from_data};

/// Declares tensors in the shape of another one. A row has the name and the function of the core.
macro_rules! in_shape {
    ($($(#[$doc:meta])* $name:ident $create:ident;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        ///     input: The tensor whose shape is used.
        #[tensor_op(function, example = "x")]
        fn $name(
            input: &CoreTensor,
            #[keyword] memory_format: Option<Format>,
            #[options] options: &NewTensor<'_>,
        ) -> PyResult<Py<Tensor>> {
            options.create_in_shape(input, memory_format, CoreTensor::$create)
        })+
    };
}

in_shape! {
    /// Return a tensor of zeros with the shape of another tensor.
    ///
    /// Example:
    ///     >>> interlock.zeros_like(interlock.tensor([1, 2]))
    ///     tensor([0, 0])
    zeros_like zeros;

    /// Return a tensor of ones with the shape of another tensor.
    ///
    /// Example:
    ///     >>> interlock.ones_like(interlock.tensor([1, 2]), dtype=interlock.float32)
    ///     tensor([1., 1.])
    ones_like ones;

    /// Return an uninitialized tensor with the shape of another tensor.
    ///
    /// Example:
    ///     >>> interlock.empty_like(interlock.zeros(2, 3)).shape
    ///     (2, 3)
    empty_like empty;
}

/// Return a tensor filled with a number, with the shape of another tensor.
///
/// Args:
///     input: The tensor whose shape is used.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
///
/// Example:
///     >>> interlock.full_like(interlock.zeros(2), 7)
///     tensor([7., 7.])
#[tensor_op(function, example = "x, 2")]
fn full_like(
    input: &CoreTensor,
    fill_value: Scalar,
    #[keyword] memory_format: Option<Format>,
    #[options] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    let full = |shape: &[usize], options| CoreTensor::full(shape, fill_value, options);
    options.create_in_shape(input, memory_format, full)
}

/// Declares tensors with the dtype and device of another one. A row has the name and the function of the core.
macro_rules! of_kind {
    ($($(#[$doc:meta])* $name:ident $create:ident;)+) => {
        $($(#[$doc])*
        #[tensor_op(method, example = "x, 2, 3")]
        fn $name(
            input: &CoreTensor,
            #[variadic] size: &Sizes,
            #[options] options: &NewTensor<'_>,
        ) -> PyResult<Py<Tensor>> {
            options.create_like(input, |options| CoreTensor::$create(size, options))
        })+
    };
}

of_kind! {
    /// Return a tensor of zeros with the dtype and device of this one.
    ///
    /// Example:
    ///     >>> interlock.tensor([1, 2]).new_zeros(2)
    ///     tensor([0, 0])
    new_zeros zeros;

    /// Return a tensor of ones with the dtype and device of this one.
    ///
    /// Example:
    ///     >>> interlock.tensor([1, 2]).new_ones((2,))
    ///     tensor([1, 1])
    new_ones ones;

    /// Return an uninitialized tensor with the dtype and device of this one.
    ///
    /// Example:
    ///     >>> interlock.tensor([1, 2]).new_empty(2, 3).shape
    ///     (2, 3)
    new_empty empty;
}

/// Return a tensor filled with a number, with the dtype and device of this one.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number, or a size is negative.
///
/// Example:
///     >>> interlock.tensor([1, 2]).new_full((2,), 7)
///     tensor([7, 7])
#[tensor_op(method, example = "x, (2, 3), 0.5")]
fn new_full(
    input: &CoreTensor,
    size: &Sizes,
    fill_value: Scalar,
    #[options] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    options.create_like(input, |options| CoreTensor::full(size, fill_value, options))
}

/// Return a tensor with a copy of `data`, with the dtype and device of this one.
///
/// Args:
///     data: A number, nested sequences of numbers, a NumPy array or a tensor.
///
/// Raises:
///     ValueError: Sequences of one level have different lengths, or are nested more than 64 levels deep.
///     ArgumentError: int64 cannot hold a number.
///     TypeError: `data` contains other objects, or numbers beside sequences.
///
/// Example:
///     >>> interlock.tensor([1.5]).new_tensor([1, 2])
///     tensor([1., 2.])
#[tensor_op(method, example = "x, [1.0, 2.0]")]
fn new_tensor(
    input: &CoreTensor,
    data: Data<'_>,
    #[options] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    let resolved = options.like(input)?;
    let tensor = match from_data::pinned_source(data.object(), resolved.placement) {
        Some(source) => source,
        None => from_data::from_data(options.op, data.object(), Some(resolved.dtype))?,
    };
    options.build(|| tensor.to(resolved, false))
}
