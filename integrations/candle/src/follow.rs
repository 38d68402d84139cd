//! Writes candle's switches at each change of interlock's flags.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use candle_core::{Result, bail};
use interlock::backends::{FlagChange, FlagHook, Level, on_change};

use crate::Precision;

/// Functions that read and write switches: those of candle, or of tests.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// Returns the values.
    pub read: fn() -> Precision,
    /// Writes the values.
    pub write: fn(Precision),
}

impl Switches {
    /// The switches of candle.
    pub const CANDLE: Switches = Switches { read: Precision::of_candle, write: Precision::apply };
}

/// Whether a [`Following`] exists. Switches are written with the lock held, so that the last write has the last values.
static FOLLOWED: Mutex<bool> = Mutex::new(false);

/// Sets candle's switches of reduced precision to what interlock's flags request for the process, now and at each write,
/// until the result is dropped.
///
/// Scopes do not reach the switches, because all threads read them: [`Precision::capture`] and [`Precision::apply`] write
/// the values of a scope.
///
/// # Errors
/// Fails while another result exists.
pub fn follow() -> Result<Following> {
    follow_with(Switches::CANDLE)
}

/// Follows as [`follow`] does, with other switches.
///
/// # Errors
/// Fails while another result exists.
pub fn follow_with(switches: Switches) -> Result<Following> {
    {
        let mut followed = FOLLOWED.lock().unwrap_or_else(PoisonError::into_inner);
        if *followed {
            bail!("follow: candle follows interlock already: drop the earlier result first");
        }
        *followed = true;
    }
    let before = (switches.read)();
    let hook = on_change(move |change| {
        if matches!(change, FlagChange::Write { level, .. } if *level != Level::Scope) {
            write(switches);
        }
    });
    // After the hook was added, so that no write is missed.
    write(switches);
    Ok(Following { hook: Some(hook), switches, before })
}

fn write(switches: Switches) {
    let followed = FOLLOWED.lock().unwrap_or_else(PoisonError::into_inner);
    // A hook may still run while the result is dropped.
    if *followed {
        (switches.write)(Precision::of_process());
    }
}

/// Makes candle follow interlock until it is dropped, which writes the values that the switches had before.
#[must_use = "candle follows interlock until this is dropped"]
pub struct Following {
    hook: Option<FlagHook>,
    switches: Switches,
    before: Precision,
}

impl Following {
    /// Follows until the process exits.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        drop(self.hook.take());
        let mut followed = FOLLOWED.lock().unwrap_or_else(PoisonError::into_inner);
        (self.switches.write)(self.before);
        *followed = false;
    }
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following").field("before", &self.before).finish_non_exhaustive()
    }
}
