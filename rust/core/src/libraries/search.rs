//! Where a library is looked for.

use std::path::PathBuf;

use super::{Library, system};
use crate::env;

/// Where one library may be, besides the folders in which the system's loader looks.
#[derive(Debug)]
pub(super) struct Places {
    /// Installations that environment variables point to.
    pub(super) homes: &'static [Home],
    /// Where it is installed for the whole system.
    pub(super) folders: &'static [&'static str],
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

/// The folders in the order of the search. What is loaded already comes before all of them.
pub(super) fn folders(library: &Library) -> impl Iterator<Item = PathBuf> {
    let named_by_loader = env::paths(env::LIBRARY_PATH).into_iter();
    let homes = library.places.homes.iter().flat_map(Home::folders);
    let installed = library.places.folders.iter().map(PathBuf::from);
    // Reads files, so only where nothing was found before.
    let of_system = std::iter::once_with(system::folders).flatten();
    named_by_loader.chain(homes).chain(installed).chain(of_system)
}

/// The places in words, for the message about a library that is in none of them.
pub(super) fn places(library: &Library) -> String {
    let homes = library.places.homes.iter().map(|home| home.variable);
    let variables: Vec<_> = std::iter::once(env::LIBRARY_PATH).chain(homes).collect();
    format!("among what is loaded, in the folders of {} and in the system's", variables.join(", "))
}
