//! Where Python's packages are, among which vendors' own packages put libraries.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::fork::rank;
use crate::base::sync::ForkLock;

/// Where a Python program has its packages.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonPaths {
    /// The folders in which it looks for packages (`sys.path`).
    pub folders: Vec<PathBuf>,
    /// Where its installation lies (`sys.prefix`).
    pub prefix: Option<PathBuf>,
}

/// What was told last. The value is shared, so that it is copied and dropped outside of the lock.
static PYTHON_PATHS: ForkLock<Option<Arc<PythonPaths>>> = ForkLock::new(rank::PYTHON_PATHS, None);

/// Tells where packages are, from now on. Who uses interlock from Python need not: each question for a library
/// that comes from there tells it before.
///
/// # Safety
/// A file in these folders that has the name of a vendor library is that library: the search may load it, which runs
/// its constructors, and call its functions.
#[doc(hidden)]
pub unsafe fn set_python_paths(packages: PythonPaths) {
    if current().as_deref() != Some(&packages) {
        let packages = Some(Arc::new(packages));
        let before = std::mem::replace(&mut *PYTHON_PATHS.lock(), packages);
        drop(before);
    }
}

/// Returns whether exactly these folders and this prefix were told last, so that they need not be told again.
#[doc(hidden)]
pub fn python_paths_are<'a>(folders: impl Iterator<Item = &'a Path>, prefix: Option<&Path>) -> bool {
    current().is_some_and(|current| current.prefix.as_deref() == prefix && current.folders.iter().eq(folders))
}

pub(super) fn current() -> Option<Arc<PythonPaths>> {
    PYTHON_PATHS.lock().clone()
}

/// The folders that are one of `below` in a folder of packages, and with `prefixes` the libraries of the
/// installations that the folders belong to.
pub(super) fn folders(below: &[&str], prefixes: bool) -> Vec<PathBuf> {
    let Some(packages) = current() else { return Vec::new() };
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in &packages.folders {
        found.extend(below.iter().map(|below| folder.join(below)));
    }
    if prefixes {
        let own = packages.prefix.iter().map(|prefix| prefix.join("lib"));
        for folder in own.chain(packages.folders.iter().filter_map(|folder| libraries_of(folder))) {
            if !found.contains(&folder) {
                found.push(folder);
            }
        }
    }
    found
}

/// Of `P/lib/python3.11/site-packages`, `P/lib`: what a package of a user puts beside its modules.
fn libraries_of(folder: &Path) -> Option<PathBuf> {
    let is_for_packages = folder.file_name().is_some_and(|name| name == "site-packages");
    let libraries = folder.parent()?.parent()?;
    (is_for_packages && libraries.file_name()? == "lib").then(|| libraries.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_looked_through_in_their_order_and_each_place_once() {
        let folders =
            ["/v/lib/python3.11/site-packages", "/home/me/.local/lib/python3.11/site-packages", "/src"];
        let packages = PythonPaths { folders: folders.map(PathBuf::from).to_vec(), prefix: Some("/v".into()) };
        // SAFETY: this test loads nothing.
        unsafe { set_python_paths(packages) };
        let below = super::folders(&["nvidia/cudnn/lib"], false);
        assert_eq!(below, folders.map(|folder| Path::new(folder).join("nvidia/cudnn/lib")));
        let beside = super::folders(&[], true);
        assert_eq!(beside, ["/v/lib", "/home/me/.local/lib"].map(PathBuf::from));
    }

    #[test]
    fn what_is_no_folder_of_an_installation_has_no_libraries_beside_it() {
        for folder in
            ["/", "site-packages", "/site-packages", "/usr/lib/python3/dist-packages", "/a/b/site-packages"]
        {
            assert_eq!(libraries_of(Path::new(folder)), None, "{folder}");
        }
    }
}
