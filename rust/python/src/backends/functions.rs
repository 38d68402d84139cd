//! The functions of `interlock._core.backends`.

use interlock::backends::{self, MatmulPrecision};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::convert::{given, named, named_values, object};
use crate::errors::IntoPython;
use crate::site;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(assign, module)?)?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(table, module)?)?;
    module.add_function(wrap_pyfunction!(snapshot, module)?)?;
    module.add_function(wrap_pyfunction!(restore, module)?)?;
    module.add_function(wrap_pyfunction!(reset, module)?)?;
    module.add_function(wrap_pyfunction!(epoch, module)?)?;
    module.add_function(wrap_pyfunction!(disable_global_flags, module)?)?;
    module.add_function(wrap_pyfunction!(flags_frozen, module)?)?;
    module.add_function(wrap_pyfunction!(environment_problems, module)?)?;
    module.add_function(wrap_pyfunction!(get_float32_matmul_precision, module)?)?;
    module.add_function(wrap_pyfunction!(set_float32_matmul_precision, module)?)
}

/// Writes several flags without a scope, all or none; `values` maps dotted names to values.
#[pyfunction]
fn assign(values: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = values.py();
    let writes: Vec<_> =
        named_values(values)?.into_iter().map(|(attribute, given)| (attribute, Some(given))).collect();
    backends::assign(&writes, site::if_traced(py)).into_python(py)
}

/// The value of the flag with this dotted name, as it is in force on this thread.
#[pyfunction]
fn read<'py>(name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    object(name.py(), named(name)?.read())
}

/// Value, level, who said so or None, what operations obey, what overrules it or None, and what it acts on.
#[pyfunction]
fn explain<'py>(name: &Bound<'py, PyString>) -> PyResult<Explained<'py>> {
    let explanation = named(name)?.explain();
    Ok((
        object(name.py(), explanation.value)?,
        explanation.level.name(),
        explanation.set_by.map(|set_by| set_by.to_string()),
        object(name.py(), explanation.effective)?,
        explanation.overruled_by,
        explanation.acts_on,
    ))
}

type Explained<'py> =
    (Bound<'py, PyAny>, &'static str, Option<String>, Bound<'py, PyAny>, Option<&'static str>, String);

/// What the table says of every flag: `name`; `reads` and `takes`, the types as a stub writes them
/// (`takes` is None for what can only be read); `default`; `variables` of the environment; `acts_on`; `doc`.
#[pyfunction]
fn table(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    backends::attributes()
        .map(|attribute| {
            let row = PyDict::new(py);
            row.set_item("name", attribute.name())?;
            row.set_item("reads", attribute.annotation())?;
            row.set_item("takes", attribute.accepted_annotation())?;
            row.set_item("default", object(py, attribute.default())?)?;
            row.set_item("variables", attribute.variables())?;
            row.set_item("acts_on", attribute.effect().what())?;
            row.set_item("doc", attribute.doc().trim())?;
            Ok(row)
        })
        .collect()
}

/// Of every flag: dotted name, what the process holds, level.
#[pyfunction]
fn snapshot(py: Python<'_>) -> PyResult<Vec<(&'static str, Bound<'_, PyAny>, &'static str)>> {
    backends::snapshot()
        .into_iter()
        .map(|entry| Ok((entry.name, object(py, entry.value)?, entry.level.name())))
        .collect()
}

/// Assigns these flags for the process and drops what else is assigned, all or nothing.
#[pyfunction]
fn restore(assigned: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = assigned.py();
    backends::restore(&named_values(assigned)?, site::if_traced(py)).into_python(py)
}

/// Drops whatever is assigned for the process.
#[pyfunction]
fn reset(py: Python<'_>) -> PyResult<()> {
    backends::reset().into_python(py)
}

/// How often a flag of the process has changed.
#[pyfunction]
fn epoch() -> u64 {
    backends::epoch()
}

/// Stops every write of a flag for the rest of the process.
#[pyfunction]
fn disable_global_flags(py: Python<'_>) {
    backends::disable_global_flags(site::of_caller(py));
}

/// Whether writes of flags are stopped.
#[pyfunction]
fn flags_frozen() -> bool {
    backends::flags_frozen()
}

/// The environment variables whose value was not understood, each with the reason.
#[pyfunction]
fn environment_problems() -> Vec<(&'static str, String)> {
    backends::environment_problems()
        .iter()
        .map(|(variable, error)| (variable.as_str(), error.to_string()))
        .collect()
}

/// `highest`, `high` or `medium`: the lower of what the two matmul nodes read.
#[pyfunction]
fn get_float32_matmul_precision() -> &'static str {
    MatmulPrecision::get().name()
}

/// Holds a precision on both matmul nodes.
#[pyfunction]
fn set_float32_matmul_precision(precision: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = precision.py();
    let precision = MatmulPrecision::of(&given(precision)?).into_python(py)?;
    precision.set(site::if_traced(py)).into_python(py)
}
