//! Functions that are called after flags have changed.

use std::ffi::c_void;

use super::{Value, empty_flag};
use crate::import::api;
use crate::raw::{caught, drop_owned, items, owned, str_of};
use crate::sys::*;
use crate::{Registration, Result};

/// Identifies a flag in this process: the id of a [`Flag`](super::Flag).
///
/// ```no_run
/// use interlock_capi::backends::{FlagId, find};
///
/// let id: FlagId = find::<bool>("cudnn.benchmark")?.id();
/// assert_ne!(id, find::<bool>("cudnn.enabled")?.id());
/// assert_eq!(id.name(), "cudnn.benchmark");
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlagId(pub(super) u32);

impl FlagId {
    /// Returns the dotted name of the flag, also of one that was unregistered.
    pub fn name(self) -> &'static str {
        let mut flag = empty_flag();
        // SAFETY: the out pointer is valid. The call succeeds, because interlock has set the id, and else sets no name.
        unsafe { (api().flag_by_id)(self.0, &raw mut flag, std::ptr::null_mut()) };
        // SAFETY: the name of a flag is valid until the process exits.
        unsafe { str_of(flag.name) }
    }
}

/// Where the value of a flag is set.
///
/// ```
/// use interlock_capi::backends::Level;
///
/// assert_ne!(Level::Process, Level::Scope);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level {
    /// The default.
    Default,
    /// An environment variable.
    Environment,
    /// The process.
    Process,
    /// A scope.
    Scope,
}

impl Level {
    fn from_raw(raw: u32) -> Self {
        match raw {
            INTERLOCK_LEVEL_ENVIRONMENT => Level::Environment,
            INTERLOCK_LEVEL_PROCESS => Level::Process,
            INTERLOCK_LEVEL_SCOPE => Level::Scope,
            _ => Level::Default,
        }
    }
}

/// A change of flags. The value of a node of the precision tree is its own, and [`Value::None`] if it is empty; a write
/// of an alias is a write of its nodes.
///
/// ```no_run
/// use interlock_capi::backends::{FlagChange, find, on_change};
///
/// let benchmark = find::<bool>("cudnn.benchmark")?.id();
/// let registration = on_change(move |change| match change {
///     FlagChange::Write { flag, new, .. } if *flag == benchmark => println!("cudnn.benchmark is {new:?}"),
///     _ => (),
/// })?;
/// # drop(registration);
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FlagChange {
    /// A flag was assigned, unset, restored or reset, also to the value that it had.
    Write {
        /// The flag.
        flag: FlagId,
        /// The value before.
        old: Value<'static>,
        /// The value after.
        new: Value<'static>,
        /// Where it was written, or the level that applies if it was unset.
        level: Level,
        /// The layer of the scope in which it was written.
        layer: Option<u64>,
    },
    /// A scope was entered in this context or on this thread.
    Enter {
        /// Identifies the entered layer; unique in the process.
        layer: u64,
        /// The flags that it sets.
        values: Vec<(FlagId, Value<'static>)>,
    },
    /// A layer of [`FlagChange::Enter`] has ended: it was exited, or its thread or context has ended.
    Exit {
        /// The layer.
        layer: u64,
    },
}

impl FlagChange {
    /// Returns `None` for a kind of change that a newer interlock reports.
    ///
    /// # Safety
    /// interlock has passed the change.
    unsafe fn from_raw(raw: &InterlockFlagChange) -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        let value = |value| unsafe { Value::from_raw(value) };
        let layer = raw.layer;
        match raw.kind {
            INTERLOCK_CHANGE_WRITE => Some(FlagChange::Write {
                flag: FlagId(raw.flag),
                old: value(&raw.old_value),
                new: value(&raw.new_value),
                level: Level::from_raw(raw.level),
                layer: (layer != 0).then_some(layer),
            }),
            INTERLOCK_CHANGE_ENTER => {
                // SAFETY: guaranteed by the caller.
                let writes = unsafe { items(raw.values, raw.values_count) };
                let values = writes.iter().map(|write| (FlagId(write.flag), value(&write.value))).collect();
                Some(FlagChange::Enter { layer, values })
            }
            INTERLOCK_CHANGE_EXIT => Some(FlagChange::Exit { layer }),
            _ => None,
        }
    }
}

/// Registers a function that is called after each change of a flag, until the registration is dropped. The writing
/// thread calls it, outside of all locks, so that changes of several threads may be reported in another order than they
/// were made. Scopes that are open already are not reported. The function may read and write flags; its own writes are
/// reported too. If it panics, the panic hook prints that, and the change counts as reported.
pub fn on_change<F: Fn(&FlagChange) + Send + Sync + 'static>(hook: F) -> Result<Registration> {
    let data = owned(hook);
    // SAFETY: the functions are those of the data, which the call owns, and the places are valid.
    Registration::new(|out, error| unsafe {
        (api().flags_on_change)(Some(call_hook::<F>), data, Some(drop_owned::<F>), out, error)
    })
}

unsafe extern "C" fn call_hook<F: Fn(&FlagChange)>(data: *mut c_void, change: *const InterlockFlagChange) {
    // SAFETY: `on_change` has passed the data, and interlock passes a valid change.
    let (hook, change) = unsafe { (&*data.cast::<F>(), FlagChange::from_raw(&*change)) };
    if let Some(change) = change {
        caught(|| hook(&change));
    }
}
