//! The state of a thread: layers of scopes over a base.

mod carried;

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::Result;
use crate::error::check;
use crate::import::api;
use crate::raw::handle;
use crate::sys::*;

pub use carried::{Carried, register_carried};

/// Removes a layer of this thread's state when it is dropped. It is not `Send`.
///
/// ```no_run
/// use interlock_capi::autograd::{is_grad_enabled, no_grad};
/// use interlock_capi::state::ScopeGuard;
///
/// let guard: ScopeGuard = no_grad()?;
/// assert!(!is_grad_enabled());
/// drop(guard);
/// assert!(is_grad_enabled());
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[must_use = "the layer is removed when the guard is dropped"]
#[derive(Debug)]
pub struct ScopeGuard {
    layer: u64,
    owner: u64,
    _not_send: PhantomData<*const ()>,
}

impl ScopeGuard {
    pub(crate) fn new(enter: impl FnOnce(*mut InterlockGuard, *mut InterlockError) -> i32) -> Result<Self> {
        let mut guard = InterlockGuard { layer: 0, owner: 0 };
        check(|error| enter(&raw mut guard, error))?;
        Ok(ScopeGuard { layer: guard.layer, owner: guard.owner, _not_send: PhantomData })
    }
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        let mut guard = InterlockGuard { layer: self.layer, owner: self.owner };
        // SAFETY: the out pointer is valid.
        unsafe { (api().guard_exit)(&raw mut guard) };
    }
}

/// A copy of the state of a thread: modes, the flags that its scopes set, current device and streams.
///
/// ```no_run
/// use interlock_capi::autograd::is_grad_enabled;
/// use interlock_capi::state::ThreadState;
///
/// let state = ThreadState::capture()?;
/// let worker = std::thread::spawn(move || state.run(is_grad_enabled));
/// # let _ = worker.join();
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Debug)]
pub struct ThreadState(NonNull<InterlockState>);

// SAFETY: the contract of the handle.
unsafe impl Send for ThreadState {}
// SAFETY: the contract of the handle.
unsafe impl Sync for ThreadState {}

/// Looks at the state of the current Python context, so that later reads of modes and flags on this thread are exact
/// until it switches to another context. Needed before CPython 3.14, and after a switch of greenlets. The thread holds
/// the GIL.
///
/// # Safety
/// The calling thread holds the GIL.
pub unsafe fn sync() {
    // SAFETY: guaranteed by the caller.
    unsafe { (api().sync)() };
}

impl ThreadState {
    /// Captures the state of this thread.
    pub fn capture() -> Result<Self> {
        ThreadState::new(false)
    }

    /// Captures the state of this thread with every flag of the process: later assignments to the process have no
    /// effect where the state is active.
    pub fn capture_pinned() -> Result<Self> {
        ThreadState::new(true)
    }

    fn new(pinned: bool) -> Result<Self> {
        // SAFETY: both places are valid.
        handle(|out, error| unsafe { (api().state_capture)(pinned.into(), out, error) }).map(ThreadState)
    }

    /// Applies this state on this thread, above all open scopes, until the guard is dropped.
    pub fn enter(&self) -> Result<ScopeGuard> {
        // SAFETY: the handle and both places are valid.
        ScopeGuard::new(|guard, error| unsafe { (api().state_enter)(self.0.as_ptr(), guard, error) })
    }

    /// Calls `action` while this state is active.
    pub fn run<R>(&self, action: impl FnOnce() -> R) -> Result<R> {
        let _guard = self.enter()?;
        Ok(action())
    }

    /// Sets this state as the base of this thread, below all open scopes, until the thread ends.
    pub fn install(&self) -> Result<()> {
        // SAFETY: the handle and the out pointer are valid.
        check(|error| unsafe { (api().state_install)(self.0.as_ptr(), error) })
    }
}

impl Drop for ThreadState {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the handle.
        unsafe { (api().state_free)(self.0.as_ptr()) };
    }
}
