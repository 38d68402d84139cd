//! The virtual environment of the embedded interpreter.

use std::error::Error;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A virtual environment.
pub struct Environment {
    /// Its folder, without links.
    folder: PathBuf,
}

/// Returns the virtual environment `VIRTUAL_ENV`, or `.venv` in the current folder.
pub fn of_virtual_environment() -> Result<Environment, Box<dyn Error>> {
    let active = std::env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty());
    let folder = active.map_or_else(|| PathBuf::from(".venv"), PathBuf::from);
    if !folder.join("pyvenv.cfg").exists() {
        let create = "python3 -m venv FOLDER creates one";
        return Err(format!("{} is not a virtual environment; {create}", folder.display()).into());
    }
    Ok(Environment { folder: folder.canonicalize()? })
}

impl Environment {
    /// Starts the interpreter in the environment.
    ///
    /// An embedded interpreter searches `PATH` for `python3`, and that program's folder for `pyvenv.cfg`: so do the
    /// processes that it starts.
    pub fn start_interpreter(&self) -> Result<(), Box<dyn Error>> {
        let mut folders = vec![self.folder.join("bin")];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        // SAFETY: the program has one thread, and the interpreter has not started any yet.
        unsafe {
            std::env::set_var("PATH", std::env::join_paths(folders)?);
            // Has precedence over the environment.
            std::env::remove_var("PYTHONHOME");
        }
        Python::initialize();
        Python::attach(|py| self.check(py))?;
        Ok(())
    }

    /// Fails if the interpreter that is linked is not the one of the environment.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let prefix: PathBuf = py.import("sys")?.getattr("prefix")?.extract()?;
        let version = py.version_info();
        let library = format!("lib/python{}.{}/site-packages", version.major, version.minor);
        let is_of_version = self.folder.join(library).exists();
        if is_of_version && is_same(&prefix, &self.folder) {
            return Ok(());
        }
        let message = format!(
            "this program is linked with Python {}.{}, whose prefix is {}, and {} has another one; build it with \
             PYO3_PYTHON={}",
            version.major,
            version.minor,
            prefix.display(),
            self.folder.display(),
            self.folder.join("bin/python").display()
        );
        Err(PyRuntimeError::new_err(message))
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| one == other)
}
