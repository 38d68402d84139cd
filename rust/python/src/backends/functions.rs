//! The functions of `interlock._core.backends`.

use interlock::Error;
use interlock::backends::{self, Declaration, Given, LoggedWrite, MatmulPrecision, Takes, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::convert::{given, named, named_values, object, texts_and_values};
use super::libraries;
use crate::errors::IntoPython;
use crate::site;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(assign, module)?)?;
    module.add_function(wrap_pyfunction!(drop_assigned, module)?)?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(table, module)?)?;
    module.add_function(wrap_pyfunction!(register_flag, module)?)?;
    module.add_function(wrap_pyfunction!(written, module)?)?;
    module.add_function(wrap_pyfunction!(snapshot, module)?)?;
    module.add_function(wrap_pyfunction!(restore, module)?)?;
    module.add_function(wrap_pyfunction!(install, module)?)?;
    module.add_function(wrap_pyfunction!(reset, module)?)?;
    module.add_function(wrap_pyfunction!(epoch, module)?)?;
    module.add_function(wrap_pyfunction!(disable_global_flags, module)?)?;
    module.add_function(wrap_pyfunction!(flags_frozen, module)?)?;
    module.add_function(wrap_pyfunction!(environment_problems, module)?)?;
    module.add_function(wrap_pyfunction!(environment_variables, module)?)?;
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

/// Drops what is assigned to the flag with this dotted name.
#[pyfunction]
fn drop_assigned(name: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = name.py();
    backends::assign(&[(named(name)?, None)], site::if_traced(py)).into_python(py)
}

/// The value of the flag with this dotted name, as it is in force on this thread.
#[pyfunction]
fn read<'py>(name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    object(name.py(), named(name)?.read())
}

/// Value, level, who said so or None, what operations obey, what overrules it or None, and what it acts on.
#[pyfunction]
fn explain<'py>(name: &Bound<'py, PyAny>) -> PyResult<Explained<'py>> {
    libraries::tell_packages(name.py());
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

/// What the table says of every flag: `name`; `reads` and `takes`, the types as a stub writes them; `allowed`, what
/// may be written in words (None, as `takes` is, for what can only be read); `default`; `variables` of the
/// environment; `acts_on`; `doc`.
#[pyfunction]
fn table(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    backends::own_attributes()
        .map(|attribute| {
            let row = PyDict::new(py);
            row.set_item("name", attribute.name())?;
            row.set_item("reads", attribute.annotation())?;
            row.set_item("takes", attribute.accepted_annotation())?;
            let allowed = (!attribute.is_read_only()).then(|| attribute.allowed());
            row.set_item("allowed", allowed)?;
            row.set_item("default", object(py, attribute.default())?)?;
            row.set_item("variables", attribute.variables())?;
            row.set_item("acts_on", attribute.effect().what())?;
            row.set_item("doc", attribute.doc().trim())?;
            Ok(row)
        })
        .collect()
}

/// Adds a flag of another library: dotted name, default, documentation, and the choices of a text or the largest
/// of a number. Returns the environment variables that were not understood, each with the reason.
#[pyfunction]
#[pyo3(signature = (name, default, doc, choices=None, maximum=None))]
fn register_flag(
    py: Python<'_>,
    name: &Bound<'_, PyString>,
    default: &Bound<'_, PyAny>,
    doc: &Bound<'_, PyString>,
    choices: Option<Vec<Bound<'_, PyString>>>,
    maximum: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, String)>> {
    let text = |text: &Bound<'_, PyString>| text.to_string_lossy().into_owned();
    let name = text(name);
    let maximum = maximum.as_ref().map(given).transpose()?;
    let refused = |reason: String| Error::FlagRegistration { name: name.clone(), reason };
    let takes = match (given(default)?, choices, maximum) {
        (Given::Bool(default), None, None) => Ok(Takes::Switch { default }),
        (Given::Integer(default), None, maximum) => counted(default, maximum).map_err(refused),
        (Given::HugeInteger(default), None, _) => Err(refused(format!("the default {default} is too large"))),
        (Given::Text(default), Some(names), None) => {
            Ok(Takes::Choice { default: default.into_owned(), names: names.iter().map(text).collect() })
        }
        (default, ..) => Err(Error::FlagType {
            name: format!("the default of {name}"),
            given: default.to_string(),
            allowed: "a bool, an int (perhaps with a maximum), or a str with choices".to_owned(),
        }),
    };
    let declaration = Declaration { name: name.clone(), takes: takes.into_python(py)?, doc: text(doc) };
    let (_, problems) = backends::register(declaration).into_python(py)?;
    Ok(problems.into_iter().map(|(variable, error)| (variable, error.to_string())).collect())
}

fn counted(default: i64, maximum: Option<Given>) -> Result<Takes, String> {
    let maximum = match maximum {
        None => backends::LARGEST_COUNT,
        Some(Given::Integer(maximum)) if maximum >= 0 => maximum.unsigned_abs(),
        Some(other) => return Err(format!("the maximum is an int from 0 on, got {other}")),
    };
    let default = u64::try_from(default).map_err(|_| format!("the default {default} is below 0"))?;
    Ok(Takes::Count { default, maximum })
}

type Written<'py> = (&'static str, Bound<'py, PyAny>, bool, String);

/// The last writes, the oldest first: name, value, whether what was assigned was dropped, `file:line`.
#[pyfunction]
fn written(py: Python<'_>) -> PyResult<Vec<Written<'_>>> {
    let shown = |write: LoggedWrite| {
        let value = object(py, write.value.unwrap_or(Value::None))?;
        Ok((write.name, value, write.value.is_none(), write.site.to_string()))
    };
    backends::written().into_iter().map(shown).collect()
}

/// Of every flag: dotted name, what the process holds, level.
#[pyfunction]
fn snapshot(py: Python<'_>) -> PyResult<Vec<(&'static str, Bound<'_, PyAny>, &'static str)>> {
    backends::snapshot()
        .into_iter()
        .map(|entry| Ok((entry.name, object(py, entry.value)?, entry.level.name())))
        .collect()
}

/// Assigns these flags for the process and drops what else is assigned, all or nothing. A flag of another
/// library that is not registered yet gets its value when it is.
#[pyfunction]
fn restore(assigned: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = assigned.py();
    backends::restore(&texts_and_values(assigned)?, site::if_traced(py)).into_python(py)
}

/// The same, and nothing where exactly these are assigned already.
#[pyfunction]
fn install(assigned: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = assigned.py();
    backends::install(&texts_and_values(assigned)?, site::if_traced(py)).into_python(py)
}

/// Drops whatever is assigned for the process.
#[pyfunction]
fn reset(py: Python<'_>) -> PyResult<()> {
    backends::reset(site::if_traced(py)).into_python(py)
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

/// The names of the environment variables that are read, without those of registered flags.
#[pyfunction]
fn environment_variables() -> Vec<String> {
    backends::environment_variables()
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
