//! Arguments that are several tensors.

use std::ops::Deref;

use interlock_tensor::{Index, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::Arg;
use super::argument::{ArgumentName, FromArgument};
use super::ints::is_list;
use crate::errors::new_type_error;
use crate::tensor::args::{extract_items, extract_tensor};
use crate::tensor::call::work_size;
use crate::tensor::{ReadTensor, Tensor};

/// An iterable of tensors.
pub(in crate::tensor) struct Tensors(Vec<CoreTensor>);

impl Tensors {
    /// Returns the number of elements of all tensors together, as a measure of the duration of an operation.
    pub fn work_size(&self) -> usize {
        self.0.iter().map(work_size).fold(0, usize::saturating_add)
    }
}

impl Deref for Tensors {
    type Target = [CoreTensor];

    fn deref(&self) -> &[CoreTensor] {
        &self.0
    }
}

impl FromArgument<'_, '_> for Tensors {
    const ANNOTATION: &'static str = "Iterable[Tensor]";
    const WANTED: &'static str = "a sequence of Tensors";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let ArgumentName { function, argument } = name;
        let tensor = |item: &Bound<'_, PyAny>| {
            extract_tensor(format_args!("{function}: each item of {argument}"), item)
        };
        Ok(Some(Tensors(extract_items(&name.to_string(), Self::WANTED, given, tensor)?)))
    }

    fn tensors(&self) -> &[CoreTensor] {
        self
    }
}

/// A tuple or list of tensors that index dimensions, of which None means a whole one.
pub(in crate::tensor) struct Indices(Vec<Index>);

impl Deref for Indices {
    type Target = [Index];

    fn deref(&self) -> &[Index] {
        &self.0
    }
}

impl FromArgument<'_, '_> for Indices {
    const ANNOTATION: &'static str = "Sequence[Tensor | None]";
    const WANTED: &'static str = "a tuple or list of Tensors and None";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        if !is_list(given) {
            return Ok(None);
        }
        let index = |item: PyResult<Bound<'_, PyAny>>| {
            let item = item?;
            if item.is_none() {
                return Ok(Index::Slice { start: None, end: None, step: 1 });
            }
            match item.cast::<Tensor>() {
                Ok(tensor) => Ok(Index::Tensor(tensor.core().clone())),
                Err(_) => Err(new_type_error(&format!("{name}: each item"), "a Tensor or None", &item)),
            }
        };
        let indices = given.try_iter()?.map(index).collect::<PyResult<_>>()?;
        Ok(Some(Indices(indices)))
    }
}
