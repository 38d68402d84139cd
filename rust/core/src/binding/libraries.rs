//! The folders of an interpreter in which packages install libraries, and files of loaded libraries.

pub use crate::libraries::functions::set_search_hook;
pub use crate::libraries::loader::{file_of, reason_of};
pub use crate::libraries::presence::{Presence, loader_counts};
pub use crate::libraries::python_paths::{PythonPaths, python_paths_are, set_python_paths};
