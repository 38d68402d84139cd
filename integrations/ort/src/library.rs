//! Finds the shared library of ONNX Runtime.

use std::fs;
use std::path::{Path, PathBuf};

use ort::environment::EnvironmentBuilder;

use crate::{Error, Result};

/// The variable that names the library. The crate `ort` reads it, too, and accepts only a file.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// The shared library of ONNX Runtime, which [`init`](Library::init) loads. Functions of ort that need the library load the
/// file that `ORT_DYLIB_PATH` names, or panic, if they are called before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library(PathBuf);

impl Library {
    /// Finds the library by `ORT_DYLIB_PATH`: the path of the library, or of the folder of Python packages
    /// (`site-packages`) in which `onnxruntime` is installed.
    ///
    /// # Errors
    /// Returns [`Error::NoLibrary`] if the variable is not set, and [`Error::Library`] if it names something else.
    pub fn from_env() -> Result<Self> {
        let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).ok_or(Error::NoLibrary)?;
        Self::find(VARIABLE, path.as_ref())
    }

    /// Finds the library by its path, or by that of the folder of Python packages in which `onnxruntime` is installed.
    ///
    /// # Errors
    /// Returns [`Error::Library`] if `path` names something else.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        Self::find("Library::from_path: path", path.as_ref())
    }

    fn find(name: &'static str, path: &Path) -> Result<Self> {
        let found = if path.is_dir() { of_wheel(path) } else { path.is_file().then(|| path.to_owned()) };
        // A relative path would be looked for beside the executable.
        let absolute = found.and_then(|found| fs::canonicalize(found).ok());
        absolute.map(Library).ok_or_else(|| Error::Library { name, path: path.to_owned() })
    }

    /// Returns the path of the library.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Loads the library, and returns a builder of the environment, of which a process can build one.
    ///
    /// # Errors
    /// Returns [`Error::Load`] if the file is no library of ONNX Runtime or is too old.
    pub fn init(&self) -> Result<EnvironmentBuilder> {
        ort::init_from(&self.0).map_err(|error| Error::Load(error.to_string()))
    }
}

/// Returns the library in a wheel, whose name ends with its version: `libonnxruntime.so.1.32.0`.
fn of_wheel(packages: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(packages.join("onnxruntime").join("capi")).ok()?;
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let version = name
            .strip_prefix("libonnxruntime.so")
            .or_else(|| name.strip_prefix("libonnxruntime").and_then(|rest| rest.strip_suffix(".dylib")));
        version.is_some_and(|version| version.chars().all(|c| c == '.' || c.is_ascii_digit()))
    };
    files.filter_map(|file| Some(file.ok()?.path())).find(is_library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_a_wheel_is_found_by_its_versioned_name() {
        let packages = std::env::temp_dir().join(format!("interlock-ort-{}", std::process::id()));
        let capi = packages.join("onnxruntime/capi");
        fs::create_dir_all(&capi).unwrap();
        assert!(of_wheel(&packages).is_none());
        fs::write(capi.join("libonnxruntime_providers_shared.so"), "").unwrap();
        assert!(of_wheel(&packages).is_none());
        fs::write(capi.join("libonnxruntime.so.1.32.0"), "").unwrap();
        let found = Library::from_path(&packages).unwrap();
        assert!(found.path().ends_with("onnxruntime/capi/libonnxruntime.so.1.32.0"));
        fs::remove_dir_all(&packages).unwrap();
    }

    #[test]
    fn a_file_that_is_no_library_cannot_be_loaded() {
        let manifest = Library::from_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
        let Err(error) = manifest.init() else { panic!("a text was loaded") };
        assert!(matches!(error, Error::Load(_)));
        assert!(error.to_string().starts_with("Library::init: failed to load from"), "{error}");
    }

    #[test]
    fn a_path_that_names_no_library_is_an_error_with_a_cure() {
        let error = Library::from_path("/nowhere/lib.so").unwrap_err().to_string();
        assert!(error.starts_with("Library::from_path: path must be the path of the library"), "{error}");
        assert!(
            error.contains("\"/nowhere/lib.so\"") && error.contains("pip install onnxruntime"),
            "{error}"
        );
        assert!(Library::from_path(std::env::temp_dir().join("empty")).is_err());
    }
}
