//! What can be entered and left: shared by threads, or a guard of one block of Rust.

use std::marker::PhantomData;

use super::inbox::{self, ThreadNumber};
use super::thread;
use super::{Contents, LayerId};
use crate::sync::SharedWord;

static SERIALS: SharedWord = SharedWord::new(0);

/// Who enters and leaves. It may be entered again while it is open, by several threads, and left in
/// any order.
///
/// Scopes are told apart by a serial number: an address can be used again while a layer of the old
/// scope is still open, a number can't.
#[derive(Debug)]
pub struct Scope {
    serial: u64,
    /// The thread that entered last.
    entered_on: SharedWord,
}

impl Default for Scope {
    fn default() -> Self {
        Scope { serial: SERIALS.add(1), entered_on: SharedWord::new(0) }
    }
}

impl Scope {
    /// Pushes a layer of this scope on this thread.
    #[inline]
    pub fn enter(&self, contents: Contents) {
        self.entered_on.set(thread::push(self.serial, contents).0);
    }

    /// Removes the innermost layer that this scope pushed on this thread. Where there is none, the
    /// thread that entered last is asked to drop one; if it has none either, nothing happens.
    #[inline]
    pub fn leave(&self) {
        if !thread::remove(self.serial) {
            self.leave_elsewhere();
        }
    }

    #[cold]
    fn leave_elsewhere(&self) {
        let thread = ThreadNumber(self.entered_on.get());
        if thread != ThreadNumber::default() && thread != thread::this_thread() {
            inbox::ask(thread, self.serial);
        }
    }
}

/// A layer that lasts until the guard is dropped. It stays on its thread.
#[must_use = "the layer ends when the guard is dropped"]
#[derive(Debug)]
pub struct ScopeGuard {
    layer: Option<LayerId>,
    _not_send: PhantomData<*const ()>,
}

impl ScopeGuard {
    /// Pushes a layer on this thread.
    #[inline]
    pub fn enter(contents: Contents) -> Self {
        ScopeGuard { layer: thread::push_guarded(contents), _not_send: PhantomData }
    }
}

impl Drop for ScopeGuard {
    #[inline]
    fn drop(&mut self) {
        if let Some(layer) = self.layer {
            thread::remove_guarded(layer);
        }
    }
}
