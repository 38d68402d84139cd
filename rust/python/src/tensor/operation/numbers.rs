//! Arguments that are numbers.

use std::slice;

use interlock_tensor::{Operand, Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::Arg;
use super::argument::{ArgumentName, FromArgument, Held};
use crate::tensor::args::{PyNumber, scalar_of_tensor};
use crate::tensor::{ReadTensor, Tensor, TensorRef};

/// A tensor or a number, which the operation gets as an [`Operand`].
pub(in crate::tensor) enum HeldOperand<'a> {
    Tensor(TensorRef<'a>),
    Scalar(Scalar),
}

impl Held for HeldOperand<'_> {
    type View<'b>
        = Operand<'b>
    where
        Self: 'b;

    #[inline]
    fn view(&self) -> Operand<'_> {
        match self {
            HeldOperand::Tensor(tensor) => Operand::Tensor(tensor),
            HeldOperand::Scalar(value) => Operand::Scalar(*value),
        }
    }
}

impl<'a> FromArgument<'a, '_> for HeldOperand<'a> {
    const ANNOTATION: &'static str = "Tensor | _Number";
    const WANTED: &'static str = "a Tensor or a number";

    fn try_from_argument(name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        if let Ok(tensor) = given.cast::<Tensor>() {
            return Ok(Some(HeldOperand::Tensor(tensor.core())));
        }
        let number = PyNumber::extract(given)?;
        number.map(|number| number.scalar(name).map(HeldOperand::Scalar)).transpose()
    }

    fn tensors(&self) -> &[CoreTensor] {
        match self {
            HeldOperand::Tensor(tensor) => slice::from_ref(&**tensor),
            HeldOperand::Scalar(_) => &[],
        }
    }
}

impl FromArgument<'_, '_> for Scalar {
    const ANNOTATION: &'static str = "_Number";
    const WANTED: &'static str = "a number or a Tensor with one element";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        match given.cast::<Tensor>() {
            Ok(tensor) => scalar_of_tensor(name, Self::WANTED, &tensor.core(), given.py()).map(Some),
            Err(_) => PyNumber::extract(given)?.map(|number| number.scalar(name)).transpose(),
        }
    }
}

impl FromArgument<'_, '_> for f64 {
    const ANNOTATION: &'static str = "builtins.float";
    const WANTED: &'static str = Scalar::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        match given.cast::<Tensor>() {
            Ok(_) => Ok(Scalar::try_from_argument(name, given)?.map(Scalar::cast)),
            Err(_) => PyNumber::extract(given)?.map(|number| number.float(name)).transpose(),
        }
    }
}

/// A number, but no tensor.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Number(pub Scalar);

impl FromArgument<'_, '_> for Number {
    const ANNOTATION: &'static str = Scalar::ANNOTATION;
    const WANTED: &'static str = "a number";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        PyNumber::extract(given)?.map(|number| number.scalar(name).map(Number)).transpose()
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
        PyNumber::extract(given)?.map(|number| number.float(name).map(Float)).transpose()
    }
}
