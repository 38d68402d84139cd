//! The entries for captured states.

use interlock::state::{self, ThreadState};
use interlock_sys::*;

use crate::arguments::{Handle, flag_bit};
use crate::entry::{run, run_infallible};
use crate::scopes::store_guard;

// SAFETY: `capture` alone makes these handles.
unsafe impl Handle for InterlockState {
    type Target = ThreadState;
}

pub(crate) unsafe extern "C" fn capture(
    is_pinned: u8,
    state: *mut *mut InterlockState,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let is_pinned = flag_bit("state_capture: is_pinned", is_pinned)?;
            let captured = if is_pinned { ThreadState::capture_pinned() } else { ThreadState::capture() };
            Handle::store("state_capture: state", state, captured)
        })
    }
}

pub(crate) unsafe extern "C" fn enter(
    state: *const InterlockState,
    guard: *mut InterlockGuard,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            store_guard("state_enter", guard, || Ok(Handle::target("state_enter: state", state)?.enter()))
        })
    }
}

pub(crate) unsafe extern "C" fn install(state: *const InterlockState, error: *mut InterlockError) -> i32 {
    // SAFETY: the contract of the table.
    unsafe { run(error, || Ok(Handle::target("state_install: state", state)?.install()?)) }
}

pub(crate) unsafe extern "C" fn sync() {
    run_infallible(state::sync);
}

pub(crate) unsafe extern "C" fn free(state: *mut InterlockState) {
    // SAFETY: the contract of the table.
    run_infallible(|| unsafe { Handle::free_detached(state) });
}
