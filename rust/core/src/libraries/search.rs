//! Where a library is looked for.

use std::path::{Path, PathBuf};

use super::{Found, Library, Source, packages, system};
use crate::base::env;

/// Where one library may be, besides the folders in which the system's loader looks.
#[derive(Debug)]
pub(super) struct Places {
    /// Folders below each in which Python looks for packages.
    pub(super) in_packages: &'static [&'static str],
    /// Whether its package puts it beside the libraries of Python's installation.
    pub(super) is_in_prefix: bool,
    /// Installations that environment variables point to.
    pub(super) homes: &'static [Home],
    /// Where it is installed for the whole system.
    pub(super) folders: &'static [&'static str],
}

impl Places {
    /// The environment variables that name installations.
    pub(super) fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.homes.iter().map(|home| home.variable)
    }
}

/// An installation that an environment variable points to.
#[derive(Debug)]
pub(super) struct Home {
    variable: &'static str,
    /// Where libraries lie in it.
    below: &'static [&'static str],
}

impl Home {
    pub(super) const CUDA_HOME: Home = Home { variable: env::CUDA_HOME, below: TOOLKIT };
    pub(super) const CUDA_PATH: Home = Home { variable: env::CUDA_PATH, below: TOOLKIT };
    pub(super) const CONDA: Home = Home { variable: env::CONDA_PREFIX, below: &["lib"] };

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
    let places = &library.places;
    let packages = packages::folders(places.in_packages, places.is_in_prefix).into_iter();
    let named_by_loader = env::paths(env::LIBRARY_PATH).into_iter();
    let homes = places.homes.iter().flat_map(Home::folders);
    let installed = places.folders.iter().map(PathBuf::from);
    // Reads files, so only where nothing was found before.
    let of_system = std::iter::once_with(system::folders).flatten();
    let with = |source| move |folder| (folder, source);
    packages
        .map(with(Source::Packages))
        .chain(named_by_loader.chain(homes).map(with(Source::Environment)))
        .chain(installed.chain(of_system).map(with(Source::System)))
}

/// What was looked for and where, for the message about a library that is nowhere.
pub(super) fn in_words(library: &Library) -> String {
    let homes = library.places.homes.iter().map(|home| home.variable);
    let variables: Vec<_> = std::iter::once(env::LIBRARY_PATH).chain(homes).collect();
    format!(
        "{} among what is loaded, Python's packages, in the folders of {} and in the system's; {} gives its path",
        library.sonames.join(", "),
        variables.join(", "),
        env::variable_of_library(library.name),
    )
}
