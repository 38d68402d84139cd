//! Maxima and minima.

use interlock_tensor::{Error, ErrorKind, Result, Tensor as CoreTensor, elementwise};
use pyo3::prelude::*;

use crate::tensor::operation::{
    IntOrTensor, IntoPython, Ints, NamedPair, Results, err_out_is_one, err_out_is_two, tensor_op,
};

/// Declares extremes of all elements, along a dimension or of two tensors. A row has the name, the methods of the core's tensor
/// and the overload with a dimension.
macro_rules! extremes {
    ($($(#[$doc:meta])* $name:ident $along:ident $of_pairs:ident $overload:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        ///     dim: The dimension, or a tensor. None means all elements.
        ///
        /// Raises:
        ///     ShapeError: There are no elements.
        ///     IndexError: The dimension has size 0.
        ///     TypeError: `keepdim` is set without `dim`.
        #[tensor_op(
            function,
            method,
            out,
            example = "x; x, 1; x, z",
            overloads("(input: Tensor, dim: None = None) -> Tensor", $overload, "(input: Tensor, dim: Tensor) -> Tensor")
        )]
        fn $name(
            input: &CoreTensor,
            dim: &Option<IntOrTensor>,
            #[default(false)] keepdim: bool,
        ) -> Result<Extremes> {
            match dim {
                Some(IntOrTensor::Tensor(other)) => elementwise::$of_pairs(input, other).map(Extremes::Tensor),
                Some(IntOrTensor::Int(dim)) => input.$along(*dim, keepdim).map(Extremes::along),
                None => without_dim(stringify!($name), keepdim).and_then(|()| input.$name()).map(Extremes::Tensor),
            }
        })+
    };
}

extremes! {
    /// Return the maximum of all elements, or along a dimension, or of each pair of elements of two tensors.
    ///
    /// Returns:
    ///     The maximum of all elements, which share the gradient if they are equal. With a dimension a named tuple
    ///     `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor
    ///     the larger elements of both, as `maximum`. NaN counts as the maximum.
    ///
    /// Example:
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> interlock.max(x)
    ///     tensor(7)
    ///     >>> interlock.max(x, 1).values
    ///     tensor([5, 7])
    max max_along maximum "(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False) -> _return_types.max";

    /// Return the minimum of all elements, or along a dimension, or of each pair of elements of two tensors.
    ///
    /// Returns:
    ///     The minimum of all elements, which share the gradient if they are equal. With a dimension a named tuple
    ///     `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor
    ///     the smaller elements of both, as `minimum`. NaN counts as the minimum.
    ///
    /// Example:
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> interlock.min(x)
    ///     tensor(1)
    ///     >>> interlock.min(x, 1).values
    ///     tensor([1, 2])
    min min_along minimum "(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False) -> _return_types.min";
}

/// Declares extremes over dimensions, which are methods of the core's tensor of the same name. A row has the name and the
/// result of the example.
macro_rules! over_dims {
    ($($(#[$doc:meta])* $name:ident => $result:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        ///     {dims}
        ///
        /// Raises:
        ///     IndexError: A reduced dimension has size 0.
        ///
        /// Example:
        ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
        #[doc = concat!("     >>> interlock.", stringify!($name), "(x, 0)")]
        #[doc = concat!("     ", $result)]
        #[tensor_op(function, method, out(exact, overlap), example = "x, 1")]
        fn $name(input: &CoreTensor, dim: &Option<Ints>, #[default(false)] keepdim: bool) -> Result<CoreTensor>;)+
    };
}

over_dims! {
    /// Return the maximum of all elements, or over one or several dimensions.
    ///
    /// The result is NaN where an element is NaN. Equal maxima share the gradient.
    amax => "tensor([7, 5])";
    /// Return the minimum of all elements, or over one or several dimensions.
    ///
    /// The result is NaN where an element is NaN. Equal minima share the gradient.
    amin => "tensor([1, 2])";
}

/// Return the minimum and the maximum of all elements, or along a dimension.
///
/// Args:
///     {dim_or_all}
///
/// Returns:
///     A named tuple `(min, max)`. Both are NaN if an element is NaN. Equal extremes share the gradient.
///
/// Raises:
///     {empty_dim}
///
/// Example:
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> low, high = interlock.aminmax(x)
///     >>> low, high
///     (tensor(1), tensor(7))
#[tensor_op(function, method, out, example = "x, dim=1")]
fn aminmax(
    input: &CoreTensor,
    #[keyword] dim: Option<i64>,
    #[default(false)] keepdim: bool,
) -> Result<NamedPair>;

/// Returns an error if `keepdim` is set, which needs a dimension.
fn without_dim(op: &'static str, keepdim: bool) -> Result<()> {
    let message = "keepdim needs a dim; amax() and amin() take both";
    Error::when(keepdim, || Error::new(ErrorKind::Type, op, message))
}

/// Extremes, with their indices if they are those along a dimension.
pub(super) enum Extremes {
    Tensor(CoreTensor),
    WithIndices(NamedPair),
}

impl Extremes {
    pub fn along(found: (CoreTensor, CoreTensor)) -> Self {
        Extremes::WithIndices(found.into())
    }
}

impl Results for Extremes {
    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)> {
        match self {
            Extremes::Tensor(tensor) => Ok((tensor, false)),
            Extremes::WithIndices(_) => err_out_is_one(op),
        }
    }

    fn several(self, op: &'static str) -> Result<Vec<CoreTensor>> {
        match self {
            Extremes::Tensor(_) => err_out_is_two(op),
            Extremes::WithIndices(pair) => pair.several(op),
        }
    }
}

impl IntoPython for Extremes {
    const ANNOTATION: &'static str = "Tensor | _return_types.{}";

    fn into_python<'py>(self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Extremes::Tensor(tensor) => tensor.into_python(py, op),
            Extremes::WithIndices(pair) => pair.into_python(py, op),
        }
    }
}
