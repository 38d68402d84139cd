//! Registration of kernels whose functions are written in Python.

use std::sync::Weak;

use interlock::Error as CoreError;
use interlock::backends::Flag;
use interlock::backends::flags::{
    PYTHON_NATIVE_CUTEDSL_ENABLED, PYTHON_NATIVE_DISABLED_DISPATCH_KEYS, PYTHON_NATIVE_DISABLED_OPERATIONS,
    PYTHON_NATIVE_FLYDSL_ENABLED, PYTHON_NATIVE_HELION_ENABLED, PYTHON_NATIVE_PYTHON_ENABLED,
    PYTHON_NATIVE_TRITON_ENABLED,
};
use interlock::dispatch::{FlagRequirement, Kernel, Operation};
use interlock_core::base::mutex::Mutex;
use interlock_core::base::quote::quoted;
use interlock_core::binding::dispatch::intern_name;
use interlock_tensor::{Attention, Conv2d, Matmul};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::python_kernel::{Functions, KernelCall, PythonKernel, PythonOperation};
use crate::args::{extract_callable, extract_dict, extract_str};
use crate::errors::{IntoPyResult, new_argument_error, new_type_error};
use crate::qualified_name::qualified_name;
use crate::registration_observer::observed;
use crate::registrations::{at_end, err_if_removed};
use crate::switches::try_bool;

pub(super) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    at_end(forget);
    let module = parent.getattr("dispatch")?.cast_into::<PyModule>()?;
    module.add_class::<KernelCall>()?;
    module.add_class::<RegisteredKernel>()?;
    // Not in `__all__`: private.
    module.setattr("_register_kernel", wrap_pyfunction!(_register_kernel, &module)?)?;
    module.setattr("_registered_kernels", wrap_pyfunction!(_registered_kernels, &module)?)
}

/// The languages of kernels, with the flags that enable them.
static DSLS: [(&str, &Flag<bool>); 5] = [
    ("cutedsl", &PYTHON_NATIVE_CUTEDSL_ENABLED),
    ("flydsl", &PYTHON_NATIVE_FLYDSL_ENABLED),
    ("helion", &PYTHON_NATIVE_HELION_ENABLED),
    ("python", &PYTHON_NATIVE_PYTHON_ENABLED),
    ("triton", &PYTHON_NATIVE_TRITON_ENABLED),
];

/// The properties that distinguish kernels besides their functions. A kernel is never freed, so one that is registered
/// again uses the earlier one.
#[derive(PartialEq)]
struct Description {
    operation: &'static str,
    name: &'static str,
    dsl: &'static str,
    replaces: Option<&'static str>,
    requires: Vec<(String, String)>,
}

struct Slot {
    description: Description,
    kernel: &'static PythonKernel,
}

/// All kernels, in the order of their first registrations.
static SLOTS: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

/// Removes all kernels, before the interpreter is finalized.
fn forget() {
    let kernels: Vec<_> = SLOTS.lock().iter().map(|slot| slot.kernel).collect();
    kernels.into_iter().for_each(PythonKernel::clear);
}

/// A kernel that `register_kernel` has registered. `with kernel:` removes it at the end of the block.
#[pyclass(frozen, module = "interlock.dispatch")]
struct RegisteredKernel {
    /// The name of the operation.
    #[pyo3(get)]
    operation: &'static str,
    /// The name of the kernel.
    #[pyo3(get)]
    name: &'static str,
    /// The language of the kernel.
    #[pyo3(get)]
    dsl: &'static str,
    kernel: &'static PythonKernel,
    registration: Weak<Functions>,
}

#[pymethods]
impl RegisteredKernel {
    /// Whether the kernel was not removed.
    #[getter]
    fn is_registered(&self) -> bool {
        self.kernel.has(&self.registration)
    }

    /// Remove the kernel. Has no effect if it was removed before. A call that runs the kernel on another thread ends
    /// with its result.
    fn remove(&self) {
        self.kernel.remove(&self.registration);
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let kernel = slf.get();
        let what = format!("the kernel {} of {}", kernel.name, kernel.operation);
        err_if_removed(kernel.is_registered(), "RegisteredKernel", &what)?;
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.remove();
    }

    fn __repr__(&self) -> String {
        let RegisteredKernel { operation, name, dsl, .. } = self;
        let state = if self.is_registered() { "" } else { ", removed" };
        format!("<interlock.dispatch.RegisteredKernel: {name} of {operation}, {dsl}{state}>")
    }
}

/// Returns the list of the operations, kernel names and languages of the registered kernels.
#[pyfunction]
fn _registered_kernels() -> Vec<(&'static str, &'static str, &'static str)> {
    let slots = SLOTS.lock();
    let registered = slots.iter().filter(|slot| slot.kernel.is_registered());
    let described = registered.map(|slot| &slot.description);
    described.map(|described| (described.operation, described.name, described.dsl)).collect()
}

fn err_argument(py: Python<'_>, argument: &str, allowed: &str, given: &str) -> PyErr {
    let what = format_args!("register_kernel: {argument}");
    new_argument_error(py, what, format_args!("be {allowed}"), quoted(given))
}

/// Returns the flags that a kernel requires, and their values by name.
fn requirements(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    const WHAT: &str = "register_kernel: requires";
    let mut requires = Vec::new();
    for (flag, value) in extract_dict(given, WHAT)? {
        let flag = extract_str(&flag, "register_kernel: the name of a flag in requires")?.into_owned();
        let value = match try_bool(&value)? {
            Some(true) => "True".to_owned(),
            Some(false) => "False".to_owned(),
            None => match value.cast::<PyString>() {
                Ok(name) => name.to_string_lossy().into_owned(),
                Err(_) => {
                    let what = "register_kernel: the value of a flag in requires";
                    return Err(new_type_error(what, "a bool or a str", &value));
                }
            },
        };
        requires.push((flag, value));
    }
    Ok(requires)
}

/// Registers a kernel whose arguments are checked, except for its name.
fn register_for<O: PythonOperation>(
    py: Python<'_>,
    description: Description,
    functions: Functions,
) -> PyResult<RegisteredKernel> {
    let Description { operation, name, dsl, replaces, .. } = description;
    if let Some(replaced) = replaces
        && !O::op().own_kernels().any(|own| own == replaced)
    {
        let own: Vec<_> = O::op().own_kernels().map(|own| format!("{own:?}")).collect();
        return Err(err_argument(py, "replaces", &format!("one of {}", own.join(", ")), replaced));
    }
    let requirement = |(flag, value): &(String, String)| match FlagRequirement::from_name(flag, value) {
        Err(CoreError::KernelDescriptor { .. }) => {
            let expected = "name flags with bools or names";
            Err(new_argument_error(py, "register_kernel: requires", expected, flag))
        }
        result => result.into_py_result(py),
    };
    let mut requirements = description.requires.iter().map(requirement).collect::<PyResult<Vec<_>>>()?;
    requirements
        .extend(DSLS.iter().find(|(known, _)| *known == dsl).map(|(_, flag)| FlagRequirement::on(flag)));
    let taken = || err_argument(py, "name", &format!("one that no kernel of {operation} has"), name);
    let mut slots = SLOTS.lock();
    let known = slots.iter().find(|slot| slot.description == description).map(|slot| slot.kernel);
    let is_again = known.is_some_and(|kernel| kernel.is_declared_by(&functions));
    if O::op().has_kernel(name) && !is_again {
        return Err(taken());
    }
    if let Some(kernel) = known {
        let registration = kernel.set(functions);
        return Ok(RegisteredKernel { operation, name, dsl, kernel, registration });
    }
    let kernel: &'static PythonKernel = Box::leak(Box::new(PythonKernel::new(name)));
    let registration = kernel.set(functions);
    let mut listed = Kernel::<O>::dynamic(name, kernel)
        .requires(requirements.leak())
        .obeys(&PYTHON_NATIVE_DISABLED_OPERATIONS)
        .obeys(&PYTHON_NATIVE_DISABLED_DISPATCH_KEYS);
    if let Some(replaced) = replaces {
        listed = listed.in_place_of(replaced);
    }
    O::op().register(listed).map_err(|_| taken())?;
    slots.push(Slot { description, kernel });
    Ok(RegisteredKernel { operation, name, dsl, kernel, registration })
}

/// Registers a kernel. `interlock.dispatch.register_kernel` documents the arguments, and checks that the language can
/// be imported.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // called from one place
fn _register_kernel<'py>(
    operation: &Bound<'py, PyAny>,
    name: &Bound<'_, PyAny>,
    function: &Bound<'_, PyAny>,
    dsl: &Bound<'_, PyAny>,
    condition: &Bound<'_, PyAny>,
    replaces: &Bound<'_, PyAny>,
    requires: &Bound<'_, PyAny>,
) -> PyResult<Bound<'py, RegisteredKernel>> {
    let py = operation.py();
    let operation = extract_str(operation, "register_kernel: operation")?;
    let name = extract_str(name, "register_kernel: name")?;
    if name.is_empty() || name.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        let allowed = "a text without whitespace and control characters";
        return Err(err_argument(py, "name", allowed, &name));
    }
    let dsl = extract_str(dsl, "register_kernel: dsl")?;
    let Some((dsl, _)) = DSLS.iter().find(|(known, _)| *known == dsl) else {
        let known: Vec<_> = DSLS.iter().map(|(known, _)| format!("{known:?}")).collect();
        return Err(err_argument(py, "dsl", &format!("one of {}", known.join(", ")), &dsl));
    };
    let declared_by = match (qualified_name(function), condition.is_none()) {
        (Some(function), false) => {
            qualified_name(condition).map(|condition| format!("{function}, {condition}"))
        }
        (function, _) => function,
    };
    let functions = Functions {
        declared_by,
        function: extract_callable(function, "register_kernel: function")?,
        condition: (!condition.is_none())
            .then(|| extract_callable(condition, "register_kernel: condition"))
            .transpose()?,
    };
    let replaces = match replaces.is_none() {
        true => None,
        false => Some(intern_name(&extract_str(replaces, "register_kernel: replaces")?)),
    };
    let requires = if requires.is_none() { Vec::new() } else { requirements(requires)? };
    let described = |operation: &'static str| Description {
        operation,
        name: intern_name(&name),
        dsl,
        replaces,
        requires,
    };
    let registered = match &*operation {
        Matmul::NAME => register_for::<Matmul>(py, described(Matmul::NAME), functions),
        Attention::NAME => register_for::<Attention>(py, described(Attention::NAME), functions),
        Conv2d::NAME => register_for::<Conv2d>(py, described(Conv2d::NAME), functions),
        _ => {
            let known = [Matmul::NAME, Attention::NAME, Conv2d::NAME].map(|name| format!("{name:?}"));
            Err(err_argument(py, "operation", &format!("one of {}", known.join(", ")), &operation))
        }
    }?;
    observed("interlock.dispatch.register_kernel", Bound::new(py, registered)?)
}
