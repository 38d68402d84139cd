//! User-supplied paths of libraries. Such a path is authoritative: if it cannot be loaded, that is an error, and no
//! other file is tried.

use std::path::{Path, PathBuf};

use super::{Library, search};
use crate::base::env;
use crate::{Error, Result};

/// The file at a user-supplied path.
#[derive(Debug)]
pub(super) struct UserPath {
    pub(super) file: PathBuf,
    /// The variable or call that supplied the path, for messages.
    by: String,
    /// The path as it was supplied.
    path: PathBuf,
}

impl Library {
    /// Returns the file that the library's variable names; `None` if it is not set, or empty.
    pub(super) fn user_path(&self) -> Result<Option<UserPath>> {
        let variable = env::library_variable(self.name);
        env::path(&variable).map(|path| self.resolve_path(&path, variable)).transpose()
    }

    /// Returns the file at `path`, or the library's file in that folder.
    pub(super) fn resolve_path(&self, path: &Path, by: String) -> Result<UserPath> {
        // The loader would search a name without a folder in its own folders.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let found = if absolute.is_dir() {
            let reason = || format!("it is a folder without any of {}", self.sonames.join(", "));
            search::files_in(self, &absolute).next().ok_or_else(reason)
        } else if absolute.is_file() {
            Ok(absolute)
        } else {
            Err("there is no such file".to_owned())
        };
        let path = path.to_owned();
        match found {
            Ok(file) => Ok(UserPath { file, by, path }),
            Err(reason) => Err(Error::LibraryPath { library: self.title, by, path, reason }),
        }
    }
}

impl UserPath {
    /// Returns the error that this file cannot be used.
    pub(super) fn error(&self, library: &Library, reason: String) -> Error {
        Error::LibraryPath { library: library.title, by: self.by.clone(), path: self.path.clone(), reason }
    }
}
