//! Arguments that are ints, and tuples and lists of ints.

use std::ops::Deref;
use std::slice;

use interlock_tensor::{DType, Tensor as CoreTensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::argument::{ArgumentName, FromArgument, required};
use super::arguments::Passed;
use super::{Arg, OptionalArg, joined};
use crate::errors::shown;
use crate::tensor::args::{checked_sizes, try_extract_int};
use crate::tensor::dtype::DType as PyDType;
use crate::tensor::{ReadTensor, Tensor, fallible_alloc};

impl FromArgument<'_, '_> for i64 {
    const ANNOTATION: &'static str = "SupportsIndex";
    const WANTED: &'static str = "an int";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        try_extract_int(name, given)
    }
}

/// Returns whether an object is a tuple or list.
pub(in crate::tensor) fn is_list(given: Arg<'_, '_>) -> bool {
    given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>()
}

/// An int, or a tuple or list of ints.
pub(in crate::tensor) struct Ints(Vec<i64>);

impl Deref for Ints {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl<const N: usize> From<[i64; N]> for Ints {
    fn from(ints: [i64; N]) -> Self {
        Ints(ints.into())
    }
}

impl<'py> FromArgument<'_, 'py> for Ints {
    const ANNOTATION: &'static str = "_Dims";
    const WANTED: &'static str = "an int, a tuple of ints or a list of ints";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, 'py>) -> PyResult<Option<Self>> {
        if is_list(given) {
            let items = given.try_iter()?.map(|item| required::<i64>(name, &item?));
            return fallible_alloc::try_collect(given.py(), items).map(|ints| Some(Ints(ints)));
        }
        Ok(i64::try_from_argument(name, given)?.map(|int| Ints(vec![int])))
    }
}

/// An int, or a tuple or list of ints, which have another meaning than one int.
pub(in crate::tensor) enum IntOrInts {
    Int(i64),
    Ints(Ints),
}

impl FromArgument<'_, '_> for IntOrInts {
    const ANNOTATION: &'static str = Ints::ANNOTATION;
    const WANTED: &'static str = Ints::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        if is_list(given) {
            return Ok(Ints::try_from_argument(name, given)?.map(IntOrInts::Ints));
        }
        Ok(i64::try_from_argument(name, given)?.map(IntOrInts::Int))
    }
}

/// An int or a tensor.
pub(in crate::tensor) enum IntOrTensor {
    Int(i64),
    Tensor(CoreTensor),
}

impl FromArgument<'_, '_> for IntOrTensor {
    const ANNOTATION: &'static str = "SupportsIndex | Tensor";
    const WANTED: &'static str = i64::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        match given.cast::<Tensor>() {
            Ok(tensor) => Ok(Some(IntOrTensor::Tensor(tensor.core().clone()))),
            Err(_) => Ok(i64::try_from_argument(name, given)?.map(IntOrTensor::Int)),
        }
    }

    fn tensors(&self) -> &[CoreTensor] {
        match self {
            IntOrTensor::Int(_) => &[],
            IntOrTensor::Tensor(tensor) => slice::from_ref(tensor),
        }
    }
}

/// An int, or a tuple, list or one-dimensional tensor of ints.
pub(in crate::tensor) enum Sections {
    Ints(IntOrInts),
    Tensor(CoreTensor),
}

impl FromArgument<'_, '_> for Sections {
    const ANNOTATION: &'static str = "_Dims | Tensor";
    const WANTED: &'static str = Ints::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        match given.cast::<Tensor>() {
            Ok(tensor) if tensor.core().ndim() == 1 => Ok(Some(Sections::Tensor(tensor.core().clone()))),
            _ => Ok(IntOrInts::try_from_argument(name, given)?.map(Sections::Ints)),
        }
    }

    fn tensors(&self) -> &[CoreTensor] {
        match self {
            Sections::Ints(_) => &[],
            Sections::Tensor(tensor) => slice::from_ref(tensor),
        }
    }
}

/// A type of ints that may be passed as separate arguments.
pub(in crate::tensor) trait Variadic: Sized {
    /// Converts ints that are passed as separate arguments, or as one tuple or list, also by name.
    fn from_separate<'py>(
        py: Python<'py>,
        name: ArgumentName,
        ints: &[Passed<'_, 'py>],
        named: OptionalArg<'_, 'py>,
    ) -> PyResult<Self>;
}

impl Variadic for Ints {
    fn from_separate<'py>(
        py: Python<'py>,
        name: ArgumentName,
        ints: &[Passed<'_, 'py>],
        named: OptionalArg<'_, 'py>,
    ) -> PyResult<Self> {
        match (ints, named) {
            ([], None) => {
                let message = format!("{name} must be ints, or one tuple or list of them, got nothing");
                Err(PyTypeError::new_err(message))
            }
            ([one], None) => required(name, one),
            (ints, None) => {
                let ints = ints.iter().map(|int| required(name, int));
                ints.collect::<PyResult<_>>().map(Ints)
            }
            ([], Some(named)) if is_list(named) => required(name, named),
            ([], Some(named)) => Err(name.type_error("a tuple or list of ints", named)),
            (ints, Some(named)) => {
                let given = shown(PyTuple::new(py, ints)?.as_any())?;
                let message = format!("{name} must be passed once, got {given} and {}", shown(named)?);
                Err(PyTypeError::new_err(message))
            }
        }
    }
}

/// The sizes of a new tensor.
pub(in crate::tensor) struct Sizes(Vec<usize>);

impl Deref for Sizes {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl Sizes {
    fn checked(py: Python<'_>, name: ArgumentName, ints: &[i64]) -> PyResult<Self> {
        checked_sizes(py, name, ints).map(Sizes)
    }
}

impl FromArgument<'_, '_> for Sizes {
    const ANNOTATION: &'static str = Ints::ANNOTATION;
    const WANTED: &'static str = Ints::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let ints = Ints::try_from_argument(name, given)?;
        ints.map(|ints| Sizes::checked(given.py(), name, &ints)).transpose()
    }
}

impl Variadic for Sizes {
    fn from_separate<'py>(
        py: Python<'py>,
        name: ArgumentName,
        ints: &[Passed<'_, 'py>],
        named: OptionalArg<'_, 'py>,
    ) -> PyResult<Self> {
        let sizes = |ints, named| Sizes::checked(py, name, &Ints::from_separate(py, name, ints, named)?);
        match ints {
            [ints @ .., dtype] if dtype.is_instance_of::<PyDType>() => {
                let sizes = PyTuple::new(py, sizes(ints, None)?.iter())?;
                let message = format!("dtype is keyword-only: {}({sizes}, dtype={})", name.function, **dtype);
                Err(PyTypeError::new_err(message))
            }
            ints => sizes(ints, named),
        }
    }
}

/// A number of things.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Count(usize);

impl Count {
    pub fn get(self) -> usize {
        self.0
    }
}

impl FromArgument<'_, '_> for Count {
    const ANNOTATION: &'static str = i64::ANNOTATION;
    const WANTED: &'static str = i64::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let Some(count) = i64::try_from_argument(name, given)? else { return Ok(None) };
        let found = Sizes::checked(given.py(), name, &[count])?;
        Ok(found.first().copied().map(Count))
    }
}

/// Sizes, or a dtype in place of them.
pub(in crate::tensor) enum SizesOrDType {
    Sizes(Ints),
    DType(DType),
}

impl<'py> FromArgument<'_, 'py> for SizesOrDType {
    const ANNOTATION: &'static str = joined!(Ints::ANNOTATION, " | ", DType::ANNOTATION);
    const WANTED: &'static str = "an int or a dtype";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, 'py>) -> PyResult<Option<Self>> {
        if let Some(dtype) = DType::try_from_argument(name, given)? {
            return Ok(Some(SizesOrDType::DType(dtype)));
        }
        Ok(Ints::try_from_argument(name, given)?.map(SizesOrDType::Sizes))
    }
}

impl Variadic for SizesOrDType {
    fn from_separate<'py>(
        py: Python<'py>,
        name: ArgumentName,
        args: &[Passed<'_, 'py>],
        named: OptionalArg<'_, 'py>,
    ) -> PyResult<Self> {
        for given in args.iter().skip(usize::from(args.len() == 1 && named.is_none())) {
            if let Some(dtype) = DType::try_from_argument(name, given)? {
                let (function, dtype) = (name.function, dtype.name());
                let message = format!("{function}: dtype must be passed alone, without sizes, got {dtype}");
                return Err(PyTypeError::new_err(message));
            }
        }
        match (args, named) {
            // `view(dtype=...)`.
            ([], None) => Ok(SizesOrDType::Sizes(Ints(Vec::new()))),
            ([one], None) => required(name, one),
            _ => Ints::from_separate(py, name, args, named).map(SizesOrDType::Sizes),
        }
    }
}
