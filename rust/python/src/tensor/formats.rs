//! The Python classes `layout` and `memory_format`, and the argument `memory_format`.

use interlock_tensor::{MemoryFormat as CoreFormat, Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::dtype::named_object;
use super::operation::{Arg, ArgumentName, FromArgument};
use crate::errors::new_exception;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Layout>()?;
    module.add(Layout::STRIDED, Layout {})?;
    module.add_class::<MemoryFormat>()?;
    let formats = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"];
    formats.into_iter().try_for_each(|name| module.add(name, MemoryFormat { name }))
}

/// How a tensor stores its elements. `interlock.strided` is the only one: a stride for each dimension.
///
/// Example:
///     >>> import interlock
///     >>> interlock.zeros(2).layout
///     interlock.strided
#[pyclass(frozen, eq, hash, module = "interlock", name = "layout")]
#[derive(Clone, Copy, PartialEq, Hash)]
pub(super) struct Layout {}

impl FromArgument<'_, '_> for Layout {
    const ANNOTATION: &'static str = "_Layout";
    const WANTED: &'static str = "interlock.strided";

    fn try_from_argument(_name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast::<Layout>().ok().map(|layout| *layout.get()))
    }
}

impl Layout {
    const STRIDED: &'static str = "strided";

    /// Returns the object of the layout of all tensors.
    pub fn object(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        py.import("interlock._core.tensor")?.getattr(Layout::STRIDED)
    }
}

named_object!(Layout, _layout => Layout::STRIDED);

/// The order of the elements of a tensor in memory: `interlock.contiguous_format` (row-major) or `preserve_format` (the order
/// of the tensor from which it is made). `channels_last` and `channels_last_3d` are not implemented: functions refuse them.
///
/// Example:
///     >>> import interlock
///     >>> columns = interlock.zeros(2, 3).t()
///     >>> columns.clone().stride(), columns.clone(memory_format=interlock.contiguous_format).stride()
///     ((1, 3), (2, 1))
#[pyclass(frozen, eq, hash, module = "interlock", name = "memory_format")]
#[derive(PartialEq, Hash)]
pub(super) struct MemoryFormat {
    name: &'static str,
}

named_object!(MemoryFormat, format => format.name);

/// The argument `memory_format`.
#[derive(Clone, Copy)]
pub(super) struct Format(pub CoreFormat);

impl FromArgument<'_, '_> for Format {
    const ANNOTATION: &'static str = "_MemoryFormat";
    const WANTED: &'static str = "interlock.contiguous_format or interlock.preserve_format";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let Ok(format) = given.cast::<MemoryFormat>() else { return Ok(None) };
        match format.get().name {
            "contiguous_format" => Ok(Some(Format(CoreFormat::Contiguous))),
            "preserve_format" => Ok(Some(Format(CoreFormat::Preserve))),
            unsupported => {
                let message = format!(
                    "{name} must be {}, got interlock.{unsupported}, which is not implemented",
                    Self::WANTED
                );
                Err(new_exception(given.py(), "UnsupportedError", message))
            }
        }
    }
}

/// The argument `memory_format` of functions that make row-major tensors.
#[derive(Clone, Copy)]
pub(super) struct RowMajor;

impl FromArgument<'_, '_> for RowMajor {
    const ANNOTATION: &'static str = Format::ANNOTATION;
    const WANTED: &'static str = "interlock.contiguous_format";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let Ok(format) = given.cast::<MemoryFormat>() else { return Ok(None) };
        let (class, hint) = match format.get().name {
            "contiguous_format" => return Ok(Some(RowMajor)),
            "preserve_format" => ("ArgumentError", ""),
            _ => ("UnsupportedError", ", which is not implemented"),
        };
        let message = format!("{name} must be {}, got interlock.{}{hint}", Self::WANTED, format.get().name);
        Err(new_exception(given.py(), class, message))
    }
}

impl Format {
    /// Returns the format of a new tensor that is made from another one.
    pub fn of_new(given: Option<Self>) -> CoreFormat {
        given.map_or(CoreFormat::Preserve, |Format(format)| format)
    }

    /// Returns the result of a conversion of `source` in this format; `source` itself if that is the result.
    pub fn of_converted(
        given: Option<Self>,
        source: &CoreTensor,
        converted: CoreTensor,
    ) -> Result<CoreTensor> {
        match given {
            Some(Format(CoreFormat::Contiguous)) if !converted.is(source) => converted.contiguous(),
            _ => Ok(converted),
        }
    }
}
