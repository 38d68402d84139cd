//! A path that the user gave: that library or an error, never another one instead.

use std::path::{Path, PathBuf};

use super::{Library, search};
use crate::base::env;
use crate::{Error, Result};

/// The file at a path that the user gave, and how.
#[derive(Debug)]
pub(super) struct UserPath {
    pub(super) file: PathBuf,
    /// What gave it, as a message names it.
    by: String,
    /// As it was given.
    path: PathBuf,
}

impl Library {
    /// The file that the library's variable names; `None` where it is not set, or empty.
    pub(super) fn user_path(&self) -> Result<Option<UserPath>> {
        let variable = env::library_variable(self.name);
        env::path(&variable).map(|path| self.at(&path, variable)).transpose()
    }

    /// The library at `path`: that file, or the one in that folder.
    pub(super) fn at(&self, path: &Path, by: String) -> Result<UserPath> {
        // A name without a folder would be looked for elsewhere than here.
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
    /// The error that this file is of no use.
    pub(super) fn error(&self, library: &Library, reason: String) -> Error {
        Error::LibraryPath { library: library.title, by: self.by.clone(), path: self.path.clone(), reason }
    }
}
