//! The settings of a virtual environment, queried from its interpreter.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use pyo3::prelude::*;

/// The settings of a virtual environment.
pub struct Settings {
    /// The prefix of the standard library (`sys.base_prefix`).
    home: String,
    /// The folder of installed packages (`site-packages`).
    packages: String,
    /// The version of Python, such as "3.11".
    version: String,
}

/// Prints the settings, one per line, in the order of the fields.
const QUERY: &str = "import sys, sysconfig; \
    print(sys.base_prefix, sysconfig.get_path('purelib'), '%d.%d' % sys.version_info[:2], sep='\\n')";

/// Queries the virtual environment `VIRTUAL_ENV`, or `.venv` in the current folder.
pub fn of_virtual_environment() -> Result<Settings, Box<dyn Error>> {
    let active = std::env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty());
    let folder = active.map_or_else(|| PathBuf::from(".venv"), PathBuf::from);
    let python = folder.join("bin").join("python");
    let output = Command::new(&python)
        .args(["-c", QUERY])
        .output()
        .map_err(|error| format!("cannot run {} ({error}); `make demo` creates it", python.display()))?;
    let output = String::from_utf8(output.stdout)?;
    match output.lines().collect::<Vec<_>>().as_slice() {
        [home, packages, version] => Ok(Settings {
            home: (*home).to_owned(),
            packages: (*packages).to_owned(),
            version: (*version).to_owned(),
        }),
        _ => Err(format!("unexpected output of {}: {output:?}", python.display()).into()),
    }
}

impl Settings {
    /// Initializes the interpreter with the standard library of the virtual environment.
    pub fn start_interpreter(&self) {
        // SAFETY: the program has one thread, and the interpreter has not started any yet.
        unsafe {
            std::env::set_var("PYTHONHOME", &self.home);
            Python::initialize();
            // Removed, so that interpreters that a script starts do not inherit it.
            std::env::remove_var("PYTHONHOME");
        }
    }

    /// Makes the packages of the virtual environment importable.
    pub fn add_packages(&self, py: Python<'_>) -> PyResult<()> {
        let linked = py.version_info();
        let linked = format!("{}.{}", linked.major, linked.minor);
        if linked != self.version {
            let message = format!(
                "this program is linked with Python {linked} and the virtual environment has {}; build it with \
                 PYO3_PYTHON set to the environment's interpreter",
                self.version
            );
            return Err(pyo3::exceptions::PyRuntimeError::new_err(message));
        }
        py.import("site")?.getattr("addsitedir")?.call1((&self.packages,))?;
        Ok(())
    }
}
