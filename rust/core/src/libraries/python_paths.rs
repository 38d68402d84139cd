//! The folders of Python's packages, in which vendors' packages install libraries.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::fork::rank;
use crate::base::sync::ForkLock;

/// The import path and the prefix of a Python interpreter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonPaths {
    /// The folders of `sys.path`.
    pub folders: Vec<PathBuf>,
    /// The installation folder (`sys.prefix`).
    pub prefix: Option<PathBuf>,
}

/// The paths that were set last. The value is shared, so that it is copied and dropped outside of the lock.
static PYTHON_PATHS: ForkLock<Option<Arc<PythonPaths>>> = ForkLock::new(rank::PYTHON_PATHS, None);

/// Sets the folders of Python's packages. The Python bindings call this before each search that starts in Python.
///
/// # Safety
/// A file in these folders that has the name of a vendor library is that library: the search may load it, which runs
/// its constructors, and call its functions.
pub unsafe fn set_python_paths(packages: PythonPaths) {
    if current().as_deref() != Some(&packages) {
        let packages = Some(Arc::new(packages));
        let before = std::mem::replace(&mut *PYTHON_PATHS.lock(), packages);
        drop(before);
    }
}

/// Returns whether exactly these folders and this prefix are set.
pub fn python_paths_are<'a>(folders: impl Iterator<Item = &'a Path>, prefix: Option<&Path>) -> bool {
    current().is_some_and(|current| current.prefix.as_deref() == prefix && current.folders.iter().eq(folders))
}

pub(super) fn current() -> Option<Arc<PythonPaths>> {
    PYTHON_PATHS.lock().clone()
}

/// Returns the subfolders `below` of each package folder, and with `prefixes` the library folders of the installations
/// that the folders belong to.
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

/// Returns `P/lib` for `P/lib/python3.11/site-packages`, into which some packages install libraries.
fn libraries_of(folder: &Path) -> Option<PathBuf> {
    let is_for_packages = folder.file_name().is_some_and(|name| name == "site-packages");
    let libraries = folder.parent()?.parent()?;
    (is_for_packages && libraries.file_name()? == "lib").then(|| libraries.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_returns_package_folders_in_order_and_each_prefix_once() {
        let folders =
            ["/v/lib/python3.11/site-packages", "/home/me/.local/lib/python3.11/site-packages", "/src"];
        let packages =
            PythonPaths { folders: folders.map(PathBuf::from).to_vec(), prefix: Some("/v".into()) };
        // SAFETY: this test loads nothing.
        unsafe { set_python_paths(packages) };
        let below = super::folders(&["nvidia/cudnn/lib"], false);
        assert_eq!(below, folders.map(|folder| Path::new(folder).join("nvidia/cudnn/lib")));
        let beside = super::folders(&[], true);
        assert_eq!(beside, ["/v/lib", "/home/me/.local/lib"].map(PathBuf::from));
    }

    #[test]
    fn libraries_of_other_folders_is_none() {
        for folder in
            ["/", "site-packages", "/site-packages", "/usr/lib/python3/dist-packages", "/a/b/site-packages"]
        {
            assert_eq!(libraries_of(Path::new(folder)), None, "{folder}");
        }
    }
}
