//! The errors of this crate.

use std::fmt;
use std::path::PathBuf;

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the library, of a session or of interlock. The call that returns it has had no effect.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The variable `ORT_DYLIB_PATH` is not set.
    NoLibrary,
    /// A path names neither the library of ONNX Runtime nor a folder of Python packages that contains it.
    Library {
        /// The function and its argument, or the variable.
        name: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// The library cannot be loaded, or is older than this crate requires.
    Load(String),
    /// An error of ONNX Runtime.
    Ort(ort::Error),
    /// An error of interlock's flags.
    Flags(interlock::Error),
    /// An error of interlock's devices and memory.
    Accelerator(interlock::accelerator::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoLibrary => write!(
                f,
                "Library::from_env: ORT_DYLIB_PATH must be the path of the library of ONNX Runtime or of the folder \
                 of Python packages that contains onnxruntime, and is not set. To install it: pip install onnxruntime"
            ),
            Error::Library { name, path } => write!(
                f,
                "{name} must be the path of the library of ONNX Runtime or of the folder of Python packages that \
                 contains onnxruntime, got {path:?}. To install it: pip install onnxruntime"
            ),
            Error::Load(reason) => write!(f, "Library::init: {reason}"),
            Error::Ort(error) => write!(f, "{error}"),
            Error::Flags(error) => write!(f, "{error}"),
            Error::Accelerator(error) => write!(f, "{error}"),
        }
    }
}

// No error has a source: a message contains the texts of the errors that caused it.
impl std::error::Error for Error {}

impl<R> From<ort::Error<R>> for Error
where
    ort::Error: From<ort::Error<R>>,
{
    fn from(error: ort::Error<R>) -> Self {
        Error::Ort(error.into())
    }
}

impl From<interlock::Error> for Error {
    fn from(error: interlock::Error) -> Self {
        Error::Flags(error)
    }
}

impl From<interlock::accelerator::Error> for Error {
    fn from(error: interlock::accelerator::Error) -> Self {
        Error::Accelerator(error)
    }
}
