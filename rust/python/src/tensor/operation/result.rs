//! The conversion of results.

use std::borrow::Cow;

use interlock_tensor::{DType, Error, Result, Tensor as CoreTensor};
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

impl IntoPython for CoreTensor {
    const ANNOTATION: &'static str = "Tensor";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok(Bound::new(py, Tensor::from(self))?.into_any())
    }
}

impl IntoPython for Object<'_> {
    const ANNOTATION: &'static str = CoreTensor::ANNOTATION;

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.as_any().clone().unbind().into_bound(py))
    }
}

/// The result of an operation that makes it itself.
impl IntoPython for Bound<'_, PyAny> {
    const ANNOTATION: &'static str = "object";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.unbind().into_bound(py))
    }
}

impl IntoPython for Py<Tensor> {
    const ANNOTATION: &'static str = CoreTensor::ANNOTATION;

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.into_bound(py).into_any())
    }
}

impl IntoPython for usize {
    const ANNOTATION: &'static str = "builtins.int";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.into_pyobject(py)?.into_any())
    }
}

impl IntoPython for bool {
    const ANNOTATION: &'static str = "builtins.bool";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyBool::new(py, self).to_owned().into_any())
    }
}

impl IntoPython for DType {
    const ANNOTATION: &'static str = "_DType";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        dtype::object(py, self)
    }
}

impl IntoPython for (CoreTensor, CoreTensor) {
    const ANNOTATION: &'static str = "tuple[Tensor, Tensor]";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok((Tensor::from(self.0), Tensor::from(self.1)).into_pyobject(py)?.into_any())
    }
}

impl IntoPython for (CoreTensor, CoreTensor, CoreTensor) {
    const ANNOTATION: &'static str = "tuple[Tensor, Tensor, Tensor]";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok((Tensor::from(self.0), Tensor::from(self.1), Tensor::from(self.2)).into_pyobject(py)?.into_any())
    }
}

impl IntoPython for Vec<CoreTensor> {
    const ANNOTATION: &'static str = "tuple[Tensor, ...]";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        let tensors = self.into_iter().map(|tensor| Ok(Bound::new(py, Tensor::from(tensor))?.into_any()));
        Ok(fallible_alloc::try_tuple(py, tensors)?.into_any())
    }
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

/// A type of results that the argument `out` receives.
pub(in crate::tensor) trait Results: Sized {
    /// Returns the result for an `out` that is one tensor, which must have its dtype if the second value is true.
    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)>;

    /// The number of results, and what an `out` for them may be.
    const OUT: (usize, &'static str) = (2, "a Tensor, a tuple or list of two Tensors, or None");

    /// Returns the results for an `out` that is several tensors.
    fn several(self, op: &'static str) -> Result<Vec<CoreTensor>>;

    /// Returns the name of the named tuple in `interlock.return_types`.
    fn tuple_name(op: &'static str) -> Cow<'static, str> {
        Cow::Borrowed(op)
    }
}

/// Returns the error for an `out` that is not two tensors.
pub(in crate::tensor) fn err_out_is_one<T>(op: &'static str) -> Result<T> {
    Err(Error::Arguments { op, problem: "out must be a tuple or list of two Tensors, one for each result" })
}

/// Returns the error for an `out` that is two tensors.
pub(in crate::tensor) fn err_out_is_two<T>(op: &'static str) -> Result<T> {
    Err(Error::Arguments { op, problem: "out must be one Tensor, for the one result" })
}

impl Results for OneOrMore {
    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)> {
        match self {
            OneOrMore::One(tensor) => Ok((tensor, true)),
            OneOrMore::More(_) => {
                Err(Error::Arguments { op, problem: "out must be None for a result that is a tuple" })
            }
        }
    }

    fn several(self, op: &'static str) -> Result<Vec<CoreTensor>> {
        err_out_is_two(op)
    }
}

impl Results for NamedPair {
    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)> {
        err_out_is_one(op)
    }

    fn several(self, _op: &'static str) -> Result<Vec<CoreTensor>> {
        Ok(vec![self.0, self.1])
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

/// Two tensors, which become the named tuple of the operation in `interlock.return_types`.
pub(in crate::tensor) struct NamedPair(pub CoreTensor, pub CoreTensor);

impl IntoPython for NamedPair {
    const ANNOTATION: &'static str = "_return_types.{}";

    fn into_python<'py>(self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        named_tuple(py, op, (Tensor::from(self.0), Tensor::from(self.1)))
    }
}

/// Two tensors, which become the named tuple `linalg_OPERATION`.
pub(in crate::tensor) struct LinalgPair(pub CoreTensor, pub CoreTensor);

impl IntoPython for LinalgPair {
    const ANNOTATION: &'static str = "_return_types.linalg_{}";

    fn into_python<'py>(self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        named_tuple(py, &Self::tuple_name(op), (Tensor::from(self.0), Tensor::from(self.1)))
    }
}

impl Results for LinalgPair {
    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)> {
        err_out_is_one(op)
    }

    fn several(self, _op: &'static str) -> Result<Vec<CoreTensor>> {
        Ok(vec![self.0, self.1])
    }

    fn tuple_name(op: &'static str) -> Cow<'static, str> {
        Cow::Owned(format!("linalg_{op}"))
    }
}

/// Three tensors, which become the named tuple `linalg_OPERATION`.
pub(in crate::tensor) struct LinalgTriple(pub CoreTensor, pub CoreTensor, pub CoreTensor);

impl IntoPython for LinalgTriple {
    const ANNOTATION: &'static str = LinalgPair::ANNOTATION;

    fn into_python<'py>(self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        let fields = (Tensor::from(self.0), Tensor::from(self.1), Tensor::from(self.2));
        named_tuple(py, &LinalgPair::tuple_name(op), fields)
    }
}

impl Results for LinalgTriple {
    const OUT: (usize, &'static str) = (3, "a tuple or list of three Tensors, or None");

    fn one(self, op: &'static str) -> Result<(CoreTensor, bool)> {
        Err(Error::Arguments {
            op,
            problem: "out must be a tuple or list of three Tensors, one for each result",
        })
    }

    fn several(self, _op: &'static str) -> Result<Vec<CoreTensor>> {
        Ok(vec![self.0, self.1, self.2])
    }

    fn tuple_name(op: &'static str) -> Cow<'static, str> {
        LinalgPair::tuple_name(op)
    }
}
