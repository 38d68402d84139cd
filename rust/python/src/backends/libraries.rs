//! Bindings of vendor libraries: availability, versions and verbosity.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use interlock::Error;
use interlock::accelerator;
use interlock::libraries::{self, Library, OpenMpRuntime, Status, VerboseLibrary};
use interlock_core::base::quote::quoted;
use interlock_core::binding::libraries::{PythonPaths, python_paths_are, set_python_paths, set_search_hook};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString};

use super::values::display;
use crate::args::extract_str;
use crate::detach::{attach_unsynced, detach_with_env};
use crate::errors::{IntoPyResult, exception};
use crate::switches::extract_as;
use crate::{py_int, scope_debug};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    install_search_hook();
    module.add_function(wrap_pyfunction!(library_names, module)?)?;
    module.add_function(wrap_pyfunction!(library_is_available, module)?)?;
    module.add_function(wrap_pyfunction!(library_is_loaded, module)?)?;
    module.add_function(wrap_pyfunction!(library_version, module)?)?;
    module.add_function(wrap_pyfunction!(find_library, module)?)?;
    module.add_function(wrap_pyfunction!(load_library, module)?)?;
    module.add_function(wrap_pyfunction!(openmp_runtimes, module)?)?;
    module.add_class::<VerboseScope>()
}

/// Makes each search of the crates below use the current paths of Python's packages, and no other thread change the
/// environment meanwhile.
fn install_search_hook() {
    fn search_attached(search: &mut dyn FnMut()) {
        attach_unsynced(|py| {
            update_python_paths(py);
            search();
        });
    }
    // SAFETY: `attach_unsynced` calls its argument at most once, on this thread.
    unsafe { set_search_hook(search_attached) };
}

/// Return the names of all libraries.
#[pyfunction]
fn library_names() -> Vec<&'static str> {
    libraries::ALL.iter().map(|library| library.name()).collect()
}

/// Return whether a library is loaded or would be found, without loading it.
#[pyfunction]
fn library_is_available(name: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (py, library) = (name.py(), extract_library(name, "library_is_available: name")?);
    detach_with_env(py, || library.is_available()).into_py_result(py)
}

/// Return whether a library is loaded in this process, by interlock or by other code.
#[pyfunction]
fn library_is_loaded(name: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (py, library) = (name.py(), extract_library(name, "library_is_loaded: name")?);
    Ok(detach_with_env(py, || library.is_loaded()))
}

/// Return the version number of a library, or None. The first call loads the library.
#[pyfunction]
fn library_version(name: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let (py, library) = (name.py(), extract_library(name, "library_version: name")?);
    let version = detach_with_env(py, || library.version()).into_py_result(py)?;
    Ok(version.and_then(|version| version.number))
}

/// Name, title, path as text, source, whether it is loaded, and version.
type Description = (&'static str, &'static str, Option<OsString>, Option<&'static str>, bool, Option<String>);

/// Return the state of a library without loading it.
#[pyfunction]
fn find_library(name: &Bound<'_, PyAny>) -> PyResult<Description> {
    let (py, library) = (name.py(), extract_library(name, "backends.libraries.find: name")?);
    detach_with_env(py, || describe(library)).into_py_result(py)
}

/// Load a library, from `path` unless that is None, and return its state.
#[pyfunction]
fn load_library(name: &Bound<'_, PyAny>, path: &Bound<'_, PyAny>) -> PyResult<Description> {
    let (py, library) = (name.py(), extract_library(name, "backends.libraries.load: name")?);
    let what = "backends.libraries.load: path";
    let path: Option<PathBuf> = extract_as(what, "a str, a path or None", path)?;
    let load = || {
        match path.as_deref() {
            // SAFETY: the Python program guarantees that the file is this library, as the documentation of `load`
            // requires.
            Some(path) => unsafe { library.load_from(path)? },
            None => library.load()?,
        };
        describe(library)
    };
    detach_with_env(py, load).into_py_result(py)
}

fn describe(library: &Library) -> interlock::Result<Description> {
    let Status { found, is_loaded, version, .. } = library.status()?;
    let (path, source) = found.map(|found| (found.path.into_os_string(), found.source.name())).unzip();
    Ok((library.name(), library.title(), path, source, is_loaded, version.map(|version| version.text)))
}

/// Return the name, path and threads of each OpenMP runtime that is loaded under its own name.
#[pyfunction]
fn openmp_runtimes(py: Python<'_>) -> Vec<(&'static str, OsString, Option<u32>)> {
    let runtimes = detach_with_env(py, libraries::openmp_runtimes).into_iter();
    runtimes.map(|OpenMpRuntime { name, path, threads, .. }| (name, path.into_os_string(), threads)).collect()
}

/// Extracts a library by its name as the argument `what`, after updating the search paths of Python's packages.
fn extract_library(name: &Bound<'_, PyAny>, what: &str) -> PyResult<&'static Library> {
    named(name.py(), &extract_str(name, what)?)
}

/// Returns the library with this name, after updating the search paths of Python's packages.
fn named(py: Python<'_>, name: &str) -> PyResult<&'static Library> {
    let library = libraries::find(name).into_py_result(py)?;
    update_python_paths(py);
    Ok(library)
}

/// Sets the search paths of Python's packages, unless the program has replaced `sys.path` by another type.
pub(crate) fn update_python_paths(py: Python<'_>) {
    if is_current(py).unwrap_or(false) {
        return;
    }
    if let Ok(packages) = packages(py) {
        // SAFETY: the interpreter loads extension modules from these folders as well.
        unsafe { set_python_paths(packages) };
    }
}

/// Returns whether the search paths equal those that [`packages`] would collect, compared without allocating paths.
fn is_current(py: Python<'_>) -> PyResult<bool> {
    let sys = py.import(intern!(py, "sys"))?;
    let (path, prefix) = (sys.getattr(intern!(py, "path"))?, sys.getattr(intern!(py, "prefix"))?);
    let texts: Vec<_> =
        path.cast::<PyList>()?.iter().filter_map(|folder| folder.cast_into::<PyString>().ok()).collect();
    // Paths that are not UTF-8 raise, and are then collected.
    let folders = texts.iter().map(|text| text.to_str()).collect::<PyResult<Vec<_>>>()?;
    let absolute = folders.into_iter().map(Path::new).filter(|folder| folder.is_absolute());
    Ok(python_paths_are(absolute, Some(Path::new(prefix.cast::<PyString>()?.to_str()?))))
}

fn packages(py: Python<'_>) -> PyResult<PythonPaths> {
    let sys = py.import("sys")?;
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in sys.getattr("path")?.cast::<PyList>()? {
        // Only str, as the import system uses; a relative folder changes with the working directory.
        let Ok(folder) = folder.cast::<PyString>() else { continue };
        folders.extend(folder.extract::<PathBuf>().ok().filter(|folder| folder.is_absolute()));
    }
    Ok(PythonPaths { folders, prefix: sys.getattr("prefix")?.cast::<PyString>()?.extract().ok() })
}

/// A scope in which a vendor library reports its calls.
#[pyclass(frozen, subclass, module = "interlock._core.backends")]
struct VerboseScope(libraries::VerboseScope);

#[pymethods]
impl VerboseScope {
    #[new]
    #[pyo3(signature = (name, level, /))]
    fn new(name: &Bound<'_, PyAny>, level: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = level.py();
        let name = &*extract_str(name, "VerboseScope: name")?;
        let Ok(library) = name.parse::<VerboseLibrary>() else {
            let names = VerboseLibrary::ALL.map(VerboseLibrary::name);
            let error = accelerator::Error::argument("VerboseScope: name", quoted(name), names.join(" or "));
            return Err(exception(py, &error));
        };
        let (name, allowed) = (library.argument().to_owned(), library.accepted().to_owned());
        // A bool is accepted as an int, as in PyTorch.
        let Ok(number) = level.cast::<PyInt>() else {
            return Err(exception(py, &Error::FlagType { name, given: display(level)?, allowed }));
        };
        match py_int::int64(number) {
            Some(level) => libraries::VerboseScope::new(library, level).into_py_result(py).map(VerboseScope),
            // The integer does not fit 64 bits.
            None => Err(exception(py, &Error::FlagValue { name, given: display(level)?, allowed })),
        }
    }

    /// Set the level; level 0 has no effect. The first call loads the library.
    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let (py, scope) = (slf.py(), &slf.get().0);
        // Updates the search paths before each search.
        named(py, scope.library().name())?;
        detach_with_env(py, || scope.enter()).into_py_result(py)?;
        Ok(slf)
    }

    /// End the innermost enter of this scope.
    fn __exit__(
        &self,
        py: Python<'_>,
        exc_type: &Bound<'_, PyAny>,
        exc_val: &Bound<'_, PyAny>,
        exc_tb: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        // The names are PyTorch's.
        let _ = (exc_type, exc_val, exc_tb);
        // Level 0 enters nothing.
        let is_exited = detach_with_env(py, || self.0.exit()) || self.0.level() == 0;
        if is_exited { Ok(()) } else { scope_debug::warn_not_open(py, "verbose") }
    }
}
