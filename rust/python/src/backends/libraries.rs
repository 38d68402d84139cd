//! Vendor libraries: whether they are there, which version they are, and how much they tell.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use interlock::Error;
use interlock::accelerator;
use interlock::libraries::{self, Library, OpenMpRuntime, Packages, Status, VerboseLibrary};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyType};

use super::convert::shown;
use crate::detach::detach_with_env;
use crate::errors::{IntoPyResult, exception};
use crate::py_int;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(library_names, module)?)?;
    module.add_function(wrap_pyfunction!(library_is_available, module)?)?;
    module.add_function(wrap_pyfunction!(library_is_loaded, module)?)?;
    module.add_function(wrap_pyfunction!(library_version, module)?)?;
    module.add_function(wrap_pyfunction!(find_library, module)?)?;
    module.add_function(wrap_pyfunction!(load_library, module)?)?;
    module.add_function(wrap_pyfunction!(openmp_runtimes, module)?)?;
    module.add_class::<VerboseScope>()
}

/// The names of all libraries that can be asked for.
#[pyfunction]
fn library_names() -> Vec<&'static str> {
    libraries::ALL.iter().map(|library| library.name()).collect()
}

/// Whether a library is loaded or would be found; looking does not load it.
#[pyfunction]
fn library_is_available(py: Python<'_>, name: &str) -> PyResult<bool> {
    let library = named(py, name)?;
    detach_with_env(py, || library.is_available()).into_py_result(py)
}

/// Whether a library is in this process, whoever loaded it.
#[pyfunction]
fn library_is_loaded(py: Python<'_>, name: &str) -> PyResult<bool> {
    let library = named(py, name)?;
    Ok(detach_with_env(py, || library.is_loaded()))
}

/// What a library answers when it is asked for its version, in its own counting, or None. The first call
/// loads it.
#[pyfunction]
fn library_version(py: Python<'_>, name: &str) -> PyResult<Option<u64>> {
    let library = named(py, name)?;
    let version = detach_with_env(py, || library.version()).into_py_result(py)?;
    Ok(version.and_then(|version| version.number))
}

/// Name, title, path as text, source, whether it is loaded, and version.
type Description = (&'static str, &'static str, Option<OsString>, Option<&'static str>, bool, Option<String>);

/// What is known of a library without loading it.
#[pyfunction]
fn find_library(py: Python<'_>, name: &str) -> PyResult<Description> {
    let library = named(py, name)?;
    detach_with_env(py, || describe(library)).into_py_result(py)
}

/// Loads a library, from `path` if that is given, and tells what is known of it then.
#[pyfunction]
fn load_library(py: Python<'_>, name: &str, path: Option<PathBuf>) -> PyResult<Description> {
    let library = named(py, name)?;
    let load = || {
        match path.as_deref() {
            // SAFETY: that the file is this library is the Python program's duty, as the documentation of `load` says.
            Some(path) => unsafe { library.load_from(path)? },
            None => library.load()?,
        };
        describe(library)
    };
    detach_with_env(py, load).into_py_result(py)
}

fn describe(library: &Library) -> interlock::Result<Description> {
    let Status { found, is_loaded, version } = library.status()?;
    let (path, source) = found.map(|found| (found.path.into_os_string(), found.source.name())).unzip();
    Ok((library.name(), library.title(), path, source, is_loaded, version.map(|version| version.text)))
}

/// Name, path and threads of each OpenMP runtime that is loaded under its own name.
#[pyfunction]
fn openmp_runtimes(py: Python<'_>) -> Vec<(&'static str, OsString, Option<u32>)> {
    let runtimes = detach_with_env(py, libraries::openmp_runtimes).into_iter();
    runtimes.map(|OpenMpRuntime { name, path, threads }| (name, path.into_os_string(), threads)).collect()
}

/// The library of this name, told where Python's packages are now.
fn named(py: Python<'_>, name: &str) -> PyResult<&'static Library> {
    let library = libraries::find(name).into_py_result(py)?;
    tell_packages(py);
    Ok(library)
}

/// Tells the search where Python's packages are now, unless a program has put something odd in the place of `sys.path`.
pub(super) fn tell_packages(py: Python<'_>) {
    if is_told(py).unwrap_or(false) {
        return;
    }
    if let Ok(packages) = packages(py) {
        // SAFETY: the interpreter loads extension modules from these folders as well, and trusts them.
        unsafe { libraries::set_packages(packages) };
    }
}

/// Whether the search was told exactly what [`packages`] would collect: compared without making paths.
fn is_told(py: Python<'_>) -> PyResult<bool> {
    let sys = py.import(intern!(py, "sys"))?;
    let (path, prefix) = (sys.getattr(intern!(py, "path"))?, sys.getattr(intern!(py, "prefix"))?);
    let texts: Vec<_> =
        path.cast::<PyList>()?.iter().filter_map(|folder| folder.cast_into::<PyString>().ok()).collect();
    // What is no UTF-8 is collected instead.
    let folders = texts.iter().map(|text| text.to_str()).collect::<PyResult<Vec<_>>>()?;
    let absolute = folders.into_iter().map(Path::new).filter(|folder| folder.is_absolute());
    Ok(libraries::packages_are(absolute, Some(Path::new(prefix.cast::<PyString>()?.to_str()?))))
}

fn packages(py: Python<'_>) -> PyResult<Packages> {
    let sys = py.import("sys")?;
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in sys.getattr("path")?.cast::<PyList>()? {
        // Only text, as the import system has it; and what is relative means another folder tomorrow.
        let Ok(folder) = folder.cast::<PyString>() else { continue };
        folders.extend(folder.extract::<PathBuf>().ok().filter(|folder| folder.is_absolute()));
    }
    Ok(Packages { folders, prefix: sys.getattr("prefix")?.cast::<PyString>()?.extract().ok() })
}

/// Has a vendor library report its calls between `enter` and `leave`.
#[pyclass(frozen, module = "interlock._core.backends")]
struct VerboseScope(libraries::VerboseScope);

#[pymethods]
impl VerboseScope {
    #[new]
    #[pyo3(signature = (name, level, /))]
    fn new(name: &str, level: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = level.py();
        let Some(library) = VerboseLibrary::named(name) else {
            let names = [VerboseLibrary::Mkl, VerboseLibrary::OneDnn].map(VerboseLibrary::name);
            let (allowed, given) = (names.join(" or "), format!("{name:?}"));
            return Err(exception(py, &accelerator::Error::Argument { name: "name", given, allowed }));
        };
        let (name, allowed) = (library.operation().to_owned(), library.allowed());
        // A bool is an int here as in PyTorch: what this argument says is whether.
        let Ok(number) = level.cast::<PyInt>() else {
            return Err(exception(py, &Error::FlagType { name, given: shown(level)?, allowed }));
        };
        match py_int::int64(number) {
            Some(level) => libraries::VerboseScope::new(library, level).into_py_result(py).map(VerboseScope),
            // It does not fit into 64 bits.
            None => Err(exception(py, &Error::FlagValue { name, given: shown(level)?, allowed })),
        }
    }

    /// Sets the level; level 0 does nothing. The first call loads the library.
    fn enter(&self, py: Python<'_>) -> PyResult<()> {
        // Where its packages are is told before each search.
        named(py, self.0.library().name())?;
        detach_with_env(py, || self.0.enter()).into_py_result(py)
    }

    /// Ends what this scope began last.
    fn leave(&self, py: Python<'_>) {
        detach_with_env(py, || self.0.leave());
    }

    /// A copy is a scope of its own that is not open.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (&'static str, i32)) {
        (py.get_type::<Self>(), (self.0.library().name(), self.0.level()))
    }
}
