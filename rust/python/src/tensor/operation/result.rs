//! The conversion of results.

use std::borrow::Cow;

use interlock_tensor::{DType, Error, ErrorKind, Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use super::Object;
use crate::detach::call_with;
use crate::tensor::{Tensor, dtype, fallible_alloc};

/// A type of results of operations.
pub(in crate::tensor) trait IntoPython {
    /// The annotation in the stub. `{}` stands for the name of the operation.
    const ANNOTATION: &'static str;

    /// Converts a result of `op`.
    fn into_python<'py>(self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>>;
}

/// Declares types of results. A row has the type, the annotation and the conversion.
macro_rules! results {
    ($($type:ty: $annotation:expr, |$py:ident, $result:ident| $object:expr;)+) => {
        $(impl IntoPython for $type {
            const ANNOTATION: &'static str = $annotation;

            fn into_python<'py>(self, $py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
                let $result = self;
                $object
            }
        })+
    };
}

results! {
    CoreTensor: "Tensor", |py, tensor| Ok(Bound::new(py, Tensor::from(tensor))?.into_any());
    Object<'_>: CoreTensor::ANNOTATION, |py, object| Ok(object.as_any().clone().unbind().into_bound(py));
    Py<Tensor>: CoreTensor::ANNOTATION, |py, tensor| Ok(tensor.into_bound(py).into_any());
    // The result of an operation that makes it itself.
    Bound<'_, PyAny>: "object", |py, object| Ok(object.unbind().into_bound(py));
    usize: "builtins.int", |py, number| Ok(number.into_pyobject(py)?.into_any());
    bool: "builtins.bool", |py, truth| Ok(PyBool::new(py, truth).to_owned().into_any());
    DType: "_dtype", |py, dtype| dtype::object(py, dtype);
    (CoreTensor, CoreTensor): "tuple[Tensor, Tensor]", |py, pair| {
        Ok((Tensor::from(pair.0), Tensor::from(pair.1)).into_pyobject(py)?.into_any())
    };
    (CoreTensor, CoreTensor, CoreTensor): "tuple[Tensor, Tensor, Tensor]", |py, triple| {
        let (first, second, third) = triple;
        Ok((Tensor::from(first), Tensor::from(second), Tensor::from(third)).into_pyobject(py)?.into_any())
    };
    Vec<CoreTensor>: "tuple[Tensor, ...]", |py, tensors| {
        let objects = tensors.into_iter().map(|tensor| Ok(Bound::new(py, Tensor::from(tensor))?.into_any()));
        Ok(fallible_alloc::try_tuple(py, objects)?.into_any())
    };
}

/// A tensor, or a tuple of tensors. The signature has overloads.
pub(in crate::tensor) enum OneOrMore {
    One(CoreTensor),
    More(Vec<CoreTensor>),
}

impl IntoPython for OneOrMore {
    const ANNOTATION: &'static str = "Tensor | tuple[Tensor, ...]";

    fn into_python<'py>(self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        match self {
            OneOrMore::One(tensor) => tensor.into_python(py, op),
            OneOrMore::More(tensors) => tensors.into_python(py, op),
        }
    }
}

const OUT_OF_PAIR: &str = "a Tensor, a tuple or list of two Tensors, or None";

/// A type of results that the argument `out` receives.
pub(in crate::tensor) trait Results: Sized {
    /// Returns the result for an `out` that is one tensor, which must have its dtype if the second value is true.
    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)>;

    /// The number of results, and what an `out` for them may be.
    const OUT: (usize, &'static str) = (2, OUT_OF_PAIR);

    /// Returns the results for an `out` that is several tensors.
    fn several(self, op: &'static str) -> Result<Vec<CoreTensor>>;

    /// Returns the name of the named tuple in `interlock.return_types`.
    fn tuple_name(op: &'static str) -> Cow<'static, str> {
        Cow::Borrowed(op)
    }
}

/// Returns the error for an `out` that is not two tensors.
pub(in crate::tensor) fn err_out_is_one<T>(op: &'static str) -> Result<T> {
    Err(Error::new(ErrorKind::Type, op, "out must be a tuple or list of two Tensors, one for each result"))
}

/// Returns the error for an `out` that is two tensors.
pub(in crate::tensor) fn err_out_is_two<T>(op: &'static str) -> Result<T> {
    Err(Error::new(ErrorKind::Type, op, "out must be one Tensor, for the one result"))
}

impl Results for OneOrMore {
    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)> {
        match self {
            OneOrMore::One(tensor) => Ok((tensor, true)),
            OneOrMore::More(_) => {
                Err(Error::new(ErrorKind::Type, op, "out must be None for a result that is a tuple"))
            }
        }
    }

    fn several(self, op: &'static str) -> Result<Vec<CoreTensor>> {
        err_out_is_two(op)
    }
}

/// Returns the named tuple of this name.
pub(super) fn named_tuple<'py>(
    py: Python<'py>,
    name: &str,
    fields: impl IntoPyObject<'py, Target = PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("interlock.return_types")?.getattr(name)?;
    call_with(&class, fields)
}

/// Tensors, which become the named tuple of the operation in `interlock.return_types`, or the one of `linalg_OPERATION`.
pub(in crate::tensor) struct Named<const COUNT: usize, const IS_LINALG: bool>([CoreTensor; COUNT]);

pub(in crate::tensor) type NamedPair = Named<2, false>;
pub(in crate::tensor) type LinalgPair = Named<2, true>;
pub(in crate::tensor) type LinalgTriple = Named<3, true>;

impl<const IS_LINALG: bool> From<(CoreTensor, CoreTensor)> for Named<2, IS_LINALG> {
    fn from((first, second): (CoreTensor, CoreTensor)) -> Self {
        Named([first, second])
    }
}

impl<const IS_LINALG: bool> From<(CoreTensor, CoreTensor, CoreTensor)> for Named<3, IS_LINALG> {
    fn from((first, second, third): (CoreTensor, CoreTensor, CoreTensor)) -> Self {
        Named([first, second, third])
    }
}

impl<const COUNT: usize, const IS_LINALG: bool> IntoPython for Named<COUNT, IS_LINALG> {
    const ANNOTATION: &'static str = if IS_LINALG { "_return_types.linalg_{}" } else { "_return_types.{}" };

    fn into_python<'py>(self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        named_tuple(py, &Self::tuple_name(op), PyTuple::new(py, self.0.map(Tensor::from))?)
    }
}

impl<const COUNT: usize, const IS_LINALG: bool> Results for Named<COUNT, IS_LINALG> {
    const OUT: (usize, &'static str) =
        (COUNT, if COUNT == 3 { "a tuple or list of three Tensors, or None" } else { OUT_OF_PAIR });

    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)> {
        if COUNT != 3 {
            return err_out_is_one(op);
        }
        let problem = "out must be a tuple or list of three Tensors, one for each result";
        Err(Error::new(ErrorKind::Type, op, problem))
    }

    fn several(self, _op: &'static str) -> Result<Vec<CoreTensor>> {
        Ok(self.0.into())
    }

    fn tuple_name(op: &'static str) -> Cow<'static, str> {
        if IS_LINALG { format!("linalg_{op}").into() } else { op.into() }
    }
}
