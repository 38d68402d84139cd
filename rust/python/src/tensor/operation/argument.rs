//! The conversion of arguments, with errors that name the function, the argument, what was given and what is allowed.

use std::fmt::{self, Display, Formatter};

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;

use super::{Arg, OptionalArg};
use crate::errors::new_type_error;

/// The name of an argument in errors: the function that the program called, and the argument.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct ArgumentName {
    pub(super) function: &'static str,
    pub(super) argument: &'static str,
}

impl ArgumentName {
    pub const fn new(function: &'static str, argument: &'static str) -> Self {
        ArgumentName { function, argument }
    }

    /// Returns the function.
    pub fn function(self) -> &'static str {
        self.function
    }

    /// Returns the exception for an object of another type than the wanted one.
    #[cold]
    pub fn type_error(self, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
        new_type_error(&self.to_string(), wanted, given)
    }
}

impl Display for ArgumentName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.function, self.argument)
    }
}

/// A type of arguments of operations.
pub(in crate::tensor) trait FromArgument<'a, 'py>: Sized {
    /// The annotation in the stub, without `| None`.
    const ANNOTATION: &'static str;

    /// The description in errors, such as "an int".
    const WANTED: &'static str;

    /// None is a value.
    const IS_OPTIONAL: bool = false;

    /// Converts an argument. Returns `None` for an object of another type.
    fn try_from_argument(name: ArgumentName, given: Arg<'a, 'py>) -> PyResult<Option<Self>>;

    /// Returns the tensors of the argument.
    fn tensors(&self) -> &[CoreTensor] {
        &[]
    }
}

impl<'a, 'py, T: FromArgument<'a, 'py>> FromArgument<'a, 'py> for Option<T> {
    const ANNOTATION: &'static str = T::ANNOTATION;
    const WANTED: &'static str = T::WANTED;
    const IS_OPTIONAL: bool = true;

    fn try_from_argument(name: ArgumentName, given: Arg<'a, 'py>) -> PyResult<Option<Self>> {
        if given.is_none() {
            return Ok(Some(None));
        }
        Ok(T::try_from_argument(name, given)?.map(Some))
    }

    fn tensors(&self) -> &[CoreTensor] {
        self.as_ref().map(T::tensors).unwrap_or_default()
    }
}

/// A converted argument that refers to a tensor of Python, and from which an operation gets a view that it may use detached.
pub(in crate::tensor) trait Held {
    /// What the operation gets.
    type View<'b>
    where
        Self: 'b;

    fn view(&self) -> Self::View<'_>;
}

impl<T: Held> Held for Option<T> {
    type View<'b>
        = Option<T::View<'b>>
    where
        Self: 'b;

    #[inline]
    fn view(&self) -> Self::View<'_> {
        self.as_ref().map(|held| held.view())
    }
}

/// Converts an argument.
pub(in crate::tensor) fn required<'a, 'py, T: FromArgument<'a, 'py>>(
    name: ArgumentName,
    given: Arg<'a, 'py>,
) -> PyResult<T> {
    match T::try_from_argument(name, given)? {
        Some(value) => Ok(value),
        None if T::IS_OPTIONAL => Err(name.type_error(&or_none_is_wanted(T::WANTED), given)),
        None => Err(name.type_error(T::WANTED, given)),
    }
}

/// Returns the description of a wanted object, such as "an int", with None.
fn or_none_is_wanted(wanted: &str) -> String {
    match wanted.rsplit_once(" or ") {
        Some((first, last)) => format!("{first}, {last} or None"),
        None => format!("{wanted} or None"),
    }
}

/// Converts an argument that may be absent.
pub(in crate::tensor) fn defaulted<'a, 'py, T: FromArgument<'a, 'py>>(
    name: ArgumentName,
    given: OptionalArg<'a, 'py>,
    default: T,
) -> PyResult<T> {
    given.map_or(Ok(default), |given| required(name, given))
}

/// Passes an argument on that may be absent. PyO3's macros would take an explicit None for an absent argument.
pub(in crate::tensor) fn given<'a, 'py>(given: Arg<'a, 'py>) -> PyResult<OptionalArg<'a, 'py>> {
    Ok(Some(given))
}

/// Returns the tensors of an argument.
pub(in crate::tensor) fn tensors_of<'b, 'a, 'py, T: FromArgument<'a, 'py>>(
    argument: &'b T,
) -> &'b [CoreTensor] {
    argument.tensors()
}

/// Returns the end of the annotation of an argument.
pub(in crate::tensor) const fn or_none(is_optional: bool) -> &'static str {
    if is_optional { " | None" } else { "" }
}
