//! Arguments that are tensors, bools, dtypes, devices and other objects.

use std::slice;

use interlock::accelerator::Device;
use interlock_tensor::{DType, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::argument::{ArgumentName, FromArgument, Held};
use super::{Arg, joined};
use crate::accelerator::parse;
use crate::switches::try_bool;
use crate::tensor::dtype::{self, NAMES};
use crate::tensor::{ReadTensor, Tensor, TensorRef};

impl Held for TensorRef<'_> {
    type View<'b>
        = &'b CoreTensor
    where
        Self: 'b;

    #[inline]
    fn view(&self) -> &CoreTensor {
        self
    }
}

impl<'a> FromArgument<'a, '_> for TensorRef<'a> {
    const ANNOTATION: &'static str = "Tensor";
    const WANTED: &'static str = "a Tensor";

    fn try_from_argument(_name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast::<Tensor>().ok().map(ReadTensor::core))
    }

    fn tensors(&self) -> &[CoreTensor] {
        slice::from_ref(self)
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
        Ok(dtype::from_object(given))
    }
}

/// The Python object of a tensor.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Object<'a>(&'a Bound<'a, Tensor>);

impl<'a> Object<'a> {
    pub fn as_any(&self) -> &'a Bound<'a, PyAny> {
        self.0.as_any()
    }

    pub fn core(&self) -> TensorRef<'a> {
        self.0.core()
    }
}

impl<'a> FromArgument<'a, '_> for Object<'a> {
    const ANNOTATION: &'static str = TensorRef::ANNOTATION;
    const WANTED: &'static str = TensorRef::WANTED;

    fn try_from_argument(_name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast().ok().map(Object))
    }
}

/// A tensor that a new reference keeps alive.
impl FromArgument<'_, '_> for Py<Tensor> {
    const ANNOTATION: &'static str = TensorRef::ANNOTATION;
    const WANTED: &'static str = TensorRef::WANTED;

    fn try_from_argument(_name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast().ok().map(|tensor| tensor.clone().unbind()))
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
