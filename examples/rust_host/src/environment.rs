//! The virtual environment of the embedded interpreter.

use std::error::Error;
use std::path::Path;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Starts the interpreter in a virtual environment. Call it while the program has one thread.
///
/// An embedded interpreter searches `PATH` for `python3`, and the folder above that program's for `pyvenv.cfg`. So do the
/// processes that it starts.
pub fn start_interpreter(environment: &Path) -> Result<(), Box<dyn Error>> {
    if !environment.join("pyvenv.cfg").exists() {
        let create = "python3 -m venv FOLDER creates one";
        return Err(format!("{} is not a virtual environment; {create}", environment.display()).into());
    }
    let environment = environment.canonicalize()?;
    let mut folders = vec![environment.join("bin")];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    // SAFETY: the program has one thread.
    unsafe {
        std::env::set_var("PATH", std::env::join_paths(folders)?);
        // It would have precedence.
        std::env::remove_var("PYTHONHOME");
    }
    Python::initialize();
    Ok(Python::attach(|py| check(py, &environment))?)
}

/// Fails if the environment is one of another Python than the one with which the program is linked.
fn check(py: Python<'_>, environment: &Path) -> PyResult<()> {
    let linked = py.version_info();
    let packages = format!("lib/python{}.{}/site-packages", linked.major, linked.minor);
    let prefix: String = py.import("sys")?.getattr("prefix")?.extract()?;
    if Path::new(&prefix).canonicalize()? == environment && environment.join(packages).exists() {
        return Ok(());
    }
    let (folder, python) = (environment.display(), environment.join("bin/python"));
    let (major, minor, python) = (linked.major, linked.minor, python.display());
    let message = format!(
        "the program is linked with Python {major}.{minor} and {folder} has another one; build it with \
         PYO3_PYTHON={python}"
    );
    Err(PyRuntimeError::new_err(message))
}
