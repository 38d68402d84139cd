//! Extraction of dimensions.

use pyo3::prelude::*;

use super::args::{OptionalArg, extract_int, extract_int_or_ints};

/// Extracts one or more optional dimensions.
pub(super) fn dims(what: &str, given: OptionalArg<'_, '_>) -> PyResult<Option<Vec<i64>>> {
    given.map(|dims| extract_int_or_ints(what, dims)).transpose()
}

/// Extracts an optional dimension.
pub(super) fn dim(what: &str, given: OptionalArg<'_, '_>) -> PyResult<Option<i64>> {
    given.map(|dim| extract_int(what, dim)).transpose()
}
