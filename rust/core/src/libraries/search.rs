//! Where a library is looked for.

use std::path::{Path, PathBuf};

use super::{Found, Library, Source, packages, system};
use crate::base::env;

/// Where one library may be, besides the folders in which the system's loader looks.
#[derive(Debug)]
pub(super) struct SearchPaths {
    /// Folders below each in which Python looks for packages.
    pub(super) package_folders: &'static [&'static str],
    /// Whether its package puts it beside the libraries of Python's installation.
    pub(super) in_python_prefix: bool,
    /// Installations that environment variables point to.
    pub(super) prefixes: &'static [InstallPrefix],
    /// Where it is installed for the whole system.
    pub(super) folders: &'static [&'static str],
}

impl SearchPaths {
    /// The environment variables that name installations.
    pub(super) fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.prefixes.iter().map(|home| home.variable)
    }
}

/// An installation that an environment variable points to.
#[derive(Debug)]
pub(super) struct InstallPrefix {
    variable: &'static str,
    /// Where libraries lie in it.
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

/// Where the CUDA toolkit keeps libraries.
const TOOLKIT: &[&str] = &["lib64", "lib"];

/// The files that may be this library, in the order of the search. What is given and what is loaded come
/// before all of them.
pub(super) fn files(library: &Library) -> impl Iterator<Item = Found> {
    folders(library).flat_map(|(folder, source)| {
        files_in(library, &folder).map(|path| Found { path, source }).collect::<Vec<_>>()
    })
}

/// The files of the library's names in a folder.
pub(super) fn files_in(library: &Library, folder: &Path) -> impl Iterator<Item = PathBuf> {
    library.sonames.iter().map(move |soname| folder.join(soname)).filter(|file| file.is_file())
}

fn folders(library: &Library) -> impl Iterator<Item = (PathBuf, Source)> {
    let search_paths = &library.search_paths;
    let packages = python_paths::folders(search_paths.package_folders, search_paths.in_python_prefix).into_iter();
    let named_by_loader = env::paths(env::LIBRARY_PATH).into_iter();
    let prefixes = search_paths.prefixes.iter().flat_map(InstallPrefix::folders);
    let installed = search_paths.folders.iter().map(PathBuf::from);
    // Reads files, so only where nothing was found before.
    let of_system = std::iter::once_with(ld_paths::folders).flatten();
    let with = |source| move |folder| (folder, source);
    packages
        .map(with(Source::PythonPaths))
        .chain(named_by_loader.chain(prefixes).map(with(Source::Environment)))
        .chain(installed.chain(of_system).map(with(Source::System)))
}

/// What was looked for and where, for the message about a library that is nowhere.
pub(super) fn describe_search(library: &Library) -> String {
    let prefixes = library.search_paths.prefixes.iter().map(|home| home.variable);
    let variables: Vec<_> = std::iter::once(env::LIBRARY_PATH).chain(prefixes).collect();
    format!(
        "{} among what is loaded, Python's packages, in the folders of {} and in the system's; {} gives its path",
        library.sonames.join(", "),
        variables.join(", "),
        env::library_variable(library.name),
    )
}
