//! The functions of `interlock._core.backends`.

use std::borrow::Cow;

use interlock::Error;
use interlock::backends::{
    self, FlagDecl, FlagSpec, FlagType, InputValue, LoggedWrite, MatmulPrecision, Value,
};
use interlock_core::base::quote::quoted;
use interlock_core::binding::flags::register_and_report;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::python_parts;
use super::values::{
    from_py, named, named_values, object, object_of, object_of_named, plain_object, texts_and_values,
};
use super::{changes, libraries};
use crate::args::{extract_dict, extract_list, extract_str};
use crate::context::sync;
use crate::errors::{IntoPyResult, ToPyErr, new_exception};
use crate::{call_site, scope_debug, switches};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(assign, module)?)?;
    module.add_function(wrap_pyfunction!(unset, module)?)?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(table, module)?)?;
    module.add_function(wrap_pyfunction!(row, module)?)?;
    module.add_function(wrap_pyfunction!(register_flag, module)?)?;
    module.add_function(wrap_pyfunction!(unregister_flag, module)?)?;
    module.add_function(wrap_pyfunction!(misspelt_variables, module)?)?;
    module.add_function(wrap_pyfunction!(write_log, module)?)?;
    module.add_function(wrap_pyfunction!(snapshot, module)?)?;
    module.add_function(wrap_pyfunction!(restore, module)?)?;
    module.add_function(wrap_pyfunction!(install, module)?)?;
    module.add_function(wrap_pyfunction!(reset, module)?)?;
    module.add_function(wrap_pyfunction!(epoch, module)?)?;
    module.add_function(wrap_pyfunction!(disable_global_flags, module)?)?;
    module.add_function(wrap_pyfunction!(flags_frozen, module)?)?;
    module.add_function(wrap_pyfunction!(flags_frozen_at, module)?)?;
    module.add_function(wrap_pyfunction!(environment_problems, module)?)?;
    module.add_function(wrap_pyfunction!(environment_variables, module)?)?;
    module.add_function(wrap_pyfunction!(get_float32_matmul_precision, module)?)?;
    module.add_function(wrap_pyfunction!(set_float32_matmul_precision, module)?)
}

/// Write several flags without a scope, all or none; `values` maps dotted names to values.
#[pyfunction]
fn assign(values: &Bound<'_, PyAny>) -> PyResult<()> {
    let (py, values) = (values.py(), extract_dict(values, "assign: values")?);
    let writes: Vec<_> =
        named_values("assign", values)?.into_iter().map(|(spec, given)| (spec, Some(given))).collect();
    backends::assign(&writes, call_site::current_if_tracing(py)).into_py_result(py)
}

/// Unset the flag with this dotted name.
#[pyfunction]
fn unset(name: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = name.py();
    backends::assign(&[(named(name, "unset: name")?, None)], call_site::current_if_tracing(py))
        .into_py_result(py)
}

/// Return the active value of the flag with this dotted name in the current context.
#[pyfunction]
fn read<'py>(name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let spec = named(name, "read: name")?;
    object_of(name.py(), spec, sync(name.py()).read(spec))
}

/// Explain a flag: return its dotted name, its value, level, the line or variable that set it or None, the effective
/// value, what overrides it or None, and what it affects.
#[pyfunction]
fn explain<'py>(name: &Bound<'py, PyAny>) -> PyResult<Explained<'py>> {
    let name_py = name.py();
    if let Ok(text) = name.extract::<&str>()
        && let Some(state) = backends::explain_state(text)
    {
        let (name, value, level) = (state.name, object(name_py, state.value)?, state.level.name());
        return Ok((name, value.clone(), level, None, value, None, "modes and devices".into(), None));
    }
    libraries::update_python_paths(name.py());
    explained(name.py(), named(name, "explain: name")?)
}

fn explained<'py>(py: Python<'py>, spec: &'static FlagSpec) -> PyResult<Explained<'py>> {
    let explanation = spec.explain();
    Ok((
        explanation.name,
        object_of(py, spec, explanation.value)?,
        explanation.level.name(),
        explanation.set_by.map(|set_by| set_by.to_string()),
        object_of(py, spec, explanation.effective)?,
        explanation.overridden_by,
        spec.affects(),
        spec.inherited_from(),
    ))
}

type Explained<'py> = (
    &'static str,
    Bound<'py, PyAny>,
    &'static str,
    Option<String>,
    Bound<'py, PyAny>,
    Option<&'static str>,
    String,
    Option<&'static str>,
);

/// Return a row for every flag: `name`; `reads` and `accepts`, the types as Python annotations; `allowed`, a
/// description of the accepted values (None, as `accepts` is, for a read-only flag); `default`; `variables` of the
/// environment; `affects`; `obeyed_by`, the names of operations; `needs_registered_kernel`, whether only kernels that
/// programs register obey it; `doc`; `validator`, the name of a function or None; `is_registered`; `explained`, the result
/// of `explain`. Flags of other libraries are included if `registered` is true.
#[pyfunction]
#[pyo3(signature = (registered=false))]
fn table(
    py: Python<'_>,
    #[pyo3(from_py_with = switches::table::registered)] registered: bool,
) -> PyResult<Vec<Bound<'_, PyDict>>> {
    libraries::update_python_paths(py);
    backends::flag_specs()
        .filter(|spec| registered || !spec.is_registered())
        .map(|spec| row_of(py, spec))
        .collect()
}

/// Return the row of `table` of the flag with this dotted name.
#[pyfunction]
fn row<'py>(name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let py = name.py();
    if let Ok(text) = name.extract::<&str>()
        && let Some(state) = backends::explain_state(text)
    {
        let message = format!("describe: {} is a mode or device, not a flag", state.name);
        return Err(new_exception(py, "UnknownFlagError", message));
    }
    libraries::update_python_paths(py);
    row_of(py, named(name, "describe: name")?)
}

/// Returns a row. Another thread may have unregistered the flag.
fn row_of<'py>(py: Python<'py>, spec: &'static FlagSpec) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", spec.name())?;
    let enumeration = python_parts::enumeration(py, spec)?;
    let annotation = |text| with_enumeration(enumeration.as_ref(), text);
    row.set_item("reads", annotation(spec.annotation())?)?;
    row.set_item("accepts", spec.accepted_annotation().map(annotation).transpose()?)?;
    row.set_item("allowed", (!spec.is_read_only()).then(|| spec.accepted()))?;
    row.set_item("allowed_text", (!spec.is_read_only()).then(|| spec.accepted_text()))?;
    row.set_item("default", object_of(py, spec, spec.default())?)?;
    row.set_item("validator", spec.validator())?;
    row.set_item("is_registered", spec.is_registered())?;
    row.set_item("variables", spec.variables())?;
    row.set_item("refused_variable", spec.refused_variable().map(|error| error.to_string()))?;
    row.set_item("affects", spec.effect().operations())?;
    row.set_item("obeyed_by", spec.obeyed_by())?;
    row.set_item("needs_registered_kernel", spec.effect().needs_registered_kernel())?;
    row.set_item("doc", spec.doc().trim())?;
    row.set_item("explained", explained(py, spec)?)?;
    Ok(row)
}

/// Returns an annotation with the name of an enumeration in place of the names of its members.
fn with_enumeration(enumeration: Option<&Bound<'_, PyAny>>, annotation: String) -> PyResult<String> {
    let Some(enumeration) = enumeration else { return Ok(annotation) };
    let class = enumeration.getattr("__qualname__")?.extract::<String>()?;
    let mut parts = annotation.split("Literal[");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        named += &class;
        named += part.split_once(']').map_or("", |(_, rest)| rest);
    }
    Ok(named)
}

/// Unregister a flag of another library.
#[pyfunction]
fn unregister_flag(name: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = name.py();
    sync(py);
    let name = named(name, "unregister: name")?.name();
    backends::unregister(name).into_py_result(py)?;
    python_parts::remove(py, name)
}

/// Register a flag of another library. `flag_type` is `"bool"`, `"int"`, `"float"`, `"str"`, `"path"` or `"choice"`, or one
/// of them after `"list of "`; `values` are the choices or the minimum and maximum; `optional` allows None. `enumeration`
/// is the class whose members the choices name, `validator` is called with each value, and `on_change` after each change.
/// Returns the values of the environment or of a snapshot that were refused, each as its source and the error.
#[pyfunction]
#[pyo3(signature = (
    name, default, doc, flag_type, values, optional, variable, affects, enumeration, validator, on_change,
))]
#[expect(clippy::too_many_arguments, reason = "the parts of one declaration")]
fn register_flag(
    py: Python<'_>,
    name: &Bound<'_, PyAny>,
    default: &Bound<'_, PyAny>,
    doc: &Bound<'_, PyAny>,
    flag_type: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = switches::register_flag::optional)] optional: bool,
    variable: Option<&Bound<'_, PyAny>>,
    affects: Option<&Bound<'_, PyAny>>,
    enumeration: Option<&Bound<'_, PyAny>>,
    validator: Option<&Bound<'_, PyAny>>,
    on_change: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, Py<PyAny>)>> {
    let text = |name, text| extract_str(text, name).map(Cow::into_owned);
    let name = text("register_flag: name", name)?;
    let values = extract_list(values, "register_flag: values")?;
    let values: Vec<Bound<'_, PyAny>> = values.iter().collect();
    let values: Vec<InputValue<'_>> = values.iter().map(from_py).collect::<PyResult<_>>()?;
    let flag_type = extract_str(flag_type, "register_flag: flag_type")?;
    let flag_type =
        flag_type_of(&name, from_py(default)?, &flag_type, &values, optional).into_py_result(py)?;
    let declaration = FlagDecl {
        flag_type,
        doc: text("register_flag: doc", doc)?,
        variable: variable.map(|variable| text("register_flag: variable", variable)).transpose()?,
        affects: affects.map(|affects| text("register_flag: affects", affects)).transpose()?,
        validator: validator.map(|validator| python_parts::validator(name.clone(), validator)),
        name,
    };
    let name = declaration.name.clone();
    let is_known = backends::find(&name).is_ok();
    if !is_known {
        // First, because the registration validates values.
        python_parts::store(py, &name, enumeration, validator, None, None)?;
    }
    let (mut problems, mut interrupt) = (Vec::new(), None);
    let registered = register_and_report(declaration, &mut |source, error| {
        let raised = error.to_pyerr(py);
        if raised.is_instance_of::<PyException>(py) {
            problems.push((source, raised.into_value(py).into_any()));
            return Ok(());
        }
        interrupt = Some(raised);
        Err(error)
    });
    if registered.is_err() && !is_known {
        python_parts::remove(py, &name)?;
    }
    let spec = match interrupt {
        Some(raised) => return Err(raised),
        None => registered.into_py_result(py)?,
    };
    let register =
        |on_change: &Bound<'_, PyAny>| Ok(Bound::new(py, changes::on_change_of(spec, on_change))?.into_any());
    if is_known
        && let Some(difference) = python_parts::adopt(py, &name, enumeration, validator, on_change, register)?
    {
        let reason = format!("the flag is registered already, and differently: {difference}");
        return Err(Error::FlagRegistration { name, reason }).into_py_result(py);
    }
    if let (Some(on_change), false) = (on_change, is_known) {
        let registration = Some(register(on_change)?);
        python_parts::store(py, &name, enumeration, validator, Some(on_change), registration)?;
    }
    Ok(problems)
}

/// Returns the type of a declaration. None is accepted as the default if the flag is `optional`.
fn flag_type_of(
    name: &str,
    default: InputValue<'_>,
    flag_type: &str,
    values: &[InputValue<'_>],
    optional: bool,
) -> Result<FlagType, Error> {
    if optional {
        let default_is_none = default == InputValue::None;
        // The other type must have a default that it accepts.
        let of = if default_is_none { any_value(flag_type, values) } else { default };
        let flag_type = Box::new(flag_type_of(name, of, flag_type, values, false)?);
        return Ok(FlagType::Optional { flag_type, default_is_none });
    }
    let refused = |reason: String| Error::FlagRegistration { name: name.to_owned(), reason };
    if let (Some(item), InputValue::List(default)) = (flag_type.strip_prefix("list of "), &default) {
        let item = Box::new(flag_type_of(name, any_value(item, values), item, values, false)?);
        return Ok(FlagType::List {
            default: default.iter().cloned().map(InputValue::into_owned).collect(),
            item,
        });
    }
    match (flag_type, default) {
        ("bool", InputValue::Bool(default)) => Ok(FlagType::Switch { default }),
        ("int", default @ (InputValue::Integer(_) | InputValue::HugeInteger { .. })) => {
            let [minimum, maximum] = range(values, [InputValue::Integer(0), InputValue::Integer(LARGEST)]);
            let integer = |which, given| match given {
                InputValue::Integer(number) => Ok(number),
                other => Err(refused(format!("{which} must be an int from -2**60 to 2**60, got {other}"))),
            };
            // Without a default, it is one of the bounds.
            let (minimum, maximum) = (integer("minimum", minimum)?, integer("maximum", maximum)?);
            let default = integer("default", default)?;
            // A count, which Rust reads as `u64`.
            match (u64::try_from(default), u64::try_from(maximum)) {
                (Ok(default), Ok(maximum)) if minimum == 0 => Ok(FlagType::Count { default, maximum }),
                _ => Ok(FlagType::Integer { default, minimum, maximum }),
            }
        }
        (
            "float",
            default @ (InputValue::Float(_) | InputValue::Integer(_) | InputValue::HugeInteger { .. }),
        ) => {
            let [minimum, maximum] = range(values, [-f64::INFINITY, f64::INFINITY].map(InputValue::Float));
            let number = |which, number: InputValue<'_>| {
                let wrong = || refused(format!("{which} must be a float, got {number}"));
                number.as_float().ok_or_else(wrong)
            };
            Ok(FlagType::Float {
                default: number("default", default)?,
                minimum: number("minimum", minimum)?,
                maximum: number("maximum", maximum)?,
            })
        }
        ("choice", InputValue::Text(default)) => {
            let names = values.iter().map(|choice| match choice {
                InputValue::Text(choice) => Ok(choice.clone().into_owned()),
                other => Err(Error::FlagType {
                    name: format!("register({}): choices", quoted(name)),
                    given: other.to_string(),
                    allowed: "a str".to_owned(),
                }),
            });
            Ok(FlagType::Choice { default: default.into_owned(), names: names.collect::<Result<_, _>>()? })
        }
        ("path", InputValue::Text(default) | InputValue::Path(default)) => {
            Ok(FlagType::Path { default: default.into_owned() })
        }
        ("str", InputValue::Text(default)) => Ok(FlagType::Text { default: default.into_owned() }),
        (flag_type, default) => Err(Error::FlagType {
            name: format!("register({}): default", quoted(name)),
            given: default.to_string(),
            allowed: match flag_type {
                "int" => "an int".to_owned(),
                "choice" => "one of its choices, a str".to_owned(),
                "path" => "a str or an object with __fspath__".to_owned(),
                list if list.starts_with("list of ") => "a tuple or list".to_owned(),
                other => format!("a {other}"),
            },
        }),
    }
}

const LARGEST: i64 = backends::MAX_INTEGER as i64;

/// Returns the minimum and the maximum, or their defaults.
fn range<'a>(given: &[InputValue<'a>], [minimum, maximum]: [InputValue<'a>; 2]) -> [InputValue<'a>; 2] {
    let or = |index: usize, otherwise| match given.get(index) {
        None | Some(InputValue::None) => otherwise,
        Some(given) => given.clone(),
    };
    [or(0, minimum), or(1, maximum)]
}

/// Returns any value that a flag accepts.
fn any_value<'a>(flag_type: &str, values: &[InputValue<'a>]) -> InputValue<'a> {
    match flag_type {
        "bool" => InputValue::Bool(false),
        "int" | "float" => {
            let [minimum, maximum] = range(values, [InputValue::None, InputValue::None]);
            match (minimum, maximum) {
                (InputValue::None, InputValue::None) => InputValue::Integer(0),
                (InputValue::None, maximum) => match maximum {
                    // The default minimum is 0.
                    InputValue::Integer(_) if flag_type == "int" => InputValue::Integer(0),
                    maximum => maximum,
                },
                (minimum, _) => minimum,
            }
        }
        "path" => InputValue::Text(".".into()),
        list if list.starts_with("list of ") => InputValue::List(Vec::new()),
        "choice" => values.first().cloned().unwrap_or(InputValue::Text("".into())),
        _ => InputValue::Text("".into()),
    }
}

/// Return the environment variables that are set and resemble those of a library's registered flags, each with the
/// reason why it has no effect.
#[pyfunction]
fn misspelt_variables(library: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    let library = extract_str(library, "misspelt_variables: library")?;
    let misspelt = backends::misspelt_variables(&library).into_iter();
    Ok(misspelt.map(|(variable, error)| (variable, error.to_string())).collect())
}

type Written<'py> = (&'static str, Bound<'py, PyAny>, bool, String);

/// Return the last writes, oldest first: name, value, whether the flag was unset, `file:line`.
#[pyfunction]
fn write_log(py: Python<'_>) -> PyResult<Vec<Written<'_>>> {
    scope_debug::check_traced(py, "writes: writes of flags")?;
    let display = |write: LoggedWrite| {
        let value = object_of_named(py, write.name, write.value.unwrap_or(Value::None))?;
        Ok((write.name, value, write.value.is_none(), write.site.to_string()))
    };
    backends::recent_writes().into_iter().map(display).collect()
}

/// Return the dotted name, the value in the process and the level of every flag.
#[pyfunction]
fn snapshot(py: Python<'_>) -> PyResult<Vec<(&'static str, Bound<'_, PyAny>, &'static str)>> {
    backends::snapshot()
        .into_iter()
        .map(|entry| Ok((entry.name, plain_object(py, entry.value)?, entry.level.name())))
        .collect()
}

/// Assign these flags for the process and unset all others, all or none. A flag of another library that is not
/// registered yet is assigned when it is registered.
#[pyfunction]
fn restore(assigned: &Bound<'_, PyAny>) -> PyResult<()> {
    let (py, assigned) = (assigned.py(), extract_dict(assigned, "restore: assigned")?);
    backends::restore(&texts_and_values("restore", assigned)?, call_site::current_if_tracing(py))
        .into_py_result(py)
}

/// Like `restore`, but do nothing if exactly these flags are assigned already.
#[pyfunction]
fn install(assigned: &Bound<'_, PyAny>) -> PyResult<()> {
    let (py, assigned) = (assigned.py(), extract_dict(assigned, "install: assigned")?);
    backends::install(&texts_and_values("install", assigned)?, call_site::current_if_tracing(py))
        .into_py_result(py)
}

/// Unset every flag of the process.
#[pyfunction]
fn reset(py: Python<'_>) -> PyResult<()> {
    backends::reset(call_site::current_if_tracing(py)).into_py_result(py)
}

/// Return a count that changes with every write of a flag of the process.
#[pyfunction]
fn epoch() -> u64 {
    backends::epoch()
}

/// Freeze flags until the process exits.
#[pyfunction]
fn disable_global_flags(py: Python<'_>) {
    backends::disable_global_flags(call_site::current(py));
}

/// Return whether flags are frozen.
#[pyfunction]
fn flags_frozen() -> bool {
    backends::flags_frozen()
}

/// Return the line that froze flags, or None.
#[pyfunction]
fn flags_frozen_at() -> Option<String> {
    interlock_core::binding::flags::flags_frozen_at().map(|site| site.to_string())
}

/// Return the environment variables that could not be parsed, each with the reason.
#[pyfunction]
fn environment_problems() -> Vec<(&'static str, String)> {
    backends::environment_problems()
        .iter()
        .map(|(variable, error)| (variable.as_str(), error.to_string()))
        .collect()
}

/// Return the names of the environment variables that are read, without those of registered flags.
#[pyfunction]
fn environment_variables() -> Vec<String> {
    backends::environment_variables()
}

/// Return the precision of float32 matrix products in the current context: the lower one of `cuda.matmul.fp32_precision` and
/// `mkldnn.matmul.fp32_precision`.
///
/// Returns:
///     "highest", "high" or "medium", see `set_float32_matmul_precision`.
#[pyfunction]
fn get_float32_matmul_precision(py: Python<'_>) -> &'static str {
    sync(py).matmul_precision().name()
}

/// Set the precision of float32 matrix products: assign `cuda.matmul.fp32_precision` and
/// `mkldnn.matmul.fp32_precision`.
///
/// Args:
///     precision: "highest" for float32, "high" for tf32, or "medium" for bf16, on cuda tf32.
///
/// Raises:
///     FlagTypeError: `precision` is not a str.
///     FlagValueError: `precision` is another str.
///     FlagsFrozenError: Flags are frozen.
///
/// Example:
///     >>> import interlock
///     >>> interlock.set_float32_matmul_precision("high")
///     >>> interlock.get_float32_matmul_precision()
///     'high'
///     >>> interlock.set_float32_matmul_precision("highest")
#[pyfunction]
fn set_float32_matmul_precision(precision: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = precision.py();
    let precision = MatmulPrecision::of(&from_py(precision)?).into_py_result(py)?;
    precision.set(call_site::current_if_tracing(py)).into_py_result(py)
}
