//! The entries for functions of the caller that are called when flags and modes have changed, and that save and restore
//! values of other libraries.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use interlock::autograd::{self, Mode};
use interlock::backends::{self, FlagChange, Level};
use interlock::state::{self, Carried, CarriedValue};
use interlock_sys::*;

use crate::arguments::{Handle, OwnedData, text};
use crate::entry::{Failure, Result, run, run_infallible};
use crate::flags;
use crate::values::{none, to_c};

// SAFETY: the functions below alone make these handles.
unsafe impl Handle for InterlockRegistration {
    type Target = Box<dyn Any + Send + Sync>;
}

pub(crate) unsafe extern "C" fn flags_on_change(
    hook: InterlockFlagHook,
    data: *mut c_void,
    drop: InterlockDrop,
    registration: *mut *mut InterlockRegistration,
    error: *mut InterlockError,
) -> i32 {
    let owned = OwnedData { data, drop };
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let hook = given(hook, "flags_on_change: hook")?;
            let call = move |change: &FlagChange| show(change, |change| hook(owned_data(&owned), change));
            store("flags_on_change: registration", registration, backends::on_change(call))
        })
    }
}

pub(crate) unsafe extern "C" fn modes_on_change(
    hook: InterlockModeHook,
    data: *mut c_void,
    drop: InterlockDrop,
    registration: *mut *mut InterlockRegistration,
    error: *mut InterlockError,
) -> i32 {
    let owned = OwnedData { data, drop };
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let hook = given(hook, "modes_on_change: hook")?;
            let call = move |change: &autograd::ModeChange| {
                let (old_mask, old_modes) = bits(|mode| change.was_set(mode));
                let (new_mask, new_modes) = bits(|mode| change.set(mode));
                hook(owned_data(&owned), old_mask, old_modes, new_mask, new_modes);
            };
            store("modes_on_change: registration", registration, autograd::on_change(call))
        })
    }
}

pub(crate) unsafe extern "C" fn register_carried(
    name: InterlockText,
    carried: InterlockCarried,
    registration: *mut *mut InterlockRegistration,
    error: *mut InterlockError,
) -> i32 {
    let owned = OwnedData { data: carried.data, drop: carried.drop };
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let functions = Functions {
                save: given(carried.save, "carried_register: carried.save")?,
                restore: given(carried.restore, "carried_register: carried.restore")?,
                drop_value: carried.drop_value,
                owned,
            };
            let name = text("carried_register: name", name)?;
            store("carried_register: registration", registration, state::register_carried(name, functions)?)
        })
    }
}

pub(crate) unsafe extern "C" fn free(registration: *mut InterlockRegistration) {
    // SAFETY: the contract of the table.
    run_infallible(|| unsafe { Handle::free(registration) });
}

fn given<F>(function: Option<F>, name: &str) -> Result<F> {
    function.ok_or_else(|| Failure::argument(name, "a function", "null"))
}

/// Stores a handle of what removes a function when it is dropped.
///
/// # Safety
/// As for [`Handle::store`].
unsafe fn store(
    name: &str,
    out: *mut *mut InterlockRegistration,
    registered: impl Any + Send + Sync,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { Handle::store(name, out, Box::new(registered) as Box<dyn Any + Send + Sync>) }
}

/// A whole borrow, so that a closure owns the data and not only its address.
fn owned_data(owned: &OwnedData) -> *mut c_void {
    owned.data
}

/// Returns the bits of the modes that are set, and of those that are on.
fn bits(set: impl Fn(Mode) -> Option<bool>) -> (u8, u8) {
    Mode::ALL.into_iter().fold((0, 0), |(mask, on), mode| match set(mode) {
        Some(is_on) => (mask | mode as u8, if is_on { on | mode as u8 } else { on }),
        None => (mask, on),
    })
}

/// Returns the id of the flag or node with a name.
fn id_of(name: &str) -> u32 {
    let spec = backends::find(name);
    debug_assert!(spec.is_ok(), "a change names a flag: {name}");
    spec.map_or(0, flags::id_of)
}

/// Calls `receive` with a change as C reads it.
fn show(change: &FlagChange, receive: impl FnOnce(*const InterlockFlagChange)) {
    let mut shown = InterlockFlagChange {
        size: size_of::<InterlockFlagChange>() as u32,
        kind: 0,
        layer: 0,
        flag: 0,
        level: 0,
        old_value: none(),
        new_value: none(),
        values: std::ptr::null(),
        values_count: 0,
    };
    let values: Vec<InterlockWrite>;
    match change {
        FlagChange::Write { name, old, new, level, layer } => {
            (shown.kind, shown.flag, shown.level) = (INTERLOCK_CHANGE_WRITE, id_of(name), level_of(*level));
            (shown.old_value, shown.new_value) = (to_c(*old), to_c(*new));
            shown.layer = layer.unwrap_or_default();
        }
        FlagChange::Enter { layer, values: entered } => {
            let write = |(name, value): &(&str, backends::Value)| InterlockWrite {
                flag: id_of(name),
                reserved: 0,
                value: to_c(*value),
            };
            values = entered.iter().map(write).collect();
            (shown.kind, shown.layer) = (INTERLOCK_CHANGE_ENTER, *layer);
            (shown.values, shown.values_count) = (values.as_ptr(), values.len());
        }
        FlagChange::Exit { layer } => (shown.kind, shown.layer) = (INTERLOCK_CHANGE_EXIT, *layer),
        _ => return,
    }
    receive(&raw const shown);
}

fn level_of(level: Level) -> u32 {
    match level {
        Level::Environment => INTERLOCK_LEVEL_ENVIRONMENT,
        Level::Process => INTERLOCK_LEVEL_PROCESS,
        Level::Scope => INTERLOCK_LEVEL_SCOPE,
        _ => INTERLOCK_LEVEL_DEFAULT,
    }
}

/// The functions of an `InterlockCarried`.
struct Functions {
    save: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    restore: unsafe extern "C" fn(*mut c_void, *mut c_void),
    drop_value: InterlockDrop,
    owned: OwnedData,
}

impl Carried for Functions {
    fn save(&self) -> CarriedValue {
        // SAFETY: the contract of `InterlockCarried`.
        let data = unsafe { (self.save)(self.owned.data) };
        Arc::new(OwnedData { data, drop: self.drop_value })
    }

    fn restore(&self, value: &CarriedValue) {
        if let Some(value) = value.downcast_ref::<OwnedData>() {
            // SAFETY: the contract of `InterlockCarried`; `save` has returned the value.
            unsafe { (self.restore)(self.owned.data, value.data) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_a_number_of_its_own() {
        let mut numbers = Level::ALL.map(level_of);
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    }
}
