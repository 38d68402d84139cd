//! Vendor libraries, found at run time: what they are called, where they are looked for, how their
//! version is asked.
//!
//! Nothing is linked and nothing is loaded before somebody asks for what only the library can answer.
//! That a library is absent is a value; that a path which the user gave is of no use is an error.

mod user_path;
mod loader;
mod openmp;
mod python_paths;
mod presence;
mod search;
mod ld_paths;
mod table;
mod verbose;
mod version;

use crate::base::named_enum;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

use user_path::UserPath;
use loader::{Handle, Loaded};
#[doc(hidden)]
pub use loader::{file_of, reason_of};
pub use openmp::{OpenMpRuntime, openmp_runtimes};
pub use python_paths::{PythonPaths, python_paths_are, set_python_paths};
use presence::SearchResult;
#[doc(hidden)]
pub use presence::Presence;
use search::SearchPaths;
pub use table::{
    ALL, CUBLAS, CUBLASLT, CUDNN, CUFFT, CURAND, CUSOLVER, CUSPARSE, CUSPARSELT, MKL, NCCL, NVML, NVRTC,
    ONEDNN, OPENMP, find, variables,
};
pub use verbose::{VerboseLibrary, VerboseScope};
use version::VersionQuery;
pub use version::Version;

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
    /// The names under which the loader knows it, the preferred first.
    sonames: &'static [&'static str],
    /// A function that every release has and no other library: what lacks it is not this library.
    function: &'static CStr,
    search_paths: SearchPaths,
    version: VersionQuery,
    handle: Handle,
    /// What [`presence`](Library::presence) found last.
    last_search: TryLock<Option<SearchResult>>,
}

named_enum! {
    /// The reason why a file of a library was chosen, the strongest first.
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
        /// A path that the user gave, by argument or variable.
        Explicit => "explicit",
        /// Another library or the program has loaded it into this process.
        Loaded => "loaded",
        /// It lies among the packages of Python.
        PythonPaths => "packages",
        /// An environment variable that names folders or an installation.
        Environment => "environment",
        /// It is installed for the whole system.
        System => "system",
    }
}

/// The file of a library and the reason why it was chosen.
///
/// ```
/// use interlock_core::libraries::MKL;
///
/// match MKL.find()? {
///     Some(found) => println!("{} ({})", found.path.display(), found.source.name()),
///     None => println!("{} is not installed", MKL.title()),
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// What led to it.
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
pub struct Status {
    /// The file that is loaded or would be tried first.
    pub found: Option<Found>,
    /// Whether that is in this process, whoever loaded it.
    pub is_loaded: bool,
    /// What it answers; `None` unless it is loaded and can be asked without changing it.
    pub version: Option<Version>,
}

/// A library in this process.
enum InProcess<'a> {
    /// Loaded by this crate, or taken over.
    Owned(&'a Loaded),
    /// Loaded by somebody else, and not used yet.
    External(Loaded),
}

impl Library {
    /// The word for it in programs and variables: `cudnn`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its name as its makers write it: `cuDNN`.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// Whether it is in this process already, whoever loaded it; looking does not load it.
    pub fn is_loaded(&self) -> bool {
        self.handle.get().is_some() || self.loaded_elsewhere().is_some()
    }

    /// Whether it is loaded or the search finds a file of its name; looking does not load it.
    /// `Error::LibraryPath` where the user gave a path at which there is none.
    pub fn is_available(&self) -> Result<bool> {
        Ok(self.find()?.is_some())
    }

    /// The file that is loaded or would be tried first, without loading it: a path given by the user, what
    /// is loaded already, next to Python's packages, where the environment points to, the system.
    ///
    /// `Error::LibraryPath` where the user gave a path at which there is none.
    pub fn find(&self) -> Result<Option<Found>> {
        Ok(self.look()?.0)
    }

    /// What is known of it without loading or changing anything; errors as those of [`find`](Library::find).
    pub fn status(&self) -> Result<Status> {
        let (found, loaded) = self.look()?;
        let version = match &loaded {
            Some(InProcess::Owned(loaded)) => self.version.query(self, loaded),
            Some(InProcess::External(loaded)) if self.version.is_pure() => {
                self.version.query(self, loaded)
            }
            _ => None,
        };
        Ok(Status { found, is_loaded: loaded.is_some(), version })
    }

    fn look(&self) -> Result<(Option<Found>, Option<InProcess<'_>>)> {
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

    /// Loads it unless that is done: the file that [`find`](Library::find) names.
    ///
    /// `Error::LibraryNotFound` where there is none that can be loaded; `Error::LibraryPath` where the one
    /// that the environment names can't be.
    pub fn load(&self) -> Result<&Found> {
        let operation = format!("backends.libraries.load({:?})", self.name);
        Ok(self.loaded(&operation)?.found())
    }

    /// Loads it unless that is done, from `path`: a file, or a folder with it.
    ///
    /// `Error::LibraryPath` where that can't be loaded, or another one is loaded already.
    ///
    /// # Safety
    /// What is at `path` is a release of this library: loading it runs its constructors, and functions are looked up
    /// and called with the signatures that the library's releases declare.
    pub unsafe fn load_from(&self, path: &Path) -> Result<&Found> {
        Ok(self.loaded_from(path)?.found())
    }

    /// The version that the library itself answers. The first call loads it; `None` where it is absent,
    /// can't be loaded or has no such question. `Error::LibraryPath` where the user gave a path that can't be
    /// used.
    pub fn version(&self) -> Result<Option<Version>> {
        match self.loaded("version()") {
            Ok(loaded) => Ok(self.version.query(self, loaded)),
            Err(Error::LibraryNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
