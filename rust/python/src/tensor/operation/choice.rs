//! Arguments that are one of some texts.

use interlock_tensor::elementwise::RoundingMode;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::Arg;
use super::argument::{ArgumentName, FromArgument};
use crate::errors::{new_exception, shown};

/// A type whose values are texts in Python.
pub(in crate::tensor) trait Choice: Copy + 'static {
    /// The annotation in the stub.
    const ANNOTATION: &'static str;

    /// The texts and their values.
    const CHOICES: &'static [(&'static str, Self)];

    /// What is allowed, in errors.
    const ALLOWED: &'static str;

    /// Returns the exception for another text.
    fn error(py: Python<'_>, message: String) -> PyErr {
        new_exception(py, "ArgumentError", message)
    }
}

impl<T: Choice> FromArgument<'_, '_> for T {
    const ANNOTATION: &'static str = T::ANNOTATION;
    const WANTED: &'static str = "a str";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let Ok(text) = given.cast::<PyString>() else { return Ok(None) };
        let chosen = text.to_string_lossy();
        if let Some((_, value)) = T::CHOICES.iter().find(|(choice, _)| *choice == chosen) {
            return Ok(Some(*value));
        }
        let message = format!("{name} must be {}, got {}", T::ALLOWED, shown(text)?);
        Err(T::error(given.py(), message))
    }
}

impl Choice for RoundingMode {
    const ANNOTATION: &'static str = "Literal['floor', 'trunc']";
    const CHOICES: &'static [(&'static str, Self)] =
        &[("floor", RoundingMode::Floor), ("trunc", RoundingMode::Trunc)];
    const ALLOWED: &'static str = "None, 'floor' or 'trunc'";
}
