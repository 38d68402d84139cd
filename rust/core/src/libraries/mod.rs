//! Vendor libraries, found and loaded at run time: their names, the search and their versions.
//!
//! No library is linked, and none is loaded before a call needs it. A library that is absent is a value; a
//! user-supplied path that cannot be used is an error.

pub(crate) mod functions;
#[cfg(target_os = "macos")]
mod images;
mod ld_paths;
pub(crate) mod loader;
mod num_threads;
mod openmp;
pub(crate) mod presence;
pub(crate) mod python_paths;
mod search;
mod table;
mod user_path;
mod verbose;
mod version;

use crate::named_enum;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

pub use functions::LibraryFunctions;
use loader::{Handle, Loaded};
pub(crate) use num_threads::set_library_threads;
pub use openmp::{OpenMpRuntime, openmp_runtimes};
pub(crate) use presence::Presence;
use presence::SearchResult;
use search::SearchPaths;
pub use table::{
    ALL, CUBLAS, CUBLASLT, CUDNN, CUFFT, CURAND, CUSOLVER, CUSPARSE, CUSPARSELT, MKL, NCCL, NVML, NVRTC,
    ONEDNN, OPENBLAS, OPENMP, find, variables,
};
use user_path::UserPath;
pub use verbose::{VerboseLibrary, VerboseScope};
pub use version::Version;
use version::VersionQuery;

use crate::base::sync::TryLock;
use crate::{Error, Result};

/// A vendor library that this crate finds and loads at run time, and never links.
///
/// ```
/// use interlock_core::libraries::CUDNN;
///
/// if CUDNN.is_available()? {
///     println!("{} can be loaded", CUDNN.title());
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Library {
    name: &'static str,
    title: &'static str,
    /// The file names, in the order of preference. A `*` stands for what a package adds to the name, such as a hash.
    sonames: &'static [&'static str],
    /// A function that every release of this library has, and no other library.
    function: &'static CStr,
    /// Names of the function in builds that rename it.
    aliases: &'static [&'static CStr],
    search_paths: SearchPaths,
    version: VersionQuery,
    handle: Handle,
    /// The last result of [`presence`](Library::presence).
    last_search: TryLock<Option<SearchResult>>,
}

named_enum! {
    /// The source of a library's file, in descending priority.
    ///
    /// ```
    /// use interlock_core::libraries::{CUDNN, Source};
    ///
    /// if let Some(found) = CUDNN.find()? && found.source == Source::System {
    ///     println!("{} is installed for the whole system", CUDNN.title());
    /// }
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Source {
        /// A user-supplied path, by argument or variable.
        Explicit => "explicit",
        /// Other code has loaded it into this process.
        Loaded => "loaded",
        /// In the packages of Python.
        PythonPaths => "packages",
        /// An environment variable that names folders or an installation.
        Environment => "environment",
        /// In the folders of the system.
        System => "system",
    }
}

/// The file of a library and its source.
///
/// ```
/// use interlock_core::libraries::MKL;
///
/// match MKL.find()? {
///     Some(found) => println!("{} ({})", found.path.display(), found.source),
///     None => println!("{} is not installed", MKL.title()),
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// The source of the file.
    pub source: Source,
}

/// The state of a library, read without loading it.
///
/// ```
/// use interlock_core::libraries::ALL;
///
/// for library in ALL {
///     let status = library.status()?;
///     println!("{}: loaded: {}, file: {:?}", library.title(), status.is_loaded, status.found);
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The file that is loaded or would be tried first.
    pub found: Option<Found>,
    /// Whether that file is loaded in this process, by this crate or by other code.
    pub is_loaded: bool,
    /// The version; `None` unless the library is loaded and the query has no side effects.
    pub version: Option<Version>,
}

/// A library in this process.
enum InProcess<'a> {
    /// Loaded by this crate.
    Owned(&'a Loaded),
    /// Loaded by other code.
    External(Loaded),
}

impl Library {
    /// Returns the name in programs and variables: `cudnn`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the name as its vendor spells it: `cuDNN`.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// Returns whether this crate or other code has loaded the library into this process; does not load it.
    pub fn is_loaded(&self) -> bool {
        self.handle.get().is_some() || self.loaded_elsewhere().is_some()
    }

    /// Returns whether the library is loaded or the search finds a file of its name; does not load it. Fails with
    /// `Error::LibraryPath` if a user-supplied path does not have it.
    pub fn is_available(&self) -> Result<bool> {
        Ok(self.find()?.is_some())
    }

    /// Returns the file that is loaded or would be tried first, without loading it. The order is: a user-supplied path,
    /// a loaded library, Python's packages, folders of environment variables, the system.
    ///
    /// Fails with `Error::LibraryPath` if a user-supplied path does not have it.
    pub fn find(&self) -> Result<Option<Found>> {
        Ok(self.locate()?.0)
    }

    /// Returns the state of the library without loading or changing anything. Fails as [`find`](Library::find) does.
    pub fn status(&self) -> Result<Status> {
        let (found, loaded) = self.locate()?;
        let version = match &loaded {
            Some(InProcess::Owned(loaded)) => self.version.query(self, loaded),
            Some(InProcess::External(loaded)) if self.version.is_pure() => self.version.query(self, loaded),
            _ => None,
        };
        Ok(Status { found, is_loaded: loaded.is_some(), version })
    }

    /// Iterates over the names of the function that only this library has.
    fn functions(&self) -> impl Iterator<Item = &'static CStr> {
        std::iter::once(self.function).chain(self.aliases.iter().copied())
    }

    /// Iterates over the names that the system's loader may know: it knows no hashes of packages.
    fn loader_names(&self) -> impl Iterator<Item = &'static Path> {
        self.sonames.iter().filter(|soname| !soname.contains('*')).map(Path::new)
    }

    fn locate(&self) -> Result<(Option<Found>, Option<InProcess<'_>>)> {
        if let Some(loaded) = self.handle.get() {
            return Ok((Some(loaded.found().clone()), Some(InProcess::Owned(loaded))));
        }
        let mut others = self.loaded_elsewhere();
        let found = if let Some(UserPath { file: path, .. }) = self.user_path()? {
            others = others.filter(|loaded| loader::is_same_file(&loaded.found().path, &path));
            Some(Found { path, source: Source::Explicit })
        } else {
            let loaded = others.as_ref().map(|loaded| loaded.found().clone());
            loaded.or_else(|| search::files(self).next())
        };
        Ok((found, others.map(InProcess::External)))
    }

    /// Loads the file that [`find`](Library::find) returns, unless the library is loaded.
    ///
    /// Fails with `Error::LibraryNotFound` if no file can be loaded, and with `Error::LibraryPath` if the path in its
    /// environment variable cannot be loaded.
    pub fn load(&self) -> Result<&Found> {
        let operation = format!("backends.libraries.load({:?})", self.name);
        Ok(self.loaded(&operation)?.found())
    }

    /// Loads the library from `path`, a file or a folder with it, unless the library is loaded.
    ///
    /// Fails with `Error::LibraryPath` if the file cannot be loaded, or another one is loaded already.
    ///
    /// # Safety
    /// The file at `path` is a release of this library: loading it runs its constructors, and functions are looked up
    /// and called with the signatures that the library's releases declare.
    pub unsafe fn load_from(&self, path: &Path) -> Result<&Found> {
        Ok(self.loaded_from(path)?.found())
    }

    /// Queries the version. The first call loads the library. Returns `None` if it is absent, cannot be loaded or has
    /// no version function. Fails with `Error::LibraryPath` if a user-supplied path cannot be used.
    pub fn version(&self) -> Result<Option<Version>> {
        match self.loaded("version()") {
            Ok(loaded) => Ok(self.version.query(self, loaded)),
            Err(Error::LibraryNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
