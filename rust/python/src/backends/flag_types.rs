//! The classes whose attributes are flags: one for each module and object below `backends`, created from the table. A
//! module uses its class through `sys.modules[__name__].__class__ = ...`.

use std::ffi::{CString, c_int, c_void};
use std::mem;

use interlock::backends::{self, FlagSpec, MODULES};
use interlock_core::base::quote::quoted;
use once_cell::race::OnceBox;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PySet, PyString, PyTuple, PyType};

use super::flag_names::FlagNames;
use super::{flag_names, values};
use crate::args::extract_str;
use crate::context::sync;
use crate::errors::{new_exception, new_type_error, type_name};
use crate::raw_types::{HeapType, Method, catch_panic, ffi_ptr, ffi_status};

/// The flags of one owner.
struct Namespace {
    owner: &'static str,
    specs: Vec<&'static FlagSpec>,
}

/// The flags of each class, by the address of the class.
static NAMESPACES: OnceBox<Vec<(usize, &'static Namespace)>> = OnceBox::new();

/// The classes with a public name: the owner, the module below `interlock` and the name.
const PUBLIC_CLASSES: [(&str, &str, &str); 8] = [
    ("", "backends", "GenericModule"),
    ("cuda.matmul", "backends.cuda", "cuBLASModule"),
    ("cudnn", "backends.cudnn", "CudnnModule"),
    ("miopen", "backends.miopen", "MiopenModule"),
    ("mkldnn", "backends.mkldnn", "MkldnnModule"),
    ("opt_einsum", "backends.opt_einsum", "OptEinsumModule"),
    ("quantized", "backends.quantized", "QuantizedEngine"),
    ("xnnpack", "backends.xnnpack", "XNNPACKEngine"),
];

/// Creates the class of every module and of every owner in the table, and adds them to `module`, also as
/// `CLASSES`, by owner.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let in_table = backends::own_flag_specs().map(|spec| spec.owner_and_leaf().0);
    let mut owners: Vec<&str> = in_table.chain(MODULES).collect();
    owners.sort_unstable();
    owners.dedup();
    let (mut names, mut namespaces) = (Vec::new(), Vec::new());
    let classes = PyDict::new(module.py());
    for owner in owners {
        let (class, namespace) = class_of(module, owner)?;
        namespaces.push((class.as_ptr() as usize, namespace));
        let flags = backends::own_flag_specs().map(|spec| spec.owner_and_leaf());
        names.extend(flags.filter(|(of, _)| *of == owner).map(|(_, leaf)| (class.clone(), leaf)));
        classes.set_item(owner, &class)?;
        module.add(class_name(owner).as_str(), class)?;
    }
    module.add("CLASSES", classes)?;
    FlagNames::of(module.py(), names).publish();
    // A process has one interpreter, so the first classes are the only ones.
    let _ = NAMESPACES.set(Box::new(namespaces));
    Ok(())
}

/// Returns the class name of an owner: `CudaMatmulFlags` for `cuda.matmul`.
fn class_name(owner: &str) -> String {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    };
    let owner_or_package = if owner.is_empty() { "backends" } else { owner };
    let words: String = owner_or_package.split(['.', '_']).map(capitalised).collect();
    format!("{words}{}", if MODULES.contains(&owner) { "Module" } else { "Flags" })
}

/// Returns the qualified name of an owner's class, with its module.
fn full_class_name(module: &Bound<'_, PyModule>, owner: &str) -> PyResult<String> {
    match PUBLIC_CLASSES.iter().find(|(of, _, _)| *of == owner) {
        Some((_, home, name)) => Ok(format!("interlock.{home}.{name}")),
        None => Ok(format!("{}.{}", module.name()?, class_name(owner))),
    }
}

fn class_of<'py>(
    module: &Bound<'py, PyModule>,
    owner: &'static str,
) -> PyResult<(Bound<'py, PyType>, &'static Namespace)> {
    let py = module.py();
    let specs: Vec<_> = backends::own_flag_specs().filter(|spec| spec.owner_and_leaf().0 == owner).collect();
    let name = full_class_name(module, owner)?;
    let mut class = HeapType::new(&name, 0)?;
    for spec in &specs {
        let closure = std::ptr::from_ref::<FlagSpec>(spec).cast_mut().cast();
        let (name, doc) = (zero_ended(spec.owner_and_leaf().1)?, zero_ended(spec.doc().trim())?);
        class = class.attribute(&name, &doc, read, Some(write), closure);
    }
    let namespace: &'static Namespace = Box::leak(Box::new(Namespace { owner, specs }));
    class = class.attribute(
        c"__dict__",
        c"The names here, and the flags that are set.",
        dict,
        None,
        std::ptr::from_ref(namespace).cast_mut().cast(),
    );
    class = class.method(c"__dir__", c"Return every name here, flags included.", Method::NoArgs(dir));
    // SAFETY: `setattr_strict` is a setattrofunc.
    class = unsafe { class.slot(ffi::Py_tp_setattro, setattr_strict as ffi::setattrofunc as *mut c_void) };
    // SAFETY: `repr` is a `reprfunc`.
    class = unsafe { class.slot(ffi::Py_tp_repr, repr as ffi::reprfunc as *mut c_void) };
    if !MODULES.contains(&owner) {
        // SAFETY: `get_or_suggest` is a `getattrofunc`.
        class =
            unsafe { class.slot(ffi::Py_tp_getattro, get_or_suggest as ffi::getattrofunc as *mut c_void) };
        let doc = format!(
            "The flags of `backends.{owner}`. Reading one returns its value in the current context; assigning sets it."
        );
        class = class.doc(&zero_ended(&doc)?);
        return Ok((class.build(py, &py.get_type::<PyAny>())?, namespace));
    }
    let reduce = c"Pickle the module by its name.";
    let signature = format!(
        "{}(m, name)\n--\n\nThe class of a module with these flags.\n\n\
         Args:\n    m: A module, whose contents the new module has.\n    name: The name of the new module.",
        name.rsplit('.').next().unwrap_or_default()
    );
    // SAFETY: `init_module` is an initproc.
    class = unsafe { class.slot(ffi::Py_tp_init, init_module as ffi::initproc as *mut c_void) };
    // SAFETY: `read_name` is a `getattrofunc`.
    class = unsafe { class.slot(ffi::Py_tp_getattro, read_name as ffi::getattrofunc as *mut c_void) };
    let class =
        class.doc(&zero_ended(&signature)?).method(c"__reduce__", reduce, Method::NoArgs(reduce_module));
    Ok((class.build(py, &py.get_type::<PyModule>())?, namespace))
}

/// Returns the flags of an object whose class is one of these classes or a subclass.
fn namespace_of(owner: &Bound<'_, PyAny>) -> Option<&'static Namespace> {
    let class = owner.get_type();
    let known = NAMESPACES.get()?.iter().find(|(address, _)| {
        // SAFETY: the classes live as long as the process, and `class` is borrowed for the call.
        unsafe { ffi::PyType_IsSubtype(class.as_type_ptr(), *address as *mut ffi::PyTypeObject) != 0 }
    });
    known.map(|(_, namespace)| *namespace)
}

/// Implements `repr()`: the name of the owner with its flags and their values; a module without flags has the repr of a
/// module.
unsafe extern "C" fn repr(owner: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: the interpreter passes the owner.
        let owner = unsafe { Bound::from_borrowed_ptr(py, owner) };
        let is_module = owner.is_instance_of::<PyModule>();
        let specs = namespace_of(&owner).map_or(&[][..], |namespace| &namespace.specs);
        if is_module && specs.is_empty() {
            return Ok(py.get_type::<PyModule>().getattr("__repr__")?.call1((owner,))?.into_ptr());
        }
        let mut flags = Vec::new();
        for spec in specs {
            let leaf = spec.owner_and_leaf().1;
            flags.push(format!("{leaf}={}", owner.getattr(leaf)?.repr()?));
        }
        let kind = if is_module { "module" } else { "flags" };
        let text = format!("<{kind} '{}': {}>", qualified_name(&owner)?, flags.join(", "));
        Ok(PyString::new(py, &text).into_any().into_ptr())
    })
}

/// `tp_getattro` of objects of flags: the error for an unknown flag suggests a similar one, as an assignment does.
unsafe extern "C" fn get_or_suggest(
    owner: *mut ffi::PyObject,
    name: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter's own arguments.
    let found = unsafe { ffi::PyObject_GenericGetAttr(owner, name) };
    if !found.is_null() {
        return found;
    }
    // SAFETY: the interpreter lends both, and the read has failed.
    unsafe { with_suggestion(owner, name) }
}

/// Replaces the AttributeError of a failed read by one that suggests a similar name.
///
/// # Safety
/// The interpreter lends both objects, and has set an exception.
#[cold]
unsafe fn with_suggestion(owner: *mut ffi::PyObject, name: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: as the caller guarantees.
        let (owner, name) =
            unsafe { (Bound::from_borrowed_ptr(py, owner), Bound::from_borrowed_ptr(py, name)) };
        let error = PyErr::fetch(py);
        let name = extract_str(&name, "__getattribute__: name")?;
        // Protocols of Python look for names with underscores, and expect a cheap error.
        if name.starts_with('_') || !error.is_instance_of::<PyAttributeError>(py) {
            return Err(error);
        }
        if !owner.is_instance_of::<PyModule>() {
            return Err(unknown(&owner, &name)?);
        }
        // A module has more than flags, and a flag is missing while its module is imported, which Python's text says.
        let message = format!("{}{}", error.value(py), advice(&owner, &name)?);
        Err(new_exception(py, "UnknownFlagError", message))
    })
}

/// The `tp_getattro` of `ModuleType`.
static MODULE_READ_NAME: OnceBox<ffi::getattrofunc> = OnceBox::new();

/// Reads an attribute as `ModuleType` does; the error suggests a similar name.
///
/// A class that inherits `tp_getattro` from `ModuleType` returns wrong values on CPython 3.14 and later: once a read is
/// specialized (`LOAD_ATTR_MODULE`), the interpreter reads the module's dict without checking the class for a data
/// descriptor. The dict has flags after `__dict__` was read, as `mock.patch` does.
unsafe extern "C" fn read_name(module: *mut ffi::PyObject, name: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let read = MODULE_READ_NAME.get_or_init(|| {
        // SAFETY: `ModuleType` is ready, and a slot of this number holds null or a `getattrofunc`.
        let slot = unsafe {
            let slot = ffi::PyType_GetSlot(&raw mut ffi::PyModule_Type, ffi::Py_tp_getattro);
            mem::transmute::<*mut c_void, Option<ffi::getattrofunc>>(slot)
        };
        Box::new(slot.unwrap_or(ffi::PyObject_GenericGetAttr))
    });
    // SAFETY: the interpreter's own arguments, of which the first is a module.
    let found = unsafe { read(module, name) };
    // SAFETY: the interpreter lends both, and the read has failed.
    if found.is_null() { unsafe { with_suggestion(module, name) } } else { found }
}

/// Initializes a module as PyTorch's `GenericModule` does. interlock's own modules exist before they are assigned their
/// class.
unsafe extern "C" fn init_module(
    module: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> c_int {
    ffi_status(|py| {
        // SAFETY: the interpreter passes a new module, a tuple, and a dict or null.
        let (module, arguments, named) = unsafe {
            (
                Bound::from_borrowed_ptr(py, module),
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>(),
                Bound::from_borrowed_ptr_or_opt(py, named).map(|named| named.cast_into_unchecked::<PyDict>()),
            )
        };
        let argument = |qualified_name: usize, name: &str| match &named {
            Some(named) if named.contains(name)? => named.get_item(name),
            _ => Ok(arguments.get_item(qualified_name).ok()),
        };
        let given = arguments.len() + named.as_ref().map_or(0, |named| named.len());
        let class = type_name(&module);
        let (Some(like), Some(name), 2) = (argument(0, "m")?, argument(1, "name")?, given) else {
            return Err(PyTypeError::new_err(format!(
                "{class}() takes 2 arguments (m and name), got {given}"
            )));
        };
        let wrong = |argument: &str, wanted: &str, given: &Bound<'_, PyAny>| {
            new_type_error(&format!("{class}: {argument}"), wanted, given)
        };
        let like = like.cast::<PyModule>().map_err(|_| wrong("m", "a module", &like))?;
        let name = name.cast::<PyString>().map_err(|_| wrong("name", "a str", &name))?;
        py.get_type::<PyModule>().getattr("__init__")?.call1((&module, name))?;
        let dict = module.cast::<PyModule>()?.dict();
        dict.update(like.dict().as_mapping())?;
        dict.set_item("__name__", name)
    })
}

fn zero_ended(text: &str) -> PyResult<CString> {
    CString::new(text).map_err(|_| PyValueError::new_err("a zero byte in the table of flags"))
}

/// Returns the flag of a getter or setter.
///
/// # Safety
/// `closure` is the pointer that [`class_of`] has registered for the attribute.
unsafe fn spec_of(closure: *mut c_void) -> &'static FlagSpec {
    // SAFETY: flags are statics of the table.
    unsafe { &*closure.cast::<FlagSpec>() }
}

unsafe extern "C" fn read(_owner: *mut ffi::PyObject, closure: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: this getter is registered with such a closure.
    let spec = unsafe { spec_of(closure) };
    // SAFETY: the interpreter called this function, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    catch_panic(|| values::new_reference(spec, sync(py).read(spec)))
}

/// Assigns a flag, or unsets it if `value` is null (`del`).
unsafe extern "C" fn write(
    _owner: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    closure: *mut c_void,
) -> c_int {
    // SAFETY: this setter is registered with such a closure.
    let spec = unsafe { spec_of(closure) };
    // SAFETY: the interpreter passes a value, or null.
    unsafe { values::assign(spec, value) }
}

/// Implements `__dict__`: the owner's own entries, and the flags that are set. `mock.patch` looks here for the value to
/// restore, and unsets its assignment if it finds none. Reads of flags do not use it, because the getters take
/// precedence.
unsafe extern "C" fn dict(owner: *mut ffi::PyObject, closure: *mut c_void) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: the interpreter passes the owner, and the closure is a leaked Namespace.
        let (owner, namespace) =
            unsafe { (Bound::from_borrowed_ptr(py, owner), &*closure.cast::<Namespace>()) };
        let dict = own_dict(&owner);
        for spec in &namespace.specs {
            let leaf = spec.owner_and_leaf().1;
            match spec.restore_value() {
                Some(value) => dict.set_item(leaf, values::object(py, value)?)?,
                None if dict.contains(leaf)? => dict.del_item(leaf)?,
                None => {}
            }
        }
        Ok(dict.into_any().into_ptr())
    })
}

/// Returns a module's own dict; other objects have none.
fn own_dict<'py>(owner: &Bound<'py, PyAny>) -> Bound<'py, PyDict> {
    match owner.cast::<PyModule>() {
        Ok(module) => module.dict(),
        Err(_) => PyDict::new(owner.py()),
    }
}

/// Implements `dir()`: the public names of the owner, and every flag.
unsafe extern "C" fn dir(owner: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: the interpreter passes the owner.
        let owner = unsafe { Bound::from_borrowed_ptr(py, owner) };
        let own = own_dict(&owner);
        let public = own.get_item("__all__")?.and_then(|public| public.cast_into::<PyList>().ok());
        let names = PySet::new(py, public.unwrap_or_else(|| own.keys()))?;
        let is_module = owner.is_instance_of::<PyModule>();
        for name in owner.get_type().dir()? {
            // Attributes that every module has are omitted.
            if !(is_module && name.cast::<PyString>()?.to_cow()?.starts_with("__")) {
                names.add(name)?;
            }
        }
        Ok(names.into_any().into_ptr())
    })
}

/// Implements `__reduce__`: cloudpickle sends the modules that a function uses by name only if they are exactly of type
/// `ModuleType`.
unsafe extern "C" fn reduce_module(module: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: the interpreter passes the module.
        let module = unsafe { Bound::from_borrowed_ptr(py, module) };
        let name = module.cast::<PyModule>()?.name()?;
        let import = py.import("importlib")?.getattr("import_module")?;
        Ok((import, (name,)).into_pyobject(py)?.into_any().into_ptr())
    })
}

/// Implements `setattr`. Refuses unknown names, so that an assignment to a misspelt flag is not lost, and values that
/// would replace a namespace or, unless they are callable, a function. Names with a leading underscore, constants,
/// submodules (which the import system sets) and callables in place of functions (which `mock.patch` and `monkeypatch`
/// assign) are accepted.
unsafe extern "C" fn setattr_strict(
    owner: *mut ffi::PyObject,
    name: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
) -> c_int {
    // SAFETY: the interpreter passes an object and its arguments; a flag is a data descriptor of the class, so no entry
    // is added to the object.
    unsafe {
        if flag_names::contains(ffi::Py_TYPE(owner), name) {
            return ffi::PyObject_GenericSetAttr(owner, name, value);
        }
    }
    let allowed = ffi_status(|py| {
        // SAFETY: the interpreter passes the three objects.
        let (owner, name, value) = unsafe {
            (
                Bound::from_borrowed_ptr(py, owner),
                Bound::from_borrowed_ptr(py, name),
                Bound::from_borrowed_ptr_or_opt(py, value),
            )
        };
        let method = if value.is_some() { "__setattr__: name" } else { "__delattr__: name" };
        let text = extract_str(&name, method)?;
        if text.starts_with('_') || is_submodule(&owner, &text, value.as_ref())? {
            return Ok(());
        }
        match owner.getattr_opt(name.cast::<PyString>()?)? {
            Some(replaced) => refuse_to_replace(&owner, &text, &replaced, value.as_ref()),
            None => Err(unknown(&owner, &text)?),
        }
    });
    if allowed == 0 {
        // SAFETY: the interpreter's own arguments.
        unsafe { ffi::PyObject_GenericSetAttr(owner, name, value) }
    } else {
        allowed
    }
}

/// Fails if assigning `value`, or a deletion if it is `None`, would remove a namespace or a function of `owner`.
fn refuse_to_replace(
    owner: &Bound<'_, PyAny>,
    name: &str,
    replaced: &Bound<'_, PyAny>,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    // Assigning the same object replaces nothing.
    if value.is_some_and(|value| value.is(replaced)) {
        return Ok(());
    }
    let full_name = format!("{}.{name}", qualified_name(owner)?);
    let display = full_name.strip_prefix("interlock.").unwrap_or(&full_name);
    let verb = if value.is_some() { "assigned" } else { "deleted" };
    let (what, hint) = if is_namespace(replaced)? {
        ("a namespace", cure_for_namespace(display, replaced)?)
    } else if replaced.is_callable() && !value.is_some_and(|value| value.is_callable()) {
        ("callable", format!("; call it: {display}(...)"))
    } else {
        return Ok(());
    };
    let message = format!("{display} is {what} and cannot be {verb}{hint}");
    Err(new_exception(owner.py(), "UnknownFlagError", message))
}

/// Returns whether an object is a module or object of flags, or the cache of cuFFT plans.
fn is_namespace(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!object.is_callable() && object.get_type().module()?.to_string().starts_with("interlock"))
}

/// Returns the end of a message: the flags of a namespace, or its functions if it has none.
fn cure_for_namespace(display: &str, namespace: &Bound<'_, PyAny>) -> PyResult<String> {
    const MOST: usize = 8;
    let owner = display.strip_prefix("backends.").unwrap_or(display);
    let flags = backends::own_flag_specs().map(FlagSpec::owner_and_leaf).filter(|(of, _)| *of == owner);
    let mut names: Vec<String> = flags.map(|(_, leaf)| leaf.to_owned()).collect();
    let mut advice = "assign one of its flags";
    if names.is_empty() {
        advice = "it has no flags, only";
        for name in namespace.dir()?.iter() {
            let name: String = name.extract()?;
            if !name.starts_with('_') {
                names.push(name);
            }
        }
    }
    let more = if names.len() > MOST { ", ..." } else { "" };
    names.truncate(MOST);
    Ok(format!("; {advice}: {}{more}", names.join(", ")))
}

/// Returns whether `value` is the submodule with this name in `sys.modules`.
fn is_submodule(owner: &Bound<'_, PyAny>, name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    let (Some(value), Ok(module)) = (value, owner.cast::<PyModule>()) else { return Ok(false) };
    let full_name = format!("{}.{name}", module.name()?);
    let modules = owner.py().import("sys")?.getattr("modules")?;
    Ok(modules.cast::<PyDict>()?.get_item(full_name)?.is_some_and(|known| known.is(value)))
}

fn unknown(owner: &Bound<'_, PyAny>, name: &str) -> PyResult<PyErr> {
    let message = format!("{} has no flag {}{}", qualified_name(owner)?, quoted(name), advice(owner, name)?);
    Ok(new_exception(owner.py(), "UnknownFlagError", message))
}

/// Returns the end of a message: a known name that is similar to an unknown one.
fn advice(owner: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let known: Vec<String> = owner.dir()?.cast::<PyList>()?.extract()?;
    let public = known.iter().map(String::as_str).filter(|known| !known.starts_with('_') && *known != name);
    let near = backends::suggest(name, public).or_else(|| find_elsewhere(name));
    Ok(near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())
}

/// Returns the owner's name as a program uses it.
fn qualified_name(owner: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(module) = owner.cast::<PyModule>() {
        return Ok(module.name()?.to_string());
    }
    match namespace_of(owner) {
        Some(namespace) => Ok(format!("interlock.backends.{}", namespace.owner)),
        None => Ok(owner.get_type().name()?.to_string()),
    }
}

/// Returns the flag of another owner with this name.
fn find_elsewhere(name: &str) -> Option<&'static str> {
    let mut specs = backends::own_flag_specs();
    specs.find(|spec| spec.owner_and_leaf().1 == name).map(|spec| spec.name())
}
