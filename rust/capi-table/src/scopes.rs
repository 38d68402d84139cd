//! The entries for scopes of flags and for guards.

use interlock::backends::{FlagScope, SourceLocation};
use interlock::state::ScopeGuard;
use interlock_core::binding::flags::{FlagScopeBuilder, Purpose};
use interlock_core::binding::thread::RawGuard;
use interlock_sys::*;

use crate::arguments::{Handle, write};
use crate::entry::{Failure, Result, run, run_infallible};
use crate::flags::writes_from_c;

// SAFETY: `new` alone makes these handles.
unsafe impl Handle for InterlockScope {
    type Target = FlagScope;
}

/// Moves the guard of an entry of the table to the caller, who exits it.
///
/// # Safety
/// `out` is null, or valid for a write.
pub(crate) unsafe fn store_guard(
    entry: &str,
    out: *mut InterlockGuard,
    guard: impl FnOnce() -> Result<ScopeGuard>,
) -> Result<()> {
    // Checked first, so that a call that fails enters nothing.
    if out.is_null() {
        return Err(Failure::argument(&format!("{entry}: guard"), "a pointer", "null"));
    }
    let RawGuard { layer, made_on } = guard()?.into();
    if layer == 0 {
        return Err(Failure::ended(&format!("{entry}: scopes cannot be entered")));
    }
    // SAFETY: guaranteed by the caller.
    unsafe { write("guard", out, InterlockGuard { layer, owner: made_on }) }
}

pub(crate) unsafe extern "C" fn new(
    writes: *const InterlockWrite,
    count: usize,
    scope: *mut *mut InterlockScope,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let mut builder = FlagScopeBuilder::new(Purpose::Named, count.min(64));
            for (spec, value) in writes_from_c("scope_new", writes, count)? {
                let allowed = "a value, because a scope unsets no flag";
                let value = value.ok_or_else(|| {
                    Failure::argument("scope_new: writes", allowed, stringify!(INTERLOCK_VALUE_UNSET))
                })?;
                builder.add(spec, &value)?;
            }
            Handle::store("scope_new: scope", scope, builder.build(SourceLocation::current()))
        })
    }
}

pub(crate) unsafe extern "C" fn enter(
    scope: *const InterlockScope,
    guard: *mut InterlockGuard,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            store_guard("scope_enter", guard, || Ok(Handle::target("scope_enter: scope", scope)?.guard()))
        })
    }
}

pub(crate) unsafe extern "C" fn free(scope: *mut InterlockScope) {
    // SAFETY: the contract of the table.
    run_infallible(|| unsafe { Handle::free(scope) });
}

pub(crate) unsafe extern "C" fn exit(guard: *mut InterlockGuard) {
    // SAFETY: the contract of the table.
    let Some(guard) = (unsafe { guard.as_mut() }) else { return };
    let raw = RawGuard { layer: guard.layer, made_on: guard.owner };
    *guard = InterlockGuard { layer: 0, owner: 0 };
    run_infallible(|| raw.exit());
}
