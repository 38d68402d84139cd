//! Reductions of truth values, and comparisons of whole tensors.

use interlock_tensor::{Result, Tensor as CoreTensor, Tolerance};

use crate::tensor::operation::{Ints, tensor_op};

/// Declares reductions to truth values. A row has the name, the method of the core's tensor and the result of the example.
macro_rules! truths {
    ($($(#[$doc:meta])* $name:ident $over:ident => $result:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Returns:
        ///     A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
        ///     dimension.
        ///
        /// Example:
        ///     >>> x = interlock.tensor([[0, 1], [2, 3]])
        #[doc = concat!("     >>> interlock.", stringify!($name), "(x), interlock.", stringify!($name), "(x, 0)")]
        #[doc = concat!("     ", $result)]
        #[tensor_op(function, method, out(exact, overlap), example = "x, 1")]
        fn $name(input: &CoreTensor, dim: &Option<Ints>, #[default(false)] keepdim: bool) -> Result<CoreTensor> {
            input.$over(dim.as_deref(), keepdim)
        })+
    };
}

truths! {
    /// Return whether all elements are nonzero, of all elements or over one or several dimensions. NaN is nonzero.
    all all_over => "(tensor(False), tensor([False,  True]))";
    /// Return whether any element is nonzero, of all elements or over one or several dimensions. NaN is nonzero.
    any any_over => "(tensor(True), tensor([True, True]))";
}

/// Return the number of nonzero elements, of all elements or over one or several dimensions.
///
/// Returns:
///     An int64 tensor.
///
/// Example:
///     >>> x = interlock.tensor([[0, 1], [2, 3]])
///     >>> interlock.count_nonzero(x)
///     tensor(3)
#[tensor_op(function, method, example = "x, 1")]
fn count_nonzero(input: &CoreTensor, dim: &Option<Ints>) -> Result<CoreTensor>;

/// Return whether two tensors have the same shape and equal elements. NaN equals nothing.
///
/// For device tensors this waits for the queued work.
///
/// Args:
///     other: The other tensor.
///
/// Raises:
///     RuntimeError: The tensors are on different devices.
///
/// Example:
///     >>> x = interlock.tensor([1, 2])
///     >>> interlock.equal(x, interlock.tensor([1, 2]))
///     True
#[tensor_op(function, method, example = "x, z")]
fn equal(input: &CoreTensor, other: &CoreTensor) -> Result<bool> {
    input.same(other)
}

/// Return a bool tensor that is True where the elements differ by at most `atol + rtol * abs(other)`.
///
/// Differences of integers do not wrap.
///
/// Args:
///     other: The other tensor.
///
/// Returns:
///     A bool tensor. Infinities are close only to themselves.
///
/// Raises:
///     DTypeError: The dtypes differ.
///     ArgumentError: A tolerance is negative.
///     {no_broadcast}
///
/// Example:
///     >>> x = interlock.tensor([1.0, 2.0])
///     >>> interlock.isclose(x, interlock.tensor([1.000001, 2.1]))
///     tensor([ True, False])
#[tensor_op(function, method, example = "x, z")]
fn isclose(
    input: &CoreTensor,
    other: &CoreTensor,
    #[default(1e-5)] rtol: f64,
    #[default(1e-8)] atol: f64,
    #[default(false)] equal_nan: bool,
) -> Result<CoreTensor> {
    input.isclose(other, Tolerance { rtol, atol, equal_nan })
}

/// Return whether all elements are close, as by `isclose`.
///
/// For device tensors this waits for the queued work.
///
/// Args:
///     other: The other tensor.
///
/// Raises:
///     DTypeError: The dtypes differ.
///     ArgumentError: A tolerance is negative.
///     {no_broadcast}
///
/// Example:
///     >>> x = interlock.tensor([1.0, 2.0])
///     >>> interlock.allclose(x, interlock.tensor([1.000001, 2.0]))
///     True
#[tensor_op(function, method, example = "x, z")]
fn allclose(
    input: &CoreTensor,
    other: &CoreTensor,
    #[default(1e-5)] rtol: f64,
    #[default(1e-8)] atol: f64,
    #[default(false)] equal_nan: bool,
) -> Result<bool> {
    input.allclose(other, Tolerance { rtol, atol, equal_nan })
}
