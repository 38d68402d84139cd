//! The types of arguments.

use std::ops::Deref;

use interlock::accelerator::Device;
use interlock_tensor::{DType, Operand, Scalar, Tensor as CoreTensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyList, PyTuple};

use super::argument::{ArgumentName, FromArgument};
use super::{Arg, OptionalArg, joined, required};
use crate::accelerator::parse;
use crate::errors::shown;
use crate::py_int;
use crate::switches::try_bool;
use crate::tensor::args::{PyNumber, checked_sizes, err_int64_overflow, scalar_of_tensor};
use crate::tensor::dtype::{DType as PyDType, NAMES};
use crate::tensor::{Tensor, fallible_alloc};

impl<'a> FromArgument<'a, '_> for &'a CoreTensor {
    const ANNOTATION: &'static str = "Tensor";
    const WANTED: &'static str = "a Tensor";

    fn try_from_argument(_name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast::<Tensor>().ok().map(|tensor| &tensor.get().0))
    }

    fn tensor(&self) -> Option<&CoreTensor> {
        Some(self)
    }
}

impl<'a> FromArgument<'a, '_> for Operand<'a> {
    const ANNOTATION: &'static str = "Tensor | _Number";
    const WANTED: &'static str = "a Tensor or a number";

    fn try_from_argument(name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        if let Ok(tensor) = given.cast::<Tensor>() {
            return Ok(Some(Operand::Tensor(&tensor.get().0)));
        }
        let number = PyNumber::extract(given)?;
        number.map(|number| number.scalar_of(name).map(Operand::Scalar)).transpose()
    }

    fn tensor(&self) -> Option<&CoreTensor> {
        match self {
            Operand::Tensor(tensor) => Some(tensor),
            Operand::Scalar(_) => None,
        }
    }
}

impl FromArgument<'_, '_> for Scalar {
    const ANNOTATION: &'static str = "_Number";
    const WANTED: &'static str = "a number or a Tensor with one element";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        match given.cast::<Tensor>() {
            Ok(tensor) => scalar_of_tensor(name, Self::WANTED, &tensor.get().0, given.py()).map(Some),
            Err(_) => PyNumber::extract(given)?.map(|number| number.scalar_of(name)).transpose(),
        }
    }
}

impl FromArgument<'_, '_> for f64 {
    const ANNOTATION: &'static str = "builtins.float";
    const WANTED: &'static str = Scalar::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        Ok(Scalar::try_from_argument(name, given)?.map(Scalar::cast))
    }
}

impl FromArgument<'_, '_> for i64 {
    const ANNOTATION: &'static str = "builtins.int";
    const WANTED: &'static str = "an int";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        if given.is_instance_of::<PyBool>() || given.is_instance_of::<PyFloat>() {
            return Ok(None);
        }
        let Some(index) = py_int::index_of_argument(given)? else { return Ok(None) };
        let value = py_int::int64(&index).ok_or_else(|| err_int64_overflow(&name.to_string(), &index));
        value.map(Some)
    }
}

impl FromArgument<'_, '_> for bool {
    const ANNOTATION: &'static str = "builtins.bool";
    const WANTED: &'static str = "a bool";

    fn try_from_argument(_name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        try_bool(given)
    }
}

impl FromArgument<'_, '_> for DType {
    const ANNOTATION: &'static str = "_DType";
    const WANTED: &'static str = joined!("interlock.", NAMES);

    fn try_from_argument(_name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast::<PyDType>().ok().map(|dtype| dtype.get().0))
    }
}

/// An int, or a tuple or list of ints.
pub(in crate::tensor) struct Ints(Vec<i64>);

impl Deref for Ints {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl<'py> FromArgument<'_, 'py> for Ints {
    const ANNOTATION: &'static str = "_Dims";
    const WANTED: &'static str = i64::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, 'py>) -> PyResult<Option<Self>> {
        if given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>() {
            let items = given.try_iter()?.map(|item| required::<i64>(name, &item?));
            return fallible_alloc::try_collect(given.py(), items).map(|ints| Some(Ints(ints)));
        }
        Ok(i64::try_from_argument(name, given)?.map(|int| Ints(vec![int])))
    }
}

/// A number, but no tensor.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Number(pub Scalar);

impl FromArgument<'_, '_> for Number {
    const ANNOTATION: &'static str = Scalar::ANNOTATION;
    const WANTED: &'static str = "a number";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        PyNumber::extract(given)?.map(|number| number.scalar_of(name).map(Number)).transpose()
    }
}

/// A number, but no tensor, as a float.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Float(f64);

impl Float {
    pub const fn new(value: f64) -> Self {
        Float(value)
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromArgument<'_, '_> for Float {
    const ANNOTATION: &'static str = f64::ANNOTATION;
    const WANTED: &'static str = "a float";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        Ok(Number::try_from_argument(name, given)?.map(|Number(value)| Float(value.cast())))
    }
}

/// The Python object of a tensor.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Object<'a>(&'a Bound<'a, Tensor>);

impl<'a> Object<'a> {
    pub fn as_any(&self) -> &'a Bound<'a, PyAny> {
        self.0.as_any()
    }

    pub fn core(&self) -> &'a CoreTensor {
        &self.0.get().0
    }
}

impl<'a> FromArgument<'a, '_> for Object<'a> {
    const ANNOTATION: &'static str = <&CoreTensor>::ANNOTATION;
    const WANTED: &'static str = <&CoreTensor>::WANTED;

    fn try_from_argument(_name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast().ok().map(Object))
    }

    fn tensor(&self) -> Option<&CoreTensor> {
        Some(self.core())
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
        if given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>() {
            return Ok(Ints::try_from_argument(name, given)?.map(IntOrInts::Ints));
        }
        Ok(i64::try_from_argument(name, given)?.map(IntOrInts::Int))
    }
}

/// An int or a tensor.
#[derive(Clone, Copy)]
pub(in crate::tensor) enum IntOrTensor<'a> {
    Int(i64),
    Tensor(&'a CoreTensor),
}

impl<'a> FromArgument<'a, '_> for IntOrTensor<'a> {
    const ANNOTATION: &'static str = "builtins.int | Tensor";
    const WANTED: &'static str = i64::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        match given.cast::<Tensor>() {
            Ok(tensor) => Ok(Some(IntOrTensor::Tensor(&tensor.get().0))),
            Err(_) => Ok(i64::try_from_argument(name, given)?.map(IntOrTensor::Int)),
        }
    }

    fn tensor(&self) -> Option<&CoreTensor> {
        match self {
            IntOrTensor::Int(_) => None,
            IntOrTensor::Tensor(tensor) => Some(tensor),
        }
    }
}

/// An int, or a tuple, list or one-dimensional tensor of ints.
pub(in crate::tensor) enum Sections<'a> {
    Ints(IntOrInts),
    Tensor(&'a CoreTensor),
}

impl<'a> FromArgument<'a, '_> for Sections<'a> {
    const ANNOTATION: &'static str = "_Dims | Tensor";
    const WANTED: &'static str = Ints::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        match given.cast::<Tensor>() {
            Ok(tensor) if tensor.get().0.ndim() == 1 => Ok(Some(Sections::Tensor(&tensor.get().0))),
            _ => Ok(IntOrInts::try_from_argument(name, given)?.map(Sections::Ints)),
        }
    }

    fn tensor(&self) -> Option<&CoreTensor> {
        match self {
            Sections::Ints(_) => None,
            Sections::Tensor(tensor) => Some(tensor),
        }
    }
}

/// A type of ints that may be passed as separate arguments.
pub(in crate::tensor) trait Variadic: Sized {
    /// Converts ints that are passed as separate arguments, or as one tuple or list, also by name.
    fn from_args(name: ArgumentName, args: &Bound<'_, PyTuple>, named: OptionalArg<'_, '_>)
    -> PyResult<Self>;
}

impl Variadic for Ints {
    fn from_args(
        name: ArgumentName,
        args: &Bound<'_, PyTuple>,
        named: OptionalArg<'_, '_>,
    ) -> PyResult<Self> {
        let Some(named) = named else {
            return match args.len() {
                1 => required(name, &args.get_item(0)?),
                _ => {
                    let ints = args.iter().map(|item| required(name, &item));
                    fallible_alloc::try_collect(args.py(), ints).map(Ints)
                }
            };
        };
        if !args.is_empty() {
            let message = format!("{name} must be passed once, got {} and {}", shown(args)?, shown(named)?);
            return Err(PyTypeError::new_err(message));
        }
        if !named.is_instance_of::<PyTuple>() && !named.is_instance_of::<PyList>() {
            return Err(name.type_error("a tuple or list of ints", named));
        }
        required(name, named)
    }
}

/// Sizes, or a dtype in place of them.
pub(in crate::tensor) enum SizesOrDType {
    Sizes(Ints),
    DType(DType),
}

impl<'py> FromArgument<'_, 'py> for SizesOrDType {
    const ANNOTATION: &'static str = joined!(Ints::ANNOTATION, " | ", DType::ANNOTATION);
    const WANTED: &'static str = Ints::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, 'py>) -> PyResult<Option<Self>> {
        if let Some(dtype) = DType::try_from_argument(name, given)? {
            return Ok(Some(SizesOrDType::DType(dtype)));
        }
        Ok(Ints::try_from_argument(name, given)?.map(SizesOrDType::Sizes))
    }
}

impl Variadic for SizesOrDType {
    fn from_args(
        name: ArgumentName,
        args: &Bound<'_, PyTuple>,
        named: OptionalArg<'_, '_>,
    ) -> PyResult<Self> {
        match (args.len(), named) {
            (1, None) => required(name, &args.get_item(0)?),
            _ => Ints::from_args(name, args, named).map(SizesOrDType::Sizes),
        }
    }
}

/// Converts arguments of a [`Variadic`] type, of which there must be one if it `is_required`.
pub(in crate::tensor) fn variadic<T: Variadic>(
    name: ArgumentName,
    args: &Bound<'_, PyTuple>,
    named: OptionalArg<'_, '_>,
    is_required: bool,
) -> PyResult<T> {
    if is_required && args.is_empty() && named.is_none() {
        let message = format!("{name} must be ints, or one tuple or list of them, got nothing");
        return Err(PyTypeError::new_err(message));
    }
    T::from_args(name, args, named)
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
        checked_sizes(py, &name.to_string(), ints).map(Sizes)
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
    fn from_args(
        name: ArgumentName,
        args: &Bound<'_, PyTuple>,
        named: OptionalArg<'_, '_>,
    ) -> PyResult<Self> {
        let py = args.py();
        let Some(dtype) = args.iter().next_back().filter(|last| last.is_instance_of::<PyDType>()) else {
            return Sizes::checked(py, name, &Ints::from_args(name, args, named)?);
        };
        let ints = Ints::from_args(name, &args.get_slice(0, args.len() - 1), None)?;
        let sizes = PyTuple::new(py, Sizes::checked(py, name, &ints)?.iter())?;
        let message = format!("dtype is keyword-only: {}({sizes}, dtype={dtype})", name.function);
        Err(PyTypeError::new_err(message))
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

/// Any object.
impl<'a> FromArgument<'a, '_> for Bound<'a, PyAny> {
    const ANNOTATION: &'static str = "object";
    const WANTED: &'static str = "an object";

    fn try_from_argument(_name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        Ok(Some(given.clone()))
    }
}

impl FromArgument<'_, '_> for Device {
    const ANNOTATION: &'static str = "_Device";
    const WANTED: &'static str = "a device";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        parse(given, name.function, name.argument).map(Some)
    }
}

/// Data of a new tensor: numbers, sequences, arrays and tensors.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Data<'a>(&'a Bound<'a, PyAny>);

impl<'a> Data<'a> {
    pub fn object(self) -> &'a Bound<'a, PyAny> {
        self.0
    }
}

impl<'a> FromArgument<'a, '_> for Data<'a> {
    const ANNOTATION: &'static str = "_Nested | npt.NDArray[Any]";
    const WANTED: &'static str = "data";

    fn try_from_argument(_name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        Ok(Some(Data(given)))
    }
}
