//! `where` and `clamp`.

use interlock_tensor::{Result, Tensor as CoreTensor, elementwise};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::{NewTensor, OptionalArg, compute, compute_exact, replace, tensors};
use crate::tensor::Tensor;
use crate::tensor::args::{TensorOrScalar, extract_tensor, extract_tensor_object};
use crate::tensor::index_ops::nonzero;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(where_, module)?)?;
    module.add_function(wrap_pyfunction!(clamp, module)?)?;
    module.add_function(wrap_pyfunction!(clip, module)?)?;
    module.add_function(wrap_pyfunction!(clamp_min, module)?)?;
    module.add_function(wrap_pyfunction!(clamp_max, module)?)?;
    module.add_function(wrap_pyfunction!(clamp_, module)?)?;
    module.add_function(wrap_pyfunction!(clip_, module)?)?;
    module.add_function(wrap_pyfunction!(clamp_min_, module)?)?;
    module.add_function(wrap_pyfunction!(clamp_max_, module)?)
}

/// Return `input` where a condition is true and `other` elsewhere, or the coordinates of the elements that are not zero.
///
/// Args:
///     condition: A bool tensor; without `input` and `other` a tensor of any dtype.
///     input: A tensor or a number.
///     other: A tensor or a number. Shapes are broadcast, and the dtypes of `input` and `other` promoted.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Returns:
///     A tensor; without `input` and `other` the tuple of `nonzero(condition, as_tuple=True)`.
///
/// Raises:
///     DTypeError: `condition` is not a bool tensor, or `out` has another dtype than the result.
///     ShapeError: The shapes cannot be broadcast.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///     TypeError: Only one of `input` and `other` is passed, or `out` without them.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([-1.0, 2.0])
///     >>> interlock.where(x > 0, x, 0)
///     tensor([0., 2.])
///     >>> interlock.where(x > 0)
///     (tensor([1]),)
#[pyfunction]
#[pyo3(name = "where", signature = (condition, input = None, other = None, *, out = None))]
fn where_<'py>(
    condition: &Bound<'py, PyAny>,
    input: OptionalArg<'_, 'py>,
    other: OptionalArg<'_, 'py>,
    out: OptionalArg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, chosen) = (condition.py(), extract_tensor("where: condition", condition)?);
    match (input, other, out) {
        (Some(input), Some(other), _) => {
            selected(condition, &chosen, [input, other], out).map(Bound::into_any)
        }
        (None, None, None) => Ok(nonzero(&chosen, py, true)?.into_bound(py)),
        (None, None, Some(_)) => Err(PyTypeError::new_err("where: out must be None without input and other")),
        (None, ..) => Err(PyTypeError::new_err("where: input must be passed with other")),
        (_, None, _) => Err(PyTypeError::new_err("where: other must be passed with input")),
    }
}

fn selected<'py>(
    condition: &Bound<'py, PyAny>,
    chosen: &CoreTensor,
    [input, other]: [&Bound<'py, PyAny>; 2],
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    let (x, y) =
        (TensorOrScalar::extract("where: input", input)?, TensorOrScalar::extract("where: other", other)?);
    let inputs: Vec<_> = std::iter::once(chosen).chain(tensors([&x, &y])).collect();
    compute_exact(condition.py(), "where", &inputs, out, || {
        elementwise::where_cond(chosen, x.operand(), y.operand())
    })
}

/// The limits of `clamp`.
struct Limits {
    min: Option<TensorOrScalar>,
    max: Option<TensorOrScalar>,
}

impl Limits {
    fn extract(op: &str, min: OptionalArg<'_, '_>, max: OptionalArg<'_, '_>) -> PyResult<Self> {
        let limit = |argument: &str, given: OptionalArg<'_, '_>| {
            given.map(|given| TensorOrScalar::extract(&format!("{op}: {argument}"), given)).transpose()
        };
        Ok(Limits { min: limit("min", min)?, max: limit("max", max)? })
    }

    fn tensors(&self) -> impl Iterator<Item = &CoreTensor> {
        self.min.iter().chain(&self.max).flat_map(|limit| tensors([limit]))
    }

    fn apply(&self, tensor: &CoreTensor) -> Result<CoreTensor> {
        let operand = TensorOrScalar::operand;
        elementwise::clamp(tensor, self.min.as_ref().map(operand), self.max.as_ref().map(operand))
    }
}

/// Runs a function that limits elements. The names are those of the function and of its first argument in errors.
fn clamp_function<'py>(
    [op, name]: [&'static str; 2],
    input: &Bound<'py, PyAny>,
    min: OptionalArg<'_, 'py>,
    max: OptionalArg<'_, 'py>,
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    let (tensor, limits) = (extract_tensor(name, input)?, Limits::extract(op, min, max)?);
    let inputs: Vec<_> = std::iter::once(&tensor).chain(limits.tensors()).collect();
    compute(input.py(), op, &inputs, out, || limits.apply(&tensor))
}

/// Defines the functions and the methods of `clamp`, under each of its names.
macro_rules! clamps {
    ($($name:ident $inplace:ident;)+) => {
        $(/// Limit each element to the range from `min` to `max`. NaN is preserved, and a limit of NaN makes elements NaN.
        ///
        /// An element that equals a limit has gradient 0 if the limits are numbers. If one is a tensor, the element and
        /// the limit have half of the gradient each. A lower limit below the range of an integer dtype limits nothing, nor
        /// does an upper limit above it.
        ///
        /// Args:
        ///     input: The tensor.
        ///     min: The lower limit, a tensor or a number; None means no limit.
        ///     max: The upper limit, a tensor or a number; None means no limit. Elements are `max` where `min` is larger.
        ///     out: The tensor that receives the result, and is returned; None for a new one.
        ///
        /// Raises:
        ///     ArgumentError: Both limits are None, or the promoted dtype cannot hold a number that limits elements.
        ///     ShapeError: The shapes cannot be broadcast.
        ///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
        ///
        /// Example:
        ///     >>> import interlock
        #[doc = concat!("    >>> interlock.", stringify!($name), "(interlock.tensor([-2.0, 0.5, 2.0]), -1, 1)")]
        ///     tensor([-1.0000,  0.5000,  1.0000])
        #[pyfunction]
        #[pyo3(signature = (input, min = None, max = None, *, out = None))]
        fn $name<'py>(
            input: &Bound<'py, PyAny>,
            min: OptionalArg<'_, 'py>,
            max: OptionalArg<'_, 'py>,
            out: OptionalArg<'_, 'py>,
        ) -> NewTensor<'py> {
            clamp_function([stringify!($name), concat!(stringify!($name), ": input")], input, min, max, out)
        }

        #[doc = concat!("In-place version of `", stringify!($name), "`.")]
        ///
        /// Args:
        ///     input: The tensor, which is changed.
        ///     min: The lower limit, a tensor or a number; None means no limit.
        ///     max: The upper limit, a tensor or a number; None means no limit.
        ///
        /// Returns:
        ///     `input` itself.
        ///
        /// Raises:
        ///     ArgumentError: Both limits are None, or the promoted dtype cannot hold a number that limits elements.
        ///     DTypeError: The tensor cannot hold the result.
        ///     ShapeError: A limit cannot be broadcast to the shape of `input`.
        ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
        ///
        /// Example:
        ///     >>> import interlock
        #[doc = concat!("    >>> interlock.", stringify!($inplace), "(interlock.tensor([-2, 0, 2]), -1, 1)")]
        ///     tensor([-1,  0,  1])
        #[pyfunction]
        #[pyo3(signature = (input, min = None, max = None))]
        fn $inplace<'py>(
            input: &Bound<'py, PyAny>,
            min: OptionalArg<'_, 'py>,
            max: OptionalArg<'_, 'py>,
        ) -> NewTensor<'py> {
            Tensor::$inplace(extract_tensor_object(concat!(stringify!($inplace), ": input"), input)?, min, max)
        })+

        #[pymethods]
        impl Tensor {
            $(/// Limit each element to the range from `min` to `max`. NaN is preserved, and a limit of NaN makes elements NaN.
            ///
            #[doc = concat!("See `interlock.", stringify!($name), "`, whose `input` is this tensor.")]
            ///
            /// Args:
            ///     min: The lower limit, a tensor or a number; None means no limit.
            ///     max: The upper limit, a tensor or a number; None means no limit.
            #[pyo3(signature = (min = None, max = None))]
            fn $name<'py>(
                &self,
                py: Python<'py>,
                min: OptionalArg<'_, 'py>,
                max: OptionalArg<'_, 'py>,
            ) -> NewTensor<'py> {
                self.limited(py, stringify!($name), Limits::extract(stringify!($name), min, max)?)
            }

            #[doc = concat!("In-place version of `", stringify!($name), "`.")]
            ///
            /// Args:
            ///     min: The lower limit, a tensor or a number; None means no limit.
            ///     max: The upper limit, a tensor or a number; None means no limit.
            ///
            /// Returns:
            ///     The tensor itself.
            ///
            /// Raises:
            ///     ArgumentError: Both limits are None, or the promoted dtype cannot hold a number that limits elements.
            ///     DTypeError: The tensor cannot hold the result.
            ///     ShapeError: A limit cannot be broadcast to the shape of this tensor.
            ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
            #[pyo3(signature = (min = None, max = None))]
            fn $inplace<'py>(
                slf: Bound<'py, Self>,
                min: OptionalArg<'_, 'py>,
                max: OptionalArg<'_, 'py>,
            ) -> NewTensor<'py> {
                limit_inplace(stringify!($inplace), slf, Limits::extract(stringify!($inplace), min, max)?)
            })+
        }
    };
}

clamps! {
    clamp clamp_;
    clip clip_;
}

/// Return each element, or `min` if it is smaller.
///
/// An element that equals a number has gradient 0. If `min` is a tensor, both have half of the gradient each.
/// A number below the range of an integer dtype limits nothing.
///
/// Args:
///     input: The tensor.
///     min: The lower limit, a tensor or a number.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Raises:
///     ArgumentError: The promoted dtype cannot hold a number that limits elements.
///     ShapeError: The shapes cannot be broadcast.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.clamp_min(interlock.tensor([-2, 2]), 0)
///     tensor([0, 2])
#[pyfunction]
#[pyo3(signature = (input, min, *, out = None))]
fn clamp_min<'py>(
    input: &Bound<'py, PyAny>,
    min: &Bound<'py, PyAny>,
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    clamp_function(["clamp_min", "clamp_min: input"], input, Some(min), None, out)
}

/// Return each element, or `max` if it is larger.
///
/// An element that equals a number has gradient 0. If `max` is a tensor, both have half of the gradient each.
/// A number above the range of an integer dtype limits nothing.
///
/// Args:
///     input: The tensor.
///     max: The upper limit, a tensor or a number.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Raises:
///     ArgumentError: The promoted dtype cannot hold a number that limits elements.
///     ShapeError: The shapes cannot be broadcast.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.clamp_max(interlock.tensor([-2, 2]), 0)
///     tensor([-2,  0])
#[pyfunction]
#[pyo3(signature = (input, max, *, out = None))]
fn clamp_max<'py>(
    input: &Bound<'py, PyAny>,
    max: &Bound<'py, PyAny>,
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    clamp_function(["clamp_max", "clamp_max: input"], input, None, Some(max), out)
}

/// In-place version of `clamp_min`.
///
/// Args:
///     input: The tensor, which is changed.
///     min: The lower limit, a tensor or a number.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     ArgumentError: The dtype cannot hold a number that limits elements.
///     DTypeError: The tensor cannot hold the result.
///     ShapeError: The limit cannot be broadcast to the shape of `input`.
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
///
/// Example:
///     >>> import interlock
///     >>> interlock.clamp_min_(interlock.tensor([-2, 2]), 0)
///     tensor([0, 2])
#[pyfunction]
fn clamp_min_<'py>(input: &Bound<'py, PyAny>, min: &Bound<'py, PyAny>) -> NewTensor<'py> {
    Tensor::clamp_min_(extract_tensor_object("clamp_min_: input", input)?, min)
}

/// In-place version of `clamp_max`.
///
/// Args:
///     input: The tensor, which is changed.
///     max: The upper limit, a tensor or a number.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     ArgumentError: The dtype cannot hold a number that limits elements.
///     DTypeError: The tensor cannot hold the result.
///     ShapeError: The limit cannot be broadcast to the shape of `input`.
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
///
/// Example:
///     >>> import interlock
///     >>> interlock.clamp_max_(interlock.tensor([-2, 2]), 0)
///     tensor([-2,  0])
#[pyfunction]
fn clamp_max_<'py>(input: &Bound<'py, PyAny>, max: &Bound<'py, PyAny>) -> NewTensor<'py> {
    Tensor::clamp_max_(extract_tensor_object("clamp_max_: input", input)?, max)
}

#[pymethods]
impl Tensor {
    /// Return this tensor where a condition is true and `other` elsewhere.
    ///
    /// See `interlock.where`, whose `input` is this tensor.
    ///
    /// Args:
    ///     condition: A bool tensor.
    ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
    #[pyo3(name = "where")]
    fn where_<'py>(&self, condition: &Bound<'py, PyAny>, other: &Bound<'py, PyAny>) -> NewTensor<'py> {
        let chosen = extract_tensor("where: condition", condition)?;
        let other = TensorOrScalar::extract("where: other", other)?;
        let inputs: Vec<_> = [&chosen, &self.0].into_iter().chain(tensors([&other])).collect();
        compute(condition.py(), "where", &inputs, None, || {
            elementwise::where_cond(&chosen, &self.0, other.operand())
        })
    }

    /// Return each element, or `min` if it is smaller.
    ///
    /// See `interlock.clamp_min`, whose `input` is this tensor.
    ///
    /// Args:
    ///     min: The lower limit, a tensor or a number.
    fn clamp_min<'py>(&self, min: &Bound<'py, PyAny>) -> NewTensor<'py> {
        self.limited(min.py(), "clamp_min", Limits::extract("clamp_min", Some(min), None)?)
    }

    /// Return each element, or `max` if it is larger.
    ///
    /// See `interlock.clamp_max`, whose `input` is this tensor.
    ///
    /// Args:
    ///     max: The upper limit, a tensor or a number.
    fn clamp_max<'py>(&self, max: &Bound<'py, PyAny>) -> NewTensor<'py> {
        self.limited(max.py(), "clamp_max", Limits::extract("clamp_max", None, Some(max))?)
    }

    /// In-place version of `clamp_min`.
    ///
    /// Args:
    ///     min: The lower limit, a tensor or a number.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: The tensor cannot hold the result.
    ///     ShapeError: The limit cannot be broadcast to the shape of this tensor.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn clamp_min_<'py>(slf: Bound<'py, Self>, min: &Bound<'py, PyAny>) -> NewTensor<'py> {
        limit_inplace("clamp_min_", slf, Limits::extract("clamp_min_", Some(min), None)?)
    }

    /// In-place version of `clamp_max`.
    ///
    /// Args:
    ///     max: The upper limit, a tensor or a number.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: The tensor cannot hold the result.
    ///     ShapeError: The limit cannot be broadcast to the shape of this tensor.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn clamp_max_<'py>(slf: Bound<'py, Self>, max: &Bound<'py, PyAny>) -> NewTensor<'py> {
        limit_inplace("clamp_max_", slf, Limits::extract("clamp_max_", None, Some(max))?)
    }
}

impl Tensor {
    fn limited<'py>(&self, py: Python<'py>, op: &'static str, limits: Limits) -> NewTensor<'py> {
        let inputs: Vec<_> = std::iter::once(&self.0).chain(limits.tensors()).collect();
        compute(py, op, &inputs, None, || limits.apply(&self.0))
    }
}

fn limit_inplace<'py>(op: &'static str, tensor: Bound<'py, Tensor>, limits: Limits) -> NewTensor<'py> {
    let inputs: Vec<_> = limits.tensors().collect();
    replace(op, tensor, &inputs, &|target| limits.apply(target))
}
