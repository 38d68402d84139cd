//! The search for the file of a library.

use std::path::{Path, PathBuf};

use super::ld_paths::{self, glob};
use super::{Found, Library, Source, python_paths};
use crate::base::env;

/// The search paths of one library, besides those of the system's loader.
#[derive(Debug)]
pub(super) struct SearchPaths {
    /// Subfolders of each folder of Python's packages.
    pub(super) package_folders: &'static [&'static str],
    /// Whether its package installs it into the library folder of Python's prefix.
    pub(super) in_python_prefix: bool,
    /// Installations that environment variables name.
    pub(super) prefixes: &'static [InstallPrefix],
    /// Folders of a system-wide installation.
    pub(super) folders: &'static [&'static str],
}

impl SearchPaths {
    /// Iterates over the environment variables that name installations.
    pub(super) fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.prefixes.iter().map(|prefix| prefix.variable)
    }
}

/// An installation that an environment variable names.
#[derive(Debug)]
pub(super) struct InstallPrefix {
    variable: &'static str,
    /// The subfolders with libraries.
    below: &'static [&'static str],
}

impl InstallPrefix {
    pub(super) const CUDA_HOME: InstallPrefix = InstallPrefix { variable: env::CUDA_HOME, below: TOOLKIT };
    pub(super) const CUDA_PATH: InstallPrefix = InstallPrefix { variable: env::CUDA_PATH, below: TOOLKIT };
    pub(super) const CONDA: InstallPrefix = InstallPrefix { variable: env::CONDA_PREFIX, below: &["lib"] };

    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let root = env::path(self.variable);
        root.into_iter().flat_map(|root| self.below.iter().map(move |folder| root.join(folder)))
    }
}

/// The library folders of the CUDA toolkit.
const TOOLKIT: &[&str] = &["lib64", "lib"];

/// Iterates over the files that may be this library, in the order of the search. A user-supplied path and a loaded
/// library take precedence over all of them.
pub(super) fn files(library: &Library) -> impl Iterator<Item = Found> {
    folders(library).flat_map(|(folder, source)| {
        files_in(library, &folder).map(|path| Found { path, source }).collect::<Vec<_>>()
    })
}

/// Iterates over the files in a folder that have one of the library's names.
pub(super) fn files_in(library: &Library, folder: &Path) -> impl Iterator<Item = PathBuf> {
    let files = library.sonames.iter().flat_map(move |soname| glob(&folder.join(soname)));
    files.filter(|file| file.is_file())
}

/// Iterates over the files in Python's packages whose names contain a hash; over none if the library has no such name.
pub(super) fn packaged_files(library: &Library) -> impl Iterator<Item = PathBuf> {
    let folders = match library.sonames.iter().any(|soname| soname.contains('*')) {
        true => python_paths::folders(library.search_paths.package_folders, false),
        false => Vec::new(),
    };
    folders.into_iter().flat_map(|folder| files_in(library, &folder).collect::<Vec<_>>())
}

fn folders(library: &Library) -> impl Iterator<Item = (PathBuf, Source)> {
    let search_paths = &library.search_paths;
    let packages =
        python_paths::folders(search_paths.package_folders, search_paths.in_python_prefix).into_iter();
    let named_by_loader = env::paths(env::LIBRARY_PATH).into_iter();
    let prefixes = search_paths.prefixes.iter().flat_map(InstallPrefix::folders);
    let installed = search_paths.folders.iter().map(PathBuf::from);
    // Evaluated lazily, because it reads files.
    let from_loader = std::iter::once_with(ld_paths::folders).flatten();
    let with = |source| move |folder| (folder, source);
    packages
        .map(with(Source::PythonPaths))
        .chain(named_by_loader.chain(prefixes).map(with(Source::Environment)))
        .chain(installed.chain(from_loader).map(with(Source::System)))
}

/// Describes the search, for the error about a library that was not found.
pub(super) fn describe_search(library: &Library) -> String {
    let prefixes = library.search_paths.prefixes.iter().map(|prefix| prefix.variable);
    let variables: Vec<_> = std::iter::once(env::LIBRARY_PATH).chain(prefixes).collect();
    format!(
        "{} among the loaded libraries, in Python's packages, the folders of {} and those of the system; set {} to its path",
        library.sonames.join(", "),
        variables.join(", "),
        env::library_variable(library.name),
    )
}
