//! The carrier of contexts: where the state of the code that runs on a thread is stored between its looks.
//!
//! A binding to a language with contexts implements it: Python copies and switches them (PEP 567), and this crate knows
//! nothing of Python. While no carrier is installed, or where a thread has no current context, scopes belong to the
//! thread.

use std::ffi::c_void;
use std::ptr::NonNull;

use once_cell::race::OnceBox;

use super::current;
use super::ids::Position;
use super::state::State;
use crate::{Error, Result};

/// Loads and stores the state of the context in which the calling thread runs.
pub trait Carrier: Send + Sync {
    /// Returns whether this thread has a current context: whether it is attached to the interpreter.
    fn is_at_hand(&self) -> bool;

    /// Returns whether the interpreter knows this thread. It forgets a thread of the program that detaches, and the context
    /// of the thread ends then.
    fn knows_thread(&self) -> bool;

    /// Returns whether every switch of a thread to another context, and back, is followed by a [`sync`]. Otherwise hooks
    /// for modes are called only with those that the thread itself has set: nothing would report the end of others.
    fn reports_switches(&self) -> bool;

    /// Returns the serial of the state of the current context; `None` if none was stored.
    ///
    /// # Safety
    /// This thread has a current context.
    unsafe fn serial(&self) -> Option<u64>;

    /// Returns the state of the current context; `None` if none was stored.
    ///
    /// # Safety
    /// This thread has a current context.
    unsafe fn load(&self) -> Option<State>;

    /// Stores a state in the current context. Returns `None`, with the context unchanged, if that failed.
    ///
    /// # Safety
    /// This thread has a current context.
    unsafe fn store(&self, state: &State) -> Option<Receipt>;

    /// Puts back the state before a store, and returns true, if the current context is the one of the store. Otherwise
    /// changes nothing.
    ///
    /// # Safety
    /// This thread has a current context.
    unsafe fn revoke(&self, receipt: Receipt) -> bool;
}

/// The proof of one store: an object of the carrier. It is not a box, because every scope has one.
pub struct Receipt {
    object: NonNull<c_void>,
    drop: unsafe fn(NonNull<c_void>),
}

// SAFETY: `new` requires it.
unsafe impl Send for Receipt {}
// SAFETY: `new` requires it.
unsafe impl Sync for Receipt {}

impl Receipt {
    /// Creates a receipt that owns an object.
    ///
    /// # Safety
    /// Any thread may use the object, and call `drop` with it once.
    pub unsafe fn new(object: NonNull<c_void>, drop: unsafe fn(NonNull<c_void>)) -> Self {
        Receipt { object, drop }
    }

    /// Returns the object, which the receipt still owns.
    pub fn object(&self) -> NonNull<c_void> {
        self.object
    }

    /// Returns the object, which the caller then owns.
    pub fn into_object(self) -> NonNull<c_void> {
        let object = self.object;
        std::mem::forget(self);
        object
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        // SAFETY: the receipt owns the object.
        unsafe { (self.drop)(self.object) };
    }
}

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

/// Returns whether looks follow all switches of contexts, or there are no contexts.
pub(super) fn are_switches_reported() -> bool {
    CARRIER.get().is_none_or(|carrier| carrier.reports_switches())
}

/// The context in which this thread runs, with the serial of its state, for changes that need no copy of that.
pub struct PresentContext {
    carrier: &'static dyn Carrier,
    pub(super) serial: u64,
}

impl PresentContext {
    /// Returns the context of this thread; `None` if there is none, or if no state was stored in it.
    #[inline]
    pub fn at_hand() -> Option<Self> {
        let carrier = CARRIER.get().filter(|carrier| carrier.is_at_hand())?;
        // SAFETY: a context is at hand.
        unsafe { Self::from_carrier(*carrier) }
    }

    /// Returns the context of this thread, for a binding that the language calls; `None` if no state was stored in it.
    ///
    /// # Safety
    /// This thread has a current context, if a carrier is installed.
    #[inline]
    pub unsafe fn known_at_hand() -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::from_carrier(*CARRIER.get()?) }
    }

    /// # Safety
    /// This thread has a current context.
    #[inline]
    unsafe fn from_carrier(carrier: &'static dyn Carrier) -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        let serial = unsafe { carrier.serial() }?;
        Some(PresentContext { carrier, serial })
    }

    /// Stores another state. `None` if that fails. The caller has begun a change.
    pub(super) fn store(&self, state: &State) -> Option<Receipt> {
        // SAFETY: the context is at hand.
        unsafe { self.carrier.store(state) }
    }

    /// Puts back the state before a store; see [`Carrier::revoke`]. The caller has begun a change.
    pub(super) fn revoke(&self, receipt: Receipt) -> bool {
        // SAFETY: the context is at hand.
        unsafe { self.carrier.revoke(receipt) }
    }
}

/// The context in which this thread runs, with its state as of now.
pub(super) struct Context {
    carrier: &'static dyn Carrier,
    /// Whether a state was stored.
    is_set: bool,
    /// As stored: it may contain layers that have ended.
    pub(super) stored: State,
}

impl Context {
    /// Returns the context of this thread, which has then seen its state; `None` if there is none.
    #[inline(always)]
    pub(super) fn at_hand() -> Option<Self> {
        CARRIER.get().and_then(|carrier| Self::load(*carrier))
    }

    // A call, so that the code of a program without a carrier stays small.
    #[inline(never)]
    fn load(carrier: &'static dyn Carrier) -> Option<Self> {
        if !carrier.is_at_hand() {
            if !carrier.knows_thread() {
                leave_context();
            }
            return None;
        }
        // SAFETY: a context is at hand.
        let loaded = unsafe { carrier.load() };
        let is_set = loaded.is_some();
        let stored = loaded.unwrap_or(State::EMPTY);
        current::show(&stored);
        Some(Context { carrier, is_set, stored })
    }

    /// Returns the state without layers that have ended.
    pub(super) fn state(&self) -> State {
        if self.stored.is_checked() { self.stored.clone() } else { current::seen_state(&self.stored) }
    }

    /// Stores another state, which this thread has then seen. If that fails, the context and what this thread has seen
    /// of it are unchanged. `action` returns what the caller does, for the error.
    pub(super) fn store(&self, action: impl FnOnce() -> String, state: &State) -> Result<Receipt> {
        let _changing = current::Changing::begin();
        // So that revoking the store leaves a state: a context never loses it again.
        // SAFETY: the context is at hand; the first store of a context is revoked by nothing.
        let is_set = self.is_set || unsafe { self.carrier.store(&State::EMPTY) }.is_some();
        // SAFETY: the context is at hand, and has a state.
        let stored = if is_set { unsafe { self.carrier.store(state) } } else { None };
        let receipt = stored.ok_or_else(|| Error::ContextNotStored { action: action() })?;
        current::show(state);
        Ok(receipt)
    }

    /// Puts back the state before a store; see [`Carrier::revoke`].
    pub(super) fn revoke(&self, receipt: Receipt) -> bool {
        let _changing = current::Changing::begin();
        // SAFETY: the context is at hand.
        unsafe { self.carrier.revoke(receipt) }
    }

    /// Drops layers that have ended from the stored state.
    pub(super) fn store_without_ended(&self) {
        // If this fails, the layers have ended all the same.
        let _stored = self.store(|| "exit a scope".into(), &self.state());
        current::see();
    }

    /// Puts back the state that this context had, after a store that the caller takes back.
    pub(super) fn undo(&self, receipt: Receipt) {
        if self.revoke(receipt) {
            current::show(&self.stored);
        }
    }
}

/// Synchronizes this thread with the current Python context: reads of modes, flags, devices and streams on this thread
/// are exact until it switches to another context. `sync` of the C table is this function.
///
/// Needed before CPython 3.14, and after a switch of greenlets, by Rust code that reads before it calls a function of
/// interlock's Python package: until then it reads the state that the thread had at its last call. The thread holds the
/// GIL; without it, or without Python, this only applies changes that other threads have made to this one, and discards what
/// a thread of Rust has read from a Python context before it detached, because that context has ended.
///
/// ```
/// use interlock_core::{modes, thread};
///
/// /// Called by Python code, such as a task of asyncio.
/// fn records_gradients() -> bool {
///     thread::sync();
///     modes::is_grad_enabled()
/// }
///
/// assert!(records_gradients());
/// ```
#[inline]
pub fn sync() {
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
