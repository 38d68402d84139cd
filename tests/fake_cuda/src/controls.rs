//! Functions for tests: fault injection and counts. They may be called on every thread, even in a host function.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::errors::{INVALID_VALUE, SUCCESS};
use crate::hooks::{self, Hook};
use crate::regions::Kind;
use crate::state::State;
use crate::{counts, fake, faults};

/// # Safety
/// `text` is null or a C string that lives as long as `'a`.
unsafe fn text<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: the caller guarantees a C string.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// Fails the `number`th allocation of any kind from now on with an out-of-memory error; 0 cancels the fault.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_fail_allocation(number: u64) {
    faults::fail_allocation(number);
}

/// Runs `hook` with `data` before each call of a function, on the thread of the call and without a lock. Any result but 0
/// is returned instead of making the call. Calls of the hook itself run no hooks. Null removes the hook.
///
/// # Safety
/// `name` is a C string or null, and the hook can be called with `data` on every thread until it is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_set_hook(name: *const c_char, hook: Option<Hook>, data: *mut c_void) {
    // SAFETY: the caller guarantees a C string or null.
    hooks::set(unsafe { text(name) }, hook, data.expose_provenance());
}

/// Breaks a device permanently: every call for it fails with this code, queued work does not run, and waiting threads
/// are woken.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_break_device(device: c_int, code: c_int) -> c_int {
    let broken = fake::started().and_then(|fake| {
        let mut state = fake.state();
        let device = state.device_or_broken(device)?;
        if code == SUCCESS { Err(INVALID_VALUE) } else { state.break_device(device, code) }
    });
    broken.err().unwrap_or(SUCCESS)
}

/// Returns the number of calls of a function in this process and the processes that it was forked from.
///
/// # Safety
/// `name` is a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_calls(name: *const c_char) -> u64 {
    // SAFETY: the caller guarantees a C string or null.
    counts::count_of(unsafe { text(name) })
}

/// Returns the number of live objects of a kind (`streams`, `events`, `graphs`, `executables`, `contexts`), or the
/// allocated bytes of device memory (`bytes`) or pinned memory (`pinned`).
///
/// # Safety
/// `kind` is a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_live(kind: *const c_char) -> u64 {
    // SAFETY: the caller guarantees a C string or null.
    let kind = unsafe { text(kind) };
    fake::started().map_or(0, |fake| live(&fake.state(), kind))
}

fn live(state: &State, kind: &str) -> u64 {
    let of_regions = || {
        let regions = state.regions.values().filter(|region| !matches!(region.kind, Kind::Mapped { .. }));
        regions.map(|region| region.bytes).sum::<u64>()
    };
    match kind {
        "streams" => state.streams.values().filter(|stream| !stream.is_default).count() as u64,
        "events" => state.events.len() as u64,
        "graphs" => state.graphs.len() as u64,
        "executables" => state.executables.len() as u64,
        "contexts" => state.contexts.iter().filter(|context| context.retained > 0).count() as u64,
        "bytes" => of_regions() + state.physical.values().map(|physical| physical.bytes).sum::<u64>(),
        "pinned" => state.pinned.values().map(|pinned| pinned.bytes).sum(),
        _ => 0,
    }
}

/// Returns the retain count of a device's primary context, or -1 if there is no such device.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_context_state(device: c_int) -> c_int {
    let retained = fake::started().and_then(|fake| {
        let state = fake.state();
        Ok(state.context(state.device_or_broken(device)?)?.retained)
    });
    retained.map_or(-1, |retained| retained as c_int)
}
