//! The verbosity of MKL and oneDNN: a level of the process, set by scopes.
//!
//! Neither library can report its level, and both have one level for all threads. So the open scopes of all threads are
//! listed, and the level is that of the innermost, or the initial level if none is open. A scope may be entered twice,
//! shared by threads and exited out of order.

use std::ffi::{CStr, c_int};

use super::{Library, MKL, ONEDNN};
use crate::base::env;
use crate::base::fork::rank;
use crate::base::invariant::UnwrapOrAssert;
use crate::base::sync::{ForkLock, RelaxedU64};
use crate::named_enum;
use crate::thread::{self, ThreadId};
use crate::{Error, Result};

named_enum! {
    /// A library that can report its calls.
    ///
    /// ```
    /// use interlock_core::libraries::VerboseLibrary;
    ///
    /// assert_eq!("mkl".parse(), Ok(VerboseLibrary::Mkl));
    /// assert!("cudnn".parse::<VerboseLibrary>().is_err());
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum VerboseLibrary {
        /// MKL: levels 0 and 1.
        Mkl => "mkl",
        /// oneDNN: levels 0, 1 and 2, which also reports the creation of primitives.
        OneDnn => "onednn",
    }
}

use VerboseLibrary::{Mkl, OneDnn};

impl VerboseLibrary {
    fn library(self) -> &'static Library {
        match self {
            Mkl => &MKL,
            OneDnn => &ONEDNN,
        }
    }

    const fn highest_level(self) -> c_int {
        match self {
            Mkl => 1,
            OneDnn => 2,
        }
    }

    /// Returns the accepted levels, as a message describes them.
    pub const fn accepted(self) -> &'static str {
        match self {
            Mkl => "VERBOSE_OFF (0) or VERBOSE_ON (1)",
            OneDnn => "VERBOSE_OFF (0), VERBOSE_ON (1) or VERBOSE_ON_CREATION (2)",
        }
    }

    /// Returns the argument of the scope with the level, as a message names it.
    pub const fn argument(self) -> &'static str {
        match self {
            Mkl => "backends.mkl.verbose: enable",
            OneDnn => "backends.mkldnn.verbose: level",
        }
    }

    /// Returns the scope as a program names it.
    pub const fn operation(self) -> &'static str {
        match self {
            Mkl => "backends.mkl.verbose(...)",
            OneDnn => "backends.mkldnn.verbose(...)",
        }
    }

    /// Returns the name of `int function(int level)`. MKL's lower-case name is that of the Fortran function, which
    /// accepts a pointer.
    const fn function(self) -> &'static CStr {
        match self {
            Mkl => c"MKL_Verbose",
            OneDnn => c"dnnl_set_verbose",
        }
    }

    /// Returns whether the function succeeded: MKL returns the level or -1, oneDNN 0 or a status.
    const fn is_success(self, status: c_int) -> bool {
        match self {
            Mkl => status >= 0,
            OneDnn => status == 0,
        }
    }

    /// Returns the initial level, which the library reads from the environment.
    fn level_from_env(self) -> c_int {
        let text = match self {
            Mkl => env::read(env::MKL_VERBOSE),
            OneDnn => env::ONEDNN_VERBOSE.iter().find_map(|variable| env::read(variable)),
        };
        text.map_or(0, |text| level_of(&text))
    }

    fn scopes(self, all: &mut [VerboseScopes; 2]) -> &mut VerboseScopes {
        let [mkl, onednn] = all;
        match self {
            Mkl => mkl,
            OneDnn => onednn,
        }
    }
}

/// Parses the level of a variable: a number, or oneDNN's names of its levels.
fn level_of(text: &str) -> c_int {
    let levels = text.split(',').map(|word| match word.trim() {
        "2" | "all" | "profile" | "profile_create" => 2,
        "1" | "profile_exec" => 1,
        _ => 0,
    });
    levels.max().unwrap_or(0)
}

/// The scopes of both libraries, MKL first.
static LEVELS: ForkLock<[VerboseScopes; 2]> = ForkLock::with_child_hook(
    rank::VERBOSITY,
    [VerboseScopes::new(), VerboseScopes::new()],
    after_fork_in_child,
);

static SERIALS: RelaxedU64 = RelaxedU64::new(0);

/// The scopes that set the level of one library.
pub(crate) struct VerboseScopes {
    /// The level without scopes; read when the first scope is entered.
    initial: Option<c_int>,
    /// The open scopes in the order in which they were entered.
    open: Vec<OpenScope>,
    /// Incremented by every change.
    changes: u64,
}

struct OpenScope {
    serial: u64,
    entered_on: ThreadId,
    level: c_int,
}

impl VerboseScopes {
    const fn new() -> Self {
        VerboseScopes { initial: None, open: Vec::new(), changes: 0 }
    }

    fn current(&self) -> c_int {
        let initial = || self.initial.unwrap_or_assert(0, "the first scope has set the initial level");
        self.open.last().map_or_else(initial, |scope| scope.level)
    }

    fn push(&mut self, scope: OpenScope, environment: c_int) {
        self.initial.get_or_insert(environment);
        self.open.push(scope);
        self.changes += 1;
    }

    /// Removes the innermost entry of a scope; returns whether there was one.
    fn remove(&mut self, serial: u64) -> bool {
        let index = self.open.iter().rposition(|scope| scope.serial == serial);
        let removed = index.map(|index| self.open.remove(index));
        self.changes += u64::from(removed.is_some());
        removed.is_some()
    }
}

/// Removes the scopes of other threads, which a forked child lacks. The library is called with the next scope that is
/// entered or exited, because it may not be called while a process forks.
pub(crate) fn after_fork_in_child() {
    let thread = thread::this_thread();
    for levels in LEVELS.lock().iter_mut() {
        levels.open.retain(|scope| scope.entered_on == thread);
        levels.changes += 1;
    }
}

/// Makes a library report its calls while it is open, for the whole process.
///
/// ```
/// use interlock_core::libraries::{VerboseLibrary, VerboseScope};
///
/// // Level 0 has no effect and loads nothing; level 1 needs oneDNN.
/// let scope = VerboseScope::new(VerboseLibrary::OneDnn, 0)?;
/// scope.enter()?;
/// scope.exit();
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct VerboseScope {
    library: VerboseLibrary,
    level: c_int,
    serial: u64,
}

impl VerboseScope {
    /// Creates a scope that is not open. Fails with `Error::FlagValue` for a level that the library does not have.
    pub fn new(library: VerboseLibrary, level: i64) -> Result<Self> {
        match c_int::try_from(level) {
            Ok(small) if (0..=library.highest_level()).contains(&small) => {
                Ok(VerboseScope { library, level: small, serial: SERIALS.add(1) })
            }
            _ => Err(Error::FlagValue {
                name: library.argument().to_owned(),
                given: level.to_string(),
                allowed: library.accepted().to_owned(),
            }),
        }
    }

    /// Returns the library.
    pub fn library(&self) -> VerboseLibrary {
        self.library
    }

    /// Returns the level.
    pub fn level(&self) -> i32 {
        self.level
    }

    /// Sets the level, which loads the library. Level 0 has no effect and needs no library. If this fails, the scope is
    /// not open.
    pub fn enter(&self) -> Result<()> {
        if self.level == 0 {
            return Ok(());
        }
        let set_level = self.library.set_level()?;
        let scope = OpenScope { serial: self.serial, entered_on: thread::this_thread(), level: self.level };
        let environment = self.library.level_from_env();
        self.library.scopes(&mut LEVELS.lock()).push(scope, environment);
        self.library.apply_level(set_level).inspect_err(|_| _ = self.exit())
    }

    /// Ends the innermost enter of this scope: the level becomes that of the innermost open scope, or the initial
    /// level. Has no effect and returns false if the scope is not open.
    pub fn exit(&self) -> bool {
        let removed = self.library.scopes(&mut LEVELS.lock()).remove(self.serial);
        if removed && let Ok(set_level) = self.library.set_level() {
            // The library has accepted this level before, or read it from its own variable.
            let _ = self.library.apply_level(set_level);
        }
        removed
    }
}

/// `int function(int level)`, which sets the level of the process.
type SetLevel = unsafe extern "C" fn(c_int) -> c_int;

impl VerboseLibrary {
    fn set_level(self) -> Result<SetLevel> {
        // SAFETY: every release of the two libraries that has the function declares it with this signature.
        unsafe { self.library().function(self.function(), self.operation()) }
    }

    /// Calls the library until its level is the one that the scopes set.
    ///
    /// The lock is not held during the call, which may be slow. A thread that finds the list changed after its call
    /// repeats it, so the last call of all threads sets the level of the last change.
    fn apply_level(self, set_level: SetLevel) -> Result<()> {
        let wanted = || {
            let mut all = LEVELS.lock();
            let levels = self.scopes(&mut all);
            (levels.changes, levels.current())
        };
        let (mut changes, mut level) = wanted();
        loop {
            // SAFETY: it takes any int and may be called by any thread at any time.
            let status = unsafe { set_level(level) };
            let (changes_now, level_now) = wanted();
            if changes_now == changes {
                return if self.is_success(status) {
                    Ok(())
                } else {
                    let operation = self.operation().to_owned();
                    let library = self.library().title;
                    Err(Error::LibraryRefused { library, operation, status })
                };
            }
            (changes, level) = (changes_now, level_now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(serial: u64, level: c_int) -> OpenScope {
        OpenScope { serial, entered_on: thread::this_thread(), level }
    }

    #[test]
    fn verbose_scopes_use_the_level_of_the_innermost_open_scope() {
        let mut levels = VerboseScopes::new();
        levels.push(scope(1, 1), 0);
        levels.push(scope(2, 2), 0);
        assert_eq!(levels.current(), 2);
        assert!(levels.remove(1));
        assert_eq!(levels.current(), 2);
        assert!(levels.remove(2));
        assert_eq!(levels.current(), 0);
        assert!(!levels.remove(2));
    }

    #[test]
    fn verbose_scopes_remove_one_entry_for_each_exit() {
        let mut levels = VerboseScopes::new();
        levels.push(scope(1, 1), 2);
        levels.push(scope(1, 1), 2);
        assert!(levels.remove(1));
        assert_eq!(levels.current(), 1);
        assert!(levels.remove(1));
        assert_eq!(levels.current(), 2, "the level of the environment");
    }

    #[test]
    fn level_of_parses_numbers_and_names() {
        for (text, level) in
            [("0", 0), ("1", 1), ("2", 2), ("profile_exec", 1), ("1,all", 2), ("", 0), ("x", 0)]
        {
            assert_eq!(level_of(text), level, "{text}");
        }
    }

    #[test]
    fn verbose_scope_refuses_a_level_that_the_library_lacks() {
        for (library, most) in [(Mkl, 1), (OneDnn, 2)] {
            assert!(VerboseScope::new(library, most).is_ok());
            for wrong in [-1, most + 1, 1 << 32] {
                let error = VerboseScope::new(library, wrong).unwrap_err();
                assert!(matches!(error, Error::FlagValue { .. }), "{error}");
            }
        }
    }
}
