//! Freezing: while flags are frozen, every write of a flag is refused, in the process and in scopes. Scopes may still
//! be entered and exited.

use super::SourceLocation;
use super::flag_spec::qualified;
use super::store::STORE;
use crate::base::sync::RelaxedU64;
use crate::thread::{self, ThreadId};
use crate::{Error, Result};

/// The number of active freezes, which [`flags_frozen`] reads without the lock.
static ACTIVE: RelaxedU64 = RelaxedU64::new(0);
static SERIALS: RelaxedU64 = RelaxedU64::new(0);

pub(super) struct Freeze {
    permanent: Option<SourceLocation>,
    /// The open scopes of all threads.
    scopes: Vec<OpenScope>,
}

struct OpenScope {
    serial: u64,
    entered_on: ThreadId,
    site: SourceLocation,
}

impl Freeze {
    pub(super) const fn new() -> Self {
        Freeze { permanent: None, scopes: Vec::new() }
    }

    /// Refuses a write while flags are frozen. The error names the location that froze them.
    pub(super) fn check_writable(&self, name: &str) -> Result<()> {
        self.check(|| qualified(name), false)
    }

    /// Like [`check_writable`](Freeze::check_writable), for a function that sets several values, with its qualified name.
    pub(super) fn check_function(&self, function: &str) -> Result<()> {
        self.check(|| function.to_owned(), true)
    }

    fn check(&self, name: impl FnOnce() -> String, is_function: bool) -> Result<()> {
        match self.frozen_at() {
            Some(by) => Err(Error::FlagsFrozen { name: name(), by: by.clone(), is_function }),
            None => Ok(()),
        }
    }

    fn frozen_at(&self) -> Option<&SourceLocation> {
        self.permanent.as_ref().or_else(|| self.scopes.last().map(|scope| &scope.site))
    }

    fn publish(&self) {
        ACTIVE.set(self.scopes.len() as u64 + u64::from(self.permanent.is_some()));
    }
}

/// Discards the freezes of other threads, which a forked child lacks.
pub(super) fn after_fork_in_child() {
    let thread = crate::thread::this_thread();
    let mut store = STORE.lock();
    store.freeze.scopes.retain(|scope| scope.entered_on == thread);
    store.freeze.publish();
}

/// Freezes flags until the process exits.
pub fn disable_global_flags(site: SourceLocation) {
    let mut store = STORE.lock();
    store.freeze.permanent.get_or_insert(site);
    store.freeze.publish();
}

/// Returns whether flags are frozen.
pub fn flags_frozen() -> bool {
    ACTIVE.get() != 0
}

/// Returns the source location of the call that froze flags, while they are frozen.
pub fn flags_frozen_at() -> Option<SourceLocation> {
    STORE.lock().freeze.frozen_at().cloned()
}

/// Freezes flags for all threads while it is open. It may be entered several times and exited by any thread. As other
/// scopes it stays open if it is dropped; a [`guard`](FreezeScope::guard) ends with its block, also after an error.
///
/// ```
/// use interlock_core::flags::flags::CUDNN_BENCHMARK;
/// use interlock_core::flags::{FreezeScope, SourceLocation};
///
/// let freeze = FreezeScope::default();
/// freeze.enter(SourceLocation::caller());
/// assert!(CUDNN_BENCHMARK.set(true).is_err());
/// freeze.exit();
/// assert!(CUDNN_BENCHMARK.set(true).is_ok());
/// let guard = freeze.guard(SourceLocation::caller());
/// assert!(CUDNN_BENCHMARK.set(true).is_err());
/// drop(guard);
/// assert!(CUDNN_BENCHMARK.set(true).is_ok());
/// ```
#[derive(Debug)]
pub struct FreezeScope {
    serial: u64,
}

impl Default for FreezeScope {
    fn default() -> Self {
        FreezeScope { serial: SERIALS.add(1) }
    }
}

impl FreezeScope {
    /// Freezes flags.
    pub fn enter(&self, site: SourceLocation) {
        let entered_on = thread::this_thread();
        let mut store = STORE.lock();
        store.freeze.scopes.push(OpenScope { serial: self.serial, entered_on, site });
        store.freeze.publish();
    }

    /// Freezes flags until the guard is dropped.
    pub fn guard(&self, site: SourceLocation) -> FreezeGuard<'_> {
        self.enter(site);
        FreezeGuard { scope: self }
    }

    /// Ends the last freeze that this scope began. Has no effect and returns false if it began none.
    pub fn exit(&self) -> bool {
        let mut store = STORE.lock();
        let scopes = &mut store.freeze.scopes;
        let Some(index) = scopes.iter().rposition(|scope| scope.serial == self.serial) else { return false };
        scopes.remove(index);
        store.freeze.publish();
        true
    }
}

/// A freeze of a [`FreezeScope`], which ends when this is dropped.
///
/// ```
/// use interlock_core::flags::{FreezeGuard, FreezeScope, SourceLocation, flags_frozen};
///
/// let freeze = FreezeScope::default();
/// let guard: FreezeGuard<'_> = freeze.guard(SourceLocation::caller());
/// assert!(flags_frozen());
/// # drop(guard);
/// ```
#[must_use = "the freeze ends when the guard is dropped"]
#[derive(Debug)]
pub struct FreezeGuard<'a> {
    scope: &'a FreezeScope,
}

impl Drop for FreezeGuard<'_> {
    fn drop(&mut self) {
        self.scope.exit();
    }
}
