//! The configuration of the allocator, exchanged with the Python class as dicts of its fields.

use interlock::accelerator::Error;
use interlock::accelerator::memory::config::{
    self, AllocatorConfig, Applies, Backend, KEYS, Key, Requirement, RoundupDivisions, Value,
};
use interlock_core::base::quote::{one_line, quoted};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyString, PyTuple};

use crate::args::{extract_dict, extract_int, extract_str};
use crate::detach::detach;
use crate::errors::{IntoPyResult, exception, new_exception, new_type_error};
use crate::py_int;
use crate::switches::try_bool;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(allocator_keys, module)?)?;
    module.add_function(wrap_pyfunction!(parse_config, module)?)?;
    module.add_function(wrap_pyfunction!(checked_config, module)?)?;
    module.add_function(wrap_pyfunction!(config_text, module)?)?;
    module.add_function(wrap_pyfunction!(get_config, module)?)?;
    module.add_function(wrap_pyfunction!(set_config, module)?)?;
    module.add_function(wrap_pyfunction!(config_report, module)?)?;
    // Not in `__all__`: private.
    module.setattr("_program_config", wrap_pyfunction!(_program_config, module)?)?;
    module.setattr("_unset_config", wrap_pyfunction!(_unset_config, module)?)
}

/// Return a dict for each key, with its default, accepted values, effect and documentation.
#[pyfunction]
fn allocator_keys(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let default = AllocatorConfig::default();
    let describe = |key: &Key| {
        let entry = PyDict::new(py);
        let requires = key.requires.iter().filter(|requirement| **requirement != Requirement::Caching);
        let conditions = requires.map(|requirement| requirement.condition());
        let reason = if let Applies::Never(reason) = key.applies { Some(reason) } else { None };
        entry.set_item("name", key.name)?;
        entry.set_item("annotation", annotation(&key.value(&default)))?;
        entry.set_item("default", to_python(py, key.value(&default))?)?;
        entry.set_item("accepts", key.expected)?;
        entry.set_item("applies", key.applies.when())?;
        entry.set_item("reason", conditions.chain(reason).collect::<Vec<_>>().join(" and "))?;
        entry.set_item("doc", key.doc)?;
        Ok(entry)
    };
    KEYS.iter().map(describe).collect()
}

/// Parse a configuration in PyTorch's text format into fields. Errors name the caller.
#[pyfunction]
fn parse_config<'py>(text: &Bound<'py, PyAny>, caller: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let py = text.py();
    let caller = extract_str(caller, "parse_config: caller")?;
    let caller = one_line(&caller);
    let parsed = extract_str(text, &format!("{caller}: text"))?.parse::<AllocatorConfig>();
    let named = |error: Error| new_exception(py, "ArgumentError", format!("{caller}: {error}"));
    fields(py, &parsed.map_err(named)?)
}

/// Validate fields and return them with converted values.
#[pyfunction]
fn checked_config<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let config = checked(given)?;
    fields(given.py(), &config)
}

/// Return fields in PyTorch's text format.
#[pyfunction]
fn config_text(given: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(checked(given)?.to_string())
}

/// Return the fields of the active configuration.
#[pyfunction]
fn get_config(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let config = config::config().into_py_result(py)?;
    fields(py, &config)
}

/// Make fields the active configuration.
#[pyfunction]
fn set_config(given: &Bound<'_, PyAny>) -> PyResult<()> {
    let config = checked(given)?;
    config::set_config(config).into_py_result(given.py())
}

/// Return the fields of the configuration that the program has set; None if it has set none.
#[pyfunction]
fn _program_config(py: Python<'_>) -> PyResult<Option<Bound<'_, PyDict>>> {
    detach(py, config::program_config).map(|config| fields(py, &config)).transpose()
}

/// End the configuration that the program has set: the environment is read at the next use.
#[pyfunction]
fn _unset_config(py: Python<'_>) {
    detach(py, config::unset_config);
}

/// Return a tuple for each key: its name, its value, whether that is the default, the source of the value, when it
/// applies, and the reason if it never applies.
#[pyfunction]
fn config_report(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyTuple>>> {
    let reported = detach(py, config::config_report).into_py_result(py)?;
    let convert = |key: config::ConfigEntry| {
        let reason = if let Applies::Never(reason) = key.applies { Some(reason) } else { None };
        let value = to_python(py, key.value)?;
        (key.name, value, key.is_default, key.source.to_string(), key.applies.when(), reason)
            .into_pyobject(py)
    };
    reported.into_iter().map(convert).collect()
}

/// Returns the type annotation of values of this kind.
fn annotation(value: &Value) -> String {
    match value {
        Value::Backend(_) => {
            let names =
                Backend::ALL.iter().map(|backend| format!("\"{}\"", backend.name())).collect::<Vec<_>>();
            format!("Literal[{}]", names.join(", "))
        }
        Value::Switch(_) => "bool".to_owned(),
        Value::Number(_) => "int".to_owned(),
        Value::Limit(_) => "int | None".to_owned(),
        Value::Fraction(_) => "float".to_owned(),
        Value::Divisions(_) => "int | dict[int | Literal[\">\"], int]".to_owned(),
    }
}

fn fields<'py>(py: Python<'py>, config: &AllocatorConfig) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    KEYS.iter().try_for_each(|key| fields.set_item(key.name, to_python(py, key.value(config))?))?;
    Ok(fields)
}

fn to_python(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Backend(backend) => PyString::new(py, backend.name()).into_any(),
        Value::Switch(switch) => PyBool::new(py, switch).to_owned().into_any(),
        Value::Number(number) | Value::Divisions(RoundupDivisions::Same(number)) => {
            number.into_pyobject(py)?.into_any()
        }
        Value::Limit(limit) => limit.into_pyobject(py)?.into_any(),
        Value::Fraction(fraction) => PyFloat::new(py, fraction).into_any(),
        Value::Divisions(RoundupDivisions::BySize { steps, rest }) => {
            let by_size = PyDict::new(py);
            steps
                .into_iter()
                .try_for_each(|(megabytes, divisions)| by_size.set_item(megabytes, divisions))?;
            rest.map_or(Ok(()), |divisions| by_size.set_item(REST, divisions))?;
            by_size.into_any()
        }
    })
}

/// The key of sizes above all others.
const REST: &str = ">";

/// Creates a configuration from fields and validates it.
fn checked(given: &Bound<'_, PyAny>) -> PyResult<AllocatorConfig> {
    let (py, given) = (given.py(), extract_dict(given, "AllocatorConfig: fields")?);
    let mut config = AllocatorConfig::default();
    for key in KEYS {
        if let Some(given) = given.get_item(key.name)? {
            let value = from_python(key, &key.value(&config), &given)?;
            key.set(&mut config, value);
        }
    }
    config.check().map_err(err_of_constructor).into_py_result(py)?;
    Ok(config)
}

/// Returns an error of a key as one of the constructor.
fn err_of_constructor(error: Error) -> Error {
    match error {
        Error::Argument { name, given, allowed } => {
            Error::Argument { name: argument(&name).into(), given, allowed }
        }
        other => other,
    }
}

/// Returns the name of an argument of the constructor in errors.
fn argument(key: &str) -> String {
    format!("AllocatorConfig: {key}")
}

/// Converts a field of a key to the type of its default.
fn from_python(key: &'static Key, default: &Value, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let number = |given| extract_int(given, argument(key.name), key.expected);
    match default {
        Value::Backend(_) => {
            let name = given.cast::<PyString>().map_err(|_| wrong_type(key, "a str", given))?.to_string();
            let refused = |_| Error::argument(argument(key.name), quoted(&name), key.expected);
            name.parse().map(Value::Backend).map_err(|error| exception(given.py(), &refused(error)))
        }
        Value::Switch(_) => {
            let switch = try_bool(given)?.ok_or_else(|| wrong_type(key, "a bool", given))?;
            Ok(Value::Switch(switch))
        }
        Value::Number(_) => number(given).map(Value::Number),
        Value::Limit(_) if given.is_none() => Ok(Value::Limit(None)),
        Value::Limit(_) => number(given).map(|number| Value::Limit(Some(number))),
        Value::Fraction(_) => {
            let is_number = given.is_instance_of::<PyFloat>() || given.is_instance_of::<PyInt>();
            if !is_number || given.is_instance_of::<PyBool>() {
                return Err(wrong_type(key, "a float", given));
            }
            // An int that overflows a float is out of range for every key.
            let value = match given.cast::<PyInt>() {
                Ok(whole) => py_int::float64(whole).unwrap_or(f64::INFINITY),
                Err(_) => given.extract()?,
            };
            Ok(Value::Fraction(value))
        }
        Value::Divisions(_) => match given.cast::<PyMapping>() {
            Ok(by_size) => by_size_of(key, by_size).map(Value::Divisions),
            Err(_) => number(given).map(|divisions| Value::Divisions(RoundupDivisions::Same(divisions))),
        },
    }
}

/// Converts a mapping of divisions by size, in any order.
fn by_size_of(key: &'static Key, given: &Bound<'_, PyMapping>) -> PyResult<RoundupDivisions> {
    let (mut steps, mut rest) = (Vec::new(), None);
    for item in given.items()? {
        let Ok((size, divisions)) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
            return Err(wrong_type(key, "a mapping with items of a size and divisions", given));
        };
        let divisions = extract_int(&divisions, argument(key.name), key.expected)?;
        match size.cast::<PyString>() {
            Ok(text) if text == REST => rest = Some(divisions),
            _ => steps.push((
                extract_int(&size, format!("{}: a size", argument(key.name)), key.expected)?,
                divisions,
            )),
        }
    }
    steps.sort_unstable();
    Ok(RoundupDivisions::BySize { steps, rest })
}

fn wrong_type(key: &Key, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
    new_type_error(&argument(key.name), wanted, given)
}
