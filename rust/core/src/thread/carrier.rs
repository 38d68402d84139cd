//! The carrier of contexts: where the state of the code that runs on a thread is stored between its looks.
//!
//! A binding to a language with contexts implements it: Python copies and switches them (PEP 567), and this crate knows
//! nothing of Python. While no carrier is installed, or where a thread has no context at hand, scopes belong to the
//! thread.

use std::any::Any;

use once_cell::race::OnceBox;

use super::current;
use super::ids::Position;
use super::state::State;
use crate::{Error, Result};

/// Loads and stores the state of the context in which the calling thread runs.
pub trait Carrier: Send + Sync {
    /// Returns the state of the current context: [`State::EMPTY`] if none was stored. Returns `None` if this thread has
    /// no context at hand, because it is not attached to the interpreter.
    fn load(&self) -> Option<State>;

    /// Stores a state in the current context. Returns `None`, with the context unchanged, if that failed.
    fn store(&self, state: &State) -> Option<Receipt>;

    /// Puts back the state before a store, and returns true, if the current context is the one of the store. Otherwise
    /// changes nothing.
    fn revoke(&self, receipt: Receipt) -> bool;
}

/// The proof of one store, which the carrier recognizes.
pub type Receipt = Box<dyn Any + Send + Sync>;

static CARRIER: OnceBox<&'static dyn Carrier> = OnceBox::new();

/// Returns the positions of the layers of the current context above a position, from the innermost.
pub fn positions_above(position: Position) -> Vec<Position> {
    Context::at_hand().map_or_else(Vec::new, |context| context.state().positions_above(position))
}

/// Installs the carrier of the process, unless there is one.
pub fn set_carrier(carrier: &'static dyn Carrier) {
    let _present = CARRIER.set(Box::new(carrier));
}

/// Returns whether contexts exist in this process.
#[inline]
pub(super) fn is_installed() -> bool {
    CARRIER.get().is_some()
}

/// The context in which this thread runs, with its state as of now.
pub(super) struct Context {
    carrier: &'static dyn Carrier,
    /// As stored: it may contain layers that have ended.
    pub(super) stored: State,
}

impl Context {
    /// Returns the context of this thread, which has then seen its state; `None` if none is at hand.
    #[inline(always)]
    pub(super) fn at_hand() -> Option<Self> {
        CARRIER.get().and_then(|carrier| Self::load(*carrier))
    }

    // A call, so that the code of a program without a carrier stays small.
    #[inline(never)]
    fn load(carrier: &'static dyn Carrier) -> Option<Self> {
        let stored = carrier.load()?;
        current::show(&stored);
        Some(Context { carrier, stored })
    }

    /// Returns the state without layers that have ended.
    pub(super) fn state(&self) -> State {
        if self.stored.is_checked() { self.stored.clone() } else { current::seen_state(&self.stored) }
    }

    /// Stores another state, which this thread has then seen. If that fails, the context and what this thread has seen
    /// of it are unchanged. `action` returns what the caller does, for the error.
    pub(super) fn store(&self, action: impl FnOnce() -> String, state: &State) -> Result<Receipt> {
        let _changing = current::Changing::begin();
        let stored = self.carrier.store(state);
        let receipt = stored.ok_or_else(|| Error::ContextNotStored { action: action() })?;
        current::show(state);
        Ok(receipt)
    }

    /// Puts back the state before a store; see [`Carrier::revoke`].
    pub(super) fn revoke(&self, receipt: Receipt) -> bool {
        let _changing = current::Changing::begin();
        self.carrier.revoke(receipt)
    }

    /// Puts back the state that this context had, after a store that the caller takes back.
    pub(super) fn undo(&self, receipt: Receipt) {
        if self.revoke(receipt) {
            current::show(&self.stored);
        }
    }
}

/// Looks at the state of the context and at changes from elsewhere, so that reads of this thread are exact until it
/// switches to another context.
#[inline]
pub fn look() {
    if !is_installed() || Context::at_hand().is_none() {
        current::see();
    }
}

/// Makes a state, which the carrier has just loaded, the one that this thread has seen, and looks at changes from
/// elsewhere.
pub fn look_at(state: &State) {
    current::show(state);
}

/// Drops what this thread has seen of a context, because that has ended: a thread that the interpreter does not know
/// detaches from it.
pub fn leave_context() {
    current::show(&State::EMPTY);
}
