//! The settings of a virtual environment, asked of its own interpreter.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use pyo3::prelude::*;

/// What the virtual environment's interpreter says of itself.
pub struct Settings {
    /// Where the standard library belongs to.
    home: String,
    /// The folder of installed packages.
    packages: String,
    /// Such as "3.11".
    version: String,
}

/// Each on a line of its own, in the order of the fields.
const QUESTION: &str = "import sys, sysconfig; \
    print(sys.base_prefix, sysconfig.get_path('purelib'), '%d.%d' % sys.version_info[:2], sep='\\n')";

/// Asks the interpreter of `VIRTUAL_ENV`, or of `.venv` in the current folder.
pub fn of_virtual_environment() -> Result<Settings, Box<dyn Error>> {
    let named = std::env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty());
    let folder = named.map_or_else(|| PathBuf::from(".venv"), PathBuf::from);
    let python = folder.join("bin").join("python");
    let answer = Command::new(&python)
        .args(["-c", QUESTION])
        .output()
        .map_err(|error| format!("{} can't be run ({error}); `make demo` makes it", python.display()))?;
    let answer = String::from_utf8(answer.stdout)?;
    match answer.lines().collect::<Vec<_>>().as_slice() {
        [home, packages, version] => Ok(Settings {
            home: (*home).to_owned(),
            packages: (*packages).to_owned(),
            version: (*version).to_owned(),
        }),
        _ => Err(format!("{} did not tell its settings: {answer:?}", python.display()).into()),
    }
}

impl Settings {
    /// Starts the interpreter with the standard library of the virtual environment.
    pub fn start_interpreter(&self) {
        // SAFETY: this program has one thread until the interpreter runs, and that has started none yet.
        unsafe {
            std::env::set_var("PYTHONHOME", &self.home);
            Python::initialize();
            // Only this interpreter shall start from there, not those that a script starts.
            std::env::remove_var("PYTHONHOME");
        }
    }

    /// Makes the packages of the virtual environment importable.
    pub fn add_packages(&self, py: Python<'_>) -> PyResult<()> {
        let ours = py.version_info();
        let ours = format!("{}.{}", ours.major, ours.minor);
        if ours != self.version {
            let message = format!(
                "this program is linked with Python {ours} and the virtual environment has {}; build it with \
                 PYO3_PYTHON set to the environment's interpreter",
                self.version
            );
            return Err(pyo3::exceptions::PyRuntimeError::new_err(message));
        }
        py.import("site")?.getattr("addsitedir")?.call1((&self.packages,))?;
        Ok(())
    }
}
